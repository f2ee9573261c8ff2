"""Columns checked against a schema, with the same results as `conversion.conform_event`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from cerlab.errors import BadData, DataPlace
from cerlab.io import arrow
from cerlab.io.conversion import RowReading, convert
from cerlab.io.parts import Refused, RowPart
from cerlab.model.arrays import numbers_of
from cerlab.model.columns import (
    Column,
    Columns,
    array_of,
    encode_text,
    engine_moments,
    is_arrow,
    is_duration,
    is_text,
    values_of,
)
from cerlab.model.event import AttributeType, EventDeclaration, Schema, Value

AS_WRITTEN = (AttributeType.STRING, AttributeType.TIMESTAMP, AttributeType.DURATION)
"""Types whose cells stay text, even if they look like numbers."""


def declared_types(schema: Schema) -> dict[str, AttributeType] | None:
    """Return the type of each attribute; None if event types declare one name differently."""
    types: dict[str, AttributeType] = {}
    for attribute in schema.attributes():
        if types.setdefault(attribute.name, attribute.type) is not attribute.type:
            return None
    return types


def table_columns(table: Any, reading: RowReading) -> Mapping[str, Column] | None:
    """Return the columns of the events of a table; None if the rows must be read one by one."""
    columns = arrow.plain_columns(table, reading)
    if columns is None or reading.schema is None:
        return columns
    names = tuple(name for name in columns if name not in ("type", "stream"))
    try:
        rows = RowPart(dict(columns), table.num_rows, (names,))
        declared = declared_rows(rows, reading.schema).columns
        return Columns(declared, declared.__getitem__, columns.source)
    except (BadData, Refused):
        return None


def declared_rows(rows: RowPart, schema: Schema, *, sparse: bool = False) -> RowPart:
    """Return the rows with values of their declared types.

    If `sparse`, as in CSV, an attribute that the event type lacks may be NULL; it is then dropped.
    Raises `Refused` for rows that do not fit the schema, or if that is uncertain.
    """
    types = declared_types(schema)
    if types is None:
        raise Refused
    columns = {name: _cast_column(c, types.get(name), name) for name, c in rows.columns.items()}
    groups = list(_groups(rows, schema))
    names = []
    for declaration, attributes, where in groups:
        own = tuple(name for name in attributes if declaration.attribute(name) is not None)
        others = set(attributes) - set(own)
        non_nullable = {each.name for each in declaration.attributes if not each.nullable}
        if others and not (sparse and all(_is_null(columns[n], where()) for n in others)):
            raise Refused
        if not non_nullable <= set(own) or any(_has_null(columns[n], where) for n in non_nullable):
            raise Refused
        names.append(own)
    if not sparse:
        return replace(rows, columns=columns)
    names_in_use = {"type", "stream"}.union(*names)
    columns = {name: column for name, column in columns.items() if name in names_in_use}
    if len(set(names)) == 1:
        return RowPart(columns, rows.count, (names[0],))
    return RowPart(
        columns, rows.count, tuple(names), _group_numbers([where() for *_, where in groups])
    )


def _cast_column(column: Column, kind: AttributeType | None, name: str) -> Column:
    """Return the values of an attribute converted to its type."""
    from pyarrow import float64, types

    if not is_arrow(column):  # a column with values of several types fits no declared type
        raise Refused
    if kind is None or name in ("type", "stream") or _is_nothing(column):
        return column
    match kind:
        case AttributeType.STRING if is_text(column.type):
            return column
        case AttributeType.INT if types.is_integer(column.type):
            return column
        case AttributeType.DOUBLE if types.is_integer(column.type) or types.is_floating(
            column.type
        ):
            # the cast rounds to the nearest double, as `float` does
            return column.cast(float64(), safe=False)
        case AttributeType.BOOLEAN if types.is_boolean(column.type):
            return column
        case AttributeType.TIMESTAMP if types.is_timestamp(column.type):
            # one block of a text may have zones, and the next block none
            return engine_moments(column, name)
        case AttributeType.DURATION if is_duration(column.type):
            return column
        case AttributeType.TIMESTAMP | AttributeType.DURATION if is_text(column.type):
            return _times(column, kind, name)
    raise Refused


def _is_nothing(column: Any) -> bool:
    from pyarrow import types

    return bool(types.is_null(column.type))


def _times(column: Any, kind: AttributeType, name: str) -> Any:
    """Return the texts of a time column converted to moments or durations."""
    texts = values_of(column, name)
    try:
        moments: dict[Value, Value] = {
            text: convert(text, kind, lambda: DataPlace("?"))
            for text in set(texts)
            if isinstance(text, str)
        }
    except BadData:
        raise Refused from None
    array = array_of([moments.get(text) for text in texts])
    if array is None:  # beyond 64 bits
        raise Refused
    return array


Where = Callable[[], Any]
"""A function that returns a mask, bool (rows,)."""


def _groups(
    rows: RowPart, schema: Schema
) -> Iterator[tuple[EventDeclaration, tuple[str, ...], Where]]:
    """Yield the declaration, attribute names and mask of each type, stream and shape of events."""
    import numpy as np

    types, kinds = _codes(rows.columns["type"])
    streams, places = _codes(rows.columns["stream"]) if "stream" in rows.columns else ([], 0)
    shapes = len(rows.names)
    codes = (kinds * (len(streams) + 1) + places) * shapes + (
        0 if rows.shape is None else rows.shape
    )
    for code in np.flatnonzero(np.bincount(codes)).tolist():
        rest, shape = divmod(code, shapes)
        kind, place = divmod(rest, len(streams) + 1)
        stream = streams[place] if place < len(streams) else None
        declaration = schema.event(types[kind], stream)
        if declaration is None:
            raise Refused
        yield declaration, rows.names[shape], partial(np.equal, codes, code)


def _codes(column: Any) -> tuple[list[str], Any]:
    """Return the distinct texts of a column, and the index of each row's text, int64.

    NULL is the last index.
    """
    import numpy as np

    if _is_nothing(column):
        return [], 0
    column = encode_text(column)
    texts: list[str] = column.dictionary.to_pylist()
    return texts, numbers_of(column.indices.fill_null(len(texts))).astype(np.int64)


def _nulls(column: Any) -> Any:
    """Return which rows have NULL in a column."""
    import pyarrow as pa

    nulls = column.is_null()
    whole = nulls.combine_chunks() if isinstance(nulls, pa.ChunkedArray) else nulls
    return numbers_of(whole.cast(pa.uint8())).astype(bool)


def _is_null(column: Any, where: Any) -> bool:
    return bool(_nulls(column)[where].all())


def _has_null(column: Any, where: Where) -> bool:
    return column.null_count > 0 and bool(_nulls(column)[where()].any())


def _group_numbers(groups: list[Any]) -> Any:
    """Return the number of each row's group, int64."""
    import numpy as np

    numbers = np.zeros(len(groups[0]), np.int64)
    for number, where in enumerate(groups):
        numbers[where] = number
    return numbers
