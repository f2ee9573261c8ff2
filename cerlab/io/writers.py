"""Streams of events as files of every format: equal when they are read again, or refused."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from os import PathLike
from typing import TextIO

from cerlab.errors import BadData, DataPlace, UsageError
from cerlab.io.answers import row_text
from cerlab.io.conversion import Place, convert
from cerlab.io.core_text import format_event
from cerlab.io.output import whole_columns, whole_text
from cerlab.io.read import events_table
from cerlab.io.text_writer import csv_cell
from cerlab.model.columns import values_of
from cerlab.model.event import AttributeType, Duration, Event, Schema, Timestamp, Value
from cerlab.model.stream import Stream

_WORD = re.compile(r"\w+")


def write_events(stream: Stream, path: str | PathLike[str], kind: str) -> None:
    """Write the events as a new file: ``csv``, ``ndjson``, ``core``, ``parquet`` or ``arrow``.

    Raises `BadData` for an event that the format cannot hold, and then there is no file.
    """
    if kind in ("parquet", "arrow"):
        table = events_table(stream)
        with whole_columns(path, table.schema, kind) as writer:
            writer.write_table(table)
        return
    with whole_text(path) as file:
        write_text(stream, file, kind, stream.schema)


def write_text(
    events: Iterable[Event], file: TextIO, kind: str, schema: Schema | None = None
) -> None:
    """Write events as lines of a format of text, to be read with the same `schema`.

    Raises as `write_events`.
    """
    match kind:
        case "csv":
            _csv(list(events), file, schema)
        case "ndjson":
            for n, event in enumerate(events):
                file.write(_ndjson(event, n, schema) + "\n")
        case "core":
            _core(list(events), file, schema)
        case _:
            hint = "csv, ndjson and core are text; parquet and arrow need a file"
            raise UsageError("CER0867", f"events are not written as {kind} here", hint=hint)


def _csv(events: list[Event], file: TextIO, schema: Schema | None) -> None:
    names = list(dict.fromkeys(name for event in events for name in event.attributes))
    streams = ["stream"] * any(event.stream is not None for event in events)
    for n, event in enumerate(events):
        _check_names(event, n, "CSV")
        for name, text in (("type", event.type), ("stream", event.stream)):
            if text is not None and ("\0" in text or not text):
                raise _cannot("CSV", text, _at(n, name))
    columns = [
        [event.type for event in events],
        *([e.stream or "" for e in events] for _ in streams),
    ]
    for name in names:
        values = [event.attributes.get(name) for event in events]
        _check_column(events, values, name, "CSV", schema)
        columns.append(["" if value is None else _cell(value) for value in values])
    for row in (["type", *streams, *names], *zip(*columns, strict=True)):
        file.write(",".join(map(csv_cell, row)) + "\n")


def _check_column(
    events: list[Event],
    values: Sequence[Value],
    name: str,
    format: str,
    schema: Schema | None,
) -> None:
    """Raise `BadData` for a cell of a column that would not be read back as it is."""
    from cerlab.io.column_types import LARGE, text_array, typed

    cells = [None if value is None else _cell(value) for value in values]
    back: Sequence[Value]
    if schema is not None:
        pairs = zip(events, cells, strict=True)
        back = [_declared(schema, event, name, cell) for event, cell in pairs]
    elif (array := typed(text_array([cell or None for cell in cells]))).type == LARGE:
        back = [cell or None for cell in cells]
    else:
        back = values_of(array, name)
    for n, (value, read) in enumerate(zip(values, back, strict=True)):
        if isinstance(value, str) and "\0" in value:
            raise _cannot(format, value, _at(n, name))
        numbers = isinstance(value, int | float) and isinstance(read, int | float)
        is_same = numbers and isinstance(value, bool) == isinstance(read, bool)
        is_same = is_same or type(read) is type(value)
        if not is_same or not (read == value or (read != read and value != value)):
            raise _cannot(format, value, _at(n, name))


def _declared(schema: Schema, event: Event, name: str, cell: str | None) -> Value:
    """Return a cell as the schema, with which the events were read, declares it."""
    kind = _type_of(schema, event, name)
    if not cell or kind is None:
        return None
    try:
        return convert(cell, kind, lambda: DataPlace("the events"))
    except BadData:
        return None


def _type_of(schema: Schema | None, event: Event, name: str) -> AttributeType | None:
    declaration = None if schema is None else schema.event(event.type, event.stream)
    attribute = None if declaration is None else declaration.attribute(name)
    return None if attribute is None else attribute.type


def _cell(value: Value) -> str:
    return ("FALSE", "TRUE")[value] if isinstance(value, bool) else str(value)


def _ndjson(event: Event, n: int, schema: Schema | None) -> str:
    _check_names(event, n, "NDJSON")
    for name, value in event.attributes.items():
        is_time = isinstance(value, Timestamp | Duration)
        if is_time and _type_of(schema, event, name) is None:
            raise _cannot("NDJSON", value, _at(n, name))
        if isinstance(value, float) and not math.isfinite(value):
            raise _cannot("NDJSON", value, _at(n, name))
        if type(value) is int and not -(2**63) <= value < 2**63:
            raise _cannot("NDJSON", value, _at(n, name))
    stream = {} if event.stream is None else {"stream": event.stream}
    return row_text({"type": event.type, **stream, **event.attributes})


def _core(events: list[Event], file: TextIO, schema: Schema | None) -> None:
    form = "CORE's text form"
    for n, event in enumerate(events):
        for name, text in (("type", event.type), ("stream", event.stream)):
            if text is not None and not _WORD.fullmatch(text):
                raise _cannot(form, text, _at(n, name))
    for name in dict.fromkeys(name for event in events for name in event.attributes):
        values = [event.attributes.get(name) for event in events]
        if not any(isinstance(value, str) for value in values):
            _check_column(events, values, name, form, schema)
            continue
        for n, value in enumerate(values):
            if isinstance(value, str):
                _check_plain(value, _at(n, name), form)
            elif value is not None and schema is None:
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
        hint="Parquet and Arrow hold every column of one type, NDJSON every text, and a schema "
        "(--schema FILE) makes moments and durations of text",
    )
