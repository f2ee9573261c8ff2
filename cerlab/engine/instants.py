"""Instants: the times of events as exact numbers in arrays, and the clocks that read them.

Instants are an int64 array if 64 bits hold them and their sums with a width; otherwise doubles
times a whole number, or a list of Python numbers.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from math import ceil
from typing import Any, TypeAlias, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from cerlab.budget import poll
from cerlab.engine.kernels.arrays import Int32s, Int64s
from cerlab.engine.kernels.windows import first_above, goes_back, window_starts
from cerlab.model.arrays import numbers_of
from cerlab.model.clauses import AttributeWindow, EventWindow, TimeWindow, Window
from cerlab.model.columns import Columns, is_arrow, nanoseconds, values_of
from cerlab.model.event import Event, Value
from cerlab.model.stream import Instant, TimeAxis, clock_for, width_of

# below this limit the difference of an instant and a width stays below 2^63
SAFE = 1 << 61
"""The limit above which sums of instants and widths use Python integers."""

FEW = 32
"""Up to this many searches, the call of a kernel costs more than the searches."""

Float64s: TypeAlias = NDArray[np.float64]


class Doubles(Sequence[Instant]):
    """Exact instants in an array of doubles; each instant is its double times `factor`."""

    def __init__(self, values: Float64s, factor: int, *, whole: bool = False) -> None:
        """Wrap finite `values` (events,), integers if `whole`.

        `factor` is the number of units in 1.
        """
        self.values = values
        self.factor = factor
        self.whole = whole

    @property
    def kind(self) -> tuple[int, bool]:
        """The common factor of the instants, and whether all values are integers."""
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
        """Return the instants as Python numbers."""
        return [self._exact(value) * self.factor for value in self.values.tolist()]

    def shifted(self, width: Instant) -> tuple[Float64s, Float64s] | None:
        """Return, by instant, the least double >= instant + `width` and the greatest double below.

        None if the width is not a double in the unit of the values. The rounding error of the sum s
        of two doubles is itself a double, which Knuth's two-sum computes exactly. No double is
        between s and the exact sum, so the next double is the bound.
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
        """Return, for each instant, whether it is before `time`."""
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
    """Return the instant at one index as a Python number."""
    return int(times[index]) if isinstance(times, np.ndarray) else times[index]


def join_instants(parts: Sequence[Instants]) -> Instants:
    """Return concatenated instants: an array if all are of one kind, otherwise a list."""
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
    """Return whether a time is an integer small enough that 64 bits hold sums with it."""
    return isinstance(time, int) and abs(time) < SAFE


def instants_of(times: list[Instant], width: Instant) -> Instants:
    """Return instants as an array if 64 bits can hold and add them, otherwise as a list."""
    whole = is_safe(width) and all(map(is_safe, times))
    return np.array(times, np.int64) if whole else times


def list_of(times: Instants) -> list[Instant]:
    """Return instants as a list of Python numbers."""
    return times if isinstance(times, list) else times.tolist()


def take_instants(times: Instants, indices: NDArray[np.integer[Any]]) -> Instants:
    """Return the instants at the given indices."""
    return [times[n] for n in indices.tolist()] if isinstance(times, list) else times[indices]


def join_arrays(parts: Sequence[NDArray[Scalar]]) -> NDArray[Scalar]:
    """Return concatenated arrays, without a copy if only one of them has elements."""
    some = [part for part in parts if len(part)] or parts[:1]
    return some[0] if len(some) == 1 else np.concatenate(some)


def back_at(times: Instants) -> int:
    """Return the index of the first instant that is less than the one before it, or -1."""
    if isinstance(times, Doubles):
        back = np.flatnonzero(times.values[1:] < times.values[:-1])
        return int(back[0]) + 1 if len(back) else -1
    pairs = enumerate(pairwise(list_of(times)), 1)
    return next((n for n, (before, after) in pairs if after < before), -1)


ONE_GROUP = np.zeros(0, np.int64)
"""The groups of events that are all in one group."""


def first_inside(times: Instants, width: Instant, begin: int) -> Int32s:
    """Return, for each event from `begin` on, the first event at most `width` before it.

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
    """Return, for each event, the first event of its group at most `width` before it.

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
    """Return, for each of `begun`, the index of the first of `times` over `width` later.

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
    """Return how many of the sorted `times` are before `time`."""
    if isinstance(times, Doubles):
        return int(np.count_nonzero(times.below(time)))
    if isinstance(times, np.ndarray):
        return int(np.searchsorted(times, min(max(ceil(time), -SAFE), SAFE)))
    return bisect_left(times, time)


def _each(groups: Int64s) -> Iterator[slice]:
    """Yield a slice for each group of consecutive events with equal numbers."""
    bounds = [0, *(np.flatnonzero(np.diff(groups)) + 1).tolist(), len(groups)]
    for start, end in pairwise(bounds if len(groups) else ()):
        poll()
        yield slice(start, end)


class TimeColumn:
    """The clock of a window in time: it reads the instants of events and checks their order."""

    def __init__(self, window: AttributeWindow | TimeWindow, axis: TimeAxis | None) -> None:
        self._clock = clock_for(window, axis)
        self.last: Instant | None = None
        """The instant of the last event, or None."""
        self.width = width_of(window)
        self._unit = None
        self._in_time = isinstance(window, TimeWindow)
        if isinstance(window, TimeWindow):
            assert axis is not None, "the clock has asked for it"
            self._attribute, self._unit = axis.attribute, axis.unit
        else:
            self._attribute = window.attribute

    def check_order(
        self, before: Instant, now: Instant, position: int, *, promised: Instant | None = None
    ) -> None:
        """Raise `BadData` as `Clock.check_order`."""
        self._clock.check_order(before, now, position, promised=promised)

    def read(
        self, columns: Mapping[str, Any], length: int, place: Callable[[int], int]
    ) -> Instants:
        """Return the instants of a batch; raise `BadData` if one is missing or goes back.

        `place` maps an index to a position.

        Raises `BadData` for a time that is missing or goes back; nothing is read then.
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
            self._clock.check_order(self.last, instant_at(times, 0), place(0))
        if back >= 0:
            self._clock.check_order(
                instant_at(times, back - 1), instant_at(times, back), place(back)
            )
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
        """Return the instants of some events; raise the errors of `read`."""
        last, times = self.last, []
        for event, position in zip(events, positions, strict=True):
            now = self._clock(event, position)
            if last is not None:
                self._clock.check_order(last, now, position)
            times.append(now)
            last = now
        self.last = last
        return times

    def read_event(self, event: Event, position: int) -> Instant:
        """Return the instant of one event; raise the errors of `read`."""
        self.last = now = self.instant(event, position)
        return now

    def instant(self, event: Event, position: int) -> Instant:
        """Return the instant of an event without advancing; raise the errors of `read`."""
        now = self._clock(event, position)
        if self.last is not None:
            self._clock.check_order(self.last, now, position)
        return now

    def _events(self, columns: Mapping[str, Any], length: int) -> list[Event]:
        attribute = self._attribute
        column = columns.get(attribute)
        values: Sequence[Value] = (
            [None] * length if column is None else values_of(column, attribute)
        )
        return [Event("?", {attribute: value}) for value in values]

    def _by_column(self, columns: Mapping[str, Any]) -> tuple[Int64s | Doubles, int] | None:
        """Return a column of times as an array, and the index of the first that goes back, or -1.

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
            if isinstance(columns, Columns):  # cached as one array for the next run on this stream
                columns.keep(self._attribute, column)
        factor = 1 if moments or self._unit is None else self._unit.value
        pair = self._whole(column, factor, moments=moments)
        return pair if moments or pair is not None else self._doubles(column, factor)

    def _whole(self, column: Any, factor: int, *, moments: bool) -> tuple[Int64s, int] | None:
        """Return a column of integers or timestamps as int64.

        Returns None for other columns, and if 64 bits might not hold all instants minus the width.
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
        # sorted instants: the extremes are at the ends
        least, most = (values[0], values[-1]) if back < 0 else (values.min(), values.max())
        if max(-int(least), int(most)) >= SAFE // factor:
            return None
        return (values if factor == 1 else values * factor), back

    def _doubles(self, column: Any, factor: int) -> tuple[Doubles, int] | None:
        """Return a column of numbers as doubles; None if a number is infinite, NaN or not exact."""
        import pyarrow as pa

        values = numbers_of(column).astype(np.float64, copy=False)
        whole = bool(pa.types.is_integer(column.type))
        if not np.isfinite(values).all() or (whole and (abs(values) >= 2.0**53).any()):
            return None
        times = Doubles(values, factor, whole=whole)
        return times, back_at(times)


def read_clocks(clocks: Sequence[TimeColumn], read: Callable[[TimeColumn], Times]) -> list[Times]:
    """Return the instants by each clock; if one raises, none of the clocks advances."""
    if len(clocks) < 2:  # common case, fast for a push of one event
        return [read(clock) for clock in clocks]
    before = [clock.last for clock in clocks]
    try:
        return [read(clock) for clock in clocks]
    except BaseException:
        for clock, last in zip(clocks, before, strict=True):
            clock.last = last
        raise


class EventNumbers:
    """A clock for windows in events: the instant of an event is its number."""

    def __init__(self, window: EventWindow) -> None:
        # capped: no stream has so many events, and 64 bits must hold event numbers minus the width
        self.width = min(window.width, SAFE)
        """The width of the window."""
        self.last: Instant | None = None
        """The number of the last event."""

    def read(
        self, columns: Mapping[str, Any], length: int, place: Callable[[int], int]
    ) -> Instants:
        """Return the numbers of the events in a batch."""
        begin = 0 if self.last is None else int(self.last) + 1
        if length:
            self.last = begin + length - 1
        return np.arange(begin, begin + length)


def clock_of(window: Window, axis: TimeAxis | None) -> TimeColumn | EventNumbers:
    """Return the clock of a window; for a window in events, it counts all events."""
    return EventNumbers(window) if isinstance(window, EventWindow) else TimeColumn(window, axis)
