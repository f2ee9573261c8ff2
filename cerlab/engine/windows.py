"""The first event inside the window of each event.

From low level to high: the queue of the events inside; the starts of one window, batch by batch;
the ends of a sliding window; the starts of several windows. Time does not go back, so the first
event that a window allows only moves forward.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from fractions import Fraction
from typing import Any

import numpy as np

from cerlab.engine.answers import events_of_streams
from cerlab.engine.instants import (
    SAFE,
    Doubles,
    Float64s,
    Instants,
    TimeColumn,
    first_inside,
    instants_of,
    list_of,
    read_clocks,
)
from cerlab.engine.kernels.arrays import NONE, Int64s
from cerlab.engine.state_checks import check_window, expect, is_whole
from cerlab.model.clauses import EventWindow, Window
from cerlab.model.event import Event, is_of_streams
from cerlab.model.stream import Instant, TimeAxis


class _Inside:
    """A queue of the events inside a window, with their instants.

    An event is moved a constant number of times on average, so the cost of a push does not depend
    on the size of the window. Instants are in an array until one of another kind arrives. From then
    on they are in a list, which is copied at each access.
    """

    def __init__(self) -> None:
        self._times: Int64s | Float64s | list[Instant] = np.empty(0, np.int64)
        self._doubles: tuple[int, bool] | None = None
        """The kind of doubles; None for other instants."""
        self._positions: Int64s = np.empty(0, np.int64)
        self._begin = self._end = 0
        self.moves = 0
        """The number of events moved so far."""

    def __len__(self) -> int:
        return self._end - self._begin

    @property
    def times(self) -> Instants:
        """The instants in order, as a view of an array or a list."""
        return self._of(self._times[self._begin : self._end])

    def _of(self, times: Any) -> Instants:
        if self._doubles is not None:
            factor, whole = self._doubles
            return Doubles(times, factor, whole=whole)
        instants: Instants = times
        return instants

    @property
    def positions(self) -> Int64s:
        """The positions in order, as a view of an array."""
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
        """Choose the array type for the instants from the first ones."""
        self._begin = self._end = 0
        self._doubles = times.kind if isinstance(times, Doubles) else None
        room: Any = np.empty(len(self._positions), np.float64 if self._doubles else np.int64)
        self._times = [] if isinstance(times, list) else room

    def _is_alike(self, times: Instants) -> bool:
        """Return whether the array can also hold the given instants."""
        if isinstance(self._times, list) or isinstance(times, list):
            return False
        return self._doubles == (times.kind if isinstance(times, Doubles) else None)

    def _become_list(self) -> None:
        if not isinstance(self._times, list):
            self._times = list_of(self._of(self._times[: self._end]))
            self._doubles = None

    def add(self, time: Instant, position: int, *, whole: bool) -> None:
        """Add an event; `whole` means that 64 bits hold instants minus the window's width."""
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
        """Remove the events before `time`; return the position of the first one left."""
        begin, times = self._begin, self._of(self._times)
        while times[begin] < time:
            begin += 1
        self._begin = begin
        return int(self._positions[begin])

    def drop(self, count: int) -> None:
        """Remove the first `count` events."""
        self._begin += count

    def _move(self, room: int) -> None:
        """Move the events to the front of larger arrays."""
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
    """The first position inside the window of each event, computed batch by batch.

    Without a window, and for a window in events, all results are NONE: positions do not count the
    events of a partition.
    """

    def __init__(self, window: Window | None, axis: TimeAxis | None) -> None:
        self.clock = (
            None if window is None or isinstance(window, EventWindow) else TimeColumn(window, axis)
        )
        """The clock of a window in time, otherwise None."""
        self._inside = _Inside()

    def read(self, columns: Mapping[str, Any], positions: Int64s) -> Int64s:
        """Return the first position in the window of each event of a batch: (events,).

        `positions` are those in the stream, shape (events,). Raises `BadData` for a time that is
        missing or goes back; nothing is read then.
        """
        if self.clock is None:
            return np.full(len(positions), NONE, np.int64)
        return self.take(self.clock.read(columns, len(positions), positions.item), positions)

    def take(self, times: Instants, positions: Int64s) -> Int64s:
        """Read events with known instants; return the first position in each window."""
        if self.clock is None or not len(positions):
            return np.full(len(positions), NONE, np.int64)
        before = len(self._inside)
        self._inside.append(times, positions)
        first = first_inside(self._inside.times, self.clock.width, before)
        starts = self._inside.positions[first]
        # times do not go back, so later windows start no earlier than this one
        self._inside.drop(int(first[-1]))
        return starts

    def read_events(self, events: Sequence[Event], positions: Sequence[int]) -> list[int]:
        """Read a few events without columns; return the first position in each window."""
        if self.clock is None:
            return [NONE] * len(events)
        return self.take_events(self.clock.read_events(events, positions), positions)

    def take_events(self, times: Sequence[Instant], positions: Sequence[int]) -> list[int]:
        """Read a few events with known instants; return the first position in each window."""
        return [*map(self.take_event, times, positions)]

    def read_event(self, event: Event, position: int) -> int:
        """Read one event; return the first position in its window."""
        if self.clock is None:
            return NONE
        return self.take_event(self.clock.read_event(event, position), position)

    def take_event(self, time: Instant, position: int) -> int:
        """Read an event with a known instant; return the first position in its window."""
        assert self.clock is not None
        width = self.clock.width
        self._inside.add(time, position, whole=isinstance(width, int) and width < SAFE)
        return self._inside.drop_before(time - width)

    def copy(self) -> WindowStarts:
        """Return a copy that continues at the present event."""
        other = copy(self)
        # both share one array: the copy appends behind the events that this object reads
        other.clock, other._inside = copy(self.clock), copy(self._inside)
        return other

    @property
    def moves(self) -> int:
        """The number of times that events were moved, which measures the cost of the window."""
        return self._inside.moves

    @property
    def lowest(self) -> int:
        """The first position in the window at the last event; NONE if all starts are permitted."""
        return int(self._inside.positions[0]) if len(self._inside) else NONE

    def inside(self) -> tuple[Instants, Int64s]:
        """Return the instants and positions in the window."""
        return self._inside.times, self._inside.positions

    def state(self) -> Any:
        """Return (times, positions) in the window, for `resume`."""
        times, positions = self.inside()
        return list(map(_plain, times)), positions.tolist()

    def resume(self, state: Any, read: int) -> None:
        """Restore the result of `state`; damaged values raise `BadData` or another error."""
        times, positions = state
        check_window(times, positions, read)
        self._inside = _Inside()
        self._inside.append(instants_of(list(times), 0), np.array(positions, np.int64))
        if self.clock is not None:
            self.clock.last = times[-1] if times else None


class SlidingEnds:
    """The first end inside a sliding window of ends, at each event.

    A window in events counts the whole stream. A window in time has no end at events outside FROM.
    """

    def __init__(self, window: Window, streams: Sequence[str], axis: TimeAxis | None) -> None:
        self._starts = WindowStarts(window, axis)
        self._streams = () if self._starts.clock is None else streams
        self._width = window.width if isinstance(window, EventWindow) else 0

    def read(self, columns: Mapping[str, Any], length: int, first: int) -> Int64s:
        """Return the first end in the sliding window, at each event of a batch.

        It is 0 for events outside FROM. Raises as `WindowStarts.read`.
        """
        if self._starts.clock is None:
            return np.arange(first, first + length) - min(self._width, first + length)
        columns, inside = events_of_streams(self._streams, columns, length)
        ends = np.zeros(length, np.int64)
        ends[inside] = self._starts.read(columns, inside + first)
        return ends

    def instant(self, event: Event, position: int) -> Instant | None:
        """Return the instant of the next event for `take_event`; None outside FROM.

        Raises `BadData` as `read`.
        """
        if self._starts.clock is None:
            return 0
        inside = is_of_streams(event, self._streams)
        return self._starts.clock.instant(event, position) if inside else None

    def take_event(self, time: Instant, position: int) -> int:
        """Read an event; return the first end in the sliding window."""
        if self._starts.clock is None:
            return position - self._width
        self._starts.clock.last = time
        return self._starts.take_event(time, position)

    def copy(self) -> SlidingEnds:
        """Return a copy that continues at the present event."""
        other = copy(self)
        other._starts = self._starts.copy()
        return other

    def state(self) -> Any:
        """Return (times, positions) in the window, for `resume`."""
        return self._starts.state()

    def resume(self, state: Any, read: int) -> None:
        """Restore the result of `state`; damaged values raise `BadData` or another error."""
        self._starts.resume(state, read)


class Windows:
    """Several windows that each start must be inside, and the order by which they compare events.

    Without a window in events, orders are positions. With one, they number the events in FROM.
    """

    def __init__(
        self,
        windows: Sequence[Window],
        streams: Sequence[str],
        axis: TimeAxis | None,
        bounds: Int64s | None = None,
    ) -> None:
        """Create the windows; with `bounds`, starts at event n are also at least ``bounds[n]``."""
        self._bounds = np.zeros(0, np.int64) if bounds is None else bounds
        self._widths = [w.width for w in windows if isinstance(w, EventWindow)]
        self._starts = [WindowStarts(w, axis) for w in windows if not isinstance(w, EventWindow)]
        self._clocks = [starts.clock for starts in self._starts if starts.clock is not None]
        self._selects = bool(streams)
        self._count = 0

    def read(self, columns: Mapping[str, Any], positions: Int64s) -> tuple[Int64s, Int64s]:
        """Return the order of each event of a batch, and the lowest order in its windows.

        Raises `BadData`, then reads nothing.
        """
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
        """Return the order of each of a few events, and the lowest order in its windows.

        Raises as `read`.
        """
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
        """Return (events read, [(times, positions), ..]), for `resume`."""
        return self._count, [starts.state() for starts in self._starts]

    def resume(self, state: Any, read: int) -> None:
        """Restore the result of `state`; damaged values raise `BadData` or another error."""
        self._count, windows = state
        expect(is_whole(self._count, 0, read + 1), "how many events FROM left")
        for starts, inside in zip(self._starts, windows, strict=True):
            starts.resume(inside, read)

    def order(self, position: int) -> int:
        """Return the order of the next event: its number in FROM, or its position."""
        return self._count if self._widths else position

    def lowest_order(self, position: int) -> int:
        """Return the lowest order of a start that all windows at the last event permit."""
        by_events = (self._count - width for width in self._widths)
        last_bound = self._bounds[:position][-1:].tolist()
        in_time = (starts.lowest for starts in self._starts)
        return max((0, *by_events, *map(int, last_bound), *in_time))

    def lowest(self, position: int) -> int:
        """Return the lowest position of a start that all windows at the last event permit."""
        by_events = (position - width for width in self._widths if not self._selects)
        return max((0, *by_events, *(starts.lowest for starts in self._starts)))


def _plain(time: Any) -> Any:
    return time if isinstance(time, Fraction) else int(time)
