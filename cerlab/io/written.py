"""Checks of events written as text: values that would not read back equal raise errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cerlab.errors import BadData, DataPlace, by_door
from cerlab.io.conversion import Place, convert
from cerlab.io.text_writer import cell_of, cells_of
from cerlab.model.columns import (
    Column,
    engine_moments,
    is_arrow,
    is_moment,
    is_text,
    values_of,
)
from cerlab.model.event import AttributeType, Event, Schema, Value
from cerlab.model.stream import Stream


def checked_cells(stream: Stream, name: str, format: str) -> Any:
    """Return a column as the texts of cells.

    Raise `BadData` for one that would read back differently.

    large_string (events,), NULL for NULL and for missing attributes.
    """
    column = stream.columns[name]
    cells = cells_of(column, name)
    if stream.schema is not None or not _reads_back(column, cells):
        _check_values(stream, values_of(column, name), name, format)
    return cells


def _reads_back(column: Column, cells: Any) -> bool:
    """Return whether cells read back as the values of the column.

    False if only single cells tell.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    from cerlab.io.column_types import TEXT, kind_of, typed

    if not is_arrow(column) or pa.types.is_decimal(column.type):
        return False
    if is_text(column.type):
        words = pc.unique(cells).drop_null()
        odd = pc.or_(pc.equal(words, ""), pc.match_substring(words, "\0"))
        return not pc.any(odd).as_py() and (not len(words) or kind_of(typed(words)) == TEXT)
    back = typed(cells)
    if is_moment(column.type) and is_moment(back.type):
        column, back = engine_moments(column, "?"), engine_moments(back, "?")
    types = pa.types
    kinds = (types.is_integer, types.is_floating, types.is_boolean, types.is_timestamp)
    if not any(is_kind(column.type) and is_kind(back.type) for is_kind in kinds):
        return False
    is_same = pc.equal(column, back)
    if types.is_floating(back.type):
        is_same = pc.or_(is_same, pc.and_(pc.is_nan(column), pc.is_nan(back)))
    # a comparison with NULL is NULL
    nulls = column.null_count, back.null_count, is_same.null_count
    return len({*nulls}) == 1 and bool(pc.all(is_same).as_py())


def _check_values(stream: Stream, values: Sequence[Value], name: str, format: str) -> None:
    """Raise `BadData` for the first value that would not read back equal."""
    from cerlab.io.column_types import LARGE, text_array, typed

    schema = stream.schema
    cells = [None if value is None else cell_of(value) for value in values]
    back: Sequence[Value]
    if schema is not None:
        pairs = zip(stream, cells, strict=True)
        back = [_declared(schema, event, name, cell) for event, cell in pairs]
    elif (array := typed(text_array([cell or None for cell in cells]))).type == LARGE:
        back = [cell or None for cell in cells]
    else:
        back = values_of(array, name)
    for n, (value, read) in enumerate(zip(values, back, strict=True)):
        if isinstance(value, str) and "\0" in value:
            raise cannot_hold(format, value, place_of(n, name))
        numbers = isinstance(value, int | float) and isinstance(read, int | float)
        is_same = numbers and isinstance(value, bool) == isinstance(read, bool)
        is_same = is_same or type(read) is type(value)
        if not is_same or not (read == value or (read != read and value != value)):
            raise cannot_hold(format, value, place_of(n, name))


def _declared(schema: Schema, event: Event, name: str, cell: str | None) -> Value:
    """Return a cell as the event's schema declares it."""
    kind = type_of(schema, event, name)
    if not cell or kind is None:
        return None
    try:
        return convert(cell, kind, lambda: DataPlace("the events"))
    except BadData:
        return None


def type_of(schema: Schema | None, event: Event, name: str) -> AttributeType | None:
    """Return the declared type of an attribute; None without a declaration."""
    declaration = None if schema is None else schema.event(event.type, event.stream)
    attribute = None if declaration is None else declaration.attribute(name)
    return None if attribute is None else attribute.type


def check_names(stream: Stream, format: str) -> list[str]:
    """Return the names of all attributes.

    Raise `BadData` for one that would read back differently.
    """
    names = [name for name in stream.columns if name not in ("type", "stream")]
    own = () if stream.is_columnar else ("type", "stream")  # no columns of events
    for name in (*own, *names):
        if name in own or name != name.strip() or not name.isprintable():
            for n, event in enumerate(stream):
                if name in event.attributes:
                    raise cannot_hold(format, f"an attribute named {name!r}", place_of(n, name))
    return names


def check_plain(text: str, place: Place, format: str) -> None:
    """Raise `BadData` for text that contains a line end or NUL."""
    if "\0" in text or text.splitlines() not in ([], [text]):
        raise cannot_hold(format, text, place)


def place_of(n: int, name: str) -> Place:
    """Return the place of a value, for errors."""
    return lambda: DataPlace("the events", n + 1, name)


def cannot_hold(format: str, value: Value, place: Place) -> BadData:
    """Return the error for a value that a format cannot hold."""
    hint = "Parquet and Arrow hold every column of one type, NDJSON every text, and"
    text = "moments and durations of text"
    return BadData(
        "CER0749",
        f"{format} cannot hold {str(value)[:60]!r} unchanged",
        place=place(),
        hint=by_door(f"{hint} schema= makes {text}", f"{hint} --schema FILE makes {text}"),
    )
