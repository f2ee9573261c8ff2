"""Events between a source and a stream: as columns, or one by one."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

from cerlab.budget import poll
from cerlab.errors import BadData
from cerlab.io.arrow import FileTable, repeated
from cerlab.io.conversion import RowReading
from cerlab.io.nested import Nested, NestedColumns, RowPaths
from cerlab.model.columns import (
    Column,
    Columns,
    PartsOf,
    array_of,
    as_arrow,
    concat_columns,
    uncoded_of,
    values_of,
)
from cerlab.model.event import Event, PartlyReadable, Schema, TypeColumn, has_path, value_of
from cerlab.model.paths import field_column, fields_of
from cerlab.model.stream import Between, Stream, TimeAxis

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

POLLED = 1 << 10
"""Events between two checks of the limits: a check takes 1 µs, about as long as an event."""


class Refused(Exception):
    """The signal that columns cannot be read; reading single rows then finds the reason."""


LINE_END = re.compile(rb"\r\n|\n|\r")


def line_offset(data: bytes, lines: int) -> int:
    """Return the offset of the line after `lines` lines."""
    ends = [match.end() for match in islice(LINE_END.finditer(data), lines)]
    return len(data) if len(ends) < lines else (ends[-1] if ends else 0)


def line_ends(data: bytes) -> NDArray[np.int64]:
    """Return the offsets in some bytes at which lines end."""
    import numpy as np

    return np.flatnonzero(np.frombuffer(data, np.uint8) == 10)


def new_lines(data: bytes) -> int:
    """Return the number of ``\\n``; for long texts NumPy counts ten times as fast."""
    if len(data) < 1 << 12 or "numpy" not in sys.modules:
        return data.count(b"\n")
    import numpy as np

    return int(np.count_nonzero(np.frombuffer(data, np.uint8) == 10))


def is_utf_8(data: bytes) -> bool:
    """Return whether some bytes are valid UTF-8."""
    try:
        return data.isascii() or data.decode() is not None
    except UnicodeDecodeError:
        return False


def lone_returns(data: bytes) -> int:
    """Return the number of ``\\r`` that end a line alone, which pyarrow does not recognise."""
    import numpy as np

    if b"\r" not in data:
        return 0
    characters = np.frombuffer(data + b"\r", np.uint8)
    after = characters[np.flatnonzero(characters[:-1] == 13) + 1]
    return int(np.count_nonzero(after != 10))


def has_plain_quotes(data: bytes, quote: bytes, delimiters: bytes) -> bool:
    """Return whether each quotation is a whole cell; pyarrow also accepts ``"a"b``."""
    import numpy as np

    characters = np.frombuffer(b"\n" + data + b"\n", np.uint8)
    quotes = np.flatnonzero(characters == quote[0])
    is_end = np.zeros(256, np.bool_)  # a lookup table is ten times as fast as `isin`
    is_end[list(delimiters + b"\n")] = True
    # quotes alternate between opening and closing
    if len(quotes) % 2 or not is_end[characters[quotes[::2] - 1]].all():
        return False
    is_end[ord("\r")] = True
    return bool(is_end[characters[quotes[1::2] + 1]].all())


def one_array(column: Any) -> Any:
    """Return an Arrow column as a single array; Arrow would copy even a single chunk."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def with_keys(table: Any, reading: RowReading) -> Any:
    """Return a table with one more column for each key of its file's folders.

    A path to the event types becomes a column, too.
    """
    import pyarrow as pa

    for name, key in reading.keys.items():
        array = None if key.value is None else array_of([key.value])
        value = pa.nulls(1, key.kind) if array is None else array
        if isinstance(table, FileTable):
            table = table.append_constant(name, value)
        else:
            table = table.append_column(name, repeated(value, table.num_rows))
    type_name, names = reading.type_name, table.column_names
    if not isinstance(type_name, TypeColumn) or type_name in names:
        return table
    fields = fields_of(type_name)
    if fields is None or names.count(fields[0]) != 1:
        return table
    with suppress(KeyError):  # a missing path
        column = field_column(table.column(names.index(fields[0])), fields, type_name)
        table = table.append_column(type_name, column)
    return table


class Quoted(str):
    """A cell that is text because it was quoted, even if it looks like a number."""

    __slots__ = ()


class TextRow(NamedTuple):
    """A row of a text whose cells are not converted yet."""

    number: int
    text: str
    type: str
    stream: str | None
    cells: dict[str, str | None]


T = TypeVar("T", Event, TextRow)


@dataclass(frozen=True, slots=True)
class RowPart:
    """Events by columns: ``type``, possibly ``stream``, and attributes."""

    columns: dict[str, Column]
    count: int
    names: tuple[tuple[str, ...], ...]
    """The attribute names of each shape of events, in order."""
    shape: Any = None
    """The shape of each event, as an integer; None if all events have one shape."""

    def has_all(self, attributes: Sequence[str]) -> bool:
        """Return whether every event has exactly these attributes, in this order."""
        return self.shape is None and self.names == (tuple(attributes),)

    @property
    def nested(self) -> NestedColumns:
        """The nested columns (of objects or lists) of these events."""
        columns = self.columns.items()
        return NestedColumns({name: c for name, c in columns if isinstance(c, Nested)})

    def events(self) -> Iterator[Event]:
        """Yield the events of the part; raises `ResourceLimit`."""
        values: dict[str, Any] = {
            name: column if isinstance(column, list) else values_of(column, name)
            for name, column in self.columns.items()
            if not isinstance(column, Nested)
        }
        nothing = [None] * self.count
        types, streams = values["type"], values.get("stream", nothing)
        if len(values) < len(self.columns):
            yield from self._nested_events(values, types, streams)
            return
        if self.shape is None:
            (names,) = self.names
            rows = zip(*(values[name] for name in names), strict=True) if names else nothing
            for n, (kind, stream, row) in enumerate(zip(types, streams, rows, strict=True)):
                if n % POLLED == 0:
                    poll()
                yield Event(kind, dict(zip(names, row or (), strict=True)), stream)
            return
        for n, s in enumerate(self.shape.tolist()):
            if n % POLLED == 0:
                poll()
            yield Event(types[n], {name: values[name][n] for name in self.names[s]}, streams[n])

    def _nested_events(
        self, values: Mapping[str, Any], types: Sequence[str], streams: Sequence[str | None]
    ) -> Iterator[Event]:
        """Yield the events of a part with nested columns."""
        nested = {name: c for name, c in self.columns.items() if isinstance(c, Nested)}
        nulls = {name: column.is_null() for name, column in nested.items()}
        errors = {name: column.error(name) for name, column in nested.items()}
        shapes = [0] * self.count if self.shape is None else self.shape.tolist()
        of_paths = NestedColumns(nested)
        for n, s in enumerate(shapes):
            if n % POLLED == 0:
                poll()
            names = self.names[s]
            row = {name: values[name][n] if name in values else None for name in names}
            own = {name: errors[name] for name in names if name in nested and not nulls[name][n]}
            row = {name: value for name, value in row.items() if name not in own} if own else row
            attributes = PartlyReadable(names, row, own, RowPaths(of_paths, n)) if own else row
            yield Event(types[n], attributes, streams[n])

    def events_between(self, start: int, stop: int) -> Iterator[Event]:
        """Yield the events from row `start` to before row `stop`; raises as `events`."""
        return self.between(start, stop).events()

    def between(self, start: int, stop: int) -> RowPart:
        """Return the rows from `start` to before `stop`, or to the last one."""
        if start == 0 and stop == self.count:
            return self
        columns = {name: column[start:stop] for name, column in self.columns.items()}
        shape = None if self.shape is None else self.shape[start:stop]
        return RowPart(columns, stop - start, self.names, shape)

    def slices(self, size: int) -> Iterator[RowPart]:
        """Yield the rows in parts of at most `size` rows."""
        for begin in range(0, max(self.count, 1), size):
            yield self.between(begin, min(begin + size, self.count))


Part: TypeAlias = RowPart | list[Event]
"""Consecutive events, as columns or as a list."""


def length(part: Part) -> int:
    """Return the number of events in a part."""
    return part.count if isinstance(part, RowPart) else len(part)


def events_of(part: Part) -> Iterable[Event]:
    """Return the events of one part as a list."""
    return part.events() if isinstance(part, RowPart) else part


def batched(events: Iterator[T], size: int) -> Iterator[list[T]]:
    """Yield lists of `size` events or rows; the last list may be shorter.

    An error comes after the events before it. Raises `ResourceLimit`.
    """
    while True:
        part: list[T] = []
        try:
            for event in islice(events, size):
                part.append(event)
                if len(part) % POLLED == 0:
                    poll()
        except Exception:
            if part:
                yield part
            raise
        if not part:
            return
        yield part


def part_groups(parts: Iterable[Part], size: int) -> Iterator[list[Part]]:
    """Yield groups of consecutive parts with at most `size` events together.

    An error comes after the events before it.
    """
    group: list[Part] = []
    count = 0
    iterator = iter(parts)
    while True:
        try:
            part = next(iterator, None)
        except BadData:
            if group:
                yield group
            raise
        if group and (part is None or count + length(part) > size):
            yield group
            group, count = [], 0
        if part is None:
            return
        group.append(part)
        count += length(part)


def in_sizes(parts: Iterable[Part], size: int) -> Iterator[Part]:
    """Yield the events of some parts in new parts of at most `size` events."""
    for part in parts:
        if isinstance(part, RowPart):
            yield from part.slices(size)
        else:
            yield from (part[n : n + size] for n in range(0, len(part), size))


S = TypeVar("S", bound=Stream)


def stream_of(
    parts: Sequence[Part], axis: TimeAxis | None, schema: Schema | None, kind: type[S]
) -> S:
    """Return the stream of all events of some parts."""
    if all(isinstance(part, list) for part in parts):
        events = (event for part in parts if isinstance(part, list) for event in part)
        return kind(events, time=axis, schema=schema)

    def load() -> Iterator[Event]:
        for part in parts:
            yield from events_of(part)

    def between(start: int, stop: int) -> Iterator[Event]:
        before = 0
        for part in parts:
            first, last = max(start - before, 0), min(stop - before, length(part))
            if first < last:
                rows = part.between(first, last) if isinstance(part, RowPart) else part[first:last]
                yield from events_of(rows)
            before += length(part)

    names = dict.fromkeys(name for part in parts for name in column_names(part))
    attributes = [name for name in names if name not in ("type", "stream")]
    columns = Columns(
        names,
        lambda name: concat_columns([column_of(p, name) for p in parts]),
        complete=all(isinstance(p, RowPart) and p.has_all(attributes) for p in parts),
        has_path=lambda name: any(
            part.nested.has_path(name) if isinstance(part, RowPart) else has_path(part, name)
            for part in parts
        ),
    )
    count = sum(map(length, parts))
    return kind.from_columns(columns, count, load, time=axis, schema=schema, between=between)


class StreamRows(NamedTuple):
    """The rows of a stream that holds columns, for `Stream.from_columns`."""

    columns: Mapping[str, Column]
    length: int
    load: Callable[[], Iterable[Event]]
    between: Between
    parts: PartsOf | None

    def stream(self, kind: type[S], axis: TimeAxis | None, schema: Schema | None) -> S:
        """Return these rows as a stream of the class `kind`."""
        columns, length, load, between, parts = self
        return kind.from_columns(
            columns, length, load, time=axis, schema=schema, between=between, parts=parts
        )

    def all_parts(self, size: int) -> Iterator[tuple[Columns, int]]:
        """Yield the rows in parts: those of a file in turn, or all rows together."""
        if self.parts is not None:
            yield from self.parts(size)
        else:
            assert isinstance(self.columns, Columns)
            yield self.columns, self.length


def joined_rows(files: Sequence[StreamRows]) -> StreamRows:
    """Return the rows of files whose columns have the same names and types, concatenated.

    A part contains rows of several files if these are short.
    """

    def load() -> Iterator[Event]:
        for file in files:
            yield from file.load()

    def between(start: int, stop: int) -> Iterator[Event]:
        for file in files:
            if start < file.length and stop > 0:
                yield from file.between(max(start, 0), min(stop, file.length))
            start, stop = start - file.length, stop - file.length

    def parts(size: int) -> Iterator[tuple[Columns, int]]:
        group, rows = list[Columns](), 0
        for columns, length in (part for file in files for part in file.all_parts(size)):
            group.append(columns)
            rows += length
            if rows >= size:
                yield _joined(group), rows
                group, rows = [], 0
        if rows:
            yield _joined(group), rows

    columns = _joined([file.columns for file in files])
    return StreamRows(columns, sum(file.length for file in files), load, between, parts)


def _joined(group: Sequence[Mapping[str, Column]]) -> Columns:
    """Return the columns of several sets of rows, concatenated."""
    first = group[0]
    assert isinstance(first, Columns)
    if len(group) == 1:
        return first

    def uncoded(name: str) -> Column:
        return concat_columns([uncoded_of(columns)(name) for columns in group], coded=False)

    return Columns(
        first,
        lambda name: concat_columns([columns[name] for columns in group]),
        first.source,
        uncoded,
    )


def column_names(part: Part) -> Iterable[str]:
    """Return the column names of a part: ``type``, perhaps ``stream``, and attributes."""
    if isinstance(part, RowPart):
        return part.columns
    names = dict.fromkeys(name for event in part for name in event.attributes)
    streams = ("stream",) if any(event.stream is not None for event in part) else ()
    return ["type", *streams, *names]


def column_of(part: Part, name: str) -> Column:
    """Return a column of a part, or the values at a path; NULL if the part has no such column.

    Raises `BadData` for a nested column, and as `Nested.path`.
    """
    if isinstance(part, list):
        return as_arrow([value_of(event, name) for event in part])
    import pyarrow as pa

    if name in part.columns:
        column = part.columns[name]
        if not isinstance(column, Nested):
            return column
        if not all(column.is_null()):
            raise column.error(name)
    nested = part.nested
    return as_arrow(nested.path(name)) if nested.has_path(name) else pa.nulls(part.count)
