"""Checks of events on their way into text: what would not be read back as it is, is refused."""

from __future__ import annotations

from collections.abc import Sequence

from cerlab.errors import BadData, DataPlace
from cerlab.io.conversion import Place, convert
from cerlab.model.columns import values_of
from cerlab.model.event import AttributeType, Event, Schema, Value


def check_column(
    events: list[Event],
    values: Sequence[Value],
    name: str,
    format: str,
    schema: Schema | None,
) -> None:
    """Raise `BadData` for a cell of a column that would not be read back as it is."""
    from cerlab.io.column_types import LARGE, text_array, typed

    cells = [None if value is None else cell_of(value) for value in values]
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
            raise cannot_hold(format, value, place_of(n, name))
        numbers = isinstance(value, int | float) and isinstance(read, int | float)
        is_same = numbers and isinstance(value, bool) == isinstance(read, bool)
        is_same = is_same or type(read) is type(value)
        if not is_same or not (read == value or (read != read and value != value)):
            raise cannot_hold(format, value, place_of(n, name))


def _declared(schema: Schema, event: Event, name: str, cell: str | None) -> Value:
    """Return a cell as the schema, with which the events were read, declares it."""
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


def cell_of(value: Value) -> str:
    """Return a value as the text of a cell."""
    return ("FALSE", "TRUE")[value] if isinstance(value, bool) else str(value)


def check_names(event: Event, n: int, format: str) -> None:
    """Raise `BadData` for attributes whose names would be read as others."""
    for name in event.attributes:
        if name in ("type", "stream") or name != name.strip() or not name.isprintable():
            raise cannot_hold(format, f"an attribute called {name!r}", place_of(n, name))


def check_plain(text: str, place: Place, format: str) -> None:
    """Raise `BadData` for text with the end of a line in it, or NUL."""
    if "\0" in text or text.splitlines() not in ([], [text]):
        raise cannot_hold(format, text, place)


def place_of(n: int, name: str) -> Place:
    """Return the place of a value in errors."""
    return lambda: DataPlace("the events", n + 1, name)


def cannot_hold(format: str, value: Value, place: Place) -> BadData:
    """Return the error that a format cannot hold a value."""
    return BadData(
        "CER0749",
        f"{format} cannot hold {str(value)[:60]!r} so that it reads back as it is",
        place=place(),
        hint="Parquet and Arrow hold every column of one type, NDJSON every text, and a schema "
        "(--schema FILE) makes moments and durations of text",
    )
