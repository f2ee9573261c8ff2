"""Sources of events: the files that a user names, or a pipe.

A source has formats, a length, columns and a time; it reads its events as parts of a stream, and
its rows as columns. A column of text has one type in all of its files. So a text is read once to
settle the types, and once more with these types if it is too long to be kept, or if a column turned
out to be text late. A pipe is read once: its first events settle the types.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from cerlab.computed import cached_property
from cerlab.errors import BadData, DataPlace
from cerlab.io import arrow
from cerlab.io.conversion import Key, OnBadRow, RowReading, twice, types_differ
from cerlab.io.declared import AS_WRITTEN, declared_types, table_columns
from cerlab.io.file import File
from cerlab.io.names import AnyPath, Named, files_of
from cerlab.io.nested import Nested, nested_array
from cerlab.io.options import FileOptions, no_records, open_quarantine
from cerlab.io.parts import (
    Part,
    RowPart,
    batched,
    column_names,
    column_of,
    events_of,
    length,
    with_keys,
)
from cerlab.io.text_reader import Blocks, text_parts
from cerlab.logic.ceql.parser import as_schema
from cerlab.model.columns import (
    Column,
    array_of,
    concat_columns,
    decoded,
    encode_text,
    is_arrow,
    is_moment,
    values_of,
)
from cerlab.model.event import AttributeType, Event, PartlyReadable, Schema, TypeColumn
from cerlab.model.paths import with_objects
from cerlab.model.stream import TimeAxis

if TYPE_CHECKING:
    from cerlab.io.column_types import ColumnTypes

SIZE = 1 << 16
"""Default limit on the events of a batch."""

KEPT = 1 << 26
"""Bytes of text that are kept while column types are settled; longer texts are read twice."""
Watch: TypeAlias = Callable[[Iterator[Part]], Iterable[Part]]


@dataclass
class _FirstPass:
    """A first reading of all texts of a source, which settles the types of their columns."""

    key: object
    types: ColumnTypes
    kept: list[Part] | None = field(default_factory=list)
    """The events that were read; None if the texts are too long to keep them."""
    bad_rows: list[tuple[str, BadData]] = field(default_factory=list)
    """Unreadable rows, collected because a text may be read twice but each row is reported once."""
    error: BadData | None = None


class Source:
    """The files that a user names, or a pipe."""

    def __init__(
        self,
        named: Named,
        format: str | None = None,
        contents: Mapping[str, bytes] | None = None,
        records: str | None = None,
    ) -> None:
        """Wrap the names of files.

        `contents` are those of names without files; `records`: `HowToReadFile`.
        """
        held = contents or {}
        self.files = [
            File(path, format, held.get(str(path)), keys, records) for path, keys in files_of(named)
        ]
        self._first_pass: _FirstPass | None = None
        self._header: dict[str, None] = {}

    @property
    def is_pipe(self) -> bool:
        """True if the source is a single pipe, whose events arrive one by one."""
        return len(self.files) == 1 and self.files[0].is_pipe

    @cached_property
    def holds_columns(self) -> bool:
        """True if all files have typed columns; raises `BadData` for a missing file."""
        holding = [not file.is_pipe and file.holds_columns for file in self.files]
        return all(holding)

    def check_columns(self) -> None:
        """Raise `BadData` for a column whose types in two files are incompatible."""
        seen: dict[str, tuple[str, str]] = {}
        for file in self.files if len(self.files) > 1 else ():
            for column in file.columns.fields:
                if (kind := arrow.kind_of(column.type)) is None:
                    continue
                before, where = seen.setdefault(column.name, (kind, file.name))
                if kind != before:
                    place = DataPlace(file.name, None, column.name)
                    raise types_differ(kind, before, place, where)

    @property
    def length(self) -> int | None:
        """The number of events that the files state; None for text, which would have to be read.

        Raises `BadData` for a missing or empty file, or unreadable metadata.
        """
        return sum(file.length or 0 for file in self.files) if self.holds_columns else None

    @property
    def estimated_length(self) -> int:
        """The estimated number of events, from the first lines of texts; raises as `length`."""
        return sum(file.estimated_length for file in self.files)

    @property
    def has_whole_columns(self) -> bool:
        """True if all batches have the same columns, each of one type.

        This holds for one file of Parquet, Arrow or CSV, whose header names them; raises as
        `length`.
        """
        return len(self.files) == 1 and (
            self.files[0].holds_columns or self.files[0].format == "csv"
        )

    @property
    def column_names(self) -> list[str]:
        """The names of all columns of files with typed columns."""
        return list(
            dict.fromkeys(name for f in self.files for name in (*f.columns.fields.names, *f.keys))
        )

    def time_axis(self, options: FileOptions) -> TimeAxis | None:
        """Return the axis of the only attribute that holds moments, or None.

        By the declarations of the schema, otherwise by the columns of the files; NDJSON has no
        moments.
        """
        if options.schema is not None or any(file.is_pipe for file in self.files):
            return time_of_schema(as_schema(options.schema))
        if self.holds_columns:
            fields = (field for file in self.files for field in file.columns.fields)
            moments = {field.name for field in fields if is_moment(field.type)}
            moments |= {n for n, values in self._keys.items() if is_moment(values.type)}
            return _only(moments)
        if not any(file.holds_cells for file in self.files):
            return None
        kinds = self._settled(options, iter, KEPT).types.kinds
        return _only({name for name, kind in kinds.items() if is_moment(kind)})

    def parts(
        self, options: FileOptions, *, watch: Watch = iter, keep: float = math.inf
    ) -> Iterator[Part]:
        """Yield the events in parts; an error comes after the events before it.

        `watch` receives the parts while they are read; texts of more than `keep` bytes are read
        twice. Raises `BadData` with file, row and column, and `ResourceLimit`.
        """
        for file in self.files:
            if file.is_pipe:
                file.gather()
        if self.holds_columns:
            self.check_columns()
        with open_quarantine(options.quarantine, self.paths) as on_bad_row:
            if options.schema is not None or not any(file.holds_cells for file in self.files):
                from cerlab.io.column_types import ColumnTypes

                yield from watch(self._parts(options, ColumnTypes(), on_bad_row))
                return
            first, self._first_pass = self._settled(options, watch, keep), None
            types = first.types
            if first.kept is None or types.read_again:
                first.kept = None
                types.begin_again()
                yield from self._parts(options, types, on_bad_row)
                types.warn()
                return
            types.settle()
            for bad in first.bad_rows:
                assert on_bad_row is not None
                on_bad_row(*bad)
            for part in first.kept:
                yield widened_part(part, types)
            types.warn()
            if first.error is not None:
                raise first.error

    @cached_property
    def _keys(self) -> dict[str, Any]:
        """The values of each folder key in all files, typed like a column of text."""
        if not any(file.keys for file in self.files):
            return {}
        from cerlab.io.column_types import typed_keys

        return typed_keys([file.keys for file in self.files])

    def reading(
        self, file: File, options: FileOptions, on_bad_row: OnBadRow | None = None
    ) -> RowReading:
        """Return the reading options for one file, with the keys of its folders.

        Under a schema a key is text if its attribute is declared so.
        """
        reading = replace(options.reading(file.name, on_bad_row), records=file.records)
        if file.records is not None and file.holds_columns:
            raise no_records(file.name)
        if not file.keys:
            return reading
        import pyarrow as pa

        declared = {} if reading.schema is None else declared_types(reading.schema) or {}
        texts = {"type", "stream", *(n for n, kind in declared.items() if kind in AS_WRITTEN)}
        if isinstance(options.type, TypeColumn):
            texts.add(options.type)
        at = self.files.index(file)
        keys = {}
        for name, text in file.keys.items():
            values = [text] if name in texts else values_of(self._keys[name].slice(at, 1), name)
            kind = pa.string() if name in texts else self._key_kinds[name]
            keys[name] = Key(text, values[0], kind)
        return replace(reading, keys=keys)

    @cached_property
    def _key_kinds(self) -> dict[str, Any]:
        """The type of each folder key as a column of a table."""
        arrays = {name: array_of(values_of(c, name)) for name, c in self._keys.items()}
        return {name: None if array is None else array.type for name, array in arrays.items()}

    @property
    def paths(self) -> list[AnyPath]:
        """The paths of the files."""
        return [file.path for file in self.files]

    def _settled(self, options: FileOptions, watch: Watch, keep: float) -> _FirstPass:
        """Return the first pass over the texts; it may have run already, to find their time."""
        from cerlab.io.column_types import ColumnTypes

        key = options.type, type(options.type), options.quarantine is None
        if self._first_pass is not None and self._first_pass.key == key:
            return self._first_pass
        first = self._first_pass = _FirstPass(key, ColumnTypes())
        if sum(file.size for file in self.files) > keep:
            first.kept = None

        def aside(row: str, error: BadData) -> None:
            first.bad_rows.append((row, error))

        on_bad_row = None if options.quarantine is None else aside
        try:
            for part in watch(self._parts(options, first.types, on_bad_row)):
                if first.kept is not None:
                    first.kept.append(part)
        except BadData as caught:
            first.error = caught
        return first

    def _parts(
        self, options: FileOptions, types: ColumnTypes, on_bad_row: OnBadRow | None
    ) -> Iterator[Part]:
        """Yield the events of the files in parts."""
        for file in self.files:
            reading = self.reading(file, options, on_bad_row)
            if file.holds_columns:
                yield from _table_parts(file, reading)
                continue
            with file.text() as read:
                yield from text_parts(Blocks(read), file.stated_format, reading, types)
            self._header.update(types.header)

    def tables(self) -> list[Any]:
        """Return the rows of column files, with the keys of their folders."""
        self.check_columns()
        options = FileOptions(type=NO_TYPE)
        return [
            with_keys(file.columns.rows(coded=False), self.reading(file, options))
            for file in self.files
        ]

    def rows(self) -> tuple[dict[str, Column], int]:
        """Return the columns and number of rows of texts whose rows need no event type.

        Columns are in the order of CSV headers, otherwise of first appearance in rows, after the
        type and the stream. Raises as `parts`.
        """
        parts = [*self.parts(FileOptions(type=NO_TYPE))]
        for event in (event for part in parts if isinstance(part, list) for event in part):
            if own := {"type", "stream"}.intersection(event.attributes):
                raise twice(own.pop(), DataPlace(self.files[0].name))
        found = [*self._header] or ["type", "stream"]
        found += [name for part in parts for name in column_names(part)]
        columns = {name: _whole_column(parts, name) for name in dict.fromkeys(found)}
        if not any(file.holds_cells for file in self.files):
            columns = {name: _without_codes(column) for name, column in columns.items()}
        for name in ("type", "stream"):
            if name in columns and (texts := _row_texts(columns[name])) is not None:
                columns[name] = texts
            elif name not in self._header:
                columns.pop(name, None)
        return columns, sum(map(length, parts))


NO_TYPE = "\0"
"""Event type of rows without a type: no text contains a NUL."""


def _whole_column(parts: Sequence[Part], name: str) -> Column:
    """Return a column of all parts; objects and lists become nested values of Arrow."""
    try:
        return concat_columns([column_of(part, name) for part in parts])
    except BadData:
        whole = [each for part in parts for each in _objects(part, name)]
        return nested_array(whole)


def _objects(part: Part, name: str) -> Iterable[Any]:
    """Yield the values of one column of a part, with objects and lists as Python values."""
    for event in events_of(part):
        yield with_objects(event).get(name)


def _without_codes(column: Column) -> Column:
    """Return a column whose texts are not dictionary-encoded."""
    from pyarrow import types

    return decoded(column) if is_arrow(column) and types.is_dictionary(column.type) else column


def _row_texts(column: Any) -> Any:
    """Return a column of event types or streams as typed values; None if it contains only NULL."""
    from pyarrow import types

    from cerlab.io.column_types import text_array, typed_rows

    if types.is_null(column.type):
        return None
    coded = encode_text(column)
    words = [None if word == NO_TYPE else word for word in coded.dictionary.to_pylist()]
    return encode_text(typed_rows(text_array(words)).take(coded.indices)) if any(words) else None


def as_source(
    sources: Source | Named, format: str | None = None, records: str | None = None
) -> Source:
    """Return the source for names of files."""
    return sources if isinstance(sources, Source) else Source(sources, format, records=records)


def text_events(text: str, format: str) -> list[Event]:
    """Return the events of a text of a format.

    >>> [event.attributes["v"] for event in text_events("A(v=1)\\nB(v=2)", "core")]
    [1, 2]
    """
    source = Source("the text", format, {"the text": text.encode()})
    return [event for part in source.parts(FileOptions()) for event in events_of(part)]


def widened_part(part: Part, types: ColumnTypes) -> Part:
    """Return a part converted to the final types of the columns."""
    if isinstance(part, list):
        return [
            # nested values come from NDJSON, whose values are typed already
            e
            if isinstance(e.attributes, PartlyReadable)
            else replace(e, attributes=types.widened_values(e.attributes))
            for e in part
        ]
    return RowPart(types.widened(part.columns), part.count, part.names, part.shape)


def _table_parts(file: File, reading: RowReading) -> Iterator[Part]:
    """Yield the rows of a column file: by columns if all columns allow it, otherwise row by row."""
    table = with_keys(file.columns.table(), reading)
    columns = table_columns(table, reading)
    nested = {} if reading.schema is not None else _nested_columns(table, reading)
    try:
        arrays = (
            None
            if columns is None
            else {n: nested[n] if n in nested else columns[n] for n in columns}
        )
    except BadData:  # no query may read this column as a whole
        arrays = None
    if arrays is None:
        yield from batched(arrow.table_events(table, reading), SIZE)
        return
    names = tuple(name for name in arrays if name not in ("type", "stream"))
    yield RowPart(arrays, table.num_rows, (names,))


def _nested_columns(table: Any, reading: RowReading) -> dict[str, Nested]:
    """Return the columns of a table that hold objects or lists."""
    from pyarrow import types

    names = arrow.names_of(table, reading.type_name, reading.file)
    fields = zip(names, table.schema, table.columns, strict=True)
    return {name: Nested(c) for name, field, c in fields if types.is_nested(field.type)}


def time_of_schema(schema: Schema | None) -> TimeAxis | None:
    """Return the axis of the only attribute that a schema declares as a moment, or None."""
    if schema is None:
        return None
    return _only({a.name for a in schema.attributes() if a.type is AttributeType.TIMESTAMP})


def _only(names: set[str]) -> TimeAxis | None:
    attributes = names - {"type", "stream"}
    return TimeAxis(attributes.pop()) if len(attributes) == 1 else None
