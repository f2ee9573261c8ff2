"""Text to values: by the declared type, or by the form of the text."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, TypeAlias, TypeVar
from warnings import warn

from cerlab.errors import BadData, CerlabWarning, DataPlace, by_door, nearest, stacklevel_of_caller
from cerlab.io.foreign_files import hint_of_header
from cerlab.model.event import (
    AttributeType,
    Duration,
    Event,
    EventDeclaration,
    Schema,
    Timestamp,
    TypeColumn,
    Value,
    duration_of_text,
    is_in_calendar,
    moment_of_data,
)

OnBadRow = Callable[[str, BadData], None]
"""A handler of an unreadable row: it receives the text and the error."""

Place: TypeAlias = Callable[[], DataPlace]
"""A function to the place of a cell, called only for errors."""

T = TypeVar("T")


class Key(NamedTuple):
    """The value of a folder named ``key=value``: as text, None for NULL, and in the common type."""

    text: str | None
    value: Value
    kind: Any = None
    """The Arrow type of all values of the key, needed for NULL."""


@dataclass(frozen=True, slots=True)
class RowReading:
    """The source of rows and the options of `cerlab.io.read`, for every reader of rows."""

    file: str
    """The name of the source in errors."""
    schema: Schema | None = None
    on_bad_row: OnBadRow | None = None
    type_name: str | None = None
    keys: Mapping[str, Key] = field(default_factory=dict)
    """The keys of the folders that contain the file: columns with one value in all rows."""
    records: str | None = None
    """The path of the list of rows inside a JSON object; None for one object per line."""

    def place(self, row: int | None = None, name: str | None = None) -> DataPlace:
        """Return the place of a row, or of a cell, for error messages."""
        return DataPlace(self.file, row, name)

    def check(self, text: str, row: int) -> None:
        """Raise `BadData` for text that `check_text` refuses, if nobody has checked it yet."""
        if self.on_bad_row is not None:
            check_text(text, self.place(row))

    def reject(self, row: str, error: BadData) -> None:
        """Pass a bad row to the handler; raise its error without a handler."""
        if self.on_bad_row is None:
            raise error
        self.on_bad_row(row, error)


INTEGER_CELL = re.compile(r"[+-]?[0-9]+")
_DOUBLE = re.compile(
    r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|nan|inf|infinity)", re.IGNORECASE
)
_INT64 = range(-(2**63), 2**63)
_DIGITS = 4000
"""Above this number of digits an integer is refused without conversion; Python converts 4,300."""


def check_text(text: str, place: DataPlace) -> None:
    """Raise `BadData` for NUL, and for bytes outside UTF-8, which are read as lone surrogates."""
    if "\0" in text:
        raise BadData(
            "CER0746",
            "the line contains a NUL byte",
            place=place,
            hint="if the file is UTF-16, convert it, for example with iconv",
        )
    if not text.isascii() and any("\ud800" <= each <= "\udfff" for each in text):
        raise _not_utf_8("bytes that are not a character", place)


def _not_utf_8(reason: str, place: DataPlace) -> BadData:
    return BadData(
        "CER0745",
        f"this is not UTF-8: {reason}",
        place=place,
        hint="convert the file, for example with iconv",
    )


def _integer(raw: str, place: Place) -> int:
    value = int(raw) if len(raw) <= _DIGITS else 2**63
    if value not in _INT64:
        raise too_large(f"the integer {raw[:40]}", place())
    return value


def _float(raw: str, place: Place) -> float:
    value = float(raw)
    if math.isinf(value) and "inf" not in raw.lower():
        raise too_large(f"the number {raw[:40]}", place())
    return value


def too_large(noun: str, place: DataPlace) -> BadData:
    """Return the error for a number that needs more than 64 bits."""
    return BadData(
        "CER0720",
        f"{noun} needs more than 64 bits",
        place=place,
        hint="read the number as text: in quotes in NDJSON and CORE's text form, or by a schema",
    )


def types_differ(kind: object, before: object, place: DataPlace, where: str = "") -> BadData:
    """Return the error for a column with values of two types; `where` is the file of the first."""
    return BadData(
        "CER0784",
        f"some values are {before}{where and f' (in {where})'}, others {kind}",
        place=place,
        hint="write the column with one type",
    )


def convert(raw: str, kind: AttributeType, place: Place) -> Value:
    """Return the value of a cell of a declared type; raises `BadData` if it is not of that type."""
    try:
        match kind:
            case AttributeType.STRING:
                return raw
            case AttributeType.INT if INTEGER_CELL.fullmatch(raw):
                return _integer(raw, place)
            case AttributeType.DOUBLE if _DOUBLE.fullmatch(raw):
                return _float(raw, place)
            case AttributeType.BOOLEAN if raw.upper() in ("TRUE", "FALSE"):
                return raw.upper() == "TRUE"
            case AttributeType.TIMESTAMP if (moment := moment_of_data(raw)) is not None:
                return moment
            case AttributeType.DURATION if (duration := duration_of_text(raw)) is not None:
                return duration
            case _:
                pass
    except ValueError:
        pass
    raise _wrong_type(repr(raw[:60]), kind, place())


def typed_cells(cells: Sequence[str | None], *, quoted: bool = False) -> list[Value]:
    """Return the cells of a column in the first type that fits all, without loading NumPy or Arrow.

    As `cerlab.io.column_types.typed`, except that moments lose their zone. If some cell is
    `quoted`, all are text.

    >>> typed_cells(["007", "1", None]), typed_cells(["007", "NA"])
    ([7, 1, None], ['007', 'NA'])
    """
    words = [None if cell is None else cell.strip(" \t") for cell in cells]
    some = [word for word in words if word is not None]
    is_large = any(len(word) > 18 and INTEGER_CELL.fullmatch(word) for word in some)
    if is_large and all(map(INTEGER_CELL.fullmatch, some)) and not quoted:
        quoted = any(len(w) > _DIGITS or int(w) not in _INT64 for w in some)
    for kind in () if quoted else _KINDS:
        if kind is AttributeType.TIMESTAMP:
            moments = {word: _moment(word) for word in some}
            kinds = {moment and moment[1] for moment in moments.values()}
            if len(kinds) < 2 and None not in kinds and _share_a_unit(moments.values()):
                return [
                    moment[0] if (moment := moments.get(word or "")) else None for word in words
                ]
            continue
        try:
            values = [None if word is None else convert(word, kind, _NOWHERE) for word in words]
        except BadData:
            continue
        if kind is not AttributeType.DOUBLE or all(map(is_double, some)):
            return values
    return [None if cell is None else str(cell) for cell in cells]


_KINDS = (AttributeType.INT, AttributeType.DOUBLE, AttributeType.BOOLEAN, AttributeType.TIMESTAMP)

_NOWHERE: Place = partial(DataPlace, "")

_MOMENT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"(?:[ T][0-9]{2}(?::[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,9})?)?)?"
    r"(Z|[+-][0-9]{2}(?::?[0-5][0-9])?)?)?"
)


def _moment(word: str) -> tuple[Timestamp, bool] | None:
    """Return the moment in an ISO 8601 text, and whether the text has a zone."""
    match = _MOMENT.fullmatch(word)
    moment = moment_of_data(word) if match is not None else None
    if match is None or moment is None or not is_in_calendar(moment.nanoseconds):
        return None
    return moment, bool(match[1])


def _share_a_unit(moments: Iterable[tuple[Timestamp, bool] | None]) -> bool:
    """Return whether 64 bits hold all moments in nanoseconds, or in microseconds."""
    whole = [moment[0].nanoseconds for moment in moments if moment is not None]
    # pyarrow multiplies the seconds, then adds the fraction: both results must fit
    fits = all(n in _INT64 and n // 10**9 * 10**9 in _INT64 for n in whole)
    return fits or not any(n % 1000 for n in whole)


def is_double(cell: str | None) -> bool:
    """Return whether a large number has a finite double, or its text is an infinity."""
    return cell is None or not math.isinf(float(cell)) or "inf" in cell.lower()


def conform(value: Value, kind: AttributeType, place: Place) -> Value:
    """Return a value converted to a declared type: integers to doubles, texts to times."""
    match kind, value:
        case _, None:
            return None
        case AttributeType.DOUBLE, int() if not isinstance(value, bool):
            return float(value)
        case AttributeType.TIMESTAMP | AttributeType.DURATION, str(text):
            return convert(text, kind, place)
        case (AttributeType.BOOLEAN, bool()) | (AttributeType.STRING, str()):
            return value
        case AttributeType.DOUBLE, float():
            return value
        case AttributeType.INT, int() if not isinstance(value, bool):
            return value
        case (AttributeType.TIMESTAMP, Timestamp()) | (AttributeType.DURATION, Duration()):
            return value
        case _:
            raise _wrong_type(repr(value), kind, place())


def _wrong_type(text: str, kind: AttributeType, place: DataPlace) -> BadData:
    return BadData(
        "CER0721",
        f"{text} is no {kind.value}",
        place=place,
        hint=by_door(
            "the schema declares this type; quarantine= skips such rows",
            "the schema declares this type; --quarantine FILE skips such rows",
        ),
    )


def declared_event(schema: Schema, name: str, stream: str | None, place: Place) -> EventDeclaration:
    """Return the declaration of a row's event type; raises `BadData` for an undeclared type."""
    declaration = schema.event(name, stream)
    if declaration is None:
        raise BadData(
            "CER0722",
            f"event type '{name}' is not declared",
            place=place(),
            hint=nearest(name, schema.event_names()),
        )
    return declaration


def conform_event(event: Event, reading: RowReading, row: int) -> Event:
    """Return an event with typed values, checked against the schema if there is one."""
    if reading.schema is None:
        return event
    return typed_event(event.type, event.stream, event.attributes, conform, reading, row)


def typed_event(
    event_type: str,
    stream: str | None,
    cells: Mapping[str, T],
    value_of: Callable[[T, AttributeType, Place], Value],
    reading: RowReading,
    row: int,
    *,
    column: str | None = None,
    sparse: bool = False,
) -> Event:
    """Return an event as the schema declares it; `value_of` converts a cell to its declared type.

    `column` is that of the event type. If the rows are `sparse`, as in CSV, the columns of other
    types' attributes may contain None. Raises `BadData` for a type or attribute that is not in the
    schema, and for a missing value.
    """
    assert reading.schema is not None
    place = partial(reading.place, row, column)
    declaration = declared_event(reading.schema, event_type, stream, place)
    attributes: dict[str, Value] = {}
    for name, cell in cells.items():
        attribute = declaration.attribute(name)
        if attribute is not None:
            attributes[name] = value_of(cell, attribute.type, partial(reading.place, row, name))
        elif cell is not None or not sparse:
            raise _no_attribute(declaration, name, reading.place(row, name))
    _require_all(declaration, attributes, reading.place(row))
    return Event(event_type, attributes, stream)


def _no_attribute(declaration: EventDeclaration, name: str, place: DataPlace) -> BadData:
    """Return the error for an attribute that the event type does not have."""
    names = [each.name for each in declaration.attributes]
    return BadData(
        "CER0723",
        f"{declaration.name} has no attribute '{name}'",
        place=place,
        hint=nearest(name, names),
    )


def _require_all(
    declaration: EventDeclaration, attributes: Mapping[str, Value], place: DataPlace
) -> None:
    """Raise `BadData` if an attribute that is not nullable is missing or NULL."""
    for attribute in declaration.attributes:
        if not attribute.nullable and attributes.get(attribute.name) is None:
            raise BadData(
                "CER0724",
                f"{declaration.name} needs '{attribute.name}', which is missing or NULL",
                place=DataPlace(place.file, place.row, attribute.name),
                hint=f"declare it as {attribute.name}:{attribute.type.value}? if it may be missing",
            )


def no_type(names: Iterable[str], place: DataPlace) -> BadData:
    """Return the error for events without a type."""
    hint = hint_of_header(names)
    return BadData("CER0736", "there is no column 'type'", place=place, hint=hint)


def warn_of_column(type_name: str | None, names: Iterable[str]) -> None:
    """Warn if the option `type` names a column, or if rows already have types."""
    if type_name in (names := set(names)) and "type" in names:
        message = f"CER0919: type '{type_name}' is for rows that have none, and is a column itself"
        hint = f"{message}; to read types from it, drop the column 'type' and give"
        text = by_door(f"{hint} type_column='{type_name}'", f"{hint} --type-column {type_name}")
        warn(CerlabWarning(text), stacklevel=stacklevel_of_caller())


def no_type_column(column: str, names: Iterable[str], place: DataPlace) -> BadData:
    """Return the error for a missing column of event types."""
    message = f"there is no column '{column}' to hold the event types"
    return BadData("CER0736", message, place=place, hint=nearest(column, names))


def duplicate_column(
    names: list[str], file: str, row: int | None = None, type_name: str | None = None
) -> BadData:
    """Return the error for two columns with one name, or one with the name of the type column."""
    twice = next(name for name in names if names.count(name) > 1)
    if twice == "type" and isinstance(type_name, TypeColumn) and type_name != "type":
        message = (
            f"column '{type_name}' holds the event types, and there is a column 'type' as well"
        )
        hint = by_door(
            "rename or drop column 'type', or leave type_column= out",
            "rename or drop column 'type', or leave --type-column out",
        )
        return BadData("CER0732", message, place=DataPlace(file, row, "type"), hint=hint)
    return BadData(
        "CER0732",
        f"'{twice}' occurs twice",
        place=DataPlace(file, row, twice),
        hint="rename or drop one of the two columns",
    )


def twice(name: str, place: DataPlace) -> BadData:
    """Return the error for a row with two values for one attribute."""
    hint = "remove one of the two values"
    return BadData("CER0732", f"'{name}' occurs twice", place=place, hint=hint)
