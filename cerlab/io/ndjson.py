"""NDJSON: one object per line, with a ``type`` key."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TextIO

from cerlab.errors import BadData, DataPlace
from cerlab.io.answers import row_text
from cerlab.io.conversion import (
    RowReading,
    conform_event,
    duplicate_column,
    no_type_column,
    too_large,
    twice,
)
from cerlab.io.foreign_files import hint_of_json, hint_of_lists, hint_of_object
from cerlab.io.formats import Format, Head, register
from cerlab.io.nested import Nested
from cerlab.io.parts import (
    Part,
    Refused,
    RowPart,
    batched,
    is_utf_8,
    line_ends,
    one_array,
    with_keys,
)
from cerlab.io.text_writer import ndjson_rows
from cerlab.io.written import cannot_hold, check_names, place_of, type_of
from cerlab.model.arrays import nulls_of, numbers_of
from cerlab.model.columns import Column, constant_text, encode_text, is_arrow, is_text
from cerlab.model.event import (
    Duration,
    Event,
    Schema,
    Timestamp,
    TypeColumn,
    Value,
    event_from_dict,
    type_of_all,
)
from cerlab.model.paths import (
    Fields,
    ObjectPaths,
    RepeatedKey,
    field_value,
    with_nested,
)

if TYPE_CHECKING:
    from cerlab.io.column_types import ColumnTypes
    from cerlab.model.stream import Stream


_DEPTH = 500
"""The number of brackets above which Python reads a line: pyarrow's parser recurses, and 30,000
levels of objects or lists crash the process; Python refuses about 1,000."""


def _may_be_deep(data: bytes) -> bool:
    """Return whether a line opens more than `_DEPTH` objects and lists, which may be nested."""
    if data.count(b"{") + data.count(b"[") <= _DEPTH:
        return False
    import numpy as np

    characters = np.frombuffer(data, np.uint8)
    opening = np.flatnonzero((characters == ord("{")) | (characters == ord("[")))
    before = np.searchsorted(opening, np.append(line_ends(data), len(data)))
    return bool(np.diff(before, prepend=0).max() > _DEPTH)


class Reader:
    """A reader of blocks of lines by pyarrow; it restores texts that pyarrow reads as moments."""

    def __init__(self, reading: RowReading) -> None:
        self._reading = reading
        self._texts: set[str] = set()
        """The columns whose texts look like moments; they stay text."""

    def rows(self, data: bytes) -> RowPart:
        """Return the events of whole lines.

        Raises `Refused` for lines that pyarrow would read differently from `read_lines`: an integer
        beyond 64 bits, a column of several types, a repeated key, another layout of lines.
        """
        import pyarrow as pa

        if not is_utf_8(data) or _may_be_deep(data):  # pyarrow does not check
            raise Refused
        data = data.replace(b"\r\n", b"\n") if b"\r" in data else data
        data = data.rstrip() + b"\n"
        table = self._table(data)
        cells = _Lines(data, has_nested=any(pa.types.is_nested(f.type) for f in table.schema))
        type_name, keys = self._reading.type_name, self._reading.keys
        table = with_keys(table, self._reading)
        names, lines = list(table.column_names), table.num_rows
        if b"\r" in data or not cells.are_objects(lines):
            raise Refused
        if isinstance(type_name, TypeColumn):
            names = type_name.renamed(names)
        kinds = dict(zip(names, (field.type for field in table.schema), strict=True))
        if len(kinds) < len(names) or any(
            pa.types.is_nested(kinds.get(name)) for name in ("type", "stream") if name in kinds
        ):
            raise Refused
        columns: dict[str, Any] = {}
        missing: dict[str, Any] = {}
        for name, column in zip(names, table.columns, strict=True):
            key = table.column_names[names.index(name)]
            array = one_array(column)
            if array.null_count and name not in ("type", "stream", *keys):
                missing[name] = _missing(array, key, cells)
                if key in self._texts and missing[name].all():
                    continue
            if pa.types.is_nested(array.type):
                place = self._reading.place(None, name)
                columns[name] = _JsonNested(array, key, cells, place)
            else:
                columns[name] = array if key in keys else _column(array, key, cells)
        columns["type"] = _types(columns.get("type"), type_of_all(type_name), lines)
        stream = columns.get("stream")
        if stream is not None and not (_is_text(stream) or pa.types.is_null(stream.type)):
            raise Refused
        attributes = [name for name in columns if name not in ("type", "stream")]
        rows = RowPart(columns, lines, *_shapes(attributes, missing, lines))
        nested = rows.nested
        if any(absent.any() and nested.has_path(name) for name, absent in missing.items()):
            raise Refused  # a name is a column in some rows and a path in others
        return rows

    def _table(self, data: bytes) -> Any:
        import pyarrow as pa
        from pyarrow import json as arrow_json

        try:
            while True:
                texts = pa.schema([(name, pa.string()) for name in sorted(self._texts)])
                table = arrow_json.read_json(
                    pa.py_buffer(data),
                    read_options=arrow_json.ReadOptions(
                        use_threads=False, block_size=len(data) + 1
                    ),
                    parse_options=arrow_json.ParseOptions(explicit_schema=texts),
                )
                moments = {f.name for f in table.schema if pa.types.is_timestamp(f.type)}
                if not moments:
                    return table
                self._texts |= moments
        except pa.ArrowInvalid:
            raise Refused from None


class _Lines:
    """The texts of lines, for reading single keys."""

    def __init__(self, data: bytes, *, has_nested: bool) -> None:
        self._data = data
        self._ends = line_ends(data)
        self._has_nested = has_nested

    def are_objects(self, count: int) -> bool:
        """Return whether there are `count` lines, each beginning and ending like an object.

        If there are as many objects, each line is one: inside an object no { follows a }.
        """
        import numpy as np

        characters = np.frombuffer(self._data, np.uint8)
        firsts, lasts = characters[self._ends[:-1] + 1], characters[self._ends - 1]
        braces = characters[0] == ord("{") and (firsts == ord("{")).all()
        return len(self._ends) == count and bool(braces and (lasts == ord("}")).all())

    def values(self, key: str, rows: Iterable[int]) -> Iterator[Any]:
        """Yield the value of a key in some lines as Python reads it, None if it is missing."""
        for row in rows:
            start = self._ends[row - 1] if row else 0
            yield read_json(self._data[start : self._ends[row]]).get(key)

    def match(self, key: str, value: str, rows: Any) -> Any:
        """Return which of some rows, int64, have a value under a key that matches a pattern."""
        import numpy as np

        if b"\\u" in self._data:  # a key may be written with escapes
            raise Refused
        name = re.escape(json.dumps(key, ensure_ascii=False).encode())
        pattern = re.compile(name + rb"\s*:\s*" + value.encode() + rb"\s*[,}]")
        starts = np.where(rows > 0, self._ends[rows - 1], 0).tolist()
        spans = zip(starts, self._ends[rows].tolist(), strict=True)
        found = np.fromiter((pattern.search(self._data, *span) is not None for span in spans), bool)
        if self._has_nested:  # the match may be the key of an inner object
            inside = re.compile(value)
            for n in np.flatnonzero(found).tolist():
                row = int(rows[n])
                start = self._ends[row - 1] if row else 0
                own = read_json(self._data[start : self._ends[row]])
                found[n] = key in own and inside.fullmatch(json.dumps(own[key])) is not None
        return found


class _JsonNested(Nested):
    """A nested column of lines; values that pyarrow may have changed are read from the text."""

    def __init__(
        self, column: Any, key: str, lines: _Lines, place: DataPlace, start: int = 0
    ) -> None:
        super().__init__(column)
        self._key, self._lines, self._place, self._start = key, lines, place, start

    def __getitem__(self, index: Any) -> Any:
        start, _, _ = index.indices(len(self))
        start += self._start
        return _JsonNested(self.column[index], self._key, self._lines, self._place, start)

    def error(self, name: str) -> BadData:
        """Return the error for a query that reads a nested column as a whole."""
        error = super().error(name)
        error.place = self._place
        return error

    def objects(self) -> list[Any]:
        """Return objects and lists as they are written in the lines."""
        rows = range(self._start, self._start + len(self))
        return [*self._lines.values(self._key, rows)]

    @property
    def _kind(self) -> str:
        from pyarrow import types

        return "objects" if types.is_struct(self.column.type) else "lists"

    def _path(self, fields: Fields, name: str) -> Column:
        import numpy as np
        from pyarrow import types

        try:
            column = super()._path(fields, name)
        except BadData:  # none of these rows may have the list that the column type contains
            column = []
        changed = not is_arrow(column) or types.is_timestamp(column.type)
        if not changed and types.is_floating(column.type):
            numbers = numbers_of(column)
            changed = bool((numbers == np.floor(numbers))[~nulls_of(column)].any())
        if not changed:
            return column
        found: list[Value] = []
        for value in self.objects():
            try:
                found.append(field_value(value, fields, name))
            except KeyError:
                found.append(None)
        return found


def _missing(array: Any, key: str, lines: _Lines) -> Any:
    """Return which rows lack a key, bool (rows,); other NULLs are values."""
    import numpy as np

    missing = nulls_of(array)
    rows = np.flatnonzero(missing)
    missing[rows[lines.match(key, "null", rows)]] = False
    return missing


def _column(array: Any, key: str, lines: _Lines) -> Any:
    """Return the values of a column as they are written in their lines."""
    import numpy as np
    from pyarrow import types

    kind = array.type
    if types.is_string(kind):
        return encode_text(array)
    if types.is_null(kind) or types.is_boolean(kind) or types.is_int64(kind):
        return array
    if not types.is_float64(kind):
        raise Refused
    numbers = numbers_of(array)
    is_whole = numbers == np.floor(numbers)
    rows = np.flatnonzero(is_whole & ~nulls_of(array))
    rows = rows[lines.match(key, "-?[0-9]+", rows)] if len(rows) else rows
    if not len(rows):
        return array
    if (np.abs(numbers[rows]) >= 2.0**53).any():  # pyarrow may have rounded the number
        raise Refused
    values = array.to_pylist()
    for row in rows.tolist():
        values[row] = int(values[row])
    return values


def _types(types: Any, type_name: str | None, count: int) -> Any:
    """Return the column of event types; raises `Refused` if one is missing or not text."""

    if types is None and type_name is not None:
        return constant_text(type_name, count)
    if types is None or not _is_text(types) or types.null_count:
        raise Refused
    if "" in types.dictionary.to_pylist():
        raise Refused
    return types


def _is_text(column: Any) -> bool:
    import pyarrow as pa

    return not isinstance(column, list) and pa.types.is_dictionary(column.type)


def _shapes(
    names: list[str], missing: dict[str, Any], count: int
) -> tuple[tuple[tuple[str, ...], ...], Any]:
    """Return the attribute names of each shape of rows, and each row's shape (None for one)."""
    import numpy as np

    lacking = [name for name in missing if missing[name].any()]
    if not lacking:
        return (tuple(names),), None
    # each lacking attribute is one bit of an int64
    if len(lacking) > 62:
        raise Refused
    bits = np.zeros(count, np.int64)
    for n, name in enumerate(lacking):
        bits |= missing[name].astype(np.int64) << n
    sets, shape = np.unique(bits, return_inverse=True)
    absent = [{name for n, name in enumerate(lacking) if s >> n & 1} for s in sets.tolist()]
    return tuple(tuple(n for n in names if n not in a) for a in absent), shape


def read_lines(lines: Iterable[str], reading: RowReading, *, before: int = 0) -> Iterator[Event]:
    """Yield the events of some lines; the first is number `before` + 1.

    Raises `BadData` with file, row and, if known, key.
    """
    for row, line in enumerate(lines, start=before + 1):
        if not line.strip():
            continue
        try:
            reading.check(line, row)
            yield conform_event(_event(line, reading, row), reading, row)
        except BadData as error:
            reading.reject(line, error)


def _event(line: str, reading: RowReading, row: int) -> Event:
    """Return the event of a line; raises `BadData` with the place of the line."""
    try:
        read = read_json(line)
    except (json.JSONDecodeError, RecursionError) as error:
        where = f", column {error.colno}" if isinstance(error, json.JSONDecodeError) else ""
        raise BadData(
            "CER0733",
            f"this line is not JSON{where}",
            place=reading.place(row),
            hint=hint_of_json(line, str(error)),
        ) from None
    except ValueError:  # Python reads integers of some thousands of digits only
        raise too_large("an integer", reading.place(row)) from None
    return event_of(read, line, reading, row)


def event_of(read: Any, line: str, reading: RowReading, row: int) -> Event:
    """Return the event of a JSON value, whose text is `line`; raises as `_event`."""
    type_name = reading.type_name
    if not isinstance(read, dict):
        raise BadData(
            "CER0734",
            "expected a JSON object as event",
            place=reading.place(row),
            hint='for example {"type": "BUY", "price": 27.85}',
        )
    if isinstance(read, RepeatedKey):
        raise twice(read.repeated, reading.place(row, read.repeated))
    for name, value in read.items():
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            raise too_large("the integer", reading.place(row, name))
        if isinstance(value, float) and math.isinf(value) and "Infinity" not in line:
            raise too_large("the number", reading.place(row, name))
    for name, key in reading.keys.items():
        if name in read:
            raise twice(name, reading.place(row, name))
        read[name] = key.value
    if isinstance(type_name, TypeColumn):
        if type_name not in read:
            with suppress(KeyError):
                read[type_name] = ObjectPaths(read)(type_name)
        if type_name not in read:
            error = no_type_column(type_name, read, reading.place(row))
            error.hint = hint_of_lists(read) or error.hint
            raise error
        names = type_name.renamed(read)
        if names.count("type") > 1:
            raise duplicate_column(names, reading.file, row, type_name)
        read = dict(zip(names, read.values(), strict=True))
    elif type_name is not None:
        read.setdefault("type", type_name)
    try:
        return _of_object(read, partial(reading.place, row))
    except BadData as error:
        error.place = reading.place(row, error.column)
        if error.code == "CER0701" and "type" not in read:
            error.hint = hint_of_lists(read) or hint_of_object(read)
        raise


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object, or a `RepeatedKey` if a key occurs twice."""
    read = dict(pairs)
    if len(read) == len(pairs):
        return read
    names = [name for name, _ in pairs]
    marked = RepeatedKey(read)
    marked.repeated = next(name for name in names if names.count(name) > 1)
    return marked


DECODER = json.JSONDecoder(object_pairs_hook=_object)


def read_json(text: str | bytes) -> Any:
    """Return the value of a JSON text; an object with a repeated key becomes a `RepeatedKey`."""

    return json.loads(text, object_pairs_hook=_object)


def _of_object(read: dict[str, Any], place: Callable[[str], DataPlace]) -> Event:
    """Return the event of a JSON object; paths read its inner objects and lists."""
    own = ("type", "stream")
    nested = {n: v for n, v in read.items() if isinstance(v, dict | list) and n not in own}
    if not nested:
        return event_from_dict(read)
    event = event_from_dict({name: None if name in nested else v for name, v in read.items()})
    return with_nested(event, nested, place)


class _NdjsonReader:
    """A reader of one object per line."""

    sparse = False

    def __init__(self, reading: RowReading) -> None:
        self._reading = reading
        self._reader = Reader(reading)

    def rows(self, data: bytes) -> RowPart:
        return self._reader.rows(data)

    def may_be_cut(self, data: bytes) -> bool:
        return True

    def lines(self, lines: Iterable[str], before: int, *, last: bool, size: int) -> Iterator[Part]:
        return batched(read_lines(lines, self._reading, before=before), size)


def _write(stream: Stream, file: TextIO) -> None:
    names = check_names(stream, "NDJSON")
    if (table := _plain_table(stream, names)) is not None:
        ndjson_rows(table, file)
        return
    for n, event in enumerate(stream):
        file.write(_line_of(event, n, stream.schema) + "\n")


def _plain_table(stream: Stream, names: Sequence[str]) -> Any | None:
    """Return a table with the values that NDJSON would have; None if a value may differ."""
    import pyarrow as pa
    import pyarrow.compute as pc

    columns, types = stream.columns, pa.types
    if not columns.complete or stream.schema is not None:
        return None
    table = {}
    for name in ("type", *(name for name in columns if name == "stream"), *names):
        if not is_arrow(column := columns[name]):
            return None
        if name == "stream" and column.null_count == len(stream):
            continue
        if types.is_floating(kind := column.type):
            is_plain = pc.all(pc.is_finite(column)).as_py()
        else:
            is_plain = is_text(kind) or types.is_boolean(kind) or types.is_signed_integer(kind)
        if not is_plain or (name == "stream" and column.null_count):
            return None
        table[name] = column
    return pa.table(table)


def _line_of(event: Event, n: int, schema: Schema | None) -> str:
    for name, value in event.attributes.items():
        is_time = isinstance(value, Timestamp | Duration)
        if is_time and type_of(schema, event, name) is None:
            raise cannot_hold("NDJSON", value, place_of(n, name))
        if isinstance(value, float) and not math.isfinite(value):
            raise cannot_hold("NDJSON", value, place_of(n, name))
        if type(value) is int and not -(2**63) <= value < 2**63:
            raise cannot_hold("NDJSON", value, place_of(n, name))
    stream = {} if event.stream is None else {"stream": event.stream}
    return row_text({"type": event.type, **stream, **event.attributes})


def _open(head: Head, reading: RowReading, types: ColumnTypes) -> tuple[_NdjsonReader, bytes, int]:
    return _NdjsonReader(reading), head.data, head.before


register(
    Format(
        "ndjson",
        (".ndjson", ".jsonl", ".json"),
        begins=lambda line: line.lstrip("\ufeff \t").startswith(("{", "[")),
        reader=_open,
        write=_write,
        write_rows=ndjson_rows,
    )
)
