"""Windows: the instants of events, and the first event inside the window of each.

From low level to high: arrays of exact instants; the events inside a window or a wait of each by
arrays; instants read from columns; the starts of one window, batch by batch; those of several.
Time does not decrease, so the first event that a window still allows only moves forward.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from fractions import Fraction
from itertools import pairwise
from math import ceil
from typing import Any, TypeAlias, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from cerlab.budget import poll
from cerlab.engine.answers import events_of_streams
from cerlab.engine.kernels.arrays import NONE, Int32s, Int64s
from cerlab.engine.kernels.windows import first_above, goes_back, window_starts
from cerlab.engine.state_checks import check_window, expect, is_whole
from cerlab.model.clauses import AttributeWindow, EventWindow, TimeWindow, Window
from cerlab.model.columns import Columns, is_arrow, nanoseconds, numbers_of, values_of
from cerlab.model.event import Event, Value, is_of_streams
from cerlab.model.stream import Instant, TimeAxis, check_order, clock_for, width_of

# the difference of two such instants, less such a width, is below 2^63
SAFE = 1 << 61
"""Beyond this, sums of instants and widths are left to Python's integers."""

FEW = 32
"""Up to this many searches cost less than the call of a kernel."""

Float64s: TypeAlias = NDArray[np.float64]


class Doubles(Sequence[Instant]):
    """Instants that are doubles times a whole number; exact, by columns."""

    def __init__(self, values: Float64s, factor: int, *, whole: bool = False) -> None:
        """`values` are finite, (events,), `whole` ones integers; `factor` is the units in 1."""
        self.values = values
        self.factor = factor
        self.whole = whole

    @property
    def kind(self) -> tuple[int, bool]:
        """The factor, and whether the values are integers: all instants of an array share both."""
        return self.factor, self.whole

    def __len__(self) -> int:
        return len(self.values)

    @overload
    def __getitem__(self, index: int) -> Instant: ...
    @overload
    def __getitem__(self, index: slice | NDArray[np.integer[Any]]) -> Doubles: ...
    def __getitem__(self, index: int | slice | NDArray[np.integer[Any]]) -> Instant | Doubles:
        if isinstance(index, slice) or np.ndim(index):
            return Doubles(self.values[index], self.factor, whole=self.whole)
        return self._exact(float(self.values[index])) * self.factor

    @property
    def _exact(self) -> Callable[[float], Instant]:
        return int if self.whole else Fraction

    def tolist(self) -> list[Instant]:
        """Return the instants as Python's numbers."""
        return [self._exact(value) * self.factor for value in self.values.tolist()]

    def shifted(self, width: Instant) -> tuple[Float64s, Float64s] | None:
        """Return the least doubles not below each instant plus `width`, and the greatest not above.

        None where the width, in the unit of the values, is no double. The sum s of two doubles is
        off by a double, which is exact as Knuth's two-sum computes it: then no double is between s
        and what it stands for, so the next one is the bound.
        """
        exact = Fraction(width) / self.factor
        try:
            if exact != (w := float(exact)):
                return None
        except OverflowError:
            return None
        with np.errstate(invalid="ignore", over="ignore"):
            s = self.values + w
            rest = s - self.values
            off = (self.values - (s - rest)) + (w - rest)
            least = np.where(off > 0, np.nextafter(s, np.inf), s)
            return least, np.where(off < 0, np.nextafter(s, -np.inf), s)

    def below(self, time: Instant) -> NDArray[np.bool_]:
        """Return whether each instant is before a time."""
        exact = Fraction(time) / self.factor
        try:
            nearest = float(exact)
        except OverflowError:
            return np.full(len(self), exact > 0)
        return self.values <= nearest if nearest < exact else self.values < nearest


Instants: TypeAlias = Int64s | Doubles | list[Instant]
"""Exact instants, in an array where they are whole and 64 bits hold them, or are doubles."""

Scalar = TypeVar("Scalar", bound=np.generic)

Times = TypeVar("Times")


def instant_at(times: Int64s | Doubles, index: int) -> Instant:
    """Return one instant as Python's number."""
    return int(times[index]) if isinstance(times, np.ndarray) else times[index]


def join_instants(parts: Sequence[Instants]) -> Instants:
    """Lay instants end to end: in an array if all of them are of one kind."""
    some = [part for part in parts if len(part)] or parts[:1]
    arrays = [part for part in some if isinstance(part, np.ndarray)]
    doubles = [part for part in some if isinstance(part, Doubles)]
    if arrays and len(arrays) == len(some):
        return join_arrays(arrays)
    if doubles and len(doubles) == len(some) and len({part.kind for part in doubles}) == 1:
        factor, whole = doubles[0].kind
        return Doubles(join_arrays([part.values for part in doubles]), factor, whole=whole)
    return [time for part in parts for time in list_of(part)]


def is_safe(time: Instant) -> bool:
    """Return whether a time is whole, and 64 bits hold its sums."""
    return isinstance(time, int) and abs(time) < SAFE


def instants_of(times: list[Instant], width: Instant) -> Instants:
    """Return instants as an array, where 64 bits hold them and their sums with a width."""
    whole = is_safe(width) and all(map(is_safe, times))
    return np.array(times, np.int64) if whole else times


def list_of(times: Instants) -> list[Instant]:
    """Return instants as Python's numbers."""
    return times if isinstance(times, list) else times.tolist()


def take_instants(times: Instants, indices: NDArray[np.integer[Any]]) -> Instants:
    """Return the instants at some indices."""
    return [times[n] for n in indices.tolist()] if isinstance(times, list) else times[indices]


def join_arrays(parts: Sequence[NDArray[Scalar]]) -> NDArray[Scalar]:
    """Lay arrays end to end, without a copy where only one of them has elements."""
    some = [part for part in parts if len(part)] or parts[:1]
    return some[0] if len(some) == 1 else np.concatenate(some)


def back_at(times: Instants) -> int:
    """Return the index of the first instant that is less than the instant before it, or -1."""
    if isinstance(times, Doubles):
        back = np.flatnonzero(times.values[1:] < times.values[:-1])
        return int(back[0]) + 1 if len(back) else -1
    pairs = enumerate(pairwise(list_of(times)), 1)
    return next((n for n, (before, after) in pairs if after < before), -1)


ONE_GROUP = np.zeros(0, np.int64)
"""The groups of events that all are in one."""


def first_inside(times: Instants, width: Instant, begin: int) -> Int32s:
    """Return the index of the first event not more than `width` before each event from `begin` on.

    `times` do not decrease. The result has shape (events - begin,).
    """
    first = np.empty(len(times) - begin, np.int32)
    if isinstance(times, np.ndarray):
        window_starts(ONE_GROUP, times, int(width), begin, first)
    elif isinstance(times, Doubles) and (bounds := times[begin:].shifted(-width)) is not None:
        first[:] = np.searchsorted(times.values, bounds[0])
    else:
        some = list_of(times)
        first[:] = [bisect_left(some, time - width) for time in some[begin:]]
    return first


def first_in_group(groups: Int64s, times: Instants, width: Instant) -> tuple[Int64s, int]:
    """Return the index of the first event of its group not more than `width` before each event.

    Events lie group by group. The first result has shape (events,). The second one is the index of
    an event whose time is less than that of the event before it in its group, or -1.
    """
    first = np.empty(len(times), np.int64)
    if isinstance(times, np.ndarray) and isinstance(width, int):
        return first, int(window_starts(groups, times, width, 0, first))
    for group in _each(groups):
        if (back := back_at(times[group])) >= 0:
            return first, group.start + back
        first[group] = first_inside(times[group], width, 0) + group.start
    return first, -1


def first_after(times: Instants, begun: Instants, width: Instant) -> Int64s:
    """Return the index of the first of `times` that is more than `width` after each of `begun`.

    `times` do not decrease. The result has shape (begun,).
    """
    if isinstance(times, np.ndarray) and isinstance(begun, np.ndarray) and is_safe(width):
        if len(begun) <= FEW:
            return np.searchsorted(times, begun + int(width), "right")
        after = np.empty(len(begun), np.int64)
        first_above(times, begun, int(width), after)
        return after
    if isinstance(times, Doubles) and isinstance(begun, Doubles) and times.kind == begun.kind:
        bounds = begun.shifted(width)
        if bounds is not None:
            return np.searchsorted(times.values, bounds[1], "right")
    every = list_of(times)
    return np.array([bisect_right(every, time + width) for time in list_of(begun)], np.int64)


def count_before(times: Instants, time: Instant) -> int:
    """Return how many of `times`, which do not decrease, are before a time."""
    if isinstance(times, Doubles):
        return int(np.count_nonzero(times.below(time)))
    if isinstance(times, np.ndarray):
        return int(np.searchsorted(times, min(max(ceil(time), -SAFE), SAFE)))
    return bisect_left(times, time)


def _each(groups: Int64s) -> Iterator[slice]:
    """Yield the events of each group."""
    bounds = [0, *(np.flatnonzero(np.diff(groups)) + 1).tolist(), len(groups)]
    for start, end in pairwise(bounds if len(groups) else ()):
        poll()
        yield slice(start, end)


class TimeColumn:
    """The clock of a window in time: it reads the instants of events and checks their order."""

    def __init__(self, window: AttributeWindow | TimeWindow, axis: TimeAxis | None) -> None:
        self._clock = clock_for(window, axis)
        self.last: Instant | None = None
        """The instant of the last event."""
        self.width = width_of(window)
        self._unit = None
        self._in_time = isinstance(window, TimeWindow)
        if isinstance(window, TimeWindow):
            assert axis is not None, "the clock has asked for it"
            self._attribute, self._unit = axis.attribute, axis.unit
        else:
            self._attribute = window.attribute

    def read(
        self, columns: Mapping[str, Any], length: int, place: Callable[[int], int]
    ) -> Instants:
        """Return the instants of a batch. `place` gives the position of an event of the batch.

        Raises `BadData` for a time that is missing or goes back, and has then read nothing.
        """
        if not length:
            return np.zeros(0, np.int64)
        pair = self._by_column(columns)
        if pair is None:
            positions = [*map(place, range(length))]
            some = self.read_events(self._events(columns, length), positions)
            return instants_of(some, self.width)
        times, back = pair
        if self.last is not None:
            check_order(self.last, instant_at(times, 0), place(0))
        if back >= 0:
            check_order(instant_at(times, back - 1), instant_at(times, back), place(back))
        self.last = instant_at(times, -1)
        return times

    def instants(
        self, columns: Mapping[str, Any], length: int, place: Callable[[int], int]
    ) -> Instants:
        """Return the instants of events in any order. Raises `BadData` for a missing instant."""
        if not length:
            return np.zeros(0, np.int64)
        if (pair := self._by_column(columns)) is not None:
            return pair[0]
        events = self._events(columns, length)
        times = [self._clock(event, place(n)) for n, event in enumerate(events)]
        return instants_of(times, self.width)

    def read_events(self, events: Sequence[Event], positions: Sequence[int]) -> list[Instant]:
        """Return the instants of some events, without columns. Raises as `read`."""
        last, times = self.last, []
        for event, position in zip(events, positions, strict=True):
            now = self._clock(event, position)
            if last is not None:
                check_order(last, now, position)
            times.append(now)
            last = now
        self.last = last
        return times

    def read_event(self, event: Event, position: int) -> Instant:
        """Return the instant of one event. Raises as `read`."""
        self.last = now = self.instant(event, position)
        return now

    def instant(self, event: Event, position: int) -> Instant:
        """Return the instant of the next event, which is not read yet. Raises as `read`."""
        now = self._clock(event, position)
        if self.last is not None:
            check_order(self.last, now, position)
        return now

    def _events(self, columns: Mapping[str, Any], length: int) -> list[Event]:
        attribute = self._attribute
        column = columns.get(attribute)
        values: Sequence[Value] = (
            [None] * length if column is None else values_of(column, attribute)
        )
        return [Event("?", {attribute: value}) for value in values]

    def _by_column(self, columns: Mapping[str, Any]) -> tuple[Int64s | Doubles, int] | None:
        """Return instants without Python's numbers, and the index of one that goes back, or -1.

        The column has numbers or moments, and no NULL. Returns None for other columns.
        """
        import pyarrow as pa

        column: Any = columns.get(self._attribute)
        if not is_arrow(column) or column.null_count:
            return None
        moments = self._in_time and pa.types.is_timestamp(column.type)
        numbers = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
        if not moments and not (numbers and (self._unit is not None or not self._in_time)):
            return None
        if isinstance(column, pa.ChunkedArray):
            column = column.combine_chunks()
            if isinstance(columns, Columns):  # the next run of the stream finds it in one piece
                columns.keep(self._attribute, column)
        factor = 1 if moments or self._unit is None else self._unit.value
        pair = self._whole(column, factor, moments=moments)
        return pair if moments or pair is not None else self._doubles(column, factor)

    def _whole(self, column: Any, factor: int, *, moments: bool) -> tuple[Int64s, int] | None:
        """Return a column of integers or moments as int64.

        Returns None for other columns, and where 64 bits might not hold all instants less the
        width.
        """
        import pyarrow as pa

        if not isinstance(self.width, int) or self.width >= SAFE:
            return None
        if pa.types.is_floating(column.type) or pa.types.is_uint64(column.type):
            return None
        if moments and (column := nanoseconds(column)) is None:
            return None
        values = numbers_of(column).astype(np.int64, copy=False)
        back = goes_back(values)
        # instants in order have their extremes at the ends
        least, most = (values[0], values[-1]) if back < 0 else (values.min(), values.max())
        if max(-int(least), int(most)) >= SAFE // factor:
            return None
        return (values if factor == 1 else values * factor), back

    def _doubles(self, column: Any, factor: int) -> tuple[Doubles, int] | None:
        """Return a column of numbers as doubles, or None where one is not finite or not exact."""
        import pyarrow as pa

        values = numbers_of(column).astype(np.float64, copy=False)
        whole = bool(pa.types.is_integer(column.type))
        if not np.isfinite(values).all() or (whole and (abs(values) >= 2.0**53).any()):
            return None
        times = Doubles(values, factor, whole=whole)
        return times, back_at(times)


def read_clocks(clocks: Sequence[TimeColumn], read: Callable[[TimeColumn], Times]) -> list[Times]:
    """Return the instants by each clock; a bad time for one leaves all as they were."""
    if len(clocks) < 2:  # a push of one event pays for each step
        return [read(clock) for clock in clocks]
    before = [clock.last for clock in clocks]
    try:
        return [read(clock) for clock in clocks]
    except BaseException:
        for clock, last in zip(clocks, before, strict=True):
            clock.last = last
        raise


class EventNumbers:
    """The numbers of events, batch by batch, as the instants that a window in events counts."""

    def __init__(self, window: EventWindow) -> None:
        # no stream is so long, and a number of events less the width has to fit 64 bits
        self.width = min(window.width, SAFE)
        """The width of the window."""
        self.last: Instant | None = None
        """The number of the last event."""

    def read(
        self, columns: Mapping[str, Any], length: int, place: Callable[[int], int]
    ) -> Instants:
        """Return the numbers of the events of a batch, as `TimeColumn.read` returns instants."""
        begin = 0 if self.last is None else int(self.last) + 1
        if length:
            self.last = begin + length - 1
        return np.arange(begin, begin + length)


def clock_of(window: Window, axis: TimeAxis | None) -> TimeColumn | EventNumbers:
    """Return the clock by which a window that counts all events is measured."""
    return EventNumbers(window) if isinstance(window, EventWindow) else TimeColumn(window, axis)


class _Inside:
    """The events inside a window with their instants, as a queue.

    An event is moved a constant number of times on average, so the cost of a push does not depend
    on the size of the window. Instants are in an array until one of another kind comes. From then
    on they are in a list, which is copied at each access.
    """

    def __init__(self) -> None:
        self._times: Int64s | Float64s | list[Instant] = np.empty(0, np.int64)
        self._doubles: tuple[int, bool] | None = None
        """The kind of doubles; None for other instants."""
        self._positions: Int64s = np.empty(0, np.int64)
        self._begin = self._end = 0
        self.moves = 0
        """Events moved so far."""

    def __len__(self) -> int:
        return self._end - self._begin

    @property
    def times(self) -> Instants:
        """The instants, in order: a view of an array, or a list."""
        return self._of(self._times[self._begin : self._end])

    def _of(self, times: Any) -> Instants:
        if self._doubles is not None:
            factor, whole = self._doubles
            return Doubles(times, factor, whole=whole)
        instants: Instants = times
        return instants

    @property
    def positions(self) -> Int64s:
        """The positions, in order: a view."""
        return self._positions[self._begin : self._end]

    def append(self, times: Instants, positions: Int64s) -> None:
        """Append events."""
        if not len(self):
            self._begin_with(times)
        if self._end + len(positions) > len(self._positions):
            self._move(2 * (len(self) + len(positions)))
        until = self._end + len(positions)
        self._positions[self._end : until] = positions
        if self._is_alike(times):
            values = times.values if isinstance(times, Doubles) else times
            self._times[self._end : until] = values
        else:
            self._become_list()
            self._times[self._end :] = list_of(times)
        self._end = until

    def _begin_with(self, times: Instants) -> None:
        """Take the kind of the first instants."""
        self._begin = self._end = 0
        self._doubles = times.kind if isinstance(times, Doubles) else None
        room: Any = np.empty(len(self._positions), np.float64 if self._doubles else np.int64)
        self._times = [] if isinstance(times, list) else room

    def _is_alike(self, times: Instants) -> bool:
        """Return whether the array of the earlier instants can hold other instants, too."""
        if isinstance(self._times, list) or isinstance(times, list):
            return False
        return self._doubles == (times.kind if isinstance(times, Doubles) else None)

    def _become_list(self) -> None:
        if not isinstance(self._times, list):
            self._times = list_of(self._of(self._times[: self._end]))
            self._doubles = None

    def add(self, time: Instant, position: int, *, whole: bool) -> None:
        """Add one event; `whole` says that 64 bits hold instants less the width of the window."""
        if self._end == len(self._positions):
            self._move(2 * (len(self) + 1))
        is_int = whole and isinstance(time, int) and -SAFE < time < SAFE
        if not is_int or self._doubles is not None:
            self._become_list()
        if isinstance(self._times, list):
            self._times[self._end :] = [time]
        else:
            self._times[self._end] = time
        self._positions[self._end] = position
        self._end += 1

    def drop_before(self, time: Instant) -> int:
        """Remove the events before an instant; return the position of the first remaining event."""
        begin, times = self._begin, self._of(self._times)
        while times[begin] < time:
            begin += 1
        self._begin = begin
        return int(self._positions[begin])

    def drop(self, count: int) -> None:
        """Remove the first `count` events."""
        self._begin += count

    def _move(self, room: int) -> None:
        """Move the remaining events to the front of larger arrays."""
        count, positions, times = len(self), self.positions, self._times[self._begin : self._end]
        self._positions = np.empty(room, np.int64)
        self._positions[:count] = positions
        self._times = times
        if isinstance(times, np.ndarray):
            larger: Any = np.empty(room, times.dtype)
            larger[:count] = times
            self._times = larger
        self._begin, self._end = 0, count
        self.moves += count


class WindowStarts:
    """The position of the first event inside the window of each event, batch by batch.

    Without a window, and for a window in events, all results are NONE: positions do not count the
    events of a partition.
    """

    def __init__(self, window: Window | None, axis: TimeAxis | None) -> None:
        self.clock = (
            None if window is None or isinstance(window, EventWindow) else TimeColumn(window, axis)
        )
        """The clock of a window in time, else None."""
        self._inside = _Inside()

    def read(self, columns: Mapping[str, Any], positions: Int64s) -> Int64s:
        """Return for each event the first position inside its window, shape (events,).

        `positions` are those in the stream, shape (events,). Raises `BadData` for a time that is
        missing or goes back, and has then read nothing.
        """
        if self.clock is None:
            return np.full(len(positions), NONE, np.int64)
        return self.take(self.clock.read(columns, len(positions), positions.item), positions)

    def take(self, times: Instants, positions: Int64s) -> Int64s:
        """Read events whose instants the clock has given; return as `read`."""
        if self.clock is None or not len(positions):
            return np.full(len(positions), NONE, np.int64)
        before = len(self._inside)
        self._inside.append(times, positions)
        first = first_inside(self._inside.times, self.clock.width, before)
        starts = self._inside.positions[first]
        # time does not go back, so no later window begins before that of the last event
        self._inside.drop(int(first[-1]))
        return starts

    def read_events(self, events: Sequence[Event], positions: Sequence[int]) -> list[int]:
        """Return as `read` for a few events, without columns."""
        if self.clock is None:
            return [NONE] * len(events)
        return self.take_events(self.clock.read_events(events, positions), positions)

    def take_events(self, times: Sequence[Instant], positions: Sequence[int]) -> list[int]:
        """Read a few events whose instants the clock has given; return as `read`."""
        return [*map(self.take_event, times, positions)]

    def read_event(self, event: Event, position: int) -> int:
        """Return as `read` for one event."""
        if self.clock is None:
            return NONE
        return self.take_event(self.clock.read_event(event, position), position)

    def take_event(self, time: Instant, position: int) -> int:
        """Read an event whose instant the clock has given; return as `read`."""
        assert self.clock is not None
        width = self.clock.width
        self._inside.add(time, position, whole=isinstance(width, int) and width < SAFE)
        return self._inside.drop_before(time - width)

    def copy(self) -> WindowStarts:
        """Return another one that goes on from here."""
        other = copy(self)
        # both have one array, and the other one appends behind the events that this one knows
        other.clock, other._inside = copy(self.clock), copy(self._inside)
        return other

    @property
    def moves(self) -> int:
        """The number of times that events were moved so far: the work of keeping the window."""
        return self._inside.moves

    @property
    def lowest(self) -> int:
        """The lowest start that an event at the present time still allows; NONE for any start."""
        return int(self._inside.positions[0]) if len(self._inside) else NONE

    def inside(self) -> tuple[Instants, Int64s]:
        """Return the instants and positions of the events inside the window."""
        return self._inside.times, self._inside.positions

    def state(self) -> Any:
        """Return a snapshot for `resume`: (times, positions)."""
        times, positions = self.inside()
        return list(map(_plain, times)), positions.tolist()

    def resume(self, state: Any, read: int) -> None:
        """Restore a snapshot after `read` events. Raises `BadData` and others for other values."""
        times, positions = state
        check_window(times, positions, read)
        self._inside = _Inside()
        self._inside.append(instants_of(list(times), 0), np.array(positions, np.int64))
        if self.clock is not None:
            self.clock.last = times[-1] if times else None


class SlidingEnds:
    """The first end that a sliding window has at each event of a stream.

    A window in events counts the whole stream. A window in time has no end at events that FROM
    leaves out.
    """

    def __init__(self, window: Window, streams: Sequence[str], axis: TimeAxis | None) -> None:
        self._starts = WindowStarts(window, axis)
        self._streams = () if self._starts.clock is None else streams
        self._width = window.width if isinstance(window, EventWindow) else 0

    def read(self, columns: Mapping[str, Any], length: int, first: int) -> Int64s:
        """Return the first end at each event of a batch, whose first event has position `first`.

        It is 0 for events outside FROM. Raises as `WindowStarts.read`.
        """
        if self._starts.clock is None:
            return np.arange(first, first + length) - min(self._width, first + length)
        columns, inside = events_of_streams(self._streams, columns, length)
        ends = np.zeros(length, np.int64)
        ends[inside] = self._starts.read(columns, inside + first)
        return ends

    def instant(self, event: Event, position: int) -> Instant | None:
        """Return the instant of the next event for `take_event`, None outside FROM.

        Raises `BadData` as `read`.
        """
        if self._starts.clock is None:
            return 0
        inside = is_of_streams(event, self._streams)
        return self._starts.clock.instant(event, position) if inside else None

    def take_event(self, time: Instant, position: int) -> int:
        """Read an event; return the first end there."""
        if self._starts.clock is None:
            return position - self._width
        self._starts.clock.last = time
        return self._starts.take_event(time, position)

    def copy(self) -> SlidingEnds:
        """Return another one that goes on from here."""
        other = copy(self)
        other._starts = self._starts.copy()
        return other

    def state(self) -> Any:
        """Return a snapshot for `resume`: (times, positions)."""
        return self._starts.state()

    def resume(self, state: Any, read: int) -> None:
        """Restore a snapshot, as `WindowStarts.resume`."""
        self._starts.resume(state, read)


class Windows:
    """Several windows: the order of each event, and the lowest order that all windows allow.

    Without a window in events, orders are positions. With one, they number the events that are
    read, which are those of the streams that FROM names.
    """

    def __init__(
        self,
        windows: Sequence[Window],
        streams: Sequence[str],
        axis: TimeAxis | None,
        bounds: Int64s | None = None,
    ) -> None:
        """With `bounds`, event n allows no start before ``bounds[n]`` either."""
        self._bounds = np.zeros(0, np.int64) if bounds is None else bounds
        self._widths = [w.width for w in windows if isinstance(w, EventWindow)]
        self._starts = [WindowStarts(w, axis) for w in windows if not isinstance(w, EventWindow)]
        self._clocks = [starts.clock for starts in self._starts if starts.clock is not None]
        self._selects = bool(streams)
        self._count = 0

    def read(self, columns: Mapping[str, Any], positions: Int64s) -> tuple[Int64s, Int64s]:
        """Return both, shape (events,) each; raises `BadData`, and has then read nothing."""
        numbers = np.arange(self._count, self._count + len(positions))
        order = numbers if self._widths else positions
        lowest = np.zeros(len(positions), np.int64)
        if len(self._bounds):
            lowest += self._bounds[positions]
        length, place = len(positions), positions.item
        times = read_clocks(self._clocks, lambda clock: clock.read(columns, length, place))
        for starts, its_times in zip(self._starts, times, strict=True):
            np.maximum(lowest, starts.take(its_times, positions), out=lowest)
        for width in self._widths:
            np.maximum(lowest, order - min(width, self._count + len(positions)), out=lowest)
        self._count += len(positions)
        return order, lowest

    def read_events(
        self, events: Sequence[Event], positions: Sequence[int]
    ) -> tuple[Sequence[int], list[int]]:
        """Return both for a few events, without columns; raises as `read`."""
        lowest = [0] * len(events)
        times = read_clocks(self._clocks, lambda clock: clock.read_events(events, positions))
        for starts, its_times in zip(self._starts, times, strict=True):
            lowest = [*map(max, lowest, starts.take_events(its_times, positions))]
        order = range(self._count, self._count + len(events)) if self._widths else positions
        for width in self._widths:
            lowest = [max(bound, n - width) for bound, n in zip(lowest, order, strict=True)]
        self._count += len(events)
        return order, lowest

    def state(self) -> Any:
        """Return a snapshot for `resume`: (events read, [(times, positions), ..])."""
        return self._count, [starts.state() for starts in self._starts]

    def resume(self, state: Any, read: int) -> None:
        """Restore a snapshot. Raises `BadData` and other errors if it is not one of `state`."""
        self._count, windows = state
        expect(is_whole(self._count, 0, read + 1), "how many events FROM left")
        for starts, inside in zip(self._starts, windows, strict=True):
            starts.resume(inside, read)

    def order(self, position: int) -> int:
        """Return the order of the next event."""
        return self._count if self._widths else position

    def lowest_order(self, position: int) -> int:
        """Return the lowest order that an event at the present time would allow."""
        by_events = (self._count - width for width in self._widths)
        last_bound = self._bounds[:position][-1:].tolist()
        in_time = (starts.lowest for starts in self._starts)
        return max((0, *by_events, *map(int, last_bound), *in_time))

    def lowest(self, position: int) -> int:
        """Return the lowest position that an event at the present time would allow."""
        by_events = (position - width for width in self._widths if not self._selects)
        return max((0, *by_events, *(starts.lowest for starts in self._starts)))


def _plain(time: Any) -> Any:
    return time if isinstance(time, Fraction) else int(time)
