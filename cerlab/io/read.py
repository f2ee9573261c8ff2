"""Reading events, whatever the format: files, standard input, tables, lists."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from io import TextIOWrapper
from os import PathLike
from pathlib import Path
from typing import Any, TextIO

from cerlab.errors import BadData, DataPlace, UsageError
from cerlab.io import arrow, core_text, delimited, ndjson
from cerlab.io.conversion import OnBadRow
from cerlab.logic.ceql.parser import parse_schema
from cerlab.model.clauses import TimeWindow
from cerlab.model.clock import TimeAxis, TimeUnit, clock_for, only_timestamp, time_axis
from cerlab.model.event import Event
from cerlab.model.schema import Schema
from cerlab.model.stream import Stream, register_reader

FORMATS = {
    ".csv": "csv",
    ".ndjson": "ndjson",
    ".jsonl": "ndjson",
    ".json": "ndjson",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".ipc": "arrow",
    ".feather": "arrow",
    ".core": "core",
    ".stream": "core",
}
"""The format of a file by its suffix; others are told by their first line."""


def read(
    path: str | PathLike[str],
    *,
    type: str | None = None,
    time: str | None = None,
    unit: str | TimeUnit | None = None,
    schema: Schema | str | None = None,
    format: str | None = None,
    quarantine: str | PathLike[str] | None = None,
    sort: bool = False,
    watch: Callable[[Iterator[Event]], Iterable[Event]] = iter,
) -> Stream:
    """Read a whole file (or ``-``, standard input) as a stream.

    `type`, `time`, `unit`, `schema` as in `Stream.read`. `quarantine` is a file for the rows that
    cannot be read, as NDJSON of their text and error; without it the first one is an error.
    `sort` orders the events by time, stably; `watch` sees them pass (for a progress bar). Raises
    `BadData` with file, row and column.
    """
    axis = time_axis(time, unit) if time else None
    schema = parse_schema(schema) if isinstance(schema, str) else schema
    if not sort and schema is None and (kind := _table_kind(path, format)) is not None:
        return _table_stream(arrow.read_file(Path(path), kind), str(path), None, type, axis)
    events = watch(
        read_events(path, type=type, schema=schema, format=format, quarantine=quarantine)
    )
    if sort:
        events = _sorted(tuple(events), axis)
    return Stream(events, time=axis, schema=schema)


def _table_kind(path: str | PathLike[str], format: str | None) -> str | None:
    """``parquet`` or ``arrow`` if the file is one that is there, None for all else."""
    file = Path(path)
    if str(path) == "-" or not file.is_file() or not file.stat().st_size:
        return None
    kind = format or FORMATS.get(file.suffix.lower()) or _magic(file)
    return kind if kind in ("parquet", "arrow") else None


def _sorted(events: tuple[Event, ...], axis: TimeAxis | None) -> list[Event]:
    axis = axis or only_timestamp(events)
    if axis is None:
        raise UsageError("CER0810", "sorting needs to know the time", hint="add --time COLUMN:UNIT")
    clock = clock_for(TimeWindow(0), axis)
    timed = [(clock(event, position), event) for position, event in enumerate(events)]
    return [event for _, event in sorted(timed, key=lambda pair: pair[0])]


def read_events(
    path: str | PathLike[str],
    *,
    type: str | None = None,
    schema: Schema | None = None,
    format: str | None = None,
    quarantine: str | PathLike[str] | None = None,
) -> Iterator[Event]:
    """The events of a file (or ``-``) as they are read; text formats are read line by line."""
    with ExitStack() as stack:
        on_bad_row = stack.enter_context(_quarantine(quarantine)) if quarantine else None
        if str(path) == "-":
            lines = _standard_input()
            yield from _text_events(lines, "standard input", format, schema, on_bad_row, type)
            return
        file = Path(path)
        if not file.is_file():
            raise BadData(
                "CER0743",
                "there is no such file",
                place=DataPlace(str(path)),
                hint="check the path",
            )
        if file.stat().st_size == 0:
            raise _empty(str(path))
        kind = format or FORMATS.get(file.suffix.lower()) or _magic(file)
        if kind in ("parquet", "arrow"):
            table = arrow.read_file(file, kind)
            yield from arrow.table_events(table, str(path), schema, type_name=type)
            return
        lines = stack.enter_context(file.open(encoding="utf-8-sig", newline=""))
        yield from _text_events(lines, str(path), kind, schema, on_bad_row, type)


def _standard_input() -> Iterable[str]:
    """Standard input as strict UTF-8, whatever the locale; line by line as it comes."""
    raw = getattr(sys.stdin, "buffer", None)
    return sys.stdin if raw is None else TextIOWrapper(raw, encoding="utf-8-sig", newline="")


def _text_events(
    lines: Iterable[str],
    file: str,
    kind: str | None,
    schema: Schema | None,
    on_bad_row: OnBadRow | None,
    type_name: str | None,
) -> Iterator[Event]:
    numbered = _decoded(lines, file)
    first: list[str] = []
    for line in numbered:
        first.append(line)
        if line.strip():
            break
    else:
        raise _empty(file)
    rest = _again(first, numbered)
    match kind or _looks_like(first[-1]):
        case "ndjson":
            yield from ndjson.read_lines(rest, file, schema, on_bad_row, type_name=type_name)
        case "core":
            yield from core_text.read_lines(rest, file, schema, on_bad_row)
        case "csv":
            yield from delimited.read_lines(rest, file, schema, on_bad_row, type_name=type_name)
        case unknown:
            known = ", ".join(sorted(set(FORMATS.values())))
            raise UsageError("CER0811", f"unknown format '{unknown}'", hint=f"known: {known}")


def _empty(file: str) -> BadData:
    return BadData(
        "CER0744",
        "the file is empty",
        place=DataPlace(file),
        hint="an empty stream is a header without rows",
    )


def _again(first: list[str], rest: Iterator[str]) -> Iterator[str]:
    yield from first
    yield from rest


def _decoded(lines: Iterable[str], file: str) -> Iterator[str]:
    """The lines; what is no UTF-8, or holds NUL, is an error with its row."""
    row = 0
    iterator = iter(lines)
    while True:
        row += 1
        try:
            line = next(iterator)
        except StopIteration:
            return
        except UnicodeDecodeError as error:
            raise BadData(
                "CER0745",
                f"this is not UTF-8: {error.reason}",
                place=DataPlace(file, _row_of_bad_byte(file, row)),
                hint="convert the file, for example with iconv",
            ) from None
        if "\0" in line:
            raise BadData("CER0746", "the line holds a NUL byte", place=DataPlace(file, row))
        yield line


def _row_of_bad_byte(file: str, after: int) -> int:
    """The row of the first bytes that are no UTF-8 (text is decoded ahead, in blocks)."""
    if not Path(file).is_file():
        return after
    with open(file, "rb") as raw:
        for row, line in enumerate(raw, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError:
                return row
    return after


_CORE_LINE = re.compile(r"\s*(?:#|--|(?:\w+\s*>\s*)?\w+\s*\()")


def _looks_like(line: str) -> str:
    if line.lstrip("\ufeff \t").startswith("{"):
        return "ndjson"
    return "core" if _CORE_LINE.match(line) else "csv"


def _magic(file: Path) -> str | None:
    with file.open("rb") as raw:
        head = raw.read(6)
    if head.startswith(b"PAR1"):
        return "parquet"
    return "arrow" if head == b"ARROW1" else None


@contextmanager
def _quarantine(path: str | PathLike[str]) -> Iterator[OnBadRow]:
    """Write rows that cannot be read to a file, and say at the end how many there were."""
    written = 0

    def on_bad_row(row: str, error: BadData) -> None:
        nonlocal written
        written += 1
        record = {"row": row.rstrip("\r\n"), "code": error.code, "error": str(error)}
        file.write(json.dumps(record, ensure_ascii=False) + "\n")

    with open(path, "w", encoding="utf-8") as file:
        yield on_bad_row
    if written:
        _say(sys.stderr, f"{written:,} rows could not be read; they are in {path}")


def _say(to: TextIO, text: str) -> None:
    print(text, file=to)


def from_arrow(
    table: Any,
    *,
    type: str | None = None,
    time: str | None = None,
    unit: str | TimeUnit | None = None,
    schema: Schema | str | None = None,
) -> Stream:
    """A stream of the rows of a pyarrow Table."""
    axis = time_axis(time, unit) if time else None
    schema = parse_schema(schema) if isinstance(schema, str) else schema
    return _table_stream(table, "the table", schema, type, axis)


def _table_stream(
    table: Any, name: str, schema: Schema | None, type_name: str | None, axis: TimeAxis | None
) -> Stream:
    """Column by column where that is safe, else row by row."""

    def load() -> Iterator[Event]:
        return arrow.table_events(table, name, schema, type_name=type_name)

    columns = arrow.plain_columns(table, type_name) if schema is None else None
    if columns is None:
        return Stream(load(), time=axis, schema=schema)
    return Stream.from_columns(columns, table.num_rows, load, time=axis)


def as_stream(events: Any) -> Stream:
    """A stream of anything that holds events (DESIGN 2.1).

    A `Stream`, dicts or `Event` values, a pyarrow Table, a pandas or polars data frame, a path.
    """
    if isinstance(events, Stream):
        return events
    if isinstance(events, str | PathLike):
        return read(events)
    table = arrow.as_table(events)
    if table is not None:
        return from_arrow(table)
    if hasattr(events, "to_dict") and hasattr(events, "columns"):
        return Stream.from_events(events.to_dict(orient="records"))
    try:
        return Stream.from_events(events)
    except TypeError:
        raise UsageError(
            "CER0812",
            f"{type(events).__name__} holds no events",
            hint='a list of dicts with a "type" key, a table, a data frame or a path does',
        ) from None


register_reader("read", read)
register_reader("from_arrow", from_arrow)
