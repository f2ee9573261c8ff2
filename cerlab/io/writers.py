"""Streams of events as files of every format."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterable, Sequence
from os import PathLike
from typing import TextIO

from cerlab.errors import BadData, DataPlace, UsageError
from cerlab.io.answers import row_text
from cerlab.io.conversion import Place
from cerlab.io.core_text import format_event
from cerlab.io.output import whole_columns, whole_text
from cerlab.io.read import events_table
from cerlab.model.columns import values_of
from cerlab.model.event import Duration, Event, Timestamp, Value
from cerlab.model.stream import Stream

_WORD = re.compile(r"\w+")


def write_events(stream: Stream, path: str | PathLike[str], kind: str) -> None:
    """The events as a new file of a format: ``csv``, ``ndjson``, ``core``, ``parquet``, ``arrow``.

    Raises `BadData` for an event that the format cannot hold, and then there is no file.
    """
    if kind in ("parquet", "arrow"):
        table = events_table(stream)
        with whole_columns(path, table.schema, kind) as writer:
            writer.write_table(table)
        return
    with whole_text(path) as file:
        write_text(stream, file, kind)


def write_text(stream: Iterable[Event], file: TextIO, kind: str) -> None:
    """The events as lines of a format of text; raises as `write_events`."""
    match kind:
        case "csv":
            _csv(list(stream), file)
        case "ndjson":
            for n, event in enumerate(stream):
                file.write(_ndjson(event, n) + "\n")
        case "core":
            _core(list(stream), file)
        case _:
            hint = "csv, ndjson and core are text; parquet and arrow need a file"
            raise UsageError("CER0867", f"events are not written as {kind} here", hint=hint)


def _csv(events: list[Event], file: TextIO) -> None:
    names = list(dict.fromkeys(name for event in events for name in event.attributes))
    streams = ["stream"] * any(event.stream is not None for event in events)
    for n, event in enumerate(events):
        _check_names(event, n, "CSV")
        for name, text in (("type", event.type), ("stream", event.stream)):
            if text is not None:
                _check_plain(text, _at(n, name), "CSV")
    columns = [[event.type for event in events], *([e.stream for e in events] for _ in streams)]
    for name in names:
        values = [event.attributes.get(name) for event in events]
        for n, value in enumerate(values):
            if isinstance(value, str):
                _check_plain(value, _at(n, name), "CSV")
        columns.append(_column_text(values, name, "CSV"))
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["type", *streams, *names])
    writer.writerows(zip(*columns, strict=True))


def _column_text(values: Sequence[Value], name: str, format: str) -> list[str | None]:
    """Return the cells of a column; raises `BadData` for one that would not read back as it is."""
    from cerlab.io.column_types import text_array, typed

    cells = [None if value is None else _cell(value) for value in values]
    if any(isinstance(value, Timestamp | Duration) for value in values):
        return cells
    back = values_of(typed(text_array([cell or None for cell in cells])), name)
    for n, (value, read) in enumerate(zip(values, back, strict=True)):
        numbers = isinstance(value, int | float) and isinstance(read, int | float)
        is_same = numbers and isinstance(value, bool) == isinstance(read, bool)
        is_same = is_same or type(read) is type(value)
        if not is_same or not (read == value or (read != read and value != value)):
            raise _cannot(format, value, _at(n, name))
    return cells


def _cell(value: Value) -> str:
    return ("FALSE", "TRUE")[value] if isinstance(value, bool) else str(value)


def _ndjson(event: Event, n: int) -> str:
    _check_names(event, n, "NDJSON")
    for name, value in event.attributes.items():
        if isinstance(value, float) and not math.isfinite(value):
            raise _cannot("NDJSON", value, _at(n, name))
    stream = {} if event.stream is None else {"stream": event.stream}
    return row_text({"type": event.type, **stream, **event.attributes})


def _core(events: list[Event], file: TextIO) -> None:
    form = "CORE's text form"
    for n, event in enumerate(events):
        for name, text in (("type", event.type), ("stream", event.stream)):
            if text is not None and not _WORD.fullmatch(text):
                raise _cannot(form, text, _at(n, name))
    for name in dict.fromkeys(name for event in events for name in event.attributes):
        values = [event.attributes.get(name) for event in events]
        in_quotes = [isinstance(value, str | Timestamp | Duration) for value in values]
        if not any(in_quotes):
            _column_text(values, name, form)
            continue
        for n, value in enumerate(values):
            if isinstance(value, str):
                _check_plain(value, _at(n, name), form)
            if value is not None and not in_quotes[n]:
                raise _cannot(form, value, _at(n, name))
    file.writelines(format_event(event) + "\n" for event in events)


def _check_names(event: Event, n: int, format: str) -> None:
    for name in event.attributes:
        if name in ("type", "stream") or name != name.strip() or not name.isprintable():
            raise _cannot(format, f"an attribute called {name!r}", _at(n, name))


def _check_plain(text: str, place: Place, format: str) -> None:
    """Raise `BadData` for text with the end of a line in it, or NUL."""
    if "\0" in text or text.splitlines() not in ([], [text]):
        raise _cannot(format, text, place)


def _at(n: int, name: str) -> Place:
    return lambda: DataPlace("the events", n + 1, name)


def _cannot(format: str, value: Value, place: Place) -> BadData:
    return BadData(
        "CER0749",
        f"{format} cannot hold {str(value)[:60]!r} so that it reads back as it is",
        place=place(),
        hint="Parquet and Arrow hold every value of a column of one type, NDJSON every text",
    )
