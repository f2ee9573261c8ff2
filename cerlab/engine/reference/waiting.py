"""Waits event by event: answers of machines that go on to later events until the clock passes.

An answer of a body is held back until an event comes that is after its wait, of whatever substream.
It ends at the last event that its own substream had before that one. So nothing is looked up later:
the event that it is carried to is the last one when the clock passes, and every bound is asked for
there and then.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from heapq import heapify, heappop, heappush
from itertools import pairwise
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

from cerlab.automata.deterministic import Deterministic, Moves
from cerlab.automata.labelled import PLACE, first_place
from cerlab.automata.plan import CorrelatedPlan, Delay, ExceptIf, HoldWithin, WaitPlan
from cerlab.automata.strategy import Machine, name_of_state, state_of_name
from cerlab.budget import poll
from cerlab.engine.reference.driver import WindowPointer, run
from cerlab.engine.reference.places import placed, width_of, with_places
from cerlab.engine.reference.registers import IntervalRuns
from cerlab.engine.reference.tecs import TecsEvaluation
from cerlab.engine.reference.totals import counting
from cerlab.engine.state_checks import check_key, check_times, expect, is_whole
from cerlab.model.answer import ComplexEvent, by_end
from cerlab.model.clauses import AttributeWindow, EventWindow, TimeWindow, Window
from cerlab.model.event import Event, is_of_streams
from cerlab.model.stream import (
    Clock,
    Instant,
    Stream,
    TimeAxis,
    Until,
    check_order,
    clock_for,
    promised,
)
from cerlab.predicates.truth import Key, partition_key

NEVER = -1
"""The latest start of no answer."""


_Ended = TypeVar("_Ended", bound="ComplexEvent | Counted")


class LatestStart:
    """The latest start of the answers of a machine so far: of each state only its latest run."""

    def __init__(self, machine: Deterministic) -> None:
        self._machine = machine
        self._idle = machine.idle
        self.runs: dict[int, int] = {}
        """The latest start of the runs in each state, none that an answer has overtaken."""
        self.latest = NEVER

    def advance(self, event: Event, position: int) -> None:
        """Read an event."""
        self.read(self._machine.symbol(event), position)

    def read(self, symbol: int, position: int) -> int:
        """Read an event by its truth vector; the latest start so far."""
        machine, runs = self._machine, dict[int, int]()
        moves = [(position, machine.begin(self._idle, symbol))]
        moves += [(start, machine.step(q, symbol)) for q, start in self.runs.items()]
        for start, targets in moves:
            _enter(runs, start, targets)
        self._idle = machine.wait(self._idle, symbol)
        ended = (start for q, start in runs.items() if machine.final[q])
        self.latest = max((self.latest, *ended))
        self.runs = {q: start for q, start in runs.items() if start > self.latest}
        return self.latest

    def state(self, name_of: Callable[[int], Any]) -> Any:
        """All of it, states by names that outlive the process: nested tuples of values."""
        return self.latest, [(name_of(q), start) for q, start in self.runs.items()]

    def resume(self, state: Any, state_of: Callable[[Any], int], read: int) -> None:
        """Go on from a `state` after `read` events; raises `BadData` and others for others."""
        self.latest, runs = state
        expect(is_whole(self.latest, NEVER, read), "the latest start of a rival")
        for name, start in runs:
            expect(is_whole(start, 0, read), "the start of a rival")
            self.runs[state_of(name)] = start


def _enter(runs: dict[int, int], start: int, targets: Moves) -> None:
    for q in targets:
        if q is not None:
            runs[q] = max(start, runs.get(q, start))


class Counted(NamedTuple):
    """The number of answers of a body that have the same start and the same end."""

    start: int
    end: int
    number: int


class _StartCounts:
    """A body that counts its answers by start."""

    def __init__(self, machine: Deterministic) -> None:
        self._runs = counting(machine, by_start=True)
        self.forget = self._runs.forget
        self._position = NEVER

    def advance(self, event: Event, position: int) -> None:
        """Read the next event."""
        self._runs.advance(event, position)
        self._position = position

    def answers(self, lowest_start: int) -> Iterator[Counted]:
        """Yield the numbers of answers that end at the event just read."""
        for (start, _), number in self._runs.totals_of_end(lowest_start).items():
            yield Counted(start, self._position, number)


_Body: TypeAlias = TecsEvaluation | IntervalRuns | _StartCounts
AnyMachine: TypeAlias = Machine | CorrelatedPlan
"""Machines that give the answers of a plan: automata; transducers where filters compare labels."""


def _reader(machine: AnyMachine) -> _Body:
    """Return what lists the answers of a machine."""
    if isinstance(machine, CorrelatedPlan):
        return IntervalRuns(machine)
    return TecsEvaluation(machine)


def _counter(machine: AnyMachine) -> _Body:
    assert not isinstance(machine, CorrelatedPlan), "the answers of a transducer are listed"
    return _StartCounts(machine)


class _Substream:
    """One partition: the last event, and what reads each one."""

    def __init__(
        self,
        plan: WaitPlan,
        machines: Sequence[AnyMachine],
        body: Callable[[AnyMachine], _Body],
    ) -> None:
        self._machines = machines
        self.last = NEVER
        """The position of the last event."""
        self.times: Mapping[Window, Instant] = {}
        """The times of the last event, on the axis of each window and wait."""
        self._of_bodies = [machines[branch.body] for branch in plan.branches]
        self.bodies = [body(machine) for machine in self._of_bodies]
        self._timed = [plan.timed_of(branch.body) for branch in plan.branches]
        steps = [step for branch in plan.branches for step in branch.steps]
        steps += (step for timed in self._timed for step in timed)
        # dicts, not sets: the order of a state is that of the plan
        windows = dict.fromkeys(step.window for step in steps if isinstance(step, HoldWithin))
        self.windows = {window: WindowPointer(window) for window in windows}
        rivals = dict.fromkeys(step.rival for step in steps if isinstance(step, ExceptIf))
        self.rivals = {n: LatestStart(self._automaton(n)) for n in rivals}
        self.given: set[ComplexEvent | Counted] = set()
        """The answers given that end at the last event, where one may come twice."""

    def _automaton(self, number: int) -> Machine:
        """The machine of a rival."""
        machine = self._machines[number]
        assert not isinstance(machine, CorrelatedPlan), "rivals compare no labels"
        return machine

    def read(self, event: Event, position: int, times: Mapping[Window, Instant]) -> None:
        """Read an event."""
        self.last, self.times, self.given = position, times, set()
        for window, pointer in self.windows.items():
            pointer.advance(times.get(window, 0), position)
        for rival in self.rivals.values():
            rival.advance(event, position)
        for body, timed in zip(self.bodies, self._timed, strict=True):
            body.advance(self._placed(event, timed) if timed else event, position)

    def _placed(self, event: Event, timed: Sequence[Delay | HoldWithin]) -> Event:
        """The event just read with the places that a transducer reads for windows."""
        places = {PLACE.name: self.last}
        for step in timed:
            if isinstance(step, HoldWithin):
                assert not isinstance(step.window, EventWindow), "automata count events"
                places[first_place(step.window).name] = self.windows[step.window].lowest
        return with_places(event, places)

    def state(self) -> Any:
        """All of it, of bodies that list their answers: nested tuples of values."""
        bodies = [*map(_state_of_body, self._of_bodies, self.bodies)]
        rivals = [
            reader.state(partial(name_of_state, self._automaton(n)))
            for n, reader in self.rivals.items()
        ]
        windows = [pointer.state() for pointer in self.windows.values()]
        times = [*self.times.values()]
        return self.last, times, bodies, windows, rivals, [_flat(x) for x in self.given]

    def resume(self, state: Any, clocks: Collection[Window], read: int) -> None:
        """Go on from a `state` after `read` events; raises `BadData` and others for others."""
        self.last, times, bodies, windows, rivals, given = state
        expect(is_whole(self.last, 0, read), "the last event of a partition")
        self.times = _instants(times, clocks)
        expect(len(self.times) == len(clocks), "the times of a partition")
        for machine, body, of_body in zip(self._of_bodies, self.bodies, bodies, strict=True):
            _resume_body(machine, body, of_body, read)
        for pointer, of_pointer in zip(self.windows.values(), windows, strict=True):
            pointer.resume(of_pointer, read)
        for (n, reader), of_reader in zip(self.rivals.items(), rivals, strict=True):
            reader.resume(of_reader, partial(_state_of, self._automaton(n)), read)
        self.given = {_answer(each, read) for each in given}

    def bound(self, step: HoldWithin | ExceptIf) -> int:
        """The least position that an answer which has come to the last event may begin at."""
        if isinstance(step, HoldWithin):
            return self.windows[step.window].lowest
        return self.rivals[step.rival].latest + 1


def _state_of_body(machine: AnyMachine, body: _Body) -> Any:
    if isinstance(body, IntervalRuns):
        return body.state()
    assert isinstance(body, TecsEvaluation), "numbers of answers have no state"
    assert not isinstance(machine, CorrelatedPlan)
    return body.state(partial(name_of_state, machine))


def _resume_body(machine: AnyMachine, body: _Body, state: Any, read: int) -> None:
    if isinstance(body, IntervalRuns):
        body.resume(state, read)
        return
    assert isinstance(body, TecsEvaluation), "numbers of answers have no state"
    assert not isinstance(machine, CorrelatedPlan)
    body.resume(state, partial(_state_of, machine), read)


def _state_of(machine: Machine, name: Any) -> int:
    return state_of_name(machine, [*name])


def _instants(times: Sequence[Any], windows: Collection[Window]) -> dict[Window, Instant]:
    """The times on the axes of some windows, None for none; raises `BadData` for other values."""
    known = {w: time for w, time in zip(windows, times, strict=True) if time is not None}
    for time in known.values():
        check_times((time,))
    return known


def _flat(answer: ComplexEvent | Counted) -> Any:
    assert isinstance(answer, ComplexEvent), "numbers of answers have no state"
    return answer.start, answer.end, answer.positions


def _answer(state: Any, read: int) -> ComplexEvent:
    """The answer of a state after `read` events; raises `BadData` and others for others."""
    start, end, positions = state
    places = (start, *positions, end)
    expect(all(is_whole(p, 0, read) for p in places), "the places of an answer")
    in_order = start <= places[1] and places[-2] <= end
    increase = all(a < b for a, b in pairwise(positions))
    expect(in_order and increase, "the places of an answer")
    return ComplexEvent(start, end, tuple(positions))


def _carry(answer: ComplexEvent, end: int) -> ComplexEvent:
    return ComplexEvent(answer.start, end, answer.positions)


class _Waiter(NamedTuple):
    """An answer of a body that waits, by the time that its wait is over after."""

    until: Instant
    number: int
    """Waiters are told apart by it where they wait for the same time."""
    step: int
    """The number of the step of its branch that it waits in."""
    branch: int
    key: Key
    answer: Any


class Waits(Generic[_Ended]):
    """The answers of a plan on a stream that arrives, each when the clock makes it known."""

    def __init__(
        self,
        plan: WaitPlan,
        machines: Sequence[AnyMachine],
        time: TimeAxis | None,
        body: Callable[[AnyMachine], _Body] = _reader,
        carry: Callable[[Any, int], Any] = _carry,
    ) -> None:
        """`machines` are those of ``plan.plans``; raises `UsageError` without a time axis.

        Of a plan that looks ahead, events have the ends of their waits.
        """
        self._plan = plan
        self._machines = machines
        self._time = time
        self._body = body
        self._carry = carry
        self._clocks: dict[Window, Clock] = {
            window: clock_for(window, time)
            for window in plan.windows
            if not isinstance(window, EventWindow)
        }
        self.now: dict[Window, Instant] = {}
        """The clock on the axis of each window and wait; empty before the first event."""
        self._last: dict[Window, Instant] = {}
        """The times of the last event, which a promise may be ahead of."""
        self.position = 0
        """The number of events read."""
        self.is_over = False
        """Whether no event may come any more."""
        self._substreams: dict[Key, _Substream] = {}
        self._waiters: dict[TimeWindow | AttributeWindow, list[_Waiter]] = {
            length: [] for length in plan.waits
        }
        self._numbers = 0

    def read(self, event: Event) -> list[_Ended]:
        """Read the next event: the answers that it makes known.

        Raises `BadData` for a time that is missing or goes back. None comes after the end.
        """
        poll()
        position, plan = self.position, self._plan
        if not is_of_streams(event, plan.streams):
            self.position += 1
            return []
        times = {window: clock(event, position) for window, clock in self._clocks.items()}
        for window, promised_time in self.now.items():
            now = times[window]
            check_order(self._last.get(window, now), now, position, promised=promised_time)
        self.now, self._last = dict(times), times
        self.position += 1
        known = [*self._released()]
        if (key := partition_key(event, plan.partition)) is None:
            return known
        if (substream := self._substreams.get(key)) is None:
            substream = self._substreams[key] = _Substream(plan, self._machines, self._body)
        substream.read(event, position, times)
        for n, (_, steps) in enumerate(plan.branches):
            bounds = [s for s in steps if not isinstance(s, Delay)]
            if any(s.of_last and substream.bound(s) > position for s in bounds):
                continue  # bounds only grow: nothing that ends here comes through
            lowest = max((substream.bound(s) for s in bounds if not s.of_last), default=0)
            substream.bodies[n].forget(lowest)
            ended: Iterator[Any] = substream.bodies[n].answers(lowest)
            for answer in ended:
                known += self._go_on(n, 0, key, answer)
        return known

    def advance(self, until: Until) -> list[_Ended]:
        """Promise that all events before a time have come: the answers that this makes known.

        Raises `UsageError` for no such time, `BadData` for one before the last event. One that
        says less than an earlier one changes nothing.
        """
        if until == "end":
            self.is_over = True
            return [*self._released()]
        if not (waits := self._plan.waits):
            return []
        last = [self._last[length] for length in waits[:1] if length in self._last]
        then = promised(until, waits, self._time, last)
        for length in waits:
            self.now[length] = max(then, self.now.get(length, then))
        return [*self._released()]

    def state(self) -> Any:
        """All of it: nested tuples of values."""
        substreams = [(key, each.state()) for key, each in self._substreams.items()]
        waiters = [
            [(w.until, w.number, w.step, w.branch, w.key, _flat(w.answer)) for w in of_length]
            for of_length in self._waiters.values()
        ]
        clocks = [[of.get(window) for window in self._clocks] for of in (self.now, self._last)]
        return self.position, self.is_over, self._numbers, clocks, substreams, waiters

    def resume(self, state: Any) -> None:
        """Go on from a `state`; raises `BadData` and others for other values."""
        self.position, self.is_over, self._numbers, clocks, substreams, waiters = state
        expect(is_whole(self.position), "how many events were read")
        expect(type(self.is_over) is bool, "whether an event may come")
        expect(is_whole(self._numbers), "the number of answers that waited")
        for of, times in zip((self.now, self._last), clocks, strict=True):
            of.update(_instants(times, self._clocks))
        for key, of_substream in substreams:
            check_key(key, len(self._plan.partition))
            expect(key not in self._substreams, "equal keys")
            substream = _Substream(self._plan, self._machines, self._body)
            substream.resume(of_substream, self._clocks, self.position)
            self._substreams[key] = substream
        for (length, heap), states in zip(self._waiters.items(), waiters, strict=True):
            heap += (self._waiter(length, *each) for each in states)
            numbers = {waiter.number for waiter in heap}
            expect(len(numbers) == len(heap), "the numbers of answers that wait")
            heapify(heap)

    def _waiter(
        self,
        length: TimeWindow | AttributeWindow,
        until: Any,
        number: Any,
        step: Any,
        branch: Any,
        key: Any,
        answer: Any,
    ) -> _Waiter:
        """An answer of a state that waits; raises `BadData` and others for others."""
        check_times((until,))
        expect(is_whole(number, 1, self._numbers + 1), "the number of an answer that waits")
        expect(is_whole(branch, 0, len(self._plan.branches)), "the branch of an answer")
        steps = self._plan.branches[branch].steps
        waits = is_whole(step, 0, len(steps)) and steps[step] == Delay(length)
        expect(waits and key in self._substreams, "an answer that waits")
        waiter = _Waiter(until, number, step, branch, key, _answer(answer, self.position))
        expect(waiter.answer.end <= self._substreams[key].last, "the end of an answer that waits")
        return waiter

    def _released(self) -> Iterator[_Ended]:
        """Yield the answers whose wait is over by now; what waits again may be over at once."""
        on_the_way = True
        while on_the_way:
            on_the_way = False
            for length, waiters in self._waiters.items():
                while waiters and (self.is_over or waiters[0].until < self.now[length]):
                    on_the_way = True
                    _, _, step, branch, key, answer = heappop(waiters)
                    yield from self._go_on(branch, step + 1, key, answer)

    def _go_on(self, branch: int, step: int, key: Key, answer: _Ended) -> list[_Ended]:
        """Take an answer of a body through its steps, up to a wait or to the end.

        It has come to the last event of its substream; its own end is where its body ended.
        """
        substream, steps = self._substreams[key], self._plan.branches[branch].steps
        for n, each in enumerate(steps[step:], step):
            if isinstance(each, Delay):
                until = substream.times[each.length] + width_of(each.length)
                self._numbers += 1
                waiter = _Waiter(until, self._numbers, n, branch, key, answer)
                heappush(self._waiters[each.length], waiter)
                return []
            if (answer.end if each.of_last else answer.start) < substream.bound(each):
                return []
        carried = self._carry(answer, substream.last)
        if self._plan.repeats:
            if carried in substream.given:
                return []
            substream.given.add(carried)
        return [carried]


def waited_answers(
    plan: WaitPlan, machines: Sequence[AnyMachine], stream: Stream, time: TimeAxis | None
) -> list[ComplexEvent]:
    """The answers of a plan on a whole stream, in order; raises as `Waits`."""
    if plan.selects:
        return [*selected_answers(plan, placed(plan, stream, time), time)]
    events = placed(plan, stream, time) if plan.looks_ahead else stream
    return sorted(_all(Waits(plan, machines, time), events, stream.until), key=by_end)


def selected_answers(
    plan: WaitPlan, events: Iterable[Event], time: TimeAxis | None
) -> Iterator[ComplexEvent]:
    """The answers of a plan that selects, on events with their places, by runs as written."""
    (body,) = plan.plans
    assert isinstance(body, CorrelatedPlan), "what selects is a transducer"
    return run(body, lambda: IntervalRuns(body), events, time)


def waited_count(
    plan: WaitPlan, machines: Sequence[AnyMachine], stream: Stream, time: TimeAxis | None
) -> int:
    """Return the number of answers, listing those of transducers, and where one may come twice."""
    if plan.repeats or plan.compares:
        return len(waited_answers(plan, machines, stream, time))
    counting = Waits[Counted](plan, machines, time, _counter, lambda some, _: some)
    return sum(some.number for some in _all(counting, stream, stream.until))


def _all(waits: Waits[_Ended], events: Iterable[Event], until: Until | None) -> Iterator[_Ended]:
    for event in events:
        yield from waits.read(event)
    if until is not None:
        yield from waits.advance(until)
