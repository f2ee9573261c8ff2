"""Reading events, whatever the format: files, standard input, tables, lists."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from os import PathLike
from pathlib import Path
from typing import Any, Self, Unpack

from cerlab.errors import UsageError
from cerlab.io import arrow, ndjson
from cerlab.io.conversion import Reading, conform_event
from cerlab.io.declared import table_columns
from cerlab.io.dicts import rows_of_dicts
from cerlab.io.lines import Lines
from cerlab.io.named_columns import arrow_column
from cerlab.io.pipe import arriving_lines
from cerlab.io.rows import Part, batched, events_of, stream_of
from cerlab.io.sources import (
    COLUMNAR,
    FileOptions,
    HowToRead,
    HowToReadFile,
    HowToReadTable,
    TableOptions,
    empty,
    existing,
    format_of,
    is_pipe,
    looks_like,
    name_of,
    open_quarantine,
)
from cerlab.io.text import ROWS, known_kind, text_events, text_parts
from cerlab.logic.ceql.parser import as_schema
from cerlab.model.clauses import TimeWindow
from cerlab.model.event import Event, Schema
from cerlab.model.stream import Stream as Events
from cerlab.model.stream import (
    TimeAxis,
    TimeUnit,
    axis_of_options,
    clock_for,
    events_of_dicts,
    only_timestamp,
)


class Stream(Events):
    """A stream as users hold it, with the ways to read one (DESIGN 2.1)."""

    __slots__ = ()

    def __init__(
        self,
        events: Iterable[Event | Mapping[str, Any]],
        *,
        type: str | None = None,
        time: str | TimeAxis | None = None,
        unit: str | TimeUnit | None = None,
        schema: Schema | str | None = None,
    ) -> None:
        """A stream of dicts with a ``type`` key, or of events; options as `from_events`.

        >>> len(Stream([{"type": "A", "t": 1}, {"t": 2}], type="B", time="t", unit="s"))
        2
        """
        of_one = isinstance(events, str | bytes | PathLike | Mapping)
        if of_one or not isinstance(events, Iterable):
            raise _no_events(events)
        axis = time if isinstance(time, TimeAxis) else axis_of_options(time, unit)
        schema = as_schema(schema)
        records = tuple(events)
        rows = rows_of_dicts(records) if schema is None and type is None else None
        if rows is not None:
            super().__init__((), time=axis)
            self._events, self._length = None, rows.count
            self._lists, self._load = rows.columns, rows.events
            return
        own = tuple(each for each in records if isinstance(each, Event))
        if len(own) < len(records):
            own = events_of_dicts(records, type)
            if schema is not None:
                reading = Reading("the events", schema)
                own = tuple(conform_event(event, reading, n) for n, event in enumerate(own, 1))
        super().__init__(own, time=axis, schema=schema)

    @classmethod
    def read(
        cls,
        path: str | PathLike[str],
        *,
        type: str | None = None,
        time: str | None = None,
        unit: str | TimeUnit | None = None,
        schema: Schema | str | None = None,
        **options: Any,
    ) -> Stream:
        """Read CSV, NDJSON, Parquet, Arrow IPC or CORE's text form; see `cerlab.io.read`.

        `type` is the event type of all rows where the file has no ``type`` column, or a
        `TypeColumn`, the name of the column that holds them; `time` and `unit` name the time
        attribute; `schema` is a `Schema` or the text of its declarations.
        """
        return read(path, type=type, time=time, unit=unit, schema=schema, **options)

    @classmethod
    def from_arrow(cls, table: Any, **options: Any) -> Stream:
        """A stream of the rows of an Arrow table with a ``type`` column; options as `read`."""
        return from_arrow(table, **options)

    @classmethod
    def from_events(
        cls,
        events: Iterable[Event | Mapping[str, Any]],
        *,
        type: str | None = None,
        time: str | None = None,
        unit: str | TimeUnit | None = None,
        schema: Schema | str | None = None,
    ) -> Self:
        """A stream of dicts with a ``type`` key (and, optionally, ``stream``), or of events.

        Options as `read`; a schema checks each of them. Raises `BadData` with the number of the
        event, from 1, and the key.

        >>> len(Stream.from_events([{"type": "A"}, {"type": "B", "v": 1}]))
        2
        """
        of = cls if isinstance(events, list | tuple) else super().from_events
        stream = of(events, type=type, time=time, unit=unit)
        if schema is None:
            return stream
        schema = as_schema(schema)
        reading = Reading("the events", schema)
        valid_events = [conform_event(event, reading, n) for n, event in enumerate(stream, 1)]
        return cls(valid_events, time=stream.time, schema=schema)

    def to_arrow(self) -> Any:
        """A pyarrow Table of the events: ``type``, ``stream`` if some have one, the attributes.

        Text may be coded in a dictionary. Raises `BadData` for an attribute whose values are of
        several types.

        >>> Stream.from_events([{"type": "A", "v": 1}]).to_arrow().to_pylist()
        [{'type': 'A', 'v': 1}]
        """
        return events_table(self)

    def to_pandas(self) -> Any:
        """The same as a pandas DataFrame."""
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """The same as a polars DataFrame."""
        import polars

        return polars.from_arrow(self.to_arrow())


def events_table(stream: Events) -> Any:
    """The events of a stream as a pyarrow Table, as `Stream.to_arrow`."""
    import pyarrow as pa

    columns = stream.columns
    attributes = [name for name in columns if name not in ("type", "stream")]
    arrays = {name: arrow_column(columns[name], name) for name in ("type", *attributes)}
    if "stream" in columns and len(stream):
        streams = arrow_column(columns["stream"], "stream")
        if streams.null_count < len(stream):
            arrays["stream"] = streams
    return pa.table(arrays)


def read(
    path: str | PathLike[str],
    *,
    sort: bool = False,
    watch: Callable[[Iterator[Part]], Iterable[Part]] = iter,
    **how: Unpack[HowToReadFile],
) -> Stream:
    """Read a whole file (or ``-``, standard input) as a stream.

    `type`, `time`, `unit`, `schema` as in `Stream.read`, `format` and `quarantine` as in
    `HowToReadFile`. `sort` orders the events by time, stably; `watch` sees parts of them pass (for
    a progress bar). Raises `BadData` with file, row and column.
    """
    options = FileOptions(**how)
    axis, reading = options.axis, options.reading(str(path))
    as_it_is = not sort and options.quarantine is None
    if as_it_is and (kind := _table_kind(path, options.format)) is not None:
        return _table_stream(arrow.read_file(Path(path), kind, as_codes=True), reading, axis)
    stream = stream_of(list(watch(read_parts(path, options))), axis, reading.schema, Stream)
    if not sort:
        return stream
    return Stream(_sort_by_time(stream.events, axis), time=axis, schema=reading.schema)


def _table_kind(path: str | PathLike[str], format: str | None) -> str | None:
    """``parquet`` or ``arrow`` if the file is one that is there, None for all else."""
    file = Path(path)
    if not os.path.isfile(path) or not file.stat().st_size:
        return None
    kind = format_of(file, format)
    return kind if kind in COLUMNAR else None


def _sort_by_time(events: tuple[Event, ...], axis: TimeAxis | None) -> list[Event]:
    axis = axis or only_timestamp(events)
    if axis is None:
        raise UsageError("CER0810", "sorting needs to know the time", hint="add --time COLUMN:UNIT")
    clock = clock_for(TimeWindow(0), axis)
    pairs = [(clock(event, position), event) for position, event in enumerate(events)]
    return [event for _, event in sorted(pairs, key=lambda pair: pair[0])]


def read_events(
    path: str | PathLike[str],
    *,
    before_reading: Callable[[], None] | None = None,
    watch: Callable[[Iterator[Event]], Iterable[Event]] = iter,
    **how: Unpack[HowToReadFile],
) -> Iterator[Event]:
    """The events of a file (or ``-``) as they are read; events have no time axis.

    `before_reading` is called, on standard input and FIFOs, whenever the events of all that has
    arrived were taken and the next one may have to be waited for; there `watch` sees them pass.
    """
    options = FileOptions(**how)
    if is_pipe(path):
        return iter(watch(_arriving(path, options, before_reading)))
    return (event for part in read_parts(path, options) for event in events_of(part))


def _arriving(
    path: str | PathLike[str],
    options: FileOptions,
    before_reading: Callable[[], None] | None = None,
) -> Iterator[Event]:
    with open_quarantine(options.quarantine, path) as on_bad_row:
        errors = "strict" if on_bad_row is None else "surrogateescape"
        lines = arriving_lines(path, before_reading, errors=errors)
        reading = options.reading(name_of(path), on_bad_row)
        yield from text_events(lines, options.format, reading)


def read_parts(path: str | PathLike[str], options: FileOptions, size: int = ROWS) -> Iterator[Part]:
    """The events of a file (or ``-``) in parts of at most `size`; an error comes after the others.

    Files of text that are large enough are read by the shape of their lines (`cerlab.io.text`).
    """
    if is_pipe(path):
        yield from batched(_arriving(path, options), size)
        return
    file = existing(path)
    kind = format_of(file, options.format)
    with ExitStack() as stack:
        on_bad_row = stack.enter_context(open_quarantine(options.quarantine, path))
        reading = options.reading(str(path), on_bad_row)
        if kind in COLUMNAR:
            yield from batched(arrow.table_events(arrow.read_file(file, kind), reading), size)
            return
        raw = stack.enter_context(file.open("rb"))
        lines = Lines(raw, str(path), strict=on_bad_row is None)
        if (first := lines.first_text()) is None:
            raise empty(str(path))
        kind = known_kind(kind or looks_like(first))
        if kind == "ndjson" and ndjson.begins_array(first):
            yield from batched(ndjson.read_array(lines, reading), size)
            return
        yield from text_parts(lines, kind, reading, size, file.stat().st_size)


def _table_stream(table: Any, reading: Reading, axis: TimeAxis | None) -> Stream:
    """Column by column where that is safe, else row by row."""

    def load() -> Iterator[Event]:
        return arrow.table_events(table, reading)

    columns = table_columns(table, reading)
    if columns is None:
        return Stream(load(), time=axis, schema=reading.schema)
    return Stream.from_columns(columns, table.num_rows, load, time=axis, schema=reading.schema)


def from_arrow(table: Any, **how: Unpack[HowToReadTable]) -> Stream:
    """A stream of the rows of a pyarrow Table, or of what can be one; options as `Stream.read`."""
    if (arrow_table := arrow.as_table(table, as_codes=True)) is None:
        raise _no_events(table)
    return _of_table(arrow_table, **how)


def _of_table(table: Any, **how: Unpack[HowToReadTable]) -> Stream:
    options = TableOptions(**how)
    return _table_stream(table, options.reading("the table"), options.axis)


def as_stream(events: Any, **how: Unpack[HowToRead]) -> Events:
    """A stream of anything that holds events (DESIGN 2.1).

    A `Stream`, dicts or `Event` values, a pyarrow Table, a pandas or polars data frame, a path.
    Of a stream `time` and `unit` replace its own time attribute.
    """
    if isinstance(events, Events):
        axis = TableOptions(**how).axis
        return events if axis is None else events.on_time(axis)
    if isinstance(events, str | PathLike):
        return read(events, **how)
    if not isinstance(events, list | tuple):
        if (table := arrow.as_table(events, as_codes=True)) is not None:
            return _of_table(table, **how)
        if hasattr(events, "to_dict") and hasattr(events, "columns"):
            events = events.to_dict(orient="records")
    return Stream(events, **how)


def _no_events(value: Any) -> UsageError:
    """The error for what is no sequence of events."""
    return UsageError(
        "CER0812",
        f"{type(value).__name__} holds no events",
        hint='a list of dicts with a "type" key, a table, a data frame or a path does',
    )
