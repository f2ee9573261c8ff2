"""The stage of waits: it moves ends of answers to later events, for streams and sessions.

An answer of a body passes the steps of its branch. Its final end, and whether it survives, depend
on its end and its start alone. So the stage maps each end to the event that it is carried to, the
least start that survives, and whether any answer is given; it never lists an answer. It keeps the
waiting ends in a heap by the time of their release, and for each substream its last event and the
bounds there. The body reads an event when its fate is known, so it lists only given answers. Events
that change no state of the body are not ends, and are forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from heapq import heappop, heappush
from math import inf
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cerlab.automata.plan import (
    Delay,
    LookBack,
    WaitBranch,
)
from cerlab.engine.instants import (
    FEW,
    Instants,
    count_before,
    first_after,
    instants_of,
    join_instants,
    list_of,
    take_instants,
)
from cerlab.engine.kernels import waits as on_arrays
from cerlab.engine.kernels.arrays import NONE, Int64s
from cerlab.engine.state_checks import check_times, expect, is_whole
from cerlab.engine.waits.look_back import Length, Source, sources_of
from cerlab.model.arrays import order_of
from cerlab.model.stream import (
    Instant,
    width_of,
)

SOME = 1 << 12
"""The number of answers of a batch below which they are merged one by one, and the most events that
a session holds back."""

Now: TypeAlias = Sequence[Instant] | None
"""The clock on the axis of each wait of a plan; None after the end of the events."""


class Ends(NamedTuple):
    """Ends of answers that are being moved to later events."""

    of: Int64s  # (ends,): the event where the answers ended originally
    keys: Int64s  # (ends,): the number of the substream
    symbols: Int64s  # (ends,): the symbol of the original event
    to: Int64s  # (ends,): the event that the end has moved to
    lowest: Int64s  # (ends,): the lowest start of remaining answers
    given: NDArray[np.bool_]  # (ends,): whether answers may remain

    def some(self, which: Any) -> Ends:
        """Return the ends at some indices or in a slice."""
        return Ends(*(column[which] for column in self))


def ends_at(places: Int64s, keys: Int64s, symbols: Int64s) -> Ends:
    """Return ends at the given events, with all starts permitted."""
    lowest, given = np.zeros(len(places), np.int64), np.ones(len(places), np.bool_)
    return Ends(places, keys, symbols, places, lowest, given)


NO_PLACES = np.zeros(0, np.int64)
NO_ENDS = ends_at(NO_PLACES, NO_PLACES, NO_PLACES)


class Arrivals(NamedTuple):
    """A batch of events, as a `Stage` reads it."""

    positions: Int64s
    keys: Int64s  # (events,): the substream, or NONE
    times: Mapping[Length, Instants]  # for each length, the times of the events
    bounds: Mapping[Source, Int64s]  # for each bound of a step, the lowest start that it permits
    ends: Sequence[tuple[Int64s, Int64s]]
    """For each branch the indices of the events that may end answers, and their symbols."""


class Queue:
    """The ends that wait for one step, as a heap of batches by time."""

    def __init__(self, length: Length, axis: int) -> None:
        """Create an empty queue, which reads the clock with number `axis`."""
        self.length = length
        self.axis = axis
        self.width = width_of(length)
        self._heap: list[tuple[Instant, int, Instants, Ends]] = []
        self._added = 0

    def add(self, times: Instants, ends: Ends, number: int | None = None) -> None:
        """Add ends whose wait starts at the given times.

        Batches with a larger `number` come later. The ends of one substream stay in order.
        """
        if len(times):
            self._added += number is None
            first = times[0] if isinstance(times, list) else list_of(times[:1])[0]
            heappush(self._heap, (first, self._added if number is None else number, times, ends))

    @property
    def due(self) -> Instant | float:
        """The time after which the first wait ends."""
        return self._heap[0][0] + self.width if self._heap else inf

    def is_over(self, now: Now) -> bool:
        """Return whether the first wait has ended."""
        return bool(self._heap) and (now is None or self.due < now[self.axis])

    def take(self, now: Now) -> tuple[Instants, Ends]:
        """Remove and return the ends whose wait has ended, and when their waits started."""
        parts: list[tuple[int, Instants, Ends]] = []
        while self.is_over(now):
            _, number, times, ends = heappop(self._heap)
            if now is not None:
                cut = count_before(times, now[self.axis] - self.width)
                if cut < len(times):
                    self.add(times[cut:], ends.some(slice(cut, None)), number)
                    times, ends = times[:cut], ends.some(slice(cut))
            parts.append((number, times, ends))
        return _join(parts)

    def state(self, vectors: Sequence[int]) -> Any:
        """Return the waiting ends for `resume`; `vectors` has the truth vector of each symbol."""
        times, ends = _join([part[1:] for part in self._heap])
        self._heap = []
        order = order_of(np.array(list_of(times), object))
        times, ends = take_instants(times, order), ends.some(order)
        self.add(times, ends)
        symbols = [vectors[symbol] for symbol in ends.symbols.tolist()]
        columns = (ends.of, ends.keys, ends.to, ends.lowest, ends.given)
        return (list_of(times), symbols, *(column.tolist() for column in columns))

    def resume(self, state: Any, symbol_of: Callable[[Any], int], last: Sequence[int]) -> Ends:
        """Restore the result of `state`; damaged values raise `BadData` or another error.

        `last` are the last events of all substreams. Returns the ends that wait, in order.
        """
        times, vectors, *columns = state
        of, keys, to, lowest, given = columns
        check_times(times)
        expect(all(len(column) == len(times) for column in (vectors, *columns)), "ends that wait")
        expect(all(is_whole(key, 0, len(last)) for key in keys), "the substream of an end")
        for n, key in enumerate(keys):
            expect(is_whole(to[n], 0, last[key] + 1), "where an end was carried to")
            expect(is_whole(of[n], 0, to[n] + 1), "an end that waits")
            # `lowest` may exceed the last event: no start remains
            expect(is_whole(lowest[n], 0, last[key] + 2), "the least start of an answer")
        expect(all(type(each) is bool for each in given), "an end that waits")
        symbols = [*map(symbol_of, vectors)]
        whole = [np.array(column, np.int64) for column in (of, keys, symbols, to, lowest)]
        ends = Ends._make([*whole, np.array(given, np.bool_)])
        self.add(instants_of([*times], self.width), ends)
        return ends


def _join(parts: Sequence[tuple[int, Instants, Ends]]) -> tuple[Instants, Ends]:
    """Return batches of ends and times as one batch, in the order of the first component."""
    if len(parts) < 2:
        return parts[0][1:] if parts else (NO_PLACES, NO_ENDS)
    _, times, ends = zip(*sorted(parts, key=lambda part: part[0]), strict=True)
    columns = map(np.concatenate, zip(*ends, strict=True))
    return join_instants(times), Ends(*columns)


class Stage:
    """The stage of waits: it moves the ends of each branch through the branch's steps.

    A look-back moves starts but not ends, so it only changes the bounds after it (`look_back`).
    """

    def __init__(self, branches: Sequence[WaitBranch], waits: Sequence[Length]) -> None:
        """Create the queues of waiting ends; `waits` are the lengths of waits, one per clock."""
        self._clocks = len(waits)
        self._steps = [branch.steps for branch in branches]
        self._sources = [sources_of(n, branch) for n, branch in enumerate(branches)]
        self._queues = [
            {
                n: Queue(step.length, waits.index(step.length))
                for n, step in enumerate(steps)
                if isinstance(step, Delay)
            }
            for steps in self._steps
        ]
        self._every_queue = [queue for queues in self._queues for queue in queues.values()]
        # a later wait starts at the time of the event that the end has moved to
        again = [[queue.length for queue in queues.values()][1:] for queues in self._queues]
        self._times: dict[Length, dict[int, Instant]] = {x: {} for some in again for x in some}
        self._positions = np.full(1, NONE, np.int64)
        self._bounds: dict[Source, Int64s] = {}
        self._seen = np.full(1, NONE, np.int64)

    def due(self) -> list[Instant | float]:
        """Return, by clock, the time after which the first wait ends."""
        due: list[Instant | float] = [inf] * self._clocks
        for queue in self._every_queue:
            due[queue.axis] = min(due[queue.axis], queue.due)
        return due

    def fate(self, branch: int, position: int, bounds: Mapping[Source, int]) -> tuple[int, bool]:
        """Return the lowest start that the steps permit at a position, and whether any end is kept.

        The end is the event at a position, and the branch has no wait. `bounds` are those there.
        """
        lowest, given = 0, True
        for step, source in zip(self._steps[branch], self._sources[branch], strict=True):
            assert not isinstance(step, Delay), "the branch does not wait"
            if isinstance(step, LookBack):
                continue
            assert source is not None, "a bound"
            bound = bounds[source]
            if step.of_last:
                given = given and bound <= position
            else:
                lowest = max(lowest, bound)
        return lowest, given and lowest <= position

    def first_queue(self, branch: int) -> Queue | None:
        """Return the first queue of a branch; None for a branch without waits."""
        return next(iter(self._queues[branch].values()), None)

    def read(self, events: Arrivals, now: Now) -> list[Ends]:
        """Read events; return, for each branch, the ends that are now decided.

        The ends of one substream come in order.
        """
        waits = any(self._queues)
        if waits:
            for source in events.bounds:
                self._bounds.setdefault(source, np.zeros(len(self._positions), np.int64))
            self._make_room(int(events.keys.max(initial=0)) + 1)
        known = [
            self._carry(n, events, now)
            if len(events.ends[n][0]) or any(queue.is_over(now) for queue in queues.values())
            else NO_ENDS
            for n, queues in enumerate(self._queues)
        ]
        if waits:
            self._note(events)
        return known

    def _carry(self, branch: int, events: Arrivals, now: Now) -> Ends:
        """Move new and waiting ends of a branch through its steps; return finished ends."""
        at, symbols = events.ends[branch]
        ends = ends_at(events.positions[at], events.keys[at], symbols)
        for n, step in enumerate(self._steps[branch]):
            if isinstance(step, Delay):
                queue = self._queues[branch][n]
                # an earlier wait may have mixed the ends of several substreams
                if ends.to is not ends.of and (np.diff(ends.to) < 0).any():
                    order = order_of(ends.to)
                    ends, at = ends.some(order), at[order]
                queue.add(self._times_at(step.length, events, at, ends), ends)
                begun, ends = queue.take(now)
                after = first_after(events.times[step.length], begun, queue.width)
                at = self._last_before(after, events.keys, ends.keys)
                ends = ends._replace(to=self._at(at, events.positions, self._positions, ends))
                continue
            if isinstance(step, LookBack):
                continue
            source = self._sources[branch][n]
            assert source is not None, "a bound"
            bound = self._at(at, events.bounds[source], self._bounds.get(source), ends)
            if step.of_last:
                ends = ends._replace(given=ends.given & (bound <= ends.of))
            else:
                ends = ends._replace(lowest=np.maximum(ends.lowest, bound))
        return ends._replace(given=ends.given & (ends.lowest <= ends.of))

    def _last_before(self, limits: Int64s, keys: Int64s, wanted: Int64s) -> Int64s:
        """Return the index of each key's last event before a limit; NONE for earlier batches.

        NONE if in an earlier batch.
        """
        last = np.empty(len(limits), np.int64)
        if (np.diff(limits) < 0).any():
            order = order_of(limits)
            last[order] = self._last_before(limits[order], keys, wanted[order])
        elif len(keys) * len(wanted) <= FEW:
            for r, (limit, key) in enumerate(zip(limits.tolist(), wanted.tolist(), strict=True)):
                last[r] = max((n for n in range(limit) if keys[n] == key), default=NONE)
        else:
            on_arrays.last_before(keys, limits, wanted, self._seen, last)
        return last

    @staticmethod
    def _at(at: Int64s, values: Int64s, before: Int64s | None, ends: Ends) -> Int64s:
        """Return the values at the events to which waits have moved ends, even in older batches."""
        if before is None or (len(values) and (at != NONE).all()):
            return values[at]
        return np.where(at == NONE, before[ends.keys], values[at] if len(values) else NONE)

    def _times_at(self, length: Length, events: Arrivals, at: Int64s, ends: Ends) -> Instants:
        """Return the times of the events that ends have moved to."""
        if (at != NONE).all():
            return take_instants(events.times[length], at)
        values, before = list_of(events.times[length]), self._times[length]
        pairs = zip(at.tolist(), ends.keys.tolist(), strict=True)
        return instants_of(
            [before[key] if n == NONE else values[n] for n, key in pairs], width_of(length)
        )

    def _make_room(self, need: int) -> None:
        """Enlarge the arrays to `need` substreams."""
        have = len(self._positions)
        if need > have:
            more = np.zeros(2 * need - have, np.int64)
            self._positions = np.concatenate((self._positions, more + NONE))
            self._seen = np.concatenate((self._seen, more + NONE))
            self._bounds = {s: np.concatenate((b, more)) for s, b in self._bounds.items()}

    def _note(self, events: Arrivals) -> None:
        """Store the last event of each substream."""
        inside = np.flatnonzero(events.keys != NONE)
        keys = events.keys[inside]
        # for equal keys, the last assignment wins
        self._positions[keys] = events.positions[inside]
        for source, bounds in events.bounds.items():
            self._bounds[source][keys] = bounds[inside]
        for length, times in self._times.items():
            every = list_of(events.times[length])
            times.update(zip(keys.tolist(), (every[n] for n in inside.tolist()), strict=True))

    def last(self, keys: int) -> list[int]:
        """Return the last event of each substream."""
        positions: list[int] = self._positions[:keys].tolist()
        return positions

    def state(self, vectors: Sequence[Sequence[int]], keys: int) -> Any:
        """Return the waiting ends and the last events of substreams, for `resume`.

        `vectors` are the truth vectors of the symbols of each branch.
        """
        self._make_room(keys)  # arrays are created at their first use
        return (
            [
                [queue.state(of_branch) for queue in queues.values()]
                for of_branch, queues in zip(vectors, self._queues, strict=True)
            ],
            self.last(keys),
            [bounds[:keys].tolist() for bounds in self._bounds.values()],
            [[times.get(key) for key in range(keys)] for times in self._times.values()],
        )

    def resume(
        self,
        state: Any,
        symbols: Sequence[Callable[[Any], int]],
        sources: Sequence[Source],
        keys: int,
        read: int,
    ) -> list[list[Ends]]:
        """Restore the result of `state`; damaged values raise `BadData` or another error.

        `symbols` return the symbol of a truth vector in each branch. Returns the waiting ends of
        each branch, sorted by the ends of the body.
        """
        waiting, last, bounds, of_times = state
        expect(all(is_whole(p, NONE, read) for p in last), "the last event of a substream")
        for column in (last, *bounds, *of_times):
            expect(len(column) == keys, "what is kept of a substream")
        for column in bounds:
            expect(all(is_whole(p, 0, read + 1) for p in column), "a bound of a substream")
        self._positions, *columns = (np.array([*c, 0], np.int64) for c in (last, *bounds))
        self._bounds = dict(zip(sources, columns, strict=True)) if columns else {}
        self._seen = np.full(keys + 1, NONE, np.int64)
        for times, stored in zip(self._times.values(), of_times, strict=True):
            for key, time in enumerate(stored):
                if last[key] != NONE:
                    check_times((time,))
                    times[key] = time
        ends = []
        for of_branch, queues, states in zip(symbols, self._queues, waiting, strict=True):
            pairs = zip(queues.values(), states, strict=True)
            ends.append(
                [queue.resume(of_queue, of_branch, last) for queue, of_queue in pairs][::-1]
            )
        return ends
