"""Events, the values of their attributes, positions, and schemas."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from numbers import Real
from typing import Any, Protocol, TypeAlias

from cerlab.display import drawable, rich_display, short_repr
from cerlab.errors import BadData, DataPlace, by_door, keywords_by_name


@rich_display
@dataclass(frozen=True, slots=True, order=True)
class Timestamp:
    """A point in time in nanoseconds since 1970-01-01 UTC; naive datetimes are read as UTC.

    >>> str(Timestamp(1_500_000_000)), str(Timestamp(10**21))
    ('1970-01-01T00:00:01.5Z', '+33658-09-27T01:46:40Z')
    """

    nanoseconds: int

    def __str__(self) -> str:
        seconds, nanos = divmod(self.nanoseconds, 10**9)
        periods, seconds = divmod(seconds, _PERIOD)
        moment = _EPOCH + timedelta(seconds=seconds)
        fraction = f".{nanos:09d}".rstrip("0") if nanos else ""
        return f"{_year(moment.year + 400 * periods)}{moment:-%m-%dT%H:%M:%S}{fraction}Z"


@rich_display
@dataclass(frozen=True, slots=True, order=True)
class Duration:
    """A duration in whole nanoseconds, possibly negative; its text is ISO 8601.

    >>> str(Duration(90_500_000_000)), str(Duration(-86_400 * 10**9)), str(Duration(0))
    ('PT1M30.5S', '-P1D', 'PT0S')
    """

    nanoseconds: int

    def __str__(self) -> str:
        parts = dict(duration_parts(abs(self.nanoseconds)))
        days = f"{parts.pop('DAY')}D" if "DAY" in parts else ""
        hours = "".join(f"{number}{unit[0]}" for unit, number in parts.items())
        return "-" * (self.nanoseconds < 0) + f"P{days}" + "T" * bool(hours) + hours


_FIRST, _END = -62_135_596_800 * 10**9, 253_402_300_800 * 10**9
"""Nanoseconds of the first moment of year 1, and of the moment after year 9999."""


def is_in_calendar(nanoseconds: int) -> bool:
    """Return whether a timestamp is in the years 1 to 9999.

    >>> is_in_calendar(0), is_in_calendar(10**21)
    (True, False)
    """
    return _FIRST <= nanoseconds < _END


UNITS = {
    "DAY": 86_400 * 10**9,
    "HOUR": 3600 * 10**9,
    "MINUTE": 60 * 10**9,
    "SECOND": 10**9,
    "MILLISECOND": 10**6,
}
"""Units of durations in texts, in nanoseconds, largest first."""


def duration_parts(nanoseconds: int) -> Iterator[tuple[str, str]]:
    """Yield the units of a duration >= 0 with their numbers, omitting zeros except 0 seconds.

    >>> [*duration_parts(5_400_000_000_001)]
    [('HOUR', '1'), ('MINUTE', '30'), ('SECOND', '0.000000001')]
    """
    rest = nanoseconds
    for unit in ("DAY", "HOUR", "MINUTE"):
        whole, rest = divmod(rest, UNITS[unit])
        if whole:
            yield unit, str(whole)
    if rest or not nanoseconds:
        seconds, nanos = divmod(rest, UNITS["SECOND"])
        yield "SECOND", f"{seconds}" + f".{nanos:09d}".rstrip("0") * bool(nanos)


_MOMENT = re.compile(
    r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d(?::?\d\d)?)?)?",
    re.ASCII | re.IGNORECASE,
)

# `datetime` reads at most six digits of a fraction
_BEYOND_MICROSECONDS = re.compile(r"[.,]\d{6}(\d+)", re.ASCII)


def moment_of_data(text: str) -> Timestamp | None:
    """Return the timestamp for a text in ISO 8601, to the nanosecond; None for other texts.

    Without a zone, it is UTC. Digits after the ninth must be 0: nothing is rounded.

    >>> str(moment_of_data("20240131T100000.123456789+01")), moment_of_data("31.1.2024")
    ('2024-01-31T09:00:00.123456789Z', None)
    """
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    # the shortest text with seven digits is 20240131T100000.1234567
    beyond = _BEYOND_MICROSECONDS.search(text) if len(text) > 22 else None
    if beyond is None:
        return Timestamp(_nanoseconds(moment))
    digits = beyond[1].rstrip("0")
    if len(digits) > 3:
        return None
    return Timestamp(_nanoseconds(moment) + int(digits.ljust(3, "0")))


def moment_of_text(text: str) -> Timestamp | None:
    """Return the timestamp for a text in the form of CEQL's literals; None for others.

    ``T`` or a space separates date and time of day, which has minutes; a date alone is its
    midnight. It is read by `moment_of_data`.

    >>> str(moment_of_text("2024-01-31 10:00:00.5+01:00")), moment_of_text("20240131T1000")
    ('2024-01-31T09:00:00.5Z', None)
    """
    return moment_of_data(text.upper()) if _MOMENT.fullmatch(text) else None


_DURATION = re.compile(
    r"([+-]?)P(?!$)(?:(\d+)D)?(?:T(?!$)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:[.,](\d{1,9})0*)?S)?)?",
    re.ASCII | re.IGNORECASE,
)


def duration_of_text(text: str) -> Duration | None:
    """Return the duration for a text in ISO 8601; None for others, and for months and years.

    >>> duration_of_text("PT1M30.5S"), duration_of_text("P1M")
    (Duration(nanoseconds=90500000000), None)
    """
    match = _DURATION.fullmatch(text)
    # int() refuses texts of more than 4,300 digits
    if match is None or len(text) > 100:
        return None
    sign, *numbers, fraction = match.groups()
    units = list(UNITS.values())[:4]
    total = sum(int(number or 0) * unit for number, unit in zip(numbers, units, strict=True))
    total += int((fraction or "").ljust(9, "0"))
    return Duration(-total if sign == "-" else total)


Value: TypeAlias = bool | int | float | str | Timestamp | Duration | None
"""Value of an attribute; None is NULL, and an absent attribute is equivalent to NULL."""

NAME_THE_TYPE = by_door(
    "add a 'type' key; type_column= names another key, and type= the type of all events",
    "add a 'type' key; --type-column KEY names another key, and --type NAME the type of all events",
)
"""Hint for events without a type."""

_EVENTS = "the events"
"""Name, in errors, of events that come from Python."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_PERIOD = 146_097 * 86_400
"""Seconds in 400 years, after which the calendar repeats: `datetime` covers the years 1 to 9999."""


def _year(year: int) -> str:
    """Return a year as in ISO 8601, with a sign unless it has four digits."""
    return f"{year:04d}" if 0 <= year <= 9999 else f"{year:+05d}"


@rich_display
@dataclass(frozen=True, slots=True)
class Event:
    """An event: its type, its attributes, and the stream it comes from, if known.

    An event without `stream` belongs to every stream.
    """

    type: str
    attributes: Mapping[str, Value] = field(default_factory=dict, hash=False)
    stream: str | None = None


class NestedValues(Protocol):
    """Interface: the nested objects and lists of an event, whose fields are read by paths."""

    def __call__(self, name: str) -> Value:
        """Return the value at the end of a path; raises KeyError if there is none."""

    def whole(self, name: str) -> Any:
        """Return the object or list of an attribute."""


class PartlyReadable(Mapping[str, Value]):
    """Attributes of an event; reading one that is a list, or another non-value, raises `BadData`.

    Code that writes or iterates over all values therefore never loses one silently. `paths` reads a
    field of a nested value by its path, and raises KeyError if there is none.
    """

    __slots__ = ("errors", "names", "paths", "readable")

    def __init__(
        self,
        names: Sequence[str],
        readable: dict[str, Value],
        errors: dict[str, BadData],
        paths: NestedValues,
    ) -> None:
        self.names = names
        self.readable = readable
        self.errors = errors
        self.paths = paths

    def __getitem__(self, name: str) -> Value:
        """Return the value of an attribute; raises `BadData` if it is not a value."""
        if name in self.errors:
            raise self.errors[name]
        return self.readable[name] if name in self.readable else self.paths(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __contains__(self, name: object) -> bool:
        if name in self.readable or name in self.errors:
            return True
        try:
            self.paths(str(name))
        except KeyError:
            return False
        except BadData:  # a path into a list: the attribute exists, but reading it is an error
            return True
        return True

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PartlyReadable):
            return NotImplemented
        return self.readable == other.readable and self.errors.keys() == other.errors.keys()

    __hash__ = None  # type: ignore[assignment] # unhashable like a dict

    def __repr__(self) -> str:
        values = (f"{name!r}: {self.readable.get(name, NO_VALUE)!r}" for name in self.names)
        return f"{{{', '.join(values)}}}"


def has_path(events: Iterable[Event], name: str) -> bool:
    """Return whether a name is a path to a field that some event has."""
    nested = (e.attributes for e in events if isinstance(e.attributes, PartlyReadable))
    return any(name in attributes for attributes in nested)


class _NoValue:
    """The text shown for an attribute that has no value, such as a list."""

    def __repr__(self) -> str:
        return "(no value of an event)"


NO_VALUE = _NoValue()


def readable(event: Event) -> Mapping[str, Value]:
    """Return the attributes of an event that have values, without lists and objects."""
    attributes = event.attributes
    return attributes.readable if isinstance(attributes, PartlyReadable) else attributes


def shown(event: Event) -> Mapping[str, Any]:
    """Return all attributes of an event for display, with `NO_VALUE` for lists and objects."""
    values = readable(event)
    return {name: values.get(name, NO_VALUE) for name in event.attributes}


def with_values(event: Event, more: Mapping[str, Value]) -> Event:
    """Return an event with attributes added or replaced."""
    values = {**readable(event), **more}
    if isinstance(event.attributes, PartlyReadable):
        errors = {n: e for n, e in event.attributes.errors.items() if n not in more}
        paths = event.attributes.paths
        return replace(event, attributes=PartlyReadable([*values, *errors], values, errors, paths))
    return replace(event, attributes=values)


class TypeColumn(str):
    """The name of the column with event types, given in place of a type for all events.

    >>> TypeColumn("kind").renamed(["kind", "price"])
    ['type', 'price']
    """

    __slots__ = ()

    def renamed(self, names: Iterable[str]) -> list[str]:
        """Return column names with the name of the type column replaced by ``type``.

        Args:
            names: The names of columns.

        >>> TypeColumn("kind").renamed(["kind", "price"])
        ['type', 'price']
        """
        return ["type" if name == self else name for name in names]


def type_of_all(type: str | None) -> str | None:
    """Return the event type for rows without one; None if `type` names a column."""
    return None if isinstance(type, TypeColumn) else type


def is_of_stream(event: Event, stream: str) -> bool:
    """Return whether an event is of a stream; an event without a stream is of every stream."""
    return event.stream is None or event.stream == stream


def is_of_streams(event: Event, streams: Sequence[str]) -> bool:
    """Return whether an event is in FROM; without streams, FROM includes every event."""
    return not streams or event.stream is None or event.stream in streams


def value_of(event: Event, attribute: str) -> Value:
    """Return the value of an attribute, or None; ``type`` and ``stream`` are attributes too.

    >>> value_of(Event("BUY", {"price": 3}), "price"), value_of(Event("BUY"), "type")
    (3, 'BUY')
    """
    if attribute == "type":
        return event.type
    if attribute == "stream":
        return event.stream
    return event.attributes.get(attribute)


def event_from_dict(row: Mapping[str, Any]) -> Event:
    """Return an event from a dictionary with a ``type`` key and, optionally, a ``stream`` key.

    Values may be Python, NumPy, pandas or Arrow scalars. Raises `BadData` with the key for other
    objects, a missing or non-text type, and values that are not a `Value`.
    """
    # isinstance is slow, so test dict first
    if type(row) is not dict and not isinstance(row, Mapping):
        raise BadData(
            "CER0705",
            f"expected a dictionary as an event, got {type(row).__name__}",
            place=DataPlace(_EVENTS),
            hint='for example {"type": "BUY", "price": 27.85}',
        )
    kind = row.get("type")
    if not isinstance(kind, str) or not kind:
        raise BadData(
            "CER0701",
            f"expected a text as the 'type' of an event, got {kind!r}",
            place=DataPlace(_EVENTS, None, "type"),
            hint=NAME_THE_TYPE,
        )
    stream = row.get("stream")
    if stream is not None and not isinstance(stream, str):
        raise BadData(
            "CER0702",
            f"expected a text as the 'stream' of an event, got {stream!r}",
            place=DataPlace(_EVENTS, None, "stream"),
            hint="remove 'stream' if there is only one stream",
        )
    check_names(row)
    attributes = {
        # most values are numbers, for which a call would take longer than this check
        name: raw if type(raw) is float or type(raw) is int else to_value(raw, name)
        for name, raw in row.items()
        if name not in ("type", "stream")
    }
    return Event(kind, attributes, stream)


def check_names(row: Mapping[str, Any]) -> None:
    """Raise `BadData` if a key of a dictionary is not a text or not valid Unicode."""
    try:
        "".join(row).encode()  # one check for all names, which are valid as a rule
    except (TypeError, UnicodeEncodeError):
        for name in row:
            if not isinstance(name, str):
                raise BadData(
                    "CER0706",
                    f"expected a text as the name of an attribute, got {name!r}",
                    place=DataPlace(_EVENTS),
                    hint=f"write it as a text: {str(name)!r}",
                ) from None
            _unicode(name, name)


def to_value(raw: Any, name: str = "?") -> Value:
    """Return a scalar as a `Value`: exact for numbers, text, booleans, timestamps and durations.

    A Decimal becomes an equal int, or the float with the same decimal text; with more digits it
    raises `BadData`. pandas' NaT and NA become None.
    """
    # ASCII texts, which are most, contain no surrogates and need no check
    if type(raw) is str and not raw.isascii():
        return _unicode(raw, name)
    # exact types only: numpy.float64 and enum members are subclasses, handled below
    if raw is None or type(raw) in (bool, int, float, str, Timestamp, Duration):
        return raw  # type: ignore[no-any-return] # narrowed by type(), which mypy does not follow
    if type(raw).__name__ in ("NaTType", "NAType"):
        return None
    if hasattr(raw, "as_py"):
        return to_value(raw.as_py(), name)
    # before date, because a datetime is a date and would lose its time
    if isinstance(raw, datetime):
        return Timestamp(_nanoseconds(raw))
    if isinstance(raw, date):
        return Timestamp(_nanoseconds(datetime(raw.year, raw.month, raw.day)))
    if isinstance(raw, timedelta):
        return Duration(_length(raw))
    if isinstance(raw, Decimal):
        return _of_decimal(raw, name)
    if type(raw).__name__ in ("datetime64", "timedelta64"):
        return _from_numpy(raw, type(raw).__name__)
    if hasattr(raw, "item") and getattr(raw, "shape", None) == ():
        plain = raw.item()
        if type(plain) is not type(raw):
            return to_value(plain, name)
        if isinstance(plain, Real):  # numpy.longdouble, which Python's float cannot represent
            return _of_longdouble(plain, name)
    for kind in (bool, int, float, str):
        if isinstance(raw, kind):
            return kind(raw)
    raise no_value(type(raw).__name__, name)


def no_value(kind: str, name: str) -> BadData:
    """Return the error for an attribute of an unsupported class."""
    hint = "use numbers, text, booleans, moments, durations or None"
    if kind == "Period":
        hint = f"write frame['{name}'].dt.to_timestamp() in place of periods"
    message = f"attribute '{name}' holds {kind}, which is not a value of an event"
    return BadData("CER0703", message, place=DataPlace(_EVENTS, None, name), hint=hint)


def _of_longdouble(raw: Any, name: str) -> float:
    if (value := float(raw)) == raw or raw != raw:
        return value
    raise _too_long(f"number {raw}", name)


_MOST_DIGITS = 4_300
"""Digits of the largest integer that Python prints; a longer Decimal would exhaust memory."""


def _of_decimal(raw: Decimal, name: str) -> Value:
    """Return a decimal as an integer or float; raise `BadData` if that would lose digits."""
    if raw.is_nan():
        return math.nan
    large = raw.is_finite() and raw.adjusted() >= _MOST_DIGITS
    if raw.is_finite() and not large and raw == raw.to_integral_value():
        return int(raw)
    if large or Decimal(repr(value := float(raw))) != raw:
        raise _too_long(f"decimal {str(raw)[:40]}", name)
    return value


def _too_long(number: str, name: str) -> BadData:
    return BadData(
        "CER0720",
        f"the {number} of attribute '{name}' needs more than 64 bits",
        place=DataPlace(_EVENTS, None, name),
        hint="cast the column to double to round it, or to text, when the events are read",
    )


def _unicode(raw: str, name: str) -> str:
    """Return the text; raise `BadData` if it contains half of a surrogate pair."""
    try:
        raw.encode("utf-8")
    except UnicodeEncodeError:
        raise BadData(
            "CER0704",
            f"the text of attribute '{name}' is not Unicode",
            place=DataPlace(_EVENTS, None, name),
            hint="decode it again: half of a surrogate pair is not a character",
        ) from None
    return raw


def _nanoseconds(moment: datetime) -> int:
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return _length(aware - _EPOCH) + int(getattr(moment, "nanosecond", 0))


def _length(span: timedelta) -> int:
    micros = (span.days * 86_400 + span.seconds) * 10**6 + span.microseconds
    return micros * 1000 + int(getattr(span, "nanoseconds", 0))  # attribute of pandas


def _from_numpy(raw: Any, name: str) -> Value:
    nanoseconds = raw.astype(f"{name}[ns]").astype("int64").item()
    if nanoseconds == -(2**63):  # NaT
        return None
    return Timestamp(nanoseconds) if name == "datetime64" else Duration(nanoseconds)


class AttributeType(Enum):
    """The declared type of an attribute; the value is its name in a declaration."""

    INT = "int"
    DOUBLE = "double"
    STRING = "string"
    BOOLEAN = "boolean"
    TIMESTAMP = "timestamp"
    DURATION = "duration"


TYPE_NAMES = {
    **{kind.value: kind for kind in AttributeType},
    "integer": AttributeType.INT,
    "long": AttributeType.INT,
    "primary_time": AttributeType.INT,
    "float": AttributeType.DOUBLE,
    "bool": AttributeType.BOOLEAN,
}
"""Spellings of types in declarations, CORE's own included."""


@dataclass(frozen=True, slots=True)
class AttributeDeclaration:
    """A declaration of an attribute: ``name:type``, or ``name:type?`` if it may be NULL."""

    name: str
    type: AttributeType
    nullable: bool = False


@dataclass(frozen=True, slots=True)
class EventDeclaration:
    """A declaration of an event type: ``EVENT name { attribute, .. }``."""

    name: str
    attributes: tuple[AttributeDeclaration, ...]

    def attribute(self, name: str) -> AttributeDeclaration | None:
        """Return the declaration of an attribute; None if it is not declared."""
        return next((each for each in self.attributes if each.name == name), None)


@dataclass(frozen=True, slots=True)
class StreamDeclaration:
    """A declaration of a stream: ``CREATE STREAM name { event, .. }``."""

    name: str
    events: tuple[EventDeclaration, ...]


@short_repr
@drawable
@dataclass(frozen=True, slots=True)
class Schema:
    """Declarations of streams; of several declarations of an event type, the first applies."""

    streams: tuple[StreamDeclaration, ...]

    @keywords_by_name
    def event(self, name: str, stream: str | None = None) -> EventDeclaration | None:
        """Return the declaration of an event type, in one stream or in any; None if not declared.

        Args:
            name: The event type.
            stream: The stream (default: any).

        >>> from cerlab import parse_schema
        >>> schema = parse_schema("CREATE STREAM S { EVENT A { v:double }, EVENT B { id:int } }")
        >>> schema.event("B").attributes[0].name
        'id'
        """
        for declaration in self.streams:
            if stream in (None, declaration.name):
                for event in declaration.events:
                    if event.name == name:
                        return event
        return None

    def event_names(self) -> tuple[str, ...]:
        """Return the names of all declared event types.

        >>> from cerlab import parse_schema
        >>> schema = parse_schema("CREATE STREAM S { EVENT A { v:double }, EVENT B { id:int } }")
        >>> schema.event_names()
        ('A', 'B')
        """
        return tuple(event.name for stream in self.streams for event in stream.events)

    def attributes(self) -> Iterator[AttributeDeclaration]:
        """Yield all declarations of attributes, for all event types.

        >>> from cerlab import parse_schema
        >>> schema = parse_schema("CREATE STREAM S { EVENT A { v:double }, EVENT B { id:int } }")
        >>> [str(each.type.value) for each in schema.attributes()]
        ['double', 'int']
        """
        return (a for stream in self.streams for event in stream.events for a in event.attributes)

    def attribute_names(self) -> tuple[str, ...]:
        """Return the names of all declared attributes.

        >>> from cerlab import parse_schema
        >>> schema = parse_schema("CREATE STREAM S { EVENT A { v:double }, EVENT B { id:int } }")
        >>> schema.attribute_names()
        ('v', 'id')
        """
        return tuple(attribute.name for attribute in self.attributes())
