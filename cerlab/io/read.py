"""Streams as users hold them, read from files, standard input, tables, frames and lists."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Self, Unpack

from cerlab.budget import poll
from cerlab.errors import UsageError, keywords_by_name, lists_options, needed, refuse_misspelt
from cerlab.io import arrow
from cerlab.io.conversion import RowReading, conform_event, warn_of_column
from cerlab.io.declared import table_columns
from cerlab.io.named_columns import arrow_column
from cerlab.io.names import Named, names_files
from cerlab.io.options import (
    FileOptions,
    HowToRead,
    HowToReadFile,
    HowToReadTable,
    TableOptions,
    type_option,
)
from cerlab.io.parts import (
    POLLED,
    Part,
    RowPart,
    StreamRows,
    joined_rows,
    stream_of,
    with_keys,
)
from cerlab.io.readers import short_events, short_streams
from cerlab.io.source import SIZE, Source, Watch, as_source
from cerlab.logic.ceql.parser import as_schema
from cerlab.model.arrays import numbers_of, order_of
from cerlab.model.clauses import TimeWindow
from cerlab.model.columns import Columns, is_arrow, values_of
from cerlab.model.event import Event, Schema, Timestamp, TypeColumn
from cerlab.model.stream import (
    NAME_THE_TIME,
    AnyStream,
    TimeAxis,
    TimeUnit,
    Until,
    axis_of_options,
    clock_for,
    events_at,
    events_of_dicts,
    only_timestamp,
)
from cerlab.model.stream import Stream as Events

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from numpy.typing import NDArray

_PLAIN = {bool, int, float, str, Timestamp, type(None)}
# so that the number of a shape fits into one byte
_SHAPES = 256
"""Most different sets of keys in dicts that are read by columns."""


class Stream(Events):
    """The stream that users create and read from files. Threads may share it."""

    __slots__ = ()

    @keywords_by_name
    def __init__(
        self,
        events: Any,
        *,
        type: str | None = None,
        type_column: str | None = None,
        time: str | TimeAxis | None = None,
        unit: str | TimeUnit | None = None,
        schema: Schema | str | None = None,
        until: Until | None = None,
        sort: bool = False,
    ) -> None:
        """Create a stream from anything that `cerlab.evaluate` accepts.

        Args:
            events: dicts with a ``type`` key, events, a pyarrow Table, a data frame, a path, or
                another stream.
            type: the event type of events that have none.
            type_column: the column of event types, if it is not ``type``.
            time: the time attribute.
            unit: the unit of a numeric time, such as "s".
            schema: a `Schema`, or the text of its declarations, that events are checked against.
            sort: order the events by time, stably (default: False).
            until: a time before which all events have arrived, or "end" after the last event.

        >>> len(Stream([{"type": "A", "t": 1}, {"t": 2}], type="B", time="t", unit="s"))
        2
        """
        type = type_option(type, type_column)
        if sort:
            self._hold(
                sorted_by_time(Stream(events, type=type, time=time, unit=unit, schema=schema))
            )
            self.until = until
            return
        of_one = not isinstance(events, list | tuple) or names_files(events)
        if of_one and (other := _other_stream(events, schema, type=type)) is not None:
            axis = time if isinstance(time, TimeAxis) else axis_of_options(time, unit)
            self._hold((other if axis is None else other.on_time(axis)).up_to(until))
            return
        if not isinstance(events, list | tuple):
            _check_iterable(events)
        axis = time if isinstance(time, TimeAxis) else axis_of_options(time, unit)
        schema = as_schema(schema)
        records = tuple(events)
        if type is not None and not isinstance(type, TypeColumn) and records:
            warn_of_column(type, records[0] if isinstance(records[0], Mapping) else ())
        rows = rows_of_dicts(records) if schema is None and type is None else None
        if rows is not None:
            super().__init__((), time=axis, until=until)
            self._events, self._length = None, rows.count
            self._lists, self._load = rows.columns, rows.events
            self._between = rows.events_between
            return
        own = tuple(each for each in records if isinstance(each, Event))
        if len(own) < len(records):
            own = events_of_dicts(records, type)
            if schema is not None:
                reading = RowReading("the events", schema)
                own = tuple(conform_event(event, reading, n) for n, event in enumerate(own, 1))
        super().__init__(own, time=axis, schema=schema, until=until)

    @classmethod
    def read(
        cls,
        path: Source | Named,
        *,
        type: str | None = None,
        type_column: str | None = None,
        time: str | None = None,
        unit: str | TimeUnit | None = None,
        schema: Schema | str | None = None,
        sort: bool = False,
        **options: Any,
    ) -> Stream:
        """Read CSV, NDJSON, Parquet, Arrow IPC or CORE's text form, from one or more files.

        CSV, NDJSON and CORE's form may be compressed (``.gz``, ``.zst``). A column of text has one
        type: the first of int64, double, boolean, timestamp and text that fits its cells, in all
        files.

        Args:
            path: a path, a list of paths, a glob, or a folder, whose files are read recursively in
                order of name; folders named ``key=value`` add a column `key`.
            type: the event type of rows that have none.
            type_column: the column of event types, if it is not ``type``.
            time: the time attribute.
            unit: the unit of a numeric time.
            schema: a `Schema` or the text of its declarations.
            sort: order the events by time, stably.
            options: further options of `cerlab.io.read`, such as ``records="Records"``, the path of
                the list inside a JSON object.

        Raises:
            BadData: for an unreadable row, with file, row and column.
        """
        type = type_option(type, type_column)
        return read(path, type=type, time=time, unit=unit, schema=schema, sort=sort, **options)

    @classmethod
    def from_arrow(cls, table: Any, **options: Any) -> Stream:
        """Return a stream of the rows of an Arrow table with a ``type`` column.

        Options as `read`.
        """
        return from_arrow(table, **options)

    @classmethod
    @keywords_by_name
    def from_events(
        cls,
        events: Iterable[Event | Mapping[str, Any]],
        *,
        type: str | None = None,
        type_column: str | None = None,
        time: str | None = None,
        unit: str | TimeUnit | None = None,
        schema: Schema | str | None = None,
    ) -> Self:
        """Return a stream of dicts with a ``type`` key (and maybe ``stream``), or of events.

        The options are those of `read`; a schema checks each event.

        Raises:
            BadData: for an invalid event, with its number, counted from 1, and the key.

        >>> len(Stream.from_events([{"type": "A"}, {"type": "B", "v": 1}]))
        2
        """
        type = type_option(type, type_column)
        _check_iterable(events)
        of = cls if isinstance(events, list | tuple) else super().from_events
        stream = of(events, type=type, time=time, unit=unit)
        if schema is None:
            return stream
        schema = as_schema(schema)
        reading = RowReading("the events", schema)
        valid_events = [conform_event(event, reading, n) for n, event in enumerate(stream, 1)]
        return cls(valid_events, time=stream.time, schema=schema)

    def to_arrow(self) -> pa.Table:
        """Return a pyarrow Table of the events: ``type``, maybe ``stream``, the attributes.

        Columns of a table or a frame keep their types, and moments their zone; text of files and
        dicts is dictionary-encoded.

        Raises:
            BadData: for an attribute with values of several types.

        >>> Stream.from_events([{"type": "A", "v": 1}]).to_arrow().to_pylist()
        [{'type': 'A', 'v': 1}]
        """
        return events_table(self)

    def to_pandas(self) -> pd.DataFrame:
        """Return the events as a pandas DataFrame with columns, types and index of the source."""
        with needed("pandas"):
            import pandas as pandas
        frame: pd.DataFrame = self.to_arrow().to_pandas()
        return frame

    def to_polars(self) -> pl.DataFrame:
        """Return the events as a polars DataFrame."""
        with needed("polars"):
            import polars
        frame = polars.from_arrow(self.to_arrow())
        assert isinstance(frame, polars.DataFrame)
        return frame


def events_table(stream: Events) -> Any:
    """Return the events of a stream as a pyarrow Table, as `Stream.to_arrow` does."""
    import pyarrow as pa

    columns = stream.columns
    attributes = [name for name in columns if name not in ("type", "stream")]
    arrays = {name: arrow_column(columns[name], name) for name in ("type", *attributes)}
    if "stream" in columns and len(stream):
        streams = arrow_column(columns["stream"], "stream")
        if streams.null_count < len(stream):
            arrays["stream"] = streams
    table = pa.table({name: columns.as_read(name, array) for name, array in arrays.items()})
    # the metadata tells pandas which column is its index, and its own types
    return table.replace_schema_metadata(columns.source and columns.source.metadata)


@lists_options(HowToReadFile)
def read(
    path: Source | Named,
    *,
    watch: Watch = iter,
    lazily: bool = False,
    **how: Unpack[HowToReadFile],
) -> Stream:
    """Read whole files (or ``-``, standard input) as one stream.

    With `lazily`, a column of one file of Parquet or Arrow IPC is read on first use, and errors in
    it are raised then; the file stays open, and must not be changed meanwhile. `type`, `time`,
    `unit`, `schema` as in `Stream.read`; `until`, `format`, `records` and `quarantine` as in
    `HowToReadFile`. `sort` orders the events by time, stably; `watch` receives the parts (for a
    progress bar). Raises `BadData` with file, row and column, `UsageError` for another option.
    """
    if not how.keys() <= HowToReadFile.__optional_keys__:
        refuse_misspelt(how, HowToReadFile.__optional_keys__)
    options = FileOptions(**how)
    stream = _stream_of_files(
        as_source(path, options.format, options.records), options, watch, lazily
    )
    return (sorted_by_time(stream) if options.sort else stream).up_to(options.until)


def _stream_of_files(source: Source, options: FileOptions, watch: Watch, lazily: bool) -> Stream:
    axis, schema = options.axis, as_schema(options.schema)
    parts: Iterable[Part] | None = None
    if options.quarantine is None and source.holds_columns:
        stream = _stream_of_columns(source, options, lazily)
        if stream is not None:
            return stream
    elif len(source.files) == 1 and options.quarantine is None and not source.is_pipe:
        events = None if schema else short_events(source.files[0], options)
        parts = None if events is None else watch(iter([events]))
    return stream_of(list(parts or source.parts(options, watch=watch)), axis, schema, Stream)


def _stream_of_columns(source: Source, options: FileOptions, lazily: bool) -> Stream | None:
    """Return the stream of column files; None if the files differ in their columns.

    Several files whose columns have equal names and types become one stream by parts.
    """
    source.check_columns()
    readings = [source.reading(file, options) for file in source.files]
    tables = [with_keys(f.columns.rows(), r) for f, r in zip(source.files, readings, strict=True)]
    if len(tables) == 1:
        if not lazily or options.schema is not None:
            tables[0].whole()  # checking the schema needs all columns
        return _table_stream(tables[0], readings[0], options.axis)
    fields = {tuple((field.name, field.type) for field in table.schema) for table in tables}
    if options.schema is not None or len(fields) > 1:
        return None
    rows = []
    for table, reading in zip(tables, readings, strict=True):
        if not lazily or table.num_rows <= arrow.SHORT_FILE:
            table.whole()
        if (of_table := _table_rows(table, reading)) is None:
            return None
        rows.append(of_table)
    return joined_rows(rows).stream(Stream, options.axis, None)


@lists_options(HowToReadFile)
def batches(
    path: Source | Named,
    *,
    size: int = SIZE,
    attributes: Collection[str] | None = None,
    before_reading: Callable[[], None] | None = None,
    **how: Unpack[HowToReadFile],
) -> Iterator[Stream]:
    """Yield the events of files (or ``-``) as streams of at most `size` events, none empty.

    `attributes` are those needed besides ``type`` and ``stream``: files of columns may lack others.
    Standard input is read as it arrives; `before_reading` is called before a read that may wait.
    The other arguments are those of `read`. Raises `BadData` with file, row and column, after the
    events before that row.

    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "e.core").write_text("A(v=1)\\nB(v=2)\\nA(v=3)\\n")
    ...     [len(batch) for batch in batches(Path(folder) / "e.core", size=2)]
    [2, 1]
    """
    return short_streams(
        Stream, path, size=size, attributes=attributes, before_reading=before_reading, **how
    )


def sorted_by_time(stream: AnyStream) -> AnyStream:
    """Return the events of a stream sorted by time, stably.

    Raises `UsageError` without a time attribute, `BadData` for an event without a time.
    """
    axis = stream.time or only_timestamp(stream)
    if axis is None:
        raise UsageError("CER0810", "sorting needs a time attribute", hint=NAME_THE_TIME)
    return events_at(stream, _order(stream, axis))


def _order(stream: Events, axis: TimeAxis) -> NDArray[np.int64]:
    """Return the indices of events sorted by time."""
    import numpy as np
    import pyarrow as pa

    column = stream.columns.get(axis.attribute, [None] * len(stream))
    if len(stream) and is_arrow(column) and not column.null_count:
        is_time = column.type == pa.timestamp("ns", getattr(column.type, "tz", None))
        if is_time or (pa.types.is_integer(column.type) and axis.unit is not None):
            chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
            numbers = [numbers_of(chunk.cast(pa.int64())) for chunk in chunks]
            return order_of(np.concatenate(numbers))
    clock = clock_for(TimeWindow(0), axis)
    times = []
    for n, value in enumerate(values_of(column, axis.attribute)):
        if n % POLLED == 0:
            poll()
        times.append(clock(Event("?", {axis.attribute: value}), n))
    return order_of(np.array(times, object))


def _table_stream(table: Any, reading: RowReading, axis: TimeAxis | None) -> Stream:
    """Return the stream of a table: by columns if that is exact, otherwise row by row."""

    if (rows := _table_rows(table, reading)) is None:
        events = arrow.table_events(table, reading)
        return Stream(events, time=axis, schema=reading.schema)
    return rows.stream(Stream, axis, reading.schema)


def _table_rows(table: Any, reading: RowReading) -> StreamRows | None:
    """Return the columns of a table, and the function that yields its events.

    None for rows read one by one.
    """
    if (columns := table_columns(table, reading)) is None:
        return None
    parts = None
    if reading.schema is None and isinstance(columns, Columns):
        parts = arrow.parts_of(table, columns, reading)
    load = partial(arrow.table_events, table, reading)
    between = arrow.events_between(table, reading)
    return StreamRows(columns, table.num_rows, load, between, parts)


@lists_options(HowToReadTable)
def from_arrow(table: Any, **how: Unpack[HowToReadTable]) -> Stream:
    """Return a stream of the rows of a pyarrow Table or a value that converts to one.

    Options as `Stream.read`.
    """
    if (arrow_table := arrow.as_table(table)) is None:
        raise _no_events(table)
    return _of_table(arrow_table, **how)


def _of_table(table: Any, **how: Unpack[HowToReadTable]) -> Stream:
    if not how.keys() <= HowToReadTable.__optional_keys__:
        refuse_misspelt(how, HowToReadTable.__optional_keys__)
    options = TableOptions(**how)
    reading = options.reading("the table")
    stream = _table_stream(with_keys(table, reading), reading, options.axis)
    return (sorted_by_time(stream) if options.sort else stream).up_to(options.until)


@lists_options(HowToRead)
def as_stream(events: Any, **how: Unpack[HowToRead]) -> Events:
    """Return a stream of anything that contains events.

    `events` is a `Stream`, dicts or `Event` values, a pyarrow Table, a pandas or polars data frame,
    or a path. For a stream, `time` and `unit` replace its time attribute. Raises `UsageError` for
    another option.
    """
    if not how.keys() <= HowToReadTable.__optional_keys__ and not names_files(events):
        refuse_misspelt(how, HowToReadTable.__optional_keys__)
    if isinstance(events, Events):
        options = TableOptions(**how)
        stream = events if options.axis is None else events.on_time(options.axis)
        return (sorted_by_time(stream) if options.sort else stream).up_to(options.until)
    if isinstance(events, list | tuple) and not names_files(events):
        return Stream(events, **how)
    other = _other_stream(events, lazily=True, **how)
    return Stream(events, **how) if other is None else other


def _other_stream(
    events: Any,
    schema: Schema | str | None = None,
    *,
    lazily: bool = False,
    **how: Unpack[HowToRead],
) -> Events | None:
    """Return the stream of a path, table, frame or stream; None for other iterables."""
    if isinstance(events, Events):
        return events
    if isinstance(events, Source) or names_files(events):
        return read(events, schema=schema, lazily=lazily, **how)
    if (table := arrow.as_table(events)) is not None:
        return _of_table(table, schema=schema, **how)
    if (rows := arrow.rows_of_frame(events)) is not None:
        return Stream(rows, schema=schema, **how)
    return None


def _check_iterable(events: Any) -> None:
    """Raise `UsageError` for values that cannot be iterated as events."""
    if isinstance(events, bytes | Mapping) or not isinstance(events, Iterable):
        raise _no_events(events)


def _no_events(value: Any) -> UsageError:
    """Return the error for a value that is not a sequence of events."""
    hint = 'a list of dicts with a "type" key, a table, a data frame or a path does'
    if type(value).__name__ == "LazyFrame":
        hint = "write frame.collect(), which is a data frame"
    return UsageError("CER0812", f"{type(value).__name__} holds no events", hint=hint)


def rows_of_dicts(dicts: Sequence[Any]) -> RowPart | None:
    """Return the events of some dicts as columns of values, ``type`` and ``stream`` last.

    None if each must be checked: for values that are not dicts, keys or types that are not text,
    values that are not a `Value`, dicts without a type, and too many different sets of keys.
    """
    if not dicts or set(map(type, dicts)) != {dict}:
        return None
    shapes = dict.fromkeys(map(tuple, dicts))
    names = dict.fromkeys(name for shape in shapes for name in shape)
    if len(shapes) > _SHAPES or not all(type(name) is str for name in names):
        return None
    columns: dict[str, list[Any]] = {}
    for name in names:
        poll()
        columns[name] = [row.get(name) for row in dicts]
    types = columns.pop("type", [])
    streams = columns.pop("stream", [None] * len(dicts))
    if set(map(type, types)) != {str} or not all(types):
        return None
    if not set(map(type, streams)) <= {str, type(None)}:
        return None
    columns.update(type=types, stream=streams)
    if not all(set(map(type, values)) <= _PLAIN for values in columns.values()):
        return None
    try:
        for values in columns.values():
            poll()
            # one check for a whole column; reading single events finds the invalid text
            "".join([value for value in values if type(value) is str]).encode()
        "".join(names).encode()
    except UnicodeEncodeError:  # a text contains half of a surrogate pair
        return None
    numbers = {shape: n for n, shape in enumerate(shapes)}
    attributes = tuple(tuple(n for n in shape if n not in ("type", "stream")) for shape in shapes)
    shape = array("B", map(numbers.__getitem__, map(tuple, dicts))) if len(shapes) > 1 else None
    return RowPart(columns, len(dicts), attributes, shape)
