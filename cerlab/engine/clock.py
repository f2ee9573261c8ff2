"""Time in the engine: the instants of a batch, and where the window of each event begins.

Exact, and by columns where they are whole. Time does not decrease, so the first position that a
window in time still allows only moves forward.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from cerlab.engine.instants import (
    SAFE,
    Doubles,
    Float64s,
    Instants,
    back_at,
    first_inside,
    instant_at,
    list_of,
)
from cerlab.engine.kernels.arrays import Int64s
from cerlab.engine.kernels.windowed import goes_back
from cerlab.model.clauses import AttributeWindow, EventWindow, TimeWindow, Window
from cerlab.model.columns import Columns, is_arrow, nanoseconds, numbers_of, values_of
from cerlab.model.event import Event, Value
from cerlab.model.stream import Instant, TimeAxis, TimeUnit, check_order, clock_for


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
        pair = self._whole(columns) or self._doubles(columns)
        if pair is None:
            return self._flat(self._one_by_one(columns, length, place))
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
        """The instants of events in any order; raises `BadData` for one that is missing."""
        if not length:
            return np.zeros(0, np.int64)
        if (pair := self._whole(columns) or self._doubles(columns)) is not None:
            times, _ = pair
            return times
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
        column = self._joined(columns, column)
        if moment and (column := nanoseconds(column)) is None:
            return None
        values = numbers_of(column).astype(np.int64, copy=False)
        back = goes_back(values)
        # instants in order have their extremes at the ends
        least, most = (values[0], values[-1]) if back < 0 else (values.min(), values.max())
        factor = 1 if moment or unit is None else unit.value
        if max(-int(least), int(most)) >= SAFE // factor:
            return None
        return (values if factor == 1 else values * factor), back

    def _doubles(self, columns: Mapping[str, Any]) -> tuple[Doubles, int] | None:
        """The instants where the column is one of numbers that are finite doubles, as `_whole`."""
        import pyarrow as pa

        column: Any = columns.get(self._attribute)
        if not is_arrow(column) or column.null_count:
            return None
        unit = self._unit()
        if isinstance(self._window, TimeWindow) and unit is None:
            return None
        if not (pa.types.is_floating(column.type) or pa.types.is_integer(column.type)):
            return None
        column = self._joined(columns, column)
        values = numbers_of(column).astype(np.float64, copy=False)
        whole = bool(pa.types.is_integer(column.type))
        if not np.isfinite(values).all() or (whole and (abs(values) >= 2.0**53).any()):
            return None
        times = Doubles(values, 1 if unit is None else unit.value, whole=whole)
        return times, back_at(times)

    def _joined(self, columns: Mapping[str, Any], column: Any) -> Any:
        """The column in one piece, which the next run of the stream finds joined."""
        import pyarrow as pa

        if isinstance(column, pa.ChunkedArray):
            column = column.combine_chunks()
            if isinstance(columns, Columns):
                columns.keep(self._attribute, column)
        return column

    def _unit(self) -> TimeUnit | None:
        """That in which a window of time reads numbers; None if no unit is given."""
        is_time = isinstance(self._window, TimeWindow)
        return self._axis.unit if is_time and self._axis is not None else None


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

    So a push costs what it brings, however much the window holds. Instants are by columns until one
    comes of another kind, and a list from then on, copied at each access.
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
        """Be of the kind of the first instants."""
        self._begin = self._end = 0
        self._doubles = times.kind if isinstance(times, Doubles) else None
        room: Any = np.empty(len(self._positions), np.float64 if self._doubles else np.int64)
        self._times = [] if isinstance(times, list) else room

    def _is_alike(self, times: Instants) -> bool:
        """Whether instants may be appended to the array of the earlier ones."""
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
        self._times[self._end : self._end + 1] = [time]
        self._positions[self._end] = position
        self._end += 1

    def drop_before(self, time: Instant) -> int:
        """Take out the events before an instant; the position of the first one left."""
        begin, times = self._begin, self._of(self._times)
        while times[begin] < time:
            begin += 1
        self._begin = begin
        return int(self._positions[begin])

    def drop(self, count: int) -> None:
        """Take out the first `count` events."""
        self._begin += count

    def _move(self, room: int) -> None:
        """Move the events that are left to the front of larger arrays."""
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
