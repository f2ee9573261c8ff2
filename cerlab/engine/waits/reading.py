"""Events read for the stage of waits: substreams, times, and bounds on starts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from cerlab.automata.plan import (
    CorrelatedPlan,
    ExceptIf,
    HoldWithin,
    Plan,
    WaitPlan,
)
from cerlab.engine.answers import (
    events_of_streams,
)
from cerlab.engine.instants import (
    Instants,
    TimeColumn,
    Times,
    instants_of,
    list_of,
    read_clocks,
)
from cerlab.engine.kernels.arrays import NONE, Int64s
from cerlab.engine.state import number_keys
from cerlab.engine.state_checks import check_times, expect, is_whole
from cerlab.engine.symbol_tables import LearnedTables
from cerlab.engine.waits.bounds import EventWindowBound, RivalBound
from cerlab.engine.waits.look_back import LookBacks, Moved, Source, sources_of
from cerlab.engine.waits.relevance import AutomatonTests, TransducerTests
from cerlab.engine.waits.stage import Arrivals
from cerlab.engine.windows import WindowStarts
from cerlab.model.clauses import EventWindow
from cerlab.model.event import Event, is_of_streams
from cerlab.model.stream import (
    Instant,
    TimeAxis,
    Until,
    promised,
    width_of,
)
from cerlab.predicates.columns.key_codes import KeyCodes


class EventReader:
    """A reader that adds substreams, times and bounds on starts to events."""

    def __init__(
        self, plan: WaitPlan, tables: Mapping[int, LearnedTables], time: TimeAxis | None
    ) -> None:
        """Create the reader; `tables` are the compiled tables of the plan's automata.

        Raises `UsageError` without a time axis.
        """
        self.plan = plan
        self._time = time
        sources = [
            [each for each in sources_of(n, branch) if each is not None]
            for n, branch in enumerate(plan.branches)
        ]
        self.look_backs = [
            LookBacks(
                branch.back,
                [each for each in dict.fromkeys(of_branch) if isinstance(each, Moved)],
                of_one_event=not branch.waits and plan.takes_one_event(branch),
            )
            if branch.back
            else None
            for branch, of_branch in zip(plan.branches, sources, strict=True)
        ]
        """The look-backs of each branch, None for a branch without any."""
        self._looking = [looks for looks in self.look_backs if looks is not None]
        steps = [step for branch in plan.branches for step in branch.steps]
        rivals = dict.fromkeys(step.rival for step in steps if isinstance(step, ExceptIf))
        steps += [step for branch in plan.branches for step in plan.timed_of(branch.body)]
        held = {step.window for step in steps if isinstance(step, HoldWithin)}
        self._clocks = {x: TimeColumn(x, time) for x in plan.waits}
        self._windows = {
            w: WindowStarts(w, time)
            for w in plan.windows
            if w in held and not isinstance(w, EventWindow)
        }
        self._back_clocks = {x: TimeColumn(x, time) for x in plan.look_backs}
        self._every_clock = [
            *(starts.clock for starts in self._windows.values() if starts.clock is not None),
            *self._clocks.values(),
            *self._back_clocks.values(),
        ]
        self._counted = {w: EventWindowBound(w) for w in plan.windows if isinstance(w, EventWindow)}
        self._rivals = {
            n: RivalBound(rival, tables[n])
            for n in rivals
            if isinstance(rival := plan.plans[n], Plan)  # rivals never compare labels
        }
        moved = [bound for looks in self._looking for bound in looks.bounds]
        self.sources: list[Source] = [*self._windows, *self._counted, *self._rivals, *moved]
        self.tests = [
            TransducerTests(body)
            if isinstance(body := plan.plans[branch.body], CorrelatedPlan)
            else AutomatonTests(body, tables[branch.body])
            for branch in plan.branches
        ]
        self._codes = KeyCodes(plan.partition) if plan.partition else None
        self.position = 0
        """The number of events read."""
        self.now: list[Instant] = []
        """The clock of each wait: the last event, or a promise; empty before the first."""
        self._promised: list[Instant] = []
        """The promise for each wait; empty without one."""

    @property
    def keys(self) -> int:
        """The number of substreams seen."""
        return 1 if self._codes is None else self._codes.count

    def promise(self, until: Until) -> None:
        """Record a promise that all events before a time have arrived."""
        waits, now = self.plan.waits, list[Instant]()
        for clock in self._clocks.values():
            last = [] if clock.last is None else [clock.last]
            now.append(promised(until, waits, self._time, last))
        self.now = self._promised = [*map(max, now, self.now or now)]

    def read(self, columns: Mapping[str, Any], length: int, *, whole: bool = False) -> Arrivals:
        """Read a batch, which may be the `whole` stream; return its events with times and bounds.

        Raises `BadData` for a time that is missing or goes back; nothing is read then.
        """
        columns, positions = events_of_streams(self.plan.streams, columns, length)
        positions, count = positions + self.position, len(positions)
        every_time = self._instants(
            lambda clock: clock.read(columns, count, positions.item),
            lambda some: list_of(some[:1]),
            positions.item,
        )
        its_times = iter(every_time)
        bounds: dict[Source, Int64s] = {
            window: starts.take(next(its_times), positions)
            for window, starts in self._windows.items()
        }
        times = {length: next(its_times) for length in self._clocks}
        back = {length: next(its_times) for length in self._back_clocks}
        if count:
            self.now = [list_of(some[-1:])[0] for some in times.values()]
        self.position += length
        keys = np.zeros(count, np.int64)
        if self._codes is not None:
            keys = self._codes.codes(columns, count)
        for window, counted in self._counted.items():
            bounds[window] = counted.read(positions, keys, whole=whole)
        for n, rival in self._rivals.items():
            bounds[n] = rival.read(columns, positions, keys, whole=whole)
        for looks in self._looking:
            read = looks.read_whole if whole else partial(_look_back, looks)
            its, wanted = [back[x] for x in looks.lengths], [bounds[b.by] for b in looks.bounds]
            bounds |= zip(looks.bounds, read(positions, keys, its, wanted), strict=True)
        ends = [tests.ends(columns, keys) for tests in self.tests]
        return Arrivals(positions, keys, times, bounds, ends)

    def read_event(self, event: Event) -> Arrival | None:
        """Read one event; return None if it is not in FROM."""
        position = self.position
        if not is_of_streams(event, self.plan.streams):
            self.position += 1
            return None
        if self._promised or len(self._every_clock) > 1:
            times = self._instants(
                lambda clock: clock.read_event(event, position),
                lambda time: (time,),
                lambda _: position,
            )
        else:
            times = [clock.read_event(event, position) for clock in self._every_clock]
        bounds = []
        if self._windows:
            its_times = iter(times)
            bounds = [
                starts.take_event(next(its_times), position) for starts in self._windows.values()
            ]
            times = times[len(bounds) :]
        back = dict(zip(self._back_clocks, times[len(self._clocks) :], strict=True))
        times = times[: len(self._clocks)]
        self.position += 1
        key = 0 if self._codes is None else self._codes.code(event)
        self.now = times
        if key == NONE:
            bounds += [0] * (len(self.sources) - len(bounds))
            return Arrival(position, key, times, bounds, [NONE] * len(self.tests))
        for counted in self._counted.values():
            bounds.append(counted.read_one(key, position))
        for rival in self._rivals.values():
            bounds.append(rival.read_event(event, key, position))
        if self._looking:
            of = dict(zip(self.sources, bounds, strict=False))
            for looks in self._looking:
                now = [back[length] for length in looks.lengths]
                bounds += looks.read(key, position, now, [of[bound.by] for bound in looks.bounds])
        return Arrival(position, key, times, bounds, [tests.end(event) for tests in self.tests])

    def _instants(
        self,
        read: Callable[[TimeColumn], Times],
        first: Callable[[Times], Sequence[Instant]],
        place: Callable[[int], int],
    ) -> list[Times]:
        """Return the instants of events by the clock of each window, then of each wait.

        After a bad time, including one before a promise, all clocks are unchanged. ``first(times)``
        returns no instants or the first one.
        """
        if not self._promised:
            return read_clocks(self._every_clock, read)
        promised = dict(zip(self._clocks.values(), self._promised, strict=True))

        def read_checked(clock: TimeColumn) -> Times:
            last, times = clock.last, read(clock)
            if clock in promised:
                for time in first(times):
                    if time < (then := promised[clock]):
                        clock.last = last
                        clock.check_order(time, time, place(0), promised=then)
            return times

        return read_clocks(self._every_clock, read_checked)

    def arrivals(self, rows: Sequence[Arrival]) -> Arrivals:
        """Return single events as one batch."""
        positions, keys, *others = zip(*rows, strict=True) if rows else ((),) * len(Arrival._fields)
        widths = len(self._clocks), len(self.sources), len(self.tests)
        times, bounds, symbols = (
            zip(*other, strict=True) if rows else ((),) * width
            for other, width in zip(others, widths, strict=True)
        )
        of_branches = [np.array(some, np.int64) for some in symbols]
        ends = [np.flatnonzero(some != NONE) for some in of_branches]
        return Arrivals(
            np.array(positions, np.int64),
            np.array(keys, np.int64),
            {
                x: instants_of([*some], width_of(x))
                for x, some in zip(self._clocks, times, strict=True)
            },
            {x: np.array(some, np.int64) for x, some in zip(self.sources, bounds, strict=True)},
            [(at, some[at]) for at, some in zip(ends, of_branches, strict=True)],
        )

    def state(self) -> Any:
        """Return the state as nested tuples, for `resume`."""
        return (
            self.position,
            [clock.last for clock in self._clocks.values()],
            self.now,
            [] if self._codes is None else self._codes.keys(),
            [starts.state() for starts in self._windows.values()],
            [each.state() for each in self._counted.values()],
            [each.state() for each in self._rivals.values()],
            [clock.last for clock in self._back_clocks.values()],
            [each.state() for each in self._looking],
        )

    def resume(self, state: Any) -> None:
        """Restore the result of `state`; damaged values raise `BadData` or another error."""
        self.position, last, now, keys, insides, counted, rivals, since, looking = state
        expect(is_whole(self.position), "how many events were read")
        expect(len(now) in (0, len(self._clocks)), "the clock")
        for time in (*last, *since, *now):
            if time is not None:
                check_times((time,))
        for clock, then in zip(self._clocks.values(), last, strict=True):
            clock.last = then
        for clock, then in zip(self._back_clocks.values(), since, strict=True):
            clock.last = then
        self.now, self._promised = [*now], [*now]
        number_keys(self._codes, keys)
        for starts, inside in zip(self._windows.values(), insides, strict=True):
            starts.resume(inside, self.position)
        for part, of_part in zip(self._counted.values(), counted, strict=True):
            part.resume(of_part, self.keys, self.position)
        for rival, of_rival in zip(self._rivals.values(), rivals, strict=True):
            rival.resume(of_rival, self.keys, self.position)
        for looks, of_looks in zip(self._looking, looking, strict=True):
            looks.resume(of_looks, self.keys, self.position)


def _look_back(
    looks: LookBacks,
    positions: Int64s,
    keys: Int64s,
    times: Sequence[Instants],
    bounds: Sequence[Int64s],
) -> Sequence[Int64s]:
    """Read a batch; return, for each bound and event, the least start that look-backs permit."""
    least = np.zeros((len(bounds), len(keys)), np.int64)
    columns, wanted = [*map(list_of, times)], [each.tolist() for each in bounds]
    rows = zip(keys.tolist(), positions.tolist(), strict=True)
    for n, (key, position) in enumerate(rows):
        if key != NONE:
            now, its_bounds = [each[n] for each in columns], [each[n] for each in wanted]
            least[:, n] = looks.read(key, position, now, its_bounds)
    return [*least]


class Arrival(NamedTuple):
    """One event with its substream, times, bounds and symbols."""

    position: int
    key: int
    times: list[Instant]
    bounds: list[int]
    symbols: list[int]
    """For each branch the symbol of the event, NONE if the event ends no answer."""
