"""What the options that several commands share say, and the events and queries that they name."""

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
    """Return ``--until``, as a number if it is one; None without it."""
    text: str | None = getattr(arguments, "until", None)
    if text is not None:
        # An integer if it is one: a float is too coarse for nanoseconds since 1970.
        for number in (int, float):
            with suppress(ValueError):
                return number(text)
    return text


def check_result(arguments: argparse.Namespace) -> None:
    """Raise `UsageError` for a format that needs a file, without one."""
    if arguments.format == "parquet" and arguments.output is None:
        raise UsageError("CER0809", "Parquet needs a file", hint="add -o OUT.parquet")


def in_columns(arguments: argparse.Namespace) -> bool:
    """Whether answers are written as rows with names, which CSV always has."""
    return arguments.columns is not None or arguments.format == "csv"


OF_SELECT = "*"
"""The text of ``--columns`` that stands for the columns of SELECT."""


def columns_of(arguments: argparse.Namespace) -> list[str] | None:
    """Return the columns that ``--columns`` names; None where they are those of SELECT."""
    text: str | None = arguments.columns
    return None if text is None or text.strip() == OF_SELECT else comma_separated(text)


def read_query(arguments: argparse.Namespace, argument: str | None = None) -> Pattern:
    """Return the query of the command line, a CEQL or CEL one; see `read_pattern`."""
    query = read_pattern(arguments, argument)
    if isinstance(query, SremoPattern):
        raise _no_sremo()
    return query


def _no_sremo() -> Unsupported:
    return Unsupported(
        "CER0483",
        "this command takes CEQL and CEL formulas, and the text is a SREMO",
        hint="cerlab.evaluate and cerlab.matches take it, from Python",
    )


def read_pattern(arguments: argparse.Namespace, argument: str | None = None) -> AnyPattern:
    """The query or SREMO of the command line: the file that is named, or the text itself."""
    return any_pattern(query_text(arguments, argument), arguments.language, _schema(arguments))


def read_query_or_rows(
    arguments: argparse.Namespace, argument: str | None = None
) -> Pattern | RowPattern:
    """Read the query or the row pattern of the command line; a SREMO is refused."""
    query = read_any(arguments, argument)
    if isinstance(query, SremoPattern):
        raise _no_sremo()
    return query


def read_any(arguments: argparse.Namespace, argument: str | None = None) -> AnyPattern | RowPattern:
    """Read what the command line asks: a text that has MATCH_RECOGNIZE is a row pattern."""
    text = query_text(arguments, argument)
    if arguments.language == "rows" or (arguments.language is None and is_row_pattern(text)):
        from cerlab.rows.parser import parse_rows  # loads sqlglot

        return parse_rows(text)
    return any_pattern(text, arguments.language, _schema(arguments))


def refuse_options(options: Mapping[str, object]) -> None:
    """Raise `Unsupported` for the first option that is given and says nothing of row patterns."""
    if option := next((name for name, value in options.items() if value), None):
        message, hint = f"{option} does not go with row patterns", "leave it out"
        raise Unsupported("CER0451", message, hint=hint)


def query_text(arguments: argparse.Namespace, argument: str | None = None) -> str:
    """The text of the query: of the file that is named, or the text itself."""
    argument = arguments.query if argument is None else argument
    assert argument is not None
    return argument if (path := query_file(argument)) is None else text_of(path)


def query_file(argument: str) -> Path | None:
    """The file that QUERY names; None for a text.

    Raises `UsageError` for one that is not there, and for what is a file of events by its name.
    """
    path = Path(argument) if len(argument) < 1024 and "\n" not in argument else None
    if path is not None and format_by_suffix(path) and path.suffix != ".core":
        hint = "QUERY stands before EVENTS"
        raise UsageError("CER0838", f"'{argument}' is a file of events, not a query", hint=hint)
    # Not `path.exists()`, which raises for a text that is too long to be a name.
    there = path is not None and os.path.exists(path) and not path.is_dir()
    if path is None or not (there or path.suffix.lower() in _QUERY_SUFFIXES):
        return None
    if not there:
        hint = "check the path; a text may stand there as well"
        raise UsageError("CER0808", f"there is no query file '{argument}'", hint=hint)
    return path


def text_of(path: Path) -> str:
    """Return the text of a file; raises `BadData` for bytes that are not UTF-8."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadData(
            "CER0715",
            f"this is not UTF-8: {error.reason}",
            place=DataPlace(str(path)),
            hint="convert the file, for example with iconv",
        ) from None


def _schema(arguments: argparse.Namespace) -> Schema | None:
    if arguments.schema is None:
        return None
    return parse_schema(text_of(Path(arguments.schema)))


def input_options(arguments: argparse.Namespace, query: AnyPattern | None) -> dict[str, Any]:
    """Return the options for `cerlab.io`; the schema is the query's, else ``--schema``'s."""
    return {
        "type": arguments.type,
        "schema": query.schema if isinstance(query, Pattern) else _schema(arguments),
        "quarantine": arguments.quarantine,
    }


def events_named(arguments: argparse.Namespace) -> list[str]:
    """Return the names of files of events on the command line."""
    events = getattr(arguments, "events", None)  # of some commands a number
    return events if isinstance(events, list) else []


def source_of(arguments: argparse.Namespace) -> io.Source:
    """Return the events that the command line names: one source, whatever is asked of it."""
    source: io.Source | None = getattr(arguments, "source", None)
    if source is None:
        source = arguments.source = io.Source(
            arguments.events, records=vars(arguments).get("records")
        )
    return source


def comma_separated(text: str) -> list[str]:
    """The parts of a text between commas."""
    return [part.strip() for part in text.split(",") if part.strip()]


def time_option(arguments: argparse.Namespace) -> tuple[str | None, str | None]:
    """Return the column of ``--time``, and its unit."""
    return name_and_unit(arguments.time or "")


def check_files(arguments: argparse.Namespace) -> None:
    """Raise `UsageError` where a command would write to a file that it reads, or twice to one."""
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
    """Return the files of events, those in folders too, by what users call them."""
    named = events_named(arguments)
    if named == ["-"]:
        return {"EVENTS": "-"}
    with suppress(BadData):  # whoever reads the events says so
        files = [file.path for file in files_of(named)]
        return {"EVENTS" if len(files) == 1 else f"{path} in EVENTS": path for path in files}
    return {}


T = TypeVar("T")


_PATIENCE_SECONDS = 2.0


_EVERY = 1024


def whole_stream(query: AnyPattern | None, arguments: argparse.Namespace) -> Stream:
    """The events that the command line names, read to their end, for a query if there is one."""

    def watch(parts: Iterable[Part]) -> Iterator[Part]:
        return bar(parts, "reading", about(source_of(arguments)), length)

    column, unit = time_option(arguments)
    options = input_options(arguments, query)
    in_order = {"time": column, "unit": unit, "sort": arguments.sort}
    stream = io.read(source_of(arguments), watch=watch, lazily=True, **in_order, **options)
    return stream.up_to(until_of(arguments))


def about(source: io.Source) -> int | None:
    """Return about how many events there are, for a terminal; None where nobody knows."""
    is_known = sys.stderr.isatty() and not any(file.is_pipe for file in source.files)
    return source.estimated_length if is_known else None


def bar(
    parts: Iterable[T], text: str, total: int | None, length: Callable[[T], int]
) -> Iterator[T]:
    """The same parts; on a terminal with a bar, its percentage where a `total` is known."""
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
        if progress.live.is_started:  # without a bar it would print an empty line
            progress.stop()


class WatchedStream(Stream):
    """A stream whose iteration shows its progress."""

    __slots__ = ()

    def __iter__(self) -> Iterator[Event]:
        return bar(self.events, "evaluating", len(self.events), lambda _: 1)
