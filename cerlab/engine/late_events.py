"""Late events of one stream: events wait for the allowed lateness and leave in time order.

`InOrder` accepts events in any order within a lateness of the largest time seen, and releases
them in time order; events with equal times stay in order of arrival. An event is released when the
largest time exceeds its time by more than the lateness. An event is late if its time is below that
of a released event, or below a promise. Each event is judged separately, so batches do not matter.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from fractions import Fraction
from heapq import heappop, heappush
from typing import Any, TypeAlias

from cerlab.engine import codec
from cerlab.engine.codec import AXIS, Layout, axis_of_state
from cerlab.engine.run import Run
from cerlab.engine.state_checks import check_times, expect, reading_state
from cerlab.errors import BadData, TypeMismatch, UsageError, by_door
from cerlab.model.clauses import AttributeWindow, TimeWindow
from cerlab.model.event import Event
from cerlab.model.stream import (
    NAME_THE_TIME,
    Instant,
    Stream,
    TimeAxis,
    Until,
    clock_for,
    promised,
)

Length: TypeAlias = str | int | float | timedelta
"""A number in the unit of the column, or a duration: ``"10 seconds"``, a `timedelta`."""

_NANOSECONDS = {
    ("ns", "nanosecond"): 1,
    ("us", "microsecond"): 10**3,
    ("ms", "millisecond"): 10**6,
    ("s", "second"): 10**9,
    ("m", "min", "minute"): 60 * 10**9,
    ("h", "hour"): 3_600 * 10**9,
    ("d", "day"): 86_400 * 10**9,
}

_UNITS = {name: size for names, size in _NANOSECONDS.items() for name in names}
_UNITS |= {f"{names[-1]}s": size for names, size in _NANOSECONDS.items()}

_LENGTH = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*")


def length_of(length: Length, option: str) -> tuple[Fraction, bool]:
    """Return a length as nanoseconds and True; without a unit, as a number and False.

    Raises `UsageError`, which names the option `option`, for an invalid length.

    >>> length_of("1.5 us", "lateness"), length_of("20", "lateness")
    ((Fraction(1500, 1), True), (Fraction(20, 1), False))
    """
    if isinstance(length, timedelta):
        # integer division, because the float of `total_seconds` would round
        microseconds = length // timedelta(microseconds=1)
        if microseconds < 0:
            raise _no_length(str(length), option)
        return Fraction(microseconds * 1_000), True
    if isinstance(length, str):
        match = _LENGTH.fullmatch(length)
        if match is None or (match[2] and match[2].lower() not in _UNITS):
            raise _no_length(length, option)
        number = Fraction(match[1])
        return (number * _UNITS[match[2].lower()], True) if match[2] else (number, False)
    is_number = isinstance(length, int | float) and not isinstance(length, bool)
    if not is_number or not math.isfinite(length) or length < 0:
        raise _no_length(length, option)
    return Fraction(length), False


def length_in(unit: int | None, length: Length, option: str) -> Fraction:
    """Return a length in units of `unit` nanoseconds; a number without a unit is not converted.

    `unit` is None if the unit of the column is unknown. Raises as `length_of`, and
    `UsageError` for a length that cannot be converted.

    >>> length_in(1_000_000, "1.5 seconds", "lateness"), length_in(None, "20", "lateness")
    (Fraction(1500, 1), Fraction(20, 1))
    """
    number, has_unit = length_of(length, option)
    if not has_unit:
        return number
    if unit is None:
        raise UsageError(
            "CER0882",
            f"{option}={str(length)!r}: the unit of numbers in the time column is unknown",
            hint=by_door(
                "give unit=, or a plain number", "give --time COLUMN:UNIT, or a plain number"
            ),
        )
    return number / unit


def _no_length(length: object, option: str) -> UsageError:
    return UsageError(
        "CER0882",
        f"{option}={length!r} is not a length of time",
        hint="give a number >= 0, or a text with a unit, such as '10 seconds'",
    )


ORDER = Layout(
    "cerlab-order",
    1,
    {
        "time": AXIS,
        "in_time": bool,
        "lateness": object,
        "taken": int,
        "late": int,
        "bounds": tuple,
        "times": tuple,
        "events": tuple,
    },
    {"run": "|u1 bytes"},
)
"""The saved values: the axis; whether the lateness is in nanoseconds or in the unit of the axis;
the lateness; the numbers of accepted and late events; the largest time, the time of the last
released event and the last promise; the times and the events held back, in order."""

Aside: TypeAlias = Callable[[Event, BadData], None]
"""A function that sets a late event aside, with its error."""


class InOrder:
    """A buffer that puts events into time order and releases them after the allowed lateness."""

    def __init__(self, time: TimeAxis | None, lateness: Length, aside: Aside | None = None) -> None:
        """Create an empty buffer; late events go to `aside`, or raise `BadData` without it.

        Raises `UsageError` without a time axis, and for an invalid lateness.
        """
        number, in_time = length_of(lateness, "lateness")
        if time is None:
            message = "lateness needs the time attribute of the stream"
            raise UsageError("CER0802", message, hint=NAME_THE_TIME)
        if time.unit is not None and not in_time:
            number, in_time = number * time.unit.value, True
        self.time = time
        self._aside = aside
        self._set_length(int(number) if number.denominator == 1 else number, in_time)
        self._held: list[tuple[Instant, int, Event]] = []
        """A heap of the events held back: time, number in order of arrival, event."""
        self._given: list[tuple[Instant, int, Event]] = []
        """The events released last; `_before` is the value of `_last` before them."""
        self._newest: Instant | None = None
        """The largest time so far."""
        self._last: Instant | None = None
        """The time of the last released event."""
        self._before: Instant | None = None
        self._floor: Instant | None = None
        """The last promise."""
        self.taken = self.late = 0
        """The number of accepted events, including those held back; the number of late events."""

    def _set_length(self, lateness: Instant, in_time: bool) -> None:
        self.length = lateness, in_time
        # the clock only reads times, so the width does not matter
        self._window: TimeWindow | AttributeWindow = AttributeWindow(1, self.time.attribute)
        if in_time:
            self._window = TimeWindow(1)
        self._clock = clock_for(self._window, self.time)

    def push(self, events: Stream) -> Iterator[Stream]:
        """Accept events; yield one stream with the events that they release, in time order.

        Raises `BadData` afterwards for a late event, if there is no `aside`, and for an event
        without a time; the events before it are accepted.
        """
        self._given, self._before, error = [], self._last, None
        try:
            for event in events.events:
                self._take(event)
        except BadData as wrong:
            error = wrong
        yield self._given_stream()
        if error is not None:
            raise error

    def _take(self, event: Event) -> None:
        """Accept an event, then release all events older than the lateness allows."""
        now = self._clock(event, self.taken)
        bounds = [t for t in (self._last, self._floor) if t is not None]
        if bounds and now < max(bounds):
            self.late += 1
            error = self._late_error(event)
            if self._aside is None:
                raise error
            self._aside(event, error)
            return
        heappush(self._held, (now, self.taken, event))
        self.taken += 1
        if self._newest is None or now > self._newest:
            self._newest = now
        # an event that is not the newest may be due at its arrival
        self._give_before(self._newest - self.length[0])

    def _late_error(self, event: Event) -> BadData:
        name = self.time.attribute
        return BadData(
            "CER0727",
            f"an event came late: its '{name}' is {event.attributes[name]}, and events after that "
            "time were read or promised",
            hint=by_door(
                "give a larger lateness",
                "give a larger --lateness; --quarantine FILE goes on without the event",
            ),
        )

    def _give_before(self, bound: Instant | None) -> None:
        """Release the events before a time, or all if it is None."""
        held = self._held
        while held and (bound is None or held[0][0] < bound):
            self._given.append(heappop(held))
            self._last = self._given[-1][0]

    def _given_stream(self) -> Stream:
        return Stream([event for _, _, event in self._given], time=self.time)

    def put_back(self, read: int) -> None:
        """Put released events back into the buffer, except the first `read`."""
        self._last = self._given[read - 1][0] if read else self._before
        for each in self._given[read:]:
            heappush(self._held, each)
        del self._given[read:]

    def advance(self, until: Until) -> Stream:
        """Declare that all events before a time have arrived, and return them; "end" returns all.

        Raises `UsageError` for an invalid time, `BadData` for one before the last released event.
        """
        then: Instant | None = None
        if not (isinstance(until, str) and until == "end"):
            last = [] if self._last is None else [self._last]
            then = promised(until, [self._window], self.time, last)
            self._floor = then if self._floor is None else max(self._floor, then)
        self._given, self._before = [], self._last
        self._give_before(then)
        return self._given_stream()

    def state(self, run: bytes) -> bytes:
        """Return the buffered events and the state of the run that reads them, as bytes."""
        import numpy as np

        held = sorted(self._held, key=lambda each: each[:2])
        lateness, in_time = self.length
        values = {
            "time": self.time,
            "in_time": in_time,
            "lateness": lateness,
            "taken": self.taken,
            "late": self.late,
            "bounds": (self._newest, self._last, self._floor),
            "times": [time for time, _, _ in held],
            "events": [codec.event_to_values(event) for _, _, event in held],
        }
        return codec.write(ORDER, "", values, {"run": np.frombuffer(run, np.uint8)})

    @classmethod
    def resumed(cls, values: Mapping[str, Any]) -> InOrder:
        """Return the buffer with saved values; damaged ones raise `BadData` or another error.

        Raises `BadData` and other errors for damaged values.
        """
        times, lateness = values["times"], values["lateness"]
        newest, last, floor = values["bounds"]
        known = [t for t in (newest, last, floor) if t is not None]
        expect(all(type(t) in (int, Fraction) for t in (*known, lateness)), "a time")
        check_times(times)
        expect(lateness >= 0, "the lateness")
        if newest is None:
            expect(last is None and not times, "the largest time")
        elif times or last is not None:
            expect(newest >= max(t for t in (*times[-1:], last) if t is not None), "the last time")
        bounds = [t for t in (last, floor) if t is not None]
        expect(not times or not bounds or times[0] >= max(bounds), "an event that is late")
        order = cls(values["time"], 0)
        order._set_length(lateness, values["in_time"])
        order.taken, order.late = values["taken"], values["late"]
        expect(order.taken >= len(times), "the number of events")
        first = order.taken - len(times)
        order._held = [
            (time, first + n, codec.event_from_values(*event))
            for n, (time, event) in enumerate(zip(times, values["events"], strict=True))
        ]
        order._newest, order._last, order._floor = newest, last, floor
        return order


def opened_order(
    time: TimeAxis | None,
    lateness: Length | None,
    state: bytes | None,
    aside: Aside | None = None,
) -> tuple[InOrder | None, bytes | None]:
    """Return a session's buffer of late events, None without lateness, and the state of its run.

    Without a state, `aside` receives late events.

    Raises as `InOrder`, `BadData` for other bytes, and `UsageError` for a lateness other than that
    of the state.
    """
    if state is None:
        return (None if lateness is None else InOrder(time, lateness, aside)), None
    if codec.format_of(state) != ORDER.format:
        if lateness is not None:
            message = "this state is of a session without lateness="
            raise UsageError("CER0777", message, hint="leave lateness= out")
        return None, state
    values, arrays = codec.read(ORDER, "", state)
    with reading_state():
        order = InOrder.resumed(values)
    axis_of_state(time, order.time)
    if lateness is not None and InOrder(order.time, lateness).length != order.length:
        message = "this state is of a session with another lateness"
        raise UsageError("CER0777", message, hint="leave lateness= out")
    return order, arrays["run"].tobytes()


def read_given(run: Run[Any], given: Stream, order: InOrder) -> Iterator[Any]:
    """Push released events to a run and yield its results; put events back after an error.

    An event that the run refuses is lost, and the events after it are held back again. If the run
    refuses a batch as a whole, its events are pushed one by one, so the events before the bad one
    are read. Raises as the run.
    """
    begin, alone = run.position, False
    while True:
        read = run.position - begin
        some = given[read : read + 1] if alone else given[read:]
        try:
            yield from run.push(some)
        except (BadData, TypeMismatch):
            if run.position - begin == read and len(some) > 1:
                alone = True
                continue
            order.put_back(run.position - begin + 1)
            raise
        except UsageError:
            order.put_back(run.position - begin)
            raise
        if run.position - begin >= len(given):
            return
