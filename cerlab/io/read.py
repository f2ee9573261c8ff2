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
from cerlab.model.clauses import TimeWindow
from cerlab.model.columns import (
    Columns,
    is_arrow,
    numbers_of,
    order_of,
    values_of,
)
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
# numbers of shapes are bytes
_SHAPES = 256
"""The most sets of keys."""


class Stream(Events):
    """A stream as users hold it, with the ways to read one. Threads may share it."""

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
        """A stream of all that `cerlab.evaluate` takes; options as `from_events`.

        All events before `until` are among them: a time, or "end" where nothing will come. `sort`
        orders them by time, stably.

        Dicts with a ``type`` key, events, a pyarrow Table, a data frame, a path, another stream.

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
        """Read CSV, NDJSON, Parquet, Arrow IPC or CORE's text form, one file or several in order.

        `path` may be a list, a glob, or a folder, whose files are read by name, with all folders in
        it; those that are called ``key=value`` give a column `key`. CSV, NDJSON and CORE's form may
        be compressed (``.gz``, ``.zst``). `type` is the event type of rows that have none,
        `type_column` the column of event types, if it is not ``type``; `time` and `unit` name the
        time attribute, by which `sort` orders the events; `schema` is a `Schema` or the text of its
        declarations; ``records="Records"`` reads the list inside one object of JSON; see
        `cerlab.io.read` for more. A column of text has one type: the first of
        int64, double, boolean, timestamp and text that fits its cells, in all of the files.

        Raises `BadData` with file, row and column.
        """
        type = type_option(type, type_column)
        return read(path, type=type, time=time, unit=unit, schema=schema, sort=sort, **options)

    @classmethod
    def from_arrow(cls, table: Any, **options: Any) -> Stream:
        """A stream of the rows of an Arrow table with a ``type`` column; options as `read`."""
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
        """A stream of dicts with a ``type`` key (and, optionally, ``stream``), or of events.

        Options as `read`; a schema checks each of them. Raises `BadData` with the number of the
        event, from 1, and the key.

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
        """A pyarrow Table of the events: ``type``, ``stream`` if some have one, the attributes.

        Columns of a table or a frame have their types again, moments their zone; text of files and
        dicts is coded in a dictionary. Raises `BadData` for an attribute whose
        values are of several types.

        >>> Stream.from_events([{"type": "A", "v": 1}]).to_arrow().to_pylist()
        [{'type': 'A', 'v': 1}]
        """
        return events_table(self)

    def to_pandas(self) -> pd.DataFrame:
        """The same as a pandas DataFrame: its columns, types and index if they came from one."""
        with needed("pandas"):
            import pandas as pandas
        frame: pd.DataFrame = self.to_arrow().to_pandas()
        return frame

    def to_polars(self) -> pl.DataFrame:
        """The same as a polars DataFrame."""
        with needed("polars"):
            import polars
        frame = polars.from_arrow(self.to_arrow())
        assert isinstance(frame, polars.DataFrame)
        return frame


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
    table = pa.table({name: columns.as_read(name, array) for name, array in arrays.items()})
    # pandas finds there which column is its index, and its own types
    return table.replace_schema_metadata(columns.source and columns.source.metadata)


@lists_options(HowToReadFile)
def read(
    path: Source | Named,
    *,
    watch: Watch = iter,
    lazily: bool = False,
    **how: Unpack[HowToReadFile],
) -> Stream:
    """Read files (or ``-``, standard input) as a stream, whole.

    With `lazily`, a column of one file of Parquet or Arrow IPC is read at its first use, so an
    error in it is raised then; the file stays open, and must not be written to meanwhile.

    `type`, `time`, `unit`, `schema` as in `Stream.read`; `until`, `format`, `records` and
    `quarantine` as in `HowToReadFile`. `sort` orders the events by time, stably; `watch` sees parts
    of them pass (for a progress bar). Raises `BadData` with file, row and column, `UsageError` for
    another option.
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
    """Return the stream of files of columns; None where the files differ in their columns.

    Several files whose columns have the same names and types are one stream by parts.
    """
    source.check_columns()
    readings = [source.reading(file, options) for file in source.files]
    tables = [with_keys(f.columns.rows(), r) for f, r in zip(source.files, readings, strict=True)]
    if len(tables) == 1:
        if not lazily or options.schema is not None:
            tables[0].whole()  # a schema is checked against all columns
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
    """Return the events of files (or ``-``) as streams of at most `size` events, none empty.

    `attributes` says which are needed, besides ``type`` and ``stream``: of files that hold columns
    others may be missing. Standard input is read as it comes; `before_reading` is called when the
    next event may have to be waited for. The other arguments are those of `read`. Raises `BadData`
    with file, row and column, after the events before that row.

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
    """Return the events of a stream in order of time, those of one time in their order.

    Raises `UsageError` where nothing says which attribute is the time, `BadData` for an event that
    has none.
    """
    axis = stream.time or only_timestamp(stream)
    if axis is None:
        raise UsageError("CER0810", "sorting needs to know the time", hint=NAME_THE_TIME)
    return events_at(stream, _order(stream, axis))


def _order(stream: Events, axis: TimeAxis) -> NDArray[np.int64]:
    """Return the indices of events in order of time."""
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
    """Column by column where that is safe, else row by row."""

    if (rows := _table_rows(table, reading)) is None:
        events = arrow.table_events(table, reading)
        return Stream(events, time=axis, schema=reading.schema)
    return rows.stream(Stream, axis, reading.schema)


def _table_rows(table: Any, reading: RowReading) -> StreamRows | None:
    """Return the columns of a table and what makes its events; None of rows read one by one."""
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
    """A stream of the rows of a pyarrow Table, or of what can be one; options as `Stream.read`."""
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
    """Return a stream of anything that holds events.

    A `Stream`, dicts or `Event` values, a pyarrow Table, a pandas or polars data frame, a path.
    Of a stream `time` and `unit` replace its own time attribute. Raises `UsageError` for another
    option.
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
    """The stream of a path, a table, a frame or a stream; None of anything to be iterated."""
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
    """Return the error for values that are not sequences of events."""
    hint = 'a list of dicts with a "type" key, a table, a data frame or a path does'
    if type(value).__name__ == "LazyFrame":
        hint = "write frame.collect(), which is a data frame"
    return UsageError("CER0812", f"{type(value).__name__} holds no events", hint=hint)


def rows_of_dicts(dicts: Sequence[Any]) -> RowPart | None:
    """The events of some dicts by columns of values, ``type`` and ``stream`` last.

    None where each has to be looked at: what is no dict, keys and values that are no text and no
    `Value` as they stand, dicts without a type, and very many sets of keys.
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
            # one check for a column: which text it is, the reader of single events finds
            "".join([value for value in values if type(value) is str]).encode()
        "".join(names).encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return None
    numbers = {shape: n for n, shape in enumerate(shapes)}
    attributes = tuple(tuple(n for n in shape if n not in ("type", "stream")) for shape in shapes)
    shape = array("B", map(numbers.__getitem__, map(tuple, dicts))) if len(shapes) > 1 else None
    return RowPart(columns, len(dicts), attributes, shape)
