"""Time in the engine: the instants of a batch, and where the window of each event begins.

Exact, and by columns where they are whole. Time does not decrease, so the first position that a
window in time still allows only moves forward.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from cerlab.engine.kernels.arrays import Int32s, Int64s
from cerlab.engine.kernels.windowed import goes_back, window_starts
from cerlab.model.clauses import AttributeWindow, EventWindow, TimeWindow, Window
from cerlab.model.columns import Columns, is_arrow, nanoseconds, numbers_of, values_of
from cerlab.model.event import Event, Value
from cerlab.model.stream import Instant, TimeAxis, TimeUnit, check_order, clock_for

# the difference of two such instants, less such a width, is below 2^63
SAFE = 1 << 61
"""Beyond this, sums of instants and widths are left to Python's integers."""

Instants: TypeAlias = Int64s | list[Instant]
"""Exact instants, in an array where they are whole and 64 bits hold them."""

Scalar = TypeVar("Scalar", bound=np.generic)


class TimeColumn:
    """The instants of events, batch by batch, for a window in time; checks that none goes back."""

    def __init__(self, window: AttributeWindow | TimeWindow, axis: TimeAxis | None) -> None:
        self._window = window
        self._axis = axis
        self._clock = clock_for(window, axis)
        self.last: Instant | None = None
        """The instant of the last event."""
        self.width: Instant = (
            window.nanoseconds
            if isinstance(window, TimeWindow)
            else (window.width if isinstance(window.width, int) else Fraction(window.width))
        )

    def read(
        self, columns: Mapping[str, Any], length: int, place: Callable[[int], int]
    ) -> Instants:
        """The instants of a batch; `place` gives the position of an event of it.

        Raises `BadData` for a time that is missing or goes back, and has then read nothing.
        """
        if not length:
            return np.zeros(0, np.int64)
        pair = self._whole(columns)
        if pair is None:
            return self._flat(self._one_by_one(columns, length, place))
        whole, back = pair
        if self.last is not None:
            check_order(self.last, int(whole[0]), place(0))
        if back >= 0:
            check_order(int(whole[back - 1]), int(whole[back]), place(back))
        self.last = int(whole[-1])
        return whole

    def instants(
        self, columns: Mapping[str, Any], length: int, place: Callable[[int], int]
    ) -> Instants:
        """The instants of events in any order; raises `BadData` for one that is missing."""
        if not length:
            return np.zeros(0, np.int64)
        if (pair := self._whole(columns)) is not None:
            whole, _ = pair
            return whole
        events = self._events(columns, length)
        return self._flat([self._clock(event, place(n)) for n, event in enumerate(events)])

    def read_events(self, events: Sequence[Event], positions: Sequence[int]) -> list[Instant]:
        """The instants of some events, without columns; raises as `read`."""
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
        """The instant of one event; raises as `read`."""
        now = self._clock(event, position)
        if self.last is not None:
            check_order(self.last, now, position)
        self.last = now
        return now

    @property
    def _attribute(self) -> str:
        if isinstance(self._window, TimeWindow):
            assert self._axis is not None
            return self._axis.attribute
        return self._window.attribute

    def _one_by_one(
        self, columns: Mapping[str, Any], length: int, place: Callable[[int], int]
    ) -> list[Instant]:
        return self.read_events(self._events(columns, length), [*map(place, range(length))])

    def _events(self, columns: Mapping[str, Any], length: int) -> list[Event]:
        attribute = self._attribute
        column = columns.get(attribute)
        values: Sequence[Value] = (
            [None] * length if column is None else values_of(column, attribute)
        )
        return [Event("?", {attribute: value}) for value in values]

    def _flat(self, times: list[Instant]) -> Instants:
        """As an array, where 64 bits hold instants and width."""
        whole = all(isinstance(time, int) and abs(time) < SAFE for time in (*times, self.width))
        return np.array(times, np.int64) if whole else times

    def _whole(self, columns: Mapping[str, Any]) -> tuple[Int64s, int] | None:
        """The instants as int64, where the column is one of integers or moments without NULL.

        With the index of one that goes back, or -1. None where 64 bits might not hold the instants
        of all events less the width.
        """
        import pyarrow as pa

        column: Any = columns.get(self._attribute)
        if not is_arrow(column) or column.null_count:
            return None
        if not isinstance(self.width, int) or self.width >= SAFE:
            return None
        moment = pa.types.is_timestamp(column.type)
        unit = self._unit()
        if moment != isinstance(self._window, TimeWindow) and unit is None:
            return None
        whole_number = pa.types.is_integer(column.type) and not pa.types.is_uint64(column.type)
        if not moment and not whole_number:
            return None
        if isinstance(column, pa.ChunkedArray):
            column = column.combine_chunks()
            if isinstance(columns, Columns):  # so the next run of this stream joins nothing
                columns.keep(self._attribute, column)
        if moment:
            column = nanoseconds(column, self._attribute)
        values = numbers_of(column).astype(np.int64, copy=False)
        back = goes_back(values)
        # instants in order have their extremes at the ends
        least, most = (values[0], values[-1]) if back < 0 else (values.min(), values.max())
        factor = 1 if moment or unit is None else unit.value
        if max(-int(least), int(most)) >= SAFE // factor:
            return None
        return (values if factor == 1 else values * factor), back

    def _unit(self) -> TimeUnit | None:
        """That in which a window of time reads numbers; None if no unit is given."""
        is_time = isinstance(self._window, TimeWindow)
        return self._axis.unit if is_time and self._axis is not None else None


def join_instants(parts: Sequence[Instants]) -> Instants:
    """Instants one after the other: in an array if all of them are in arrays."""
    arrays = [part for part in parts if isinstance(part, np.ndarray)]
    if arrays and sum(map(len, arrays)) == sum(map(len, parts)):
        return join_arrays(arrays)
    lists = (part.tolist() if isinstance(part, np.ndarray) else part for part in parts)
    return [time for part in lists for time in part]


def join_arrays(parts: Sequence[NDArray[Scalar]]) -> NDArray[Scalar]:
    """Arrays one after the other; not copied where only one holds anything."""
    some = [part for part in parts if len(part)] or parts[:1]
    return some[0] if len(some) == 1 else np.concatenate(some)


def first_inside(times: Instants, width: Instant, begin: int) -> Int32s:
    """The index of the first event not more than `width` before each event from `begin` on.

    `times` do not decrease. Shape (events - begin,).
    """
    first = np.empty(len(times) - begin, np.int32)
    if isinstance(times, np.ndarray):
        window_starts(times, int(width), begin, first)
    else:
        first[:] = [bisect_left(times, time - width) for time in times[begin:]]
    return first


class WindowStarts:
    """The position of the first event inside the window of each event, batch by batch.

    Without a window, and for windows in events, which positions cannot count in partitions, it is
    -1 everywhere.
    """

    def __init__(self, window: Window | None, axis: TimeAxis | None) -> None:
        self._clock = (
            None if window is None or isinstance(window, EventWindow) else TimeColumn(window, axis)
        )
        self._inside = _Inside()

    def read(self, columns: Mapping[str, Any], positions: Int64s) -> Int64s:
        """For each event the first position inside its window, shape (events,).

        `positions` are those in the stream, shape (events,). Raises `BadData` for a time that is
        missing or goes back.
        """
        if self._clock is None or not len(positions):
            return np.full(len(positions), -1, np.int64)
        fresh = self._clock.read(columns, len(positions), lambda i: int(positions[i]))
        before = len(self._inside)
        self._inside.append(fresh, positions)
        first = first_inside(self._inside.times, self._clock.width, before)
        starts = self._inside.positions[first]
        # time does not go back, so no later window begins before that of the last event
        self._inside.drop(int(first[-1]))
        return starts

    def check(self, columns: Mapping[str, Any], positions: Int64s) -> None:
        """Raise as `read`, and read nothing."""
        if self._clock is not None and len(positions):
            last = self._clock.last
            try:
                self._clock.read(columns, len(positions), lambda i: int(positions[i]))
            finally:
                self._clock.last = last

    def check_events(self, events: Sequence[Event], positions: Sequence[int]) -> None:
        """Raise as `read_events`, and read nothing."""
        if self._clock is not None:
            last = self._clock.last
            try:
                self._clock.read_events(events, positions)
            finally:
                self._clock.last = last

    def read_events(self, events: Sequence[Event], positions: Sequence[int]) -> list[int]:
        """The same for a few events, without columns."""
        if self._clock is None:
            return [-1] * len(events)
        width, starts = self._clock.width, []
        whole = isinstance(width, int) and width < SAFE
        times = self._clock.read_events(events, positions)
        for time, position in zip(times, positions, strict=True):
            self._inside.add(time, position, whole=whole)
            starts.append(self._inside.drop_before(time - width))
        return starts

    def read_event(self, event: Event, position: int) -> int:
        """The same for one event."""
        if self._clock is None:
            return -1
        width = self._clock.width
        time = self._clock.read_event(event, position)
        self._inside.add(time, position, whole=isinstance(width, int) and width < SAFE)
        return self._inside.drop_before(time - width)

    @property
    def moves(self) -> int:
        """The number of moves of events so far: the work of keeping the window."""
        return self._inside.moves

    def lowest(self) -> int:
        """The lowest start that an event at the present time would still allow; -1 for any."""
        return int(self._inside.positions[0]) if len(self._inside) else -1

    def inside(self) -> tuple[Instants, Int64s]:
        """The instants and positions of the events inside the window, for `resume`."""
        return self._inside.times, self._inside.positions

    def resume(self, times: list[Instant], positions: list[int]) -> None:
        """Go on after these events, and no others."""
        whole = all(isinstance(t, int) and abs(t) < SAFE for t in times)
        self._inside = _Inside()
        self._inside.append(np.array(times, np.int64) if whole else times, np.array(positions))
        if self._clock is not None:
            self._clock.last = times[-1] if times else None


class _Inside:
    """Events with their instants, as a queue: one is moved a constant number of times on average.

    So a push costs what it brings, however much the window holds. Instants are int64 until one
    comes that is not, and a list from then on, copied at each access.
    """

    def __init__(self) -> None:
        self._times: Instants = np.empty(0, np.int64)
        self._positions: Int64s = np.empty(0, np.int64)
        self._begin = self._end = 0
        self.moves = 0
        """Events moved so far."""

    def __len__(self) -> int:
        return self._end - self._begin

    @property
    def times(self) -> Instants:
        """The instants, in order: a view of an array, or a list."""
        return self._times[self._begin : self._end]

    @property
    def positions(self) -> Int64s:
        """The positions, in order: a view."""
        return self._positions[self._begin : self._end]

    def append(self, times: Instants, positions: Int64s) -> None:
        """Append events."""
        if self._end + len(positions) > len(self._positions):
            self._move(2 * (len(self) + len(positions)))
        until = self._end + len(positions)
        self._positions[self._end : until] = positions
        if isinstance(self._times, np.ndarray) and not isinstance(times, np.ndarray):
            self._times = self._times[: self._end].tolist()
        if isinstance(self._times, list):
            self._times[self._end :] = list(times)
        else:
            self._times[self._end : until] = times
        self._end = until

    def add(self, time: Instant, position: int, *, whole: bool) -> None:
        """Add one event; `whole` says that 64 bits hold instants less the width of the window."""
        if self._end == len(self._positions):
            self._move(2 * (len(self) + 1))
        if isinstance(self._times, list):
            self._times[self._end :] = [time]
        elif whole and isinstance(time, int) and -SAFE < time < SAFE:
            self._times[self._end] = time
        else:
            self._times = [*self._times[: self._end].tolist(), time]
        self._positions[self._end] = position
        self._end += 1

    def drop_before(self, time: Instant) -> int:
        """Take out the events before an instant; the position of the first one left."""
        begin, times = self._begin, self._times
        while times[begin] < time:
            begin += 1
        self._begin = begin
        return int(self._positions[begin])

    def drop(self, count: int) -> None:
        """Take out the first `count` events."""
        self._begin += count

    def _move(self, room: int) -> None:
        """Move the events that are left to the front of larger arrays."""
        count, times, positions = len(self), self.times, self.positions
        self._positions = np.empty(room, np.int64)
        self._positions[:count] = positions
        self._times = times
        if isinstance(times, np.ndarray):
            self._times = np.empty(room, np.int64)
            self._times[:count] = times
        self._begin, self._end = 0, count
        self.moves += count
