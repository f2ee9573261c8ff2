"""Streams of events, as events or columns, and the time axis of windows.

Times are exact numbers, with floats at their exact value (as a `Fraction`), so that ``end - start
<= n`` never depends on rounding, and all implementations agree on it.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from fractions import Fraction
from functools import partial
from itertools import islice
from typing import Any, Self, TypeAlias, TypeVar, overload

from cerlab.budget import polled
from cerlab.display import drawable
from cerlab.errors import BadData, DataPlace, UsageError, by_door, keywords_by_name, nearest
from cerlab.model.clauses import AttributeWindow, TimeWindow, Window
from cerlab.model.columns import (
    Columns,
    PartsOf,
    as_arrow,
    slice_columns,
    take_columns,
    values_of,
)
from cerlab.model.event import (
    Duration,
    Event,
    Schema,
    Timestamp,
    TypeColumn,
    Value,
    event_from_dict,
    has_path,
    moment_of_data,
    readable,
    to_value,
    value_of,
    with_values,
)
from cerlab.threads import ahead

Instant: TypeAlias = int | Fraction

Until: TypeAlias = str | int | float | datetime | Timestamp
"""Time before which all events have come, as users give it; "end" if no event follows."""

NAME_THE_TIME = by_door(
    "give time=; numbers need unit= too",
    "give --time COLUMN; numbers need a unit: --time COLUMN:UNIT",
)
"""Hint for a missing time attribute."""


class TimeUnit(Enum):
    """The unit of a numeric time attribute; the value is nanoseconds."""

    NS = 1
    US = 10**3
    MS = 10**6
    S = 10**9
    MIN = 60 * 10**9
    H = 3_600 * 10**9
    D = 86_400 * 10**9


@dataclass(frozen=True, slots=True)
class TimeAxis:
    """A time axis: the time attribute of a stream, and its unit if it is numeric."""

    attribute: str
    unit: TimeUnit | None = None


def time_axis(attribute: str, unit: str | TimeUnit | None) -> TimeAxis:
    """Return the time axis for the options ``time=`` and ``unit=``.

    >>> time_axis("ts", "ms")
    TimeAxis(attribute='ts', unit=<TimeUnit.MS: 1000000>)
    """
    if unit is None or isinstance(unit, TimeUnit):
        return TimeAxis(attribute, unit)
    try:
        return TimeAxis(attribute, TimeUnit[unit.upper()])
    except KeyError:
        known = ", ".join(each.name.lower() for each in TimeUnit)
        raise UsageError("CER0801", f"unknown time unit '{unit}'", hint=f"known: {known}") from None


_MISSPELT_UNIT = re.compile(r"[^\W\d]|(?:nano|micro|milli|sec|min|hour|hr|day)\w*", re.IGNORECASE)


def name_and_unit(text: str) -> tuple[str | None, str | None]:
    """Return the column and the unit of ``column:unit``; the column's name may contain colons.

    >>> name_and_unit("ts:ms"), name_and_unit("time:timestamp"), name_and_unit("time:timestamp:s")
    (('ts', 'ms'), ('time:timestamp', None), ('time:timestamp', 's'))
    """
    name, colon, unit = text.strip().rpartition(":")
    if colon and (unit.upper() in TimeUnit.__members__ or _MISSPELT_UNIT.fullmatch(unit)):
        return name or None, unit
    return text.strip().removesuffix(":") or None, None


def axis_of_options(time: str | None, unit: str | TimeUnit | None) -> TimeAxis | None:
    """Return the time axis for ``time=`` and ``unit=``; raise `UsageError` for a unit alone."""
    if time:
        return time_axis(time, unit)
    if unit is not None:
        raise UsageError(
            "CER0837",
            f"the unit '{unit}' has no time attribute",
            hint=by_door("give time= too", "give --time COLUMN:UNIT"),
        )
    return None


def only_timestamp(events: Iterable[Event]) -> TimeAxis | None:
    """Return the axis of the only attribute with timestamps; None unless there is exactly one.

    A stream of columns is not converted to events for this.
    """
    names = _names_of_moments(events)
    return TimeAxis(names.pop()) if len(names) == 1 else None


def _names_of_moments(events: Iterable[Event]) -> set[str]:
    if isinstance(events, Stream) and events.is_columnar:
        return {name for name in events.columns if events.columns.holds_moments(name)}
    if isinstance(events, Stream) and events._lists is not None:
        lists = events._lists.items()
        return {name for name, values in lists if Timestamp in set(map(type, values))}
    return {
        name
        for event in events
        for name, value in readable(event).items()
        if isinstance(value, Timestamp)
    }


def axis_for(
    window: Window | None, events: Iterable[Event], axis: TimeAxis | None
) -> TimeAxis | None:
    """Return the given axis, or the `only_timestamp` if a window needs one.

    Raises `UsageError` that names the attributes of timestamps if there are several.
    """
    if axis is not None or not isinstance(window, TimeWindow):
        return axis
    names = sorted(_names_of_moments(events))
    if len(names) > 1:
        listed = f"timestamps are in {', '.join(names[:-1])} and {names[-1]}"
        raise _no_time(
            by_door(f"{listed}: give time='{names[0]}'", f"{listed}: give --time {names[0]}")
        )
    return TimeAxis(names[0]) if names else None


def axis_of_windows(windows: Iterable[Window | None], stream: Stream) -> TimeAxis | None:
    """Return the axis of a stream; if it is None and a window needs one, the `only_timestamp`."""
    timed = next((window for window in windows if isinstance(window, TimeWindow)), None)
    return axis_for(timed, stream, stream.time)


@dataclass(frozen=True, slots=True)
class Clock:
    """Function from an event and its position (for errors) to its time.

    Without `axis`, the time is the number in `attribute`.
    """

    attribute: str
    axis: TimeAxis | None = None

    def __call__(self, event: Event, position: int) -> Instant:
        """Return the time of an event; raises `BadData` for a missing or unusable one."""
        if self.axis is None:
            return _number(event, self.attribute, position)
        return _nanoseconds(event, self.axis, position)

    def check_order(
        self, before: Instant, now: Instant, position: int, *, promised: Instant | None = None
    ) -> None:
        """Raise `BadData` if time goes backwards at `position`, or before the `promised` time."""
        if now < before:
            both = f"{self._show(before)}, then {self._show(now)}"
            raise BadData(
                "CER0714",
                f"time goes backwards at position {position}: {both}",
                hint=by_door(
                    "sort the stream by time: sort=True", "sort the stream by time: --sort"
                ),
            )
        if promised is not None and now < promised:
            raise BadData(
                "CER0714",
                f"the event at position {position} is at {self._show(now)}, before "
                f"{self._show(promised)}, and it was promised that no such event would come",
                hint=(
                    "advance(until) promises that all events before that time were pushed: give an "
                    "earlier time"
                ),
            )

    def _show(self, instant: Instant) -> str:
        """Return a time as the events have it: a moment in ISO 8601, or a number and its unit."""
        if self.axis is None:
            return _number_text(instant)
        if self.axis.unit is None:
            return str(Timestamp(int(instant)))
        number = Fraction(instant) / self.axis.unit.value
        number_text = _number_text(int(number) if number.denominator == 1 else number)
        return f"{number_text} {self.axis.unit.name.lower()}"


def clock_for(window: AttributeWindow | TimeWindow, axis: TimeAxis | None) -> Clock:
    """Return a function that reads times for a window; raise `UsageError` without a time axis."""
    if isinstance(window, AttributeWindow):
        return Clock(window.attribute)
    if axis is None:
        raise _no_time(NAME_THE_TIME)
    return Clock(axis.attribute, axis)


def _no_time(hint: str) -> UsageError:
    message = "a window in hours, minutes or seconds needs the time attribute of the stream"
    return UsageError("CER0802", message, hint=hint)


def width_of(length: Window) -> Instant:
    """Return the width of a window or wait as an exact number."""
    return length.width if isinstance(length.width, int) else Fraction(length.width)


def promised(
    until: Until,
    lengths: Sequence[TimeWindow | AttributeWindow],
    axis: TimeAxis | None,
    last: Sequence[Instant],
) -> Instant:
    """Return ``until`` as a time on the axis that all waits share.

    Raises `UsageError` if `until` is not a time on it, or if there are several axes, `BadData` if
    it is before the last event.
    """
    if len({x.attribute if isinstance(x, AttributeWindow) else None for x in lengths}) > 1:
        message = "waits on two time attributes have no common clock"
        raise UsageError("CER0827", message, hint='until="end" promises that no event will come')
    attribute = axis.attribute if axis is not None else ""
    if isinstance(lengths[0], AttributeWindow):
        attribute = lengths[0].attribute
    try:
        event = Event("?", {attribute: to_value(until)})
        then = clock_for(lengths[0], axis)(event, 0)
    except (BadData, UsageError):
        raise UsageError(
            "CER0828",
            f"until={until!r} is not a time of '{attribute}', by which the answers wait",
            hint='give a time in the form of the events, or "end" if no event will come',
        ) from None
    if last and then < last[0]:
        raise BadData(
            "CER0726",
            f"until={until!r} is before the time of the last event",
            hint="give a later time: until promises that no event before it will come",
        )
    return then


def _number(event: Event, attribute: str, position: int) -> Instant:
    value = value_of(event, attribute)
    if isinstance(value, Timestamp | Duration):
        kind, hint = "moment", "write the window in HOURS, MINUTES or SECONDS"
        if isinstance(value, Duration):
            kind, hint = "duration", "a time is a moment, or a number (and its unit)"
        message = f"'{attribute}' at position {position} is a {kind}, which has no unit"
        raise BadData("CER0711", message, hint=hint)
    if value is None and attribute not in event.attributes:
        message = f"the event at position {position} has no time: it has no '{attribute}'"
        raise BadData("CER0712", message, hint=nearest(attribute, event.attributes) or "name it")
    if (
        value is None
        or isinstance(value, (bool, str))
        or (isinstance(value, float) and not math.isfinite(value))
    ):
        raise BadData(
            "CER0712",
            f"the event at position {position} has no time: '{attribute}' is {value!r}",
            hint="every event of a match needs a finite number in the window's attribute",
        )
    return value if isinstance(value, int) else Fraction(value)


def _from_iso_text(text: str, axis: TimeAxis, position: int) -> Timestamp:
    """Return the timestamp for a text in ISO 8601, in UTC if it has no time zone."""
    if (moment := moment_of_data(text)) is not None:
        return moment
    raise BadData(
        "CER0713",
        f"'{axis.attribute}' at position {position} is text, not a time: {text!r}",
        hint="write times as 2026-01-31T10:00:00, or name a numeric attribute and its unit",
    )


def is_far(moment: Timestamp) -> bool:
    """Return whether a timestamp exceeds 64 bits of nanoseconds since 1970."""
    return not -(2**63) <= moment.nanoseconds < 2**63


def far_time(subject: str, name: str, moment: Timestamp, place: DataPlace | None = None) -> BadData:
    """Return the error that the time of `subject`, an event or a row, exceeds 64 bits."""
    message = f"the time of {subject} is {OF_FAR}: '{name}' is {moment}"
    return BadData("CER0740", message, place=place, hint=HINT_OF_FAR)


OF_FAR = "outside the years 1678 to 2262"
HINT_OF_FAR = "such a moment may be compared, but windows and waits compute with the time"


def _nanoseconds(event: Event, axis: TimeAxis, position: int) -> Instant:
    value = value_of(event, axis.attribute)
    if isinstance(value, Timestamp | str):
        moment = _from_iso_text(value, axis, position) if isinstance(value, str) else value
        if is_far(moment):
            raise far_time(f"the event at position {position}", axis.attribute, moment)
        return moment.nanoseconds
    if axis.unit is None and isinstance(value, (int, float)) and not isinstance(value, bool):
        raise UsageError(
            "CER0803",
            f"the time attribute '{axis.attribute}' is a number and has no unit",
            hint=by_door(
                "give the unit, such as unit='s' or unit='ms'",
                f"give the unit, such as --time {axis.attribute}:s or --time {axis.attribute}:ms",
            ),
        )
    return _number(event, axis.attribute, position) * (axis.unit.value if axis.unit else 1)


def _number_text(instant: Instant) -> str:
    is_float = not isinstance(instant, int) and abs(instant) <= sys.float_info.max
    bits = int(instant).bit_length()
    # Python refuses to print more than 4,300 digits
    if bits > 1 << 13:
        return f"a number of {bits:,} bits"
    return str(float(instant) if is_float else int(instant))


Between: TypeAlias = Callable[[int, int], Iterable[Event]]
"""Function that returns the events of a stream from a position on, before another one."""


class _Loaded:
    """The events of a source, loaded as far as needed."""

    def __init__(self, load: Callable[[], Iterable[Event]]) -> None:
        self._load = load
        self._rest: Iterator[Event] | None = None
        self._events: list[Event] = []

    def between(self, start: int, stop: int) -> list[Event]:
        """Return the events from index `start` on, before `stop`."""
        if self._rest is None:
            self._rest = iter(self._load())
        try:
            self._events += islice(self._rest, max(0, stop - len(self._events)))
        except BaseException:
            # a failed generator cannot continue: the next access starts again
            self._rest, self._events = None, []
            raise
        return self._events[start:stop]


PART = 1 << 20
"""Number of events of a whole stream that are read together, or somewhat more.

Arrays of this size fit memory that is reused; those of all events would touch new pages.
"""

_BLOCK = 1 << 6
"""Events created together from columns: a block takes 0.3 ms, a slice of a table 0.1 ms."""


@drawable
class Stream:
    """An immutable finite stream ``t_0 t_1 ..``; positions count from 0.

    It consists of events, or of columns from which events are created on demand; the compiled
    engine reads the columns.
    """

    __slots__ = (
        *("_between", "_blocks", "_columns", "_events", "_length", "_lists", "_load", "_parts"),
        *("schema", "time", "until", "__weakref__"),
    )

    def __init__(
        self,
        events: Iterable[Event],
        *,
        time: TimeAxis | None = None,
        schema: Schema | None = None,
        until: Until | None = None,
    ) -> None:
        self._events: tuple[Event, ...] | None = tuple(events)
        self._columns: Columns | None = None
        # columns are created when they are used
        self._lists: Mapping[str, Sequence[Value]] | None = None
        self._load: Callable[[], Iterable[Event]] | None = None
        self._between: Between | None = None
        self._parts: PartsOf | None = None
        self._blocks: dict[int, tuple[Event, ...]] = {}
        self._length = len(self._events)
        self.time = time
        self.schema = schema
        self.until = until

    def __copy__(self) -> Self:
        stream = object.__new__(type(self))
        stream._hold(self)
        return stream

    def _hold(self, other: Stream) -> None:
        """Copy the contents of another stream."""
        for name in Stream.__slots__[:-1]:  # all slots except the one for weak references
            setattr(self, name, getattr(other, name))

    def with_columns(self, more: Mapping[str, Any]) -> Stream:
        """Return the stream with further attributes, given as columns by name."""

        def load() -> Iterator[Event]:
            values = zip(*(values_of(column, name) for name, column in more.items()), strict=True)
            for event, row in zip(self.events, values, strict=True):
                by_name = zip(more, row, strict=True)
                own = {name: value for name, value in by_name if value is not None}
                yield with_values(event, own)

        columns = self.columns.with_more(more)
        return Stream.from_columns(columns, len(self), load, time=self.time)

    def __deepcopy__(self, _: Any) -> Self:
        return self  # immutable

    def __getstate__(self) -> tuple[Any, ...]:
        """Return the parts to copy or pickle: events, and the columns created so far."""
        columns = self._columns
        kept = None
        if columns is not None:
            # reading a nested column raises BadData; its values are in the events
            with suppress(BadData):
                kept = {name: columns[name] for name in columns}
        source = None if columns is None else columns.source
        return self.events, kept, source, self.time, self.schema, self.until

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self._events, columns, source, self.time, self.schema, self.until = state
        self._lists = self._load = self._between = self._columns = self._parts = None
        self._blocks = {}
        self._length = len(self.events)
        if columns is not None:
            self._columns = Columns(columns, lambda name: as_arrow(columns[name]), source)

    @classmethod
    @keywords_by_name
    def from_columns(
        cls,
        columns: Mapping[str, Any],
        length: int,
        load: Callable[[], Iterable[Event]],
        *,
        time: TimeAxis | None = None,
        schema: Schema | None = None,
        between: Between | None = None,
        parts: PartsOf | None = None,
    ) -> Self:
        """Return a stream from columns, without checking that they contain valid events.

        Args:
            columns: The columns by name.
            length: The number of events.
            load: A function that returns the events.
            time: The time axis.
            schema: The declarations.
            between: A function that returns the events from a start on, before a stop; without it,
                reading one event creates those before it too.
            parts: A function that reads the columns again, part by part.
        """
        stream = cls((), time=time, schema=schema)
        source, complete = getattr(columns, "source", None), getattr(columns, "complete", False)
        made_of = Columns(
            columns,
            lambda name: as_arrow(columns[name]),
            source,
            columns.__getitem__,
            complete=complete,
        )
        stream._events, stream._columns, stream._length = None, made_of, length
        stream._load, stream._between = load, between or _Loaded(load).between
        stream._parts = parts
        return stream

    @keywords_by_name
    def parts(self, most: int | None = None) -> Iterator[tuple[Columns, int]]:
        """Yield columns of up to `most` consecutive events, and the number of these events.

        By default these are `PART` events or somewhat more: a file of columns is then read part by
        part, and the stream keeps none of it.
        """
        columns, length = self.columns, len(self)
        if self._parts is not None and self._events is None and length > PART:
            used: set[str] = set()

            def read(part: tuple[Columns, int]) -> None:
                for name in sorted(used):
                    part[0][name]

            for columns, length in ahead(self._parts(PART), read):
                yield from _slices(columns, length, length if most is None else most)
                used |= columns.made
        else:
            yield from _slices(columns, length, PART if most is None else most)

    @property
    def events(self) -> tuple[Event, ...]:
        """The events as a tuple; a stream of columns creates it at first use."""
        if self._events is None:
            assert self._load is not None
            self._events = tuple(polled(self._load()))
            self._blocks = {}
        return self._events

    @property
    def is_columnar(self) -> bool:
        """True if the stream has columns, so that reading them converts no events."""
        return self._columns is not None

    def head(self, n: int) -> tuple[Event, ...]:
        """Return the first n events, or all if there are fewer, without creating others."""
        return self.events_between(0, n)

    def events_between(self, start: int, stop: int) -> tuple[Event, ...]:
        """Return the events from index `start` on, before `stop`, without creating others."""
        if self._events is not None:
            return self._events[start:stop]
        assert self._between is not None
        start, stop, _ = slice(start, stop).indices(self._length)
        return tuple(polled(self._between(start, max(start, stop))))

    def _event(self, position: int) -> Event:
        """Return one event; a stream of columns creates and caches a block of events."""
        if self._events is not None:
            return self._events[position]
        number, place = divmod(range(self._length)[position], _BLOCK)
        if (block := self._blocks.get(number)) is None:
            block = self.events_between(number * _BLOCK, (number + 1) * _BLOCK)
            self._blocks[number] = block
        return block[place]

    @property
    def columns(self) -> Columns:
        """The columns ``type``, ``stream`` and all attributes.

        A missing attribute is NULL. From its first use on, each column is Arrow with encoded text,
        unless its values are of several types (`cerlab.model.columns`).
        """
        if self._columns is None:
            if (lists := self._lists) is not None:
                self._columns = Columns(lists, lambda name: as_arrow(lists[name]))
                return self._columns
            events = self.events
            names = dict.fromkeys(name for event in polled(events) for name in event.attributes)
            self._columns = Columns(
                (*names, "type", "stream"),
                lambda name: as_arrow([value_of(event, name) for event in polled(events)]),
                has_path=partial(has_path, events),
            )
        return self._columns

    @classmethod
    def from_events(
        cls,
        events: Iterable[Event | Mapping[str, Any]],
        *,
        type: str | None = None,
        time: str | None = None,
        unit: str | TimeUnit | None = None,
    ) -> Self:
        """Return a stream from events, or from dictionaries with a ``type`` key.

        Args:
            events: The dictionaries or events.
            type: The type of events without one.
            time, unit: The time attribute, and its unit if it is a number.

        Raises:
            BadData: An event is invalid; the error has its number, from 1, and the key.

        >>> len(Stream.from_events([{"type": "A"}, {"type": "B", "v": 1}]))
        2
        """
        axis = axis_of_options(time, unit)
        return cls(events_of_dicts(events, type), time=axis)

    def on_time(self, axis: TimeAxis) -> Self:
        """Return the stream with another time axis."""
        stream = copy(self)
        stream.time = axis
        return stream

    def up_to(self, until: Until | None) -> Self:
        """Return the stream with a promise that all events before a time are in it."""
        if until is None:
            return self
        stream = copy(self)
        stream.until = until
        return stream

    @overload
    def __getitem__(self, index: int) -> Event: ...
    @overload
    def __getitem__(self, index: slice) -> Self: ...
    def __getitem__(self, index: int | slice) -> Event | Self:
        if isinstance(index, slice):
            # drop `until`, which promises something about all events
            if self._columns is not None:
                return events_at(self, range(*index.indices(len(self))))
            return type(self)(self.events[index], time=self.time, schema=self.schema)
        return self._event(index)

    def __iter__(self) -> Iterator[Event]:
        return iter(self.events)

    def __len__(self) -> int:
        return self._length

    def __repr__(self) -> str:
        return f"<Stream of {len(self)} events>"


def _slices(columns: Columns, length: int, most: int) -> Iterator[tuple[Columns, int]]:
    """Yield columns of up to `most` events."""
    if length <= most:
        yield columns, length
        return
    for start in range(0, length, most):
        size = min(most, length - start)
        yield slice_columns(columns, start, size), size


AnyStream = TypeVar("AnyStream", bound=Stream)


def events_at(stream: AnyStream, positions: Any) -> AnyStream:
    """Return the events at some positions, in that order.

    Columns keep their types; a promise about all events is not kept.
    """
    columns = take_columns(stream.columns, positions)

    def between(start: int, stop: int) -> Iterable[Event]:
        some = positions[start:stop]
        if isinstance(some, range) and some.step == 1:
            return stream.events_between(some.start, some.stop)
        return (stream[n] for n in some)

    def load() -> Iterable[Event]:
        return between(0, len(positions))

    axis, schema = stream.time, stream.schema
    return type(stream).from_columns(
        columns, len(positions), load, time=axis, schema=schema, between=between
    )


def events_of_dicts(
    events: Iterable[Event | Mapping[str, Any]], type: str | None = None
) -> tuple[Event, ...]:
    """Return events from dictionaries; `type` is the type of those without one."""
    return tuple(_event(each, n, type) for n, each in enumerate(polled(events), 1))


def _event(event: Event | Mapping[str, Any], number: int, type: str | None) -> Event:
    if isinstance(event, Event):
        return event
    if isinstance(type, TypeColumn) and isinstance(event, Mapping):
        place = DataPlace("the events", number)
        if type not in event:
            message = f"there is no key '{type}' to hold the event types"
            raise BadData("CER0736", message, place=place, hint=nearest(type, event))
        if "type" in event and type != "type":
            hint = f"drop 'type', or leave type_column='{type}' out"
            raise BadData("CER0732", "'type' occurs twice", place=place, hint=hint)
        event = dict(zip(type.renamed(event), event.values(), strict=True))
    elif type is not None and isinstance(event, Mapping) and event.get("type") is None:
        event = {**event, "type": type}
    try:
        return event_from_dict(event)
    except BadData as error:
        error.place = DataPlace("the events", number, error.column)
        raise
