"""Waits by definition: the end of each answer is moved within its whole substream.

This is evidence for the stage of the engine (`cerlab.engine.waits`), and shares nothing with it: no
heap, no arrays, and nothing is carried from one event to the next except the readers of bodies.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias, TypeVar

from cerlab.automata.labelled import PLACE, first_place, last_place
from cerlab.automata.plan import CorrelatedPlan, Delay, ExceptIf, HoldWithin, LookBack, WaitPlan
from cerlab.automata.strategy import Machine, StrategyCea
from cerlab.budget import poll
from cerlab.engine.reference.driver import Reader, run
from cerlab.engine.reference.registers import IntervalRuns
from cerlab.engine.reference.tecs import TecsEvaluation
from cerlab.engine.reference.totals import RunTotals, counting
from cerlab.model.answer import ComplexEvent, by_end
from cerlab.model.clauses import AttributeWindow, EventWindow, TimeWindow, Window
from cerlab.model.event import Event, is_of_streams, with_values
from cerlab.model.stream import (
    Instant,
    Stream,
    TimeAxis,
    clock_for,
    promised,
    width_of,
)
from cerlab.predicates.truth import Key, partition_key

AnyMachine: TypeAlias = Machine | CorrelatedPlan
"""The machines that list the answers of a plan: automata, or transducers if filters compare
labels."""

R = TypeVar("R", bound=Reader)


class Line:
    """The events of one substream, and their times on the axis of each wait and window."""

    def __init__(self) -> None:
        self.positions: list[int] = []
        self.times: dict[Window, list[Instant]] = {}
        self.latest: dict[int, list[int]] = {}
        """For each rival, by event, the latest start of an answer that has ended by then, or -1."""

    def bound(self, step: HoldWithin | ExceptIf, n: int) -> int:
        """Return the first start that a step permits for an answer whose end is event n."""
        if isinstance(step, ExceptIf):
            return self.latest[step.rival][n] + 1
        if isinstance(step.window, EventWindow):
            return max(0, n - step.window.width)
        times = self.times[step.window]
        return bisect_left(times, times[n] - width_of(step.window))

    def end(self, length: TimeWindow | AttributeWindow, n: int) -> int:
        """Return the index of the last event that a wait from event n covers."""
        times = self.times[length]
        return bisect_right(times, times[n] + width_of(length)) - 1

    def look_back(self, back: Sequence[TimeWindow | AttributeWindow], n: int) -> int:
        """Return the index of the event to which look-backs move a start at event n."""
        for length in back:
            times = self.times[length]
            n = bisect_left(times, times[n] - width_of(length))
        return n

    def moved_bound(
        self, back: Sequence[TimeWindow | AttributeWindow], step: HoldWithin | ExceptIf, n: int
    ) -> int:
        """Return the first start that look-backs move to the bound of a step or later."""
        first, every = self.bound(step, n), range(len(self.positions))
        return next((i for i in every if self.look_back(back, i) >= first), len(every))

    def find_rivals(self, number: int, machine: Machine, events: Sequence[Event]) -> None:
        """Compute, for each event, the latest start of a rival's answers so far."""
        reader, latest = TecsEvaluation(machine), -1
        self.latest[number] = []
        for n, position in enumerate(self.positions):
            reader.advance(events[position], n)
            final = (ul[0].max_start for q, ul in reader.T.items() if machine.final[q])
            latest = max((latest, *final))
            reader.forget(latest + 1)
            self.latest[number].append(latest)


Over: TypeAlias = Callable[[TimeWindow | AttributeWindow, Instant], bool]
"""The test whether the clock has passed a wait of some length from some time on."""


def _lines(plan: WaitPlan, stream: Stream, time: TimeAxis | None) -> tuple[list[Line], Over]:
    """Return the substreams, and a test of whether a wait is over.

    Raises `BadData` for the first event whose time is missing or goes back on some axis.
    """
    timed = [window for window in plan.windows if not isinstance(window, EventWindow)]
    clocks = {window: clock_for(window, time) for window in timed}
    lines, last = dict[Key, Line](), dict[Window, Instant]()
    for position, event in enumerate(stream):
        poll()
        if not is_of_streams(event, plan.streams):
            continue
        now: dict[Window, Instant] = {w: clock(event, position) for w, clock in clocks.items()}
        for window, clock in clocks.items():
            if window in last:
                clock.check_order(last[window], now[window], position)
        last = now
        if (key := partition_key(event, plan.partition)) is None:
            continue
        line = lines.setdefault(key, Line())
        line.positions.append(position)
        for of_window, then in now.items():
            line.times.setdefault(of_window, []).append(then)
    until = stream.until
    if until not in (None, "end"):
        for length in plan.waits:
            shown = [last[length]] if length in last else []
            last[length] = promised(until, plan.waits, time, shown)

    def is_over(length: TimeWindow | AttributeWindow, begun: Instant) -> bool:
        return until == "end" or begun + width_of(length) < last[length]

    return [*lines.values()], is_over


def _ended(
    plan: WaitPlan,
    machines: Sequence[AnyMachine],
    stream: Stream,
    time: TimeAxis | None,
    reader: Callable[[AnyMachine], R],
) -> Iterator[tuple[R, int, int, Callable[[int], int]]]:
    """Yield, at each end of answers, the machine that has read it, and the end after all waits.

    Each comes with the least start that survives, the position that the end is carried to, and a
    function from each start to the position that answers begin with.
    """
    events = placed(plan, stream, time) if plan.compares else stream.events
    lines, is_over = _lines(plan, stream, time)
    for line in lines:
        for number in {s.rival for b in plan.branches for s in b.steps if isinstance(s, ExceptIf)}:
            machine = machines[number]
            assert not isinstance(machine, CorrelatedPlan), "rivals compare no labels"
            line.find_rivals(number, machine, events)
        for branch in plan.branches:
            machine, back = machines[branch.body], branch.back
            running = reader(machine)
            begin = {
                p: line.positions[line.look_back(back, n)] for n, p in enumerate(line.positions)
            }
            for n, position in enumerate(line.positions):
                to, first, given, looked = n, 0, True, 0
                for step in branch.steps:
                    if isinstance(step, LookBack):
                        looked += 1
                    elif isinstance(step, Delay):
                        given &= is_over(step.length, line.times[step.length][to])
                        to = line.end(step.length, to)
                    elif step.of_last:
                        given &= line.bound(step, to) <= n
                    else:
                        first = max(first, line.moved_bound(back[:looked], step, to))
                if isinstance(machine, StrategyCea):
                    # rivals have to start late enough too
                    running = reader(machine)
                    for earlier in line.positions[first:n]:
                        running.advance(events[earlier], earlier)
                running.advance(events[position], position)
                lowest = line.positions[min(first, n)]
                running.forget(lowest)
                if given and first <= n:
                    yield running, lowest, line.positions[to], begin.__getitem__


def _reader(machine: AnyMachine) -> TecsEvaluation | IntervalRuns:
    return IntervalRuns(machine) if isinstance(machine, CorrelatedPlan) else TecsEvaluation(machine)


def _counter(machine: AnyMachine) -> RunTotals[int]:
    assert not isinstance(machine, CorrelatedPlan), "the answers of a transducer are listed"
    return counting(machine, by_start=True)


def waited_answers(
    plan: WaitPlan, machines: Sequence[AnyMachine], stream: Stream, time: TimeAxis | None
) -> list[ComplexEvent]:
    """Return the answers of a plan with waits on a whole stream, in order.

    Raises `BadData` for a time that is missing or goes back, `UsageError` for an invalid time.
    """
    if plan.selects:
        return [*selected_answers(plan, placed(plan, stream, time), time)]
    answers = {
        ComplexEvent(begin(answer.start), end, answer.positions)
        for running, lowest, end, begin in _ended(plan, machines, stream, time, _reader)
        for answer in running.answers(lowest)
    }
    return sorted(answers, key=by_end)


def selected_answers(
    plan: WaitPlan, events: Iterable[Event], time: TimeAxis | None
) -> Iterator[ComplexEvent]:
    """Yield the answers of a plan with a strategy, LIMIT or CONSUME BY, from explicit runs."""
    (body,) = plan.plans
    assert isinstance(body, CorrelatedPlan), "what selects is a transducer"
    return run(body, lambda: IntervalRuns(body), events, time)


def waited_count(
    plan: WaitPlan, machines: Sequence[AnyMachine], stream: Stream, time: TimeAxis | None
) -> int:
    """Return the number of answers; list them where counting runs would count an answer twice."""
    if plan.repeats or plan.compares:
        return len(waited_answers(plan, machines, stream, time))
    ended = _ended(plan, machines, stream, time, _counter)
    return sum(sum(running.totals_of_end(lowest).values()) for running, lowest, _, _ in ended)


def placed(plan: WaitPlan, stream: Stream, time: TimeAxis | None) -> list[Event]:
    """Return the events with the positions that inner waits and windows compare, as attributes.

    Its guards compare positions: that of an event, that of the first event inside a window that
    ends at it, and that of the last event within a wait from it. Raises as `waited_answers`.
    """
    lines, is_over = _lines(plan, stream, time)
    places = [{PLACE.name: n} for n in range(len(stream))]
    for step in {step for n, _ in plan.branches for step in plan.timed_of(n)}:
        for line in lines:
            for n, position in enumerate(line.positions):
                if isinstance(step, HoldWithin):
                    assert not isinstance(step.window, EventWindow), "automata count events"
                    name, at = first_place(step.window).name, line.bound(step, n)
                elif is_over(step.length, line.times[step.length][n]):
                    name, at = last_place(step.length).name, line.end(step.length, n)
                else:
                    continue
                places[position][name] = line.positions[at]
    return [*map(with_values, stream, places)]
