"""Options that several commands share, and the events and queries that they name."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from cerlab import io
from cerlab.compile.pattern import (
    AnyPattern,
    Pattern,
    SremoPattern,
    any_pattern,
    is_row_pattern,
)
from cerlab.display import terminal
from cerlab.errors import BadData, DataPlace, Unsupported, UsageError
from cerlab.io.formats import format_by_suffix
from cerlab.io.names import AnyPath, files_of
from cerlab.io.output import refuse_same
from cerlab.io.parts import Part, length
from cerlab.logic.ceql.parser import parse_schema
from cerlab.model.event import Event, Schema
from cerlab.model.stream import Stream, Until, name_and_unit

if TYPE_CHECKING:
    from cerlab.rows.syntax import RowPattern

_QUERY_SUFFIXES = (".ceql", ".cel", ".txt", ".query", ".sql")


def until_of(arguments: argparse.Namespace) -> Until | None:
    """Return the time of ``--until`` as a number or a text; None if the option is absent."""
    text: str | None = getattr(arguments, "until", None)
    if text is not None:
        # An integer stays an integer: a float is too coarse for nanoseconds since 1970.
        for number in (int, float):
            with suppress(ValueError):
                return number(text)
    return text


def check_result(arguments: argparse.Namespace) -> None:
    """Raise `UsageError` for a format that needs a file if none is given."""
    if arguments.format == "parquet" and arguments.output is None:
        raise UsageError("CER0809", "Parquet needs a file", hint="add -o OUT.parquet")


def in_columns(arguments: argparse.Namespace) -> bool:
    """Return whether answers are written as rows with named columns, as CSV always is."""
    return arguments.columns is not None or arguments.format == "csv"


OF_SELECT = "*"
"""The text of ``--columns`` that stands for the columns of SELECT."""


def columns_of(arguments: argparse.Namespace) -> list[str] | None:
    """Return the columns that ``--columns`` names; None for those of SELECT."""
    text: str | None = arguments.columns
    return None if text is None or text.strip() == OF_SELECT else comma_separated(text)


def read_query(arguments: argparse.Namespace, argument: str | None = None) -> Pattern:
    """Return the CEQL or CEL query of the command line; see `read_pattern`."""
    query = read_pattern(arguments, argument)
    if isinstance(query, SremoPattern):
        raise _no_sremo()
    return query


def _no_sremo() -> Unsupported:
    return Unsupported(
        "CER0483",
        "expected a CEQL query or a CEL formula, got a SREMO",
        hint="in Python, use cerlab.evaluate or cerlab.matches",
    )


def read_pattern(arguments: argparse.Namespace, argument: str | None = None) -> AnyPattern:
    """Return the query or SREMO of the command line, from the named file or the text itself."""
    return any_pattern(query_text(arguments, argument), arguments.language, _schema(arguments))


def read_query_or_rows(
    arguments: argparse.Namespace, argument: str | None = None
) -> Pattern | RowPattern:
    """Return the query or the row pattern of the command line; a SREMO raises `Unsupported`."""
    query = read_any(arguments, argument)
    if isinstance(query, SremoPattern):
        raise _no_sremo()
    return query


def read_any(arguments: argparse.Namespace, argument: str | None = None) -> AnyPattern | RowPattern:
    """Return the query of the command line; a text with MATCH_RECOGNIZE is a row pattern."""
    text = query_text(arguments, argument)
    if arguments.language == "rows" or (arguments.language is None and is_row_pattern(text)):
        from cerlab.rows.parser import parse_rows  # loads sqlglot

        return parse_rows(text)
    return any_pattern(text, arguments.language, _schema(arguments))


def refuse_options(options: Mapping[str, object]) -> None:
    """Raise `Unsupported` for the first given option that has no meaning for row patterns."""
    if option := next((name for name, value in options.items() if value), None):
        message, hint = f"{option} does not go with row patterns", "leave it out"
        raise Unsupported("CER0451", message, hint=hint)


def query_text(arguments: argparse.Namespace, argument: str | None = None) -> str:
    """Return the text of the query, from the named file or the text itself."""
    argument = arguments.query if argument is None else argument
    assert argument is not None
    return argument if (path := query_file(argument)) is None else text_of(path)


def query_file(argument: str) -> Path | None:
    """Return the file that QUERY names; None for a text.

    Raises `UsageError` for a missing file, and for the name of a file of events.
    """
    path = Path(argument) if len(argument) < 1024 and "\n" not in argument else None
    if path is not None and format_by_suffix(path) and path.suffix != ".core":
        hint = "put QUERY before EVENTS"
        raise UsageError("CER0838", f"'{argument}' is a file of events, not a query", hint=hint)
    # Not `path.exists()`, which raises for a text too long for a file name.
    there = path is not None and os.path.exists(path) and not path.is_dir()
    if path is None or not (there or path.suffix.lower() in _QUERY_SUFFIXES):
        return None
    if not there:
        hint = "check the path; QUERY may also be the text of a query"
        raise UsageError("CER0808", f"there is no query file '{argument}'", hint=hint)
    return path


def text_of(path: Path) -> str:
    """Return the text of a file; raises `BadData` for bytes that are not UTF-8."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadData(
            "CER0715",
            f"expected UTF-8: {error.reason}",
            place=DataPlace(str(path)),
            hint="convert the file, for example with iconv",
        ) from None


def _schema(arguments: argparse.Namespace) -> Schema | None:
    if arguments.schema is None:
        return None
    return parse_schema(text_of(Path(arguments.schema)))


def input_options(arguments: argparse.Namespace, query: AnyPattern | None) -> dict[str, Any]:
    """Return the options for `cerlab.io`; the query's schema takes precedence over ``--schema``."""
    return {
        "type": arguments.type,
        "schema": query.schema if isinstance(query, Pattern) else _schema(arguments),
        "quarantine": arguments.quarantine,
    }


def events_named(arguments: argparse.Namespace) -> list[str]:
    """Return the names of the files of events on the command line."""
    events = getattr(arguments, "events", None)  # `--events` is a number in some commands
    return events if isinstance(events, list) else []


def source_of(arguments: argparse.Namespace) -> io.Source:
    """Return the events that the command line names, as a single source."""
    source: io.Source | None = getattr(arguments, "source", None)
    if source is None:
        source = arguments.source = io.Source(
            arguments.events, records=vars(arguments).get("records")
        )
    return source


def comma_separated(text: str) -> list[str]:
    """Return the parts of a text between commas, without surrounding spaces."""
    return [part.strip() for part in text.split(",") if part.strip()]


def time_option(arguments: argparse.Namespace) -> tuple[str | None, str | None]:
    """Return the column of ``--time``, and its unit."""
    return name_and_unit(arguments.time or "")


def check_files(arguments: argparse.Namespace) -> None:
    """Raise `UsageError` if a command would write to a file that it reads, or twice to one file."""
    options = vars(arguments)
    out = options.get("output") or "-"
    texts = {name.upper(): options.get(name) for name in ("query", "a", "b")}
    tables = (text.partition("=") for text in options.get("tables") or ())
    refuse_same(
        {
            "-o" if options.get("output") else "standard output": out,
            "--quarantine": options.get("quarantine"),
            "--certificate": options.get("certificate"),
        },
        {
            **{name: text and query_file(text) for name, text in texts.items()},
            **{f"TABLE {name}": path or name for name, _, path in tables},
            **_event_files(arguments),
            "--schema": options.get("schema"),
        },
    )


def _event_files(arguments: argparse.Namespace) -> dict[str, AnyPath]:
    """Return the files of events, including those in folders, by the names that users give them."""
    named = events_named(arguments)
    if named == ["-"]:
        return {"EVENTS": "-"}
    with suppress(BadData):  # reading the events reports the error
        files = [file.path for file in files_of(named)]
        return {"EVENTS" if len(files) == 1 else f"{path} in EVENTS": path for path in files}
    return {}


T = TypeVar("T")


_PATIENCE_SECONDS = 2.0
"""The bar appears after this time: short commands print no bar."""

_EVERY = 1024
"""Events between two updates of the bar, which cost more than reading an event."""


def whole_stream(query: AnyPattern | None, arguments: argparse.Namespace) -> Stream:
    """Return the events that the command line names, read to the end."""

    def watch(parts: Iterable[Part]) -> Iterator[Part]:
        return bar(parts, "reading", about(source_of(arguments)), length)

    column, unit = time_option(arguments)
    options = input_options(arguments, query)
    in_order = {"time": column, "unit": unit, "sort": arguments.sort}
    stream = io.read(source_of(arguments), watch=watch, lazily=True, **in_order, **options)
    return stream.up_to(until_of(arguments))


def about(source: io.Source) -> int | None:
    """Return the estimated number of events if the progress is shown; None if unknown."""
    is_known = sys.stderr.isatty() and not any(file.is_pipe for file in source.files)
    return source.estimated_length if is_known else None


def bar(
    parts: Iterable[T], text: str, total: int | None, length: Callable[[T], int]
) -> Iterator[T]:
    """Yield the parts; on a terminal show a progress bar, with a percentage if `total` is known."""
    if not sys.stderr.isatty():
        yield from parts
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
    )

    progress = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=Console(file=terminal(sys.stderr)),
        transient=True,
    )
    task = progress.add_task(text, total=total)
    begin = time.monotonic()
    try:
        count = next_update = 0
        for part in parts:
            if count >= next_update:
                next_update = count + _EVERY
                if not progress.live.is_started and time.monotonic() - begin > _PATIENCE_SECONDS:
                    progress.start()
                progress.update(task, completed=count)
            yield part
            count += length(part)
    finally:
        if progress.live.is_started:  # stopping a bar that never started prints an empty line
            progress.stop()


class WatchedStream(Stream):
    """A stream whose iteration shows the progress."""

    __slots__ = ()

    def __iter__(self) -> Iterator[Event]:
        return bar(self.events, "evaluating", len(self.events), lambda _: 1)
