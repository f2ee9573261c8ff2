"""Columns as the engines read them, and nested columns, whose fields are read by paths."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from cerlab.errors import BadData, DataPlace
from cerlab.model.columns import (
    Column,
    decoded,
    engine_moments,
    is_moment,
    is_text,
    values_of,
)
from cerlab.model.decimals import decimals_of
from cerlab.model.event import Value
from cerlab.model.paths import (
    Fields,
    RepeatedKey,
    field_column,
    fields_of,
    has_field,
    has_repeated_key,
    nested_column,
)


def event_values(column: Any, place: DataPlace) -> Sequence[Value]:
    """Return the values of an Arrow column, as events contain them.

    Raises `BadData` with a place if they are not values of events.
    """
    name = place.column or "?"
    try:
        return values_of(column, name)
    except BadData as error:
        error.place = place
        raise
    except OverflowError:  # the duration is out of Python's range
        raise BadData(
            "CER0741",
            f"column '{name}' of {column.type} holds no values of events",
            place=place,
            hint="cast the column to numbers, or drop it",
        ) from None


def engine_column(column: Any, place: DataPlace) -> Any:
    """Return a column as numbers of one kind, text, moments in nanoseconds, or a list of values.

    Raises `BadData` for a type whose values are not values of events.
    """
    import pyarrow as pa

    kind = column.type
    if pa.types.is_dictionary(kind):
        if pa.types.is_string(kind.value_type) or pa.types.is_large_string(kind.value_type):
            return column
        return engine_column(decoded(column), place)
    if pa.types.is_string_view(kind):
        return column.cast(pa.large_string())
    if _is_plain(kind):
        return column
    if pa.types.is_decimal(kind) and (decimals := decimals_of(column)) is not None:
        return decimals
    if not is_moment(kind):
        return event_values(column, place)
    try:
        return engine_moments(column, place.column or "?")
    except BadData as error:
        error.place = place
        raise


def _is_plain(kind: Any) -> bool:
    import pyarrow as pa

    return (
        is_text(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_signed_integer(kind)
        or kind in (pa.uint8(), pa.uint16(), pa.uint32(), pa.float32(), pa.float64())
        or kind == pa.timestamp("ns")
        or pa.types.is_null(kind)
    )


class Nested(Sequence[Any]):
    """An Arrow column of objects or lists, whose fields are read by paths."""

    def __init__(self, column: Any) -> None:
        self.column = column
        self._read: dict[str, Column] = {}

    def __len__(self) -> int:
        return len(self.column)

    def __getitem__(self, index: Any) -> Any:
        if not isinstance(index, slice):
            raise TypeError("cannot read a nested column as values: read a path into it")
        return Nested(self.column[index])

    def error(self, name: str) -> BadData:
        """Return the error for a query that reads a nested column as a whole."""
        from pyarrow import types

        kind = self.column.type
        has_fields = types.is_struct(kind) and kind.num_fields
        return nested_column(name, self._kind, kind.field(0).name if has_fields else None)

    @property
    def _kind(self) -> str:
        return str(self.column.type)

    def objects(self) -> list[Any]:
        """Return the objects and lists of a nested column as Python values."""
        objects: list[Any] = self.column.to_pylist()
        return objects

    def is_null(self) -> list[bool]:
        """Return which rows of a nested column are NULL."""
        nulls: list[bool] = self.column.is_null().to_pylist()
        return nulls

    def has_path(self, fields: Fields, name: str) -> bool:
        """Return whether a path ends at a field or a list; reading a list raises a clear error."""
        return has_field(self.column.type, fields, name)

    def path(self, fields: Fields, name: str) -> Column:
        """Return the values at the end of a path as a column; raises as `field_column`."""
        if name not in self._read:
            self._read[name] = self._path(fields, name)
        return self._read[name]

    def _path(self, fields: Fields, name: str) -> Column:
        column = field_column(self.column, fields, name)
        return engine_column(column, DataPlace("the events", None, name))


class NestedColumns:
    """The nested columns of some rows, by name."""

    def __init__(self, columns: Mapping[str, Nested]) -> None:
        self._columns = columns
        self._values: dict[str, Sequence[Value]] = {}
        self._objects: dict[str, Sequence[Any]] = {}

    def has_path(self, name: str) -> bool:
        """Return whether a name is a path into one of the columns."""
        fields = fields_of(name)
        if fields is None or fields[0] not in self._columns:
            return False
        return self._columns[fields[0]].has_path(fields, name)

    def path(self, name: str) -> Column:
        """Return the values at the end of a path, as a column.

        Raises KeyError for no path, otherwise as `Nested`.
        """
        fields = fields_of(name)
        if fields is None or fields[0] not in self._columns:
            raise KeyError(name)
        return self._columns[fields[0]].path(fields, name)

    def objects(self, name: str) -> Sequence[Any]:
        """Return the objects and lists of a column."""
        if name not in self._objects:
            self._objects[name] = self._columns[name].objects()
        return self._objects[name]

    def value(self, name: str, row: int) -> Value:
        """Return the value at the end of a path in one row; raises as `path`."""
        if name not in self._values:
            self._values[name] = values_of(self.path(name), name)
        return self._values[name][row]


def nested_array(values: Sequence[Any]) -> Any:
    """Return objects and lists as an Arrow array, or as JSON in bytes if they fit no Arrow type.

    An Arrow type would drop one value of an object with a repeated key.
    """
    import pyarrow as pa

    if has_repeated_key([*values]):
        both = [None if v is None else _with_both(v).encode() for v in values]
        return pa.array(both, pa.binary())
    try:
        array = pa.array(values)
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        array = None
    if array is not None and pa.types.is_nested(array.type):
        return array
    texts = (None if each is None else json.dumps(each, ensure_ascii=False) for each in values)
    return pa.array([None if text is None else text.encode() for text in texts], pa.binary())


def _with_both(value: Any) -> str:
    """Return a value as JSON, writing a repeated key twice."""
    if isinstance(value, list):
        return f"[{', '.join(map(_with_both, value))}]"
    if not isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    items = [*value.items()]
    if isinstance(value, RepeatedKey):
        items.append((value.repeated, value[value.repeated]))
    pairs = (f"{json.dumps(key, ensure_ascii=False)}: {_with_both(each)}" for key, each in items)
    return f"{{{', '.join(pairs)}}}"


class RowPaths:
    """The nested values of one row of `NestedColumns`, by path."""

    __slots__ = ("_columns", "_row")

    def __init__(self, columns: NestedColumns, row: int) -> None:
        self._columns, self._row = columns, row

    def __call__(self, name: str) -> Value:
        """Return the value at the end of a path; raises as `NestedColumns.path`."""
        return self._columns.value(name, self._row)

    def whole(self, name: str) -> Any:
        """Return the object or list of a column."""
        return self._columns.objects(name)[self._row]
