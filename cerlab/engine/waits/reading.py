"""Reading events for the stage: their substreams, their times, and the bounds at each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from cerlab.automata.automaton import Mark
from cerlab.automata.deterministic import Deterministic
from cerlab.automata.plan import (
    CorrelatedPlan,
    ExceptIf,
    HoldWithin,
    Plan,
    WaitPlan,
)
from cerlab.automata.strategy import name_of_state, state_of_name
from cerlab.budget import poll
from cerlab.engine.answers import (
    events_of_streams,
    paces,
)
from cerlab.engine.kernels import arrays as k
from cerlab.engine.kernels import waits as on_arrays
from cerlab.engine.kernels import windowed as e
from cerlab.engine.kernels.arrays import NONE, Int64s
from cerlab.engine.kernels.tecs import NO_IDLE_STATES
from cerlab.engine.reference.driver import WindowPointer
from cerlab.engine.registers.evaluation import MAX_RULES, why_not
from cerlab.engine.registers.program import NotTaken, register_program
from cerlab.engine.registers.rules import event_atoms, names_of
from cerlab.engine.registers.rules import tables as tables_of_runs
from cerlab.engine.state import number_keys
from cerlab.engine.state_checks import check_times, check_window, expect, is_whole
from cerlab.engine.symbol_tables import LearnedTables
from cerlab.engine.waits.stage import NO_PLACES, Arrivals, Source
from cerlab.engine.windows import (
    TimeColumn,
    Times,
    WindowStarts,
    instants_of,
    list_of,
    read_clocks,
)
from cerlab.errors import ResourceLimit
from cerlab.model.clauses import EventWindow
from cerlab.model.columns import order_of
from cerlab.model.event import Event, is_of_streams
from cerlab.model.stream import (
    Instant,
    TimeAxis,
    Until,
    check_order,
    promised,
    width_of,
)
from cerlab.predicates.columns import SymbolStage
from cerlab.predicates.columns.key_codes import KeyCodes
from cerlab.predicates.syntax import EVERYTHING


class AutomatonTests:
    """What events are for an automaton, and which of them change something in some state."""

    def __init__(self, plan: Plan, tables: LearnedTables) -> None:
        self._tables = tables
        self.vectors = tables.vectors
        """The truth vector of each symbol seen so far."""
        self._matters: list[bool] = []
        self._cea = plan.cea
        self._bits = {P: bit for bit, P in enumerate(tables.machine.predicates)}

    def symbols(self, columns: Mapping[str, Any], length: int) -> k.Symbols:
        """The symbol of each event of a batch."""
        return self._tables.symbols(columns, length)

    def symbol(self, event: Event) -> int:
        """The symbol of an event."""
        return self._tables.symbol(event)

    def end(self, event: Event) -> int:
        """Return the symbol of an event that may end answers, or lead there; NONE for others."""
        symbol = self.symbol(event)
        return symbol if self.matters()[symbol] else NONE

    def symbol_of(self, vector: Any) -> int:
        """The symbol of a truth vector in a state; raises `BadData` for others."""
        expect(is_whole(vector, 0, 1 << len(self._bits)), "the symbol of an event")
        return self._tables.know(vector)

    def matters(self) -> list[bool]:
        """Whether each symbol seen so far changes something in some state."""
        if len(self._matters) < len(self.vectors):
            self._look()
        return self._matters

    def _look(self) -> None:
        # not by a `Program`: it leaves out states that only symbols to come lead on from
        for vector in self.vectors[len(self._matters) :]:
            self._matters.append(self._changes(vector))

    def _changes(self, vector: int) -> bool:
        """Whether a run may begin, go on, accept or end on a truth vector, but for waiting."""
        goes_on, stays = set[int](), set[int]()
        for t in self._cea.Delta:
            goes_on.add(t.source)
            bit = self._bits.get(t.predicate)
            if bit is None and t.predicate != EVERYTHING:
                return True
            if bit is None or vector >> bit & 1:
                if t.mark is Mark.TAKE or t.target != t.source or t.source in self._cea.F:
                    return True
                stays.add(t.source)
        return self._cea.q0 in stays or not goes_on - {self._cea.q0} <= stays

    def ends(self, columns: Mapping[str, Any], keys: Int64s) -> tuple[Int64s, Int64s]:
        """The indices of the events of a batch that may end answers, or lead there.

        And their symbols.
        """
        symbols = self.symbols(columns, len(keys))
        at = np.flatnonzero((keys != NONE) & np.array(self.matters(), np.bool_)[symbols])
        return at, symbols[at].astype(np.int64)


class TransducerTests(AutomatonTests):
    """What events are for a body that is a transducer."""

    def __init__(self, plan: CorrelatedPlan) -> None:
        self._program, self._matters = None, []
        try:
            self._program = register_program(plan) if why_not(plan) is None else None
        except ResourceLimit:
            poll()
        self._atoms = () if self._program is None else event_atoms(self._program)
        self._stage = SymbolStage(self._atoms)
        self.vectors = self._stage.vectors

    def symbols(self, columns: Mapping[str, Any], length: int) -> k.Symbols:
        """The symbol of each event of a batch."""
        return self._stage.symbols(columns, length)

    def symbol(self, event: Event) -> int:
        """The symbol of an event."""
        return self._stage.symbol(event)

    def symbol_of(self, vector: Any) -> int:
        """The symbol of a truth vector in a state; raises `BadData` for others."""
        expect(is_whole(vector, 0, 1 << len(self._atoms)), "the symbol of an event")
        self._stage.know((vector,))
        return self._stage.vectors.index(vector)

    def _look(self) -> None:
        program, vectors = self._program, self.vectors
        self._matters = [True] * len(vectors)
        if program is None or len(program.moves) * len(vectors) > MAX_RULES:
            return
        try:
            keep = tables_of_runs(program, names_of(program), self._atoms, vectors).keep
        except NotTaken:
            return
        self._matters = keep.tolist()


class LatestStart:
    """The latest start of the answers of a machine so far: of each state only its latest run."""

    def __init__(self, machine: Deterministic) -> None:
        self._machine = machine
        self._idle = machine.idle
        self.runs: dict[int, int] = {}
        """The latest start of the runs in each state, none that an answer has overtaken."""
        self.latest = NONE

    def read(self, vector: int, position: int) -> int:
        """Read an event by its truth vector; the latest start so far."""
        machine, runs = self._machine, dict[int, int]()
        moves = [(position, machine.begin(self._idle, vector))]
        moves += [(start, machine.step(q, vector)) for q, start in self.runs.items()]
        for start, targets in moves:
            for q in targets:
                if q is not None:
                    runs[q] = max(start, runs.get(q, start))
        self._idle = machine.wait(self._idle, vector)
        ended = (start for q, start in runs.items() if machine.final[q])
        self.latest = max((self.latest, *ended))
        self.runs = {q: start for q, start in runs.items() if start > self.latest}
        return self.latest


class RivalBound:
    """A bound: no answer that ends by an event begins and ends inside."""

    def __init__(self, plan: Plan, tables: LearnedTables) -> None:
        self._tests = AutomatonTests(plan, tables)
        self._tables = tables
        self._readers: dict[int, LatestStart] = {}
        self._latest = np.full(1, NONE, np.int64)

    def read(
        self, columns: Mapping[str, Any], positions: Int64s, keys: Int64s, *, whole: bool
    ) -> Int64s:
        """The bound at each event of a batch, which is the `whole` stream or a part of it."""
        bounds = np.zeros(len(keys), np.int64)
        partitions = int(keys.max(initial=0)) + 1
        if partitions > len(self._latest):
            more = np.full(2 * partitions - len(self._latest), NONE, np.int64)
            self._latest = np.concatenate((self._latest, more))
        program = None
        if whole:
            symbols = self._tables.symbols(columns, len(keys))
            program = self._tables.program()
        if program is not None and partitions * program.moves.states <= MAX_STARTS:
            starts = _latest_starts(program.moves, program.action[symbols], keys, partitions)
            starts = np.where(starts == NONE, NONE, positions[starts] if len(positions) else NONE)
        else:
            starts = np.full(len(keys), NONE, np.int64)
            at, of_ends = self._tests.ends(columns, keys)
            rows = zip(at.tolist(), of_ends.tolist(), strict=True)
            for n, symbol in rows:
                starts[n] = self.read_one(int(keys[n]), symbol, int(positions[n])) - 1
        on_arrays.bounds_of_rivals(keys, starts, self._latest, bounds)
        return bounds

    def read_event(self, event: Event, key: int, position: int) -> int:
        """The bound at one event."""
        symbol = self._tables.symbol(event)
        if self._tests.matters()[symbol]:
            return self.read_one(key, symbol, position)
        reader = self._readers.get(key)
        return 0 if reader is None else reader.latest + 1

    def read_one(self, key: int, symbol: int, position: int) -> int:
        """The bound at one event of a symbol."""
        if (reader := self._readers.get(key)) is None:
            reader = self._readers[key] = LatestStart(self._tables.machine)
        return reader.read(self._tables.vectors[symbol], position) + 1

    def state(self) -> Any:
        """Return nested tuples of values for `resume`, states by names that outlive the process."""
        name_of = partial(name_of_state, self._tables.machine)
        return [
            (key, reader.latest, [(name_of(q), start) for q, start in reader.runs.items()])
            for key, reader in self._readers.items()
        ]

    def resume(self, state: Any, keys: int, read: int) -> None:
        """Restore a `state` after `read` events; raises `BadData` and others for other values."""
        machine = self._tables.machine
        self._latest = np.full(keys + 1, NONE, np.int64)
        for key, latest, runs in state:
            expect(is_whole(key, 0, keys) and key not in self._readers, "the substream of a rival")
            expect(is_whole(latest, NONE, read), "the latest start of a rival")
            reader = self._readers[key] = LatestStart(machine)
            reader.latest = self._latest[key] = latest
            for name, start in runs:
                expect(is_whole(start, 0, read), "the start of a rival")
                reader.runs[state_of_name(machine, [*name])] = start


MAX_STARTS = 1 << 24
"""The maximum number of starts in arrays: one for each substream and state."""

_NO_LIMITS = k.Limits(k.NO_LIMIT, k.KEEP, 0)


def _latest_starts(moves: k.Moves, actions: k.Symbols, keys: Int64s, partitions: int) -> Int64s:
    """The index at which the latest answer begins that ends at each event; NONE without one."""
    reg, best = np.zeros(e.REGISTERS, np.int64), np.full(len(keys), NONE, np.int32)
    latest = e.Latest(
        start=np.full(partitions * moves.states, NONE, np.int32),
        epoch=np.zeros(partitions, np.int64),
        idle=np.zeros(partitions, np.int32),
        scratch=np.empty(len(moves.move.source), np.int32),
        idle_before=NO_IDLE_STATES,
        best=best,
    )
    first = np.zeros(len(keys), np.int32)
    events = e.Events(actions, keys.astype(np.int32), NO_PLACES, first, 0)
    ends = np.empty(len(keys), np.int32)
    for part in paces(len(keys)):
        some = events._replace(actions=actions[: part.stop])
        e.find_ends(moves, some, _NO_LIMITS, latest, ends, reg)
    return best.astype(np.int64)


class EventWindowBound:
    """A bound: the first event inside a window in events, which each substream counts by itself."""

    def __init__(self, window: EventWindow) -> None:
        self._window = window
        self._pointers: dict[int, WindowPointer] = {}

    def read(self, positions: Int64s, keys: Int64s, *, whole: bool) -> Int64s:
        """The bound at each event of a batch, which is the `whole` stream or a part of it."""
        bounds = np.zeros(len(keys), np.int64)
        if not whole:
            rows = enumerate(zip(keys.tolist(), positions.tolist(), strict=True))
            for n, (key, position) in rows:
                bounds[n] = self.read_one(key, position) if key != NONE else 0
            return bounds
        order = grouped(keys)
        first = np.arange(len(order)) - min(self._window.width, len(order))
        first = np.maximum(begins_of(keys[order]), first)
        bounds[order] = positions[order[first]]
        return bounds

    def read_one(self, key: int, position: int) -> int:
        """The bound at one event."""
        if (pointer := self._pointers.get(key)) is None:
            pointer = self._pointers[key] = WindowPointer(self._window)
        return pointer.advance(0, position)

    def state(self) -> Any:
        """Return nested tuples of values for `resume`."""
        return [(key, pointer.state()) for key, pointer in self._pointers.items()]

    def resume(self, state: Any, keys: int, read: int) -> None:
        """Restore a `state` after `read` events; raises `BadData` and others for other values."""
        for key, of_key in state:
            expect(is_whole(key, 0, keys) and key not in self._pointers, "a substream")
            pointer = self._pointers[key] = WindowPointer(self._window)
            pointer.resume(of_key, read)


def grouped(keys: Int64s) -> Int64s:
    """The indices of the events in some substream, one substream after the other."""
    order = order_of(keys)
    return order[np.count_nonzero(keys == NONE) :]


def begins_of(groups: Int64s) -> Int64s:
    """The index of the first event of the group of each event; events lie group by group."""
    is_first = np.ones(len(groups), np.bool_)
    is_first[1:] = groups[1:] != groups[:-1]
    return np.maximum.accumulate(np.where(is_first, np.arange(len(groups)), 0))


class EventReader:
    """Reads events for the stage: their substreams, their times, and the bounds at each."""

    def __init__(
        self, plan: WaitPlan, tables: Mapping[int, LearnedTables], time: TimeAxis | None
    ) -> None:
        """`tables` are those of the automata of a plan; raises `UsageError` without a time axis."""
        self.plan = plan
        self._time = time
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
        self._every_clock = [
            *(starts.clock for starts in self._windows.values() if starts.clock is not None),
            *self._clocks.values(),
        ]
        self._counted = {w: EventWindowBound(w) for w in plan.windows if isinstance(w, EventWindow)}
        self._rivals = {
            n: RivalBound(rival, tables[n])
            for n in rivals
            if isinstance(rival := plan.plans[n], Plan)  # rivals compare no labels
        }
        self.sources: list[Source] = [*self._windows, *self._counted, *self._rivals]
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
        """The clock of each wait: the last event, or a promise; empty before the first of these."""
        self._promised: list[Instant] = []
        """The promise for each wait; empty where there is none."""

    @property
    def keys(self) -> int:
        """The number of substreams so far."""
        return 1 if self._codes is None else self._codes.count

    def promise(self, until: Until) -> None:
        """Take a promise that all events before a time have come; raises as `promised`."""
        waits, now = self.plan.waits, list[Instant]()
        for clock in self._clocks.values():
            last = [] if clock.last is None else [clock.last]
            now.append(promised(until, waits, self._time, last))
        self.now = self._promised = [*map(max, now, self.now or now)]

    def read(self, columns: Mapping[str, Any], length: int, *, whole: bool = False) -> Arrivals:
        """Read a batch, which is the `whole` stream or a part of it.

        Raises `BadData` for a time that is missing or goes back, and has then read nothing.
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
        times = dict(zip(self._clocks, its_times, strict=True))
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
        ends = [tests.ends(columns, keys) for tests in self.tests]
        return Arrivals(positions, keys, times, bounds, ends)

    def read_event(self, event: Event) -> Arrival | None:
        """Read an event; return None for one of another stream. Raises as `read`."""
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
        return Arrival(position, key, times, bounds, [tests.end(event) for tests in self.tests])

    def _instants(
        self,
        read: Callable[[TimeColumn], Times],
        first: Callable[[Times], Sequence[Instant]],
        place: Callable[[int], int],
    ) -> list[Times]:
        """Return the instants by the clock of each window, then of each wait.

        A bad time leaves all as they were, also one before a promise. ``first(times)`` are no
        instants or the first one.
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
                        check_order(time, time, place(0), promised=then)
            return times

        return read_clocks(self._every_clock, read_checked)

    def arrivals(self, rows: Sequence[Arrival]) -> Arrivals:
        """Return events that were read one by one as columns."""
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
        """Return all that has to be known to go on, as nested tuples of values."""
        insides = [starts.inside() for starts in self._windows.values()]
        return (
            self.position,
            [clock.last for clock in self._clocks.values()],
            self.now,
            [] if self._codes is None else self._codes.keys(),
            [(list_of(times), positions.tolist()) for times, positions in insides],
            [each.state() for each in self._counted.values()],
            [each.state() for each in self._rivals.values()],
        )

    def resume(self, state: Any) -> None:
        """Restore a `state`; raises `BadData` and others for other values."""
        self.position, last, now, keys, insides, counted, rivals = state
        expect(is_whole(self.position), "how many events were read")
        expect(len(now) in (0, len(self._clocks)), "the clock")
        for time in (*last, *now):
            if time is not None:
                check_times((time,))
        for clock, then in zip(self._clocks.values(), last, strict=True):
            clock.last = then
        self.now, self._promised = [*now], [*now]
        number_keys(self._codes, keys)
        for starts, (times, positions) in zip(self._windows.values(), insides, strict=True):
            check_window(times, positions, self.position)
            starts.resume([*times], [*positions])
        for part, of_part in zip(self._counted.values(), counted, strict=True):
            part.resume(of_part, self.keys, self.position)
        for rival, of_rival in zip(self._rivals.values(), rivals, strict=True):
            rival.resume(of_rival, self.keys, self.position)


class Arrival(NamedTuple):
    """An event that was read by itself: a row of `Arrivals`."""

    position: int
    key: int
    times: list[Instant]
    bounds: list[int]
    symbols: list[int]
    """For each branch the symbol of the event, NONE for an event that ends no answer."""
