"""Transducers on a stream: Algorithm 1, corrected (SRT Alg. 1), also with shared runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from cerlab.automata.automaton import Mark, outgoing
from cerlab.automata.labelled import LabelledSrt, PlaceName
from cerlab.automata.plan import CorrelatedPlan, MarkWindow, RegisterPlan
from cerlab.automata.registers import RegisterTransition, Srt, live_registers
from cerlab.budget import spend_over
from cerlab.engine.reference.driver import Clauses, WindowPointer, substream
from cerlab.engine.reference.mark_sets import (
    EMPTY_MATCH,
    Either,
    EmptyMatch,
    Extension,
    Growth,
    MarkSet,
    each_once,
    matches_of,
)
from cerlab.engine.reference.runs import select_answers
from cerlab.engine.state_checks import expect, is_value, is_whole
from cerlab.errors import ResourceLimit
from cerlab.model.answer import ComplexEvent, Positions, Registers, latest_first
from cerlab.model.clauses import AttributeWindow, EventWindow
from cerlab.model.event import Event
from cerlab.model.stream import Clock, Instant, clock_for
from cerlab.predicates.syntax import register_attributes
from cerlab.predicates.truth import satisfies

__all__ = ["answers"]


MAX_CONFIGURATIONS = 500_000
"""The maximum number of active configurations."""


class Configuration(NamedTuple):
    """A state, register values and, with windows, the first mark: all that later events depend on.

    `first` is the first marked position; None before a mark, and always without a window.
    """

    state: int
    registers: Registers
    first: int | None


class SharedRuns:
    """The runs of a plan grouped by configuration, each with its matches as a `MarkSet`.

    An event costs one evaluation for each configuration and transition, regardless of the number of
    matches: at most ``|Q| (k + 1)^|R|`` configurations at event k, and under a window as many for
    each first mark in it. Listing the matches of an event costs extra.
    """

    def __init__(self, plan: RegisterPlan) -> None:
        self._leaving = outgoing(plan.srt)
        self._F = plan.srt.F
        self._horizon = Horizon(plan.windows)
        start = Configuration(plan.srt.q0, Registers(), None)
        self._active: dict[Configuration, MarkSet] = {start: EMPTY_MATCH}
        self.counts = OperationCounts()

    @property
    def live(self) -> int:
        """The number of configurations that later events may continue."""
        return len(self._active)

    def advance(self, event: Event, position: int) -> frozenset[Positions]:
        """Move all configurations by an event; return the matches whose last mark is on it."""
        self._horizon.read(event, position)
        growth = Growth(position)
        arrivals: dict[Configuration, list[MarkSet]] = {}
        answers: list[MarkSet] = []
        for c, marks in spend_over(self._active.items()):
            for t, after in self._successors(c, event, position):
                took = t.mark is Mark.TAKE
                # equal configurations become one, whose matches are united below
                match_set = growth.with_mark(marks) if took else marks
                arrivals.setdefault(after, []).append(match_set)
                if took and t.target in self._F:
                    answers.append(match_set)
        self.counts.arrivals = len(arrivals)
        if len(arrivals) > MAX_CONFIGURATIONS:
            raise ResourceLimit(
                "CER0685",
                f"more than {MAX_CONFIGURATIONS:,} configurations are active together",
                hint="use a window, which ends runs",
            )
        self._active = {
            c: growth.either(parts) for c, parts in arrivals.items() if self._leaving[c.state]
        }
        return frozenset(matches_of(growth.either(answers))) if answers else frozenset()

    def _successors(
        self, c: Configuration, event: Event, position: int
    ) -> Iterator[tuple[RegisterTransition, Configuration]]:
        """Yield the transitions whose guards hold, with the configurations that they lead to."""
        transitions = self._leaving[c.state]
        moves = [t for t in transitions if satisfies(event, t.guard, c.registers)]
        self.counts.leave(len(transitions), len(moves))
        for t in moves:
            first = c.first
            if first is None and self._horizon.bounded and t.mark is Mark.TAKE:
                first = position
            # drop runs whose first mark has left some window
            if first is None or first >= self._horizon.oldest:
                v = c.registers.written(t.writes, event) if t.writes else c.registers
                yield t, Configuration(t.target, v, first)


def answers(plan: RegisterPlan, events: Iterable[Event]) -> Iterator[ComplexEvent]:
    """Yield each match once, at its last marked event.

    By end; inside one end by positions. Raises `BadData` for a missing time or one that goes back,
    if a window in time needs it, and `ResourceLimit` for too many configurations.
    """
    runs = SharedRuns(plan)
    for position, event in enumerate(events):
        for M in sorted(runs.advance(event, position)):
            yield ComplexEvent(M[0], position, M)


MAX_RUNS = 500_000
"""The maximum number of active runs."""


class RegisterRun(NamedTuple):
    """An active run: its state, its registers, and its marks."""

    state: int
    registers: Registers
    marks: Positions


class Runs:
    """The active runs of a plan, one for each way to mark each partial match.

    A run that accepts is reported if its last transition marks, and continues. As printed, it is
    dropped, and its longer matches are lost. Each match is reported once, even if several runs have
    it (erratum SRT-E24). A run whose first mark is before all windows is dropped.
    """

    def __init__(self, plan: RegisterPlan) -> None:
        self._leaving = outgoing(plan.srt)
        self._F = plan.srt.F
        self._horizon = Horizon(plan.windows)
        self._runs = [RegisterRun(plan.srt.q0, Registers(), ())]
        self.counts = OperationCounts()

    @property
    def live(self) -> int:
        """The number of runs that later events may continue."""
        return len(self._runs)

    def advance(self, event: Event, position: int) -> frozenset[Positions]:
        """Move all runs by an event; return the matches whose last mark is on it."""
        self._horizon.read(event, position)
        runs = [
            after
            for run in spend_over(self._runs)
            for after in self._successors(run, event, position)
        ]
        runs = [run for run in runs if not self._is_expired(run)]
        self.counts.arrivals = len(runs)
        if len(runs) > MAX_RUNS:
            raise ResourceLimit(
                "CER0685",
                f"more than {MAX_RUNS:,} runs are active at once",
                hint="use a window, which ends runs",
            )
        self._runs = [run for run in runs if self._leaving[run.state]]
        return frozenset(
            run.marks for run in runs if run.state in self._F and run.marks[-1:] == (position,)
        )

    def _successors(self, run: RegisterRun, event: Event, position: int) -> list[RegisterRun]:
        transitions = self._leaving[run.state]
        moves = [t for t in transitions if satisfies(event, t.guard, run.registers)]
        self.counts.leave(len(transitions), len(moves))
        return [
            RegisterRun(
                t.target,
                run.registers.written(t.writes, event) if t.writes else run.registers,
                (*run.marks, position) if t.mark is Mark.TAKE else run.marks,
            )
            for t in moves
        ]

    def _is_expired(self, run: RegisterRun) -> bool:
        return bool(run.marks) and run.marks[0] < self._horizon.oldest


NO_REGISTERS = Registers()


class OpenInterval(NamedTuple):
    """A state, register values and the interval's start: all that later events depend on.

    Only registers that a later guard may read count, and only the attributes that guards read of
    them.
    """

    state: int
    registers: Registers
    start: int


class IntervalRuns:
    """The runs of a query that compares labels, grouped by configuration, with shared `MarkSet`s.

    A strategy selects among all answers of an end, so it forgets no run.
    """

    def __init__(self, plan: CorrelatedPlan) -> None:
        self._plan = plan
        self._leaving = outgoing(plan.srt)
        self._live = live_registers(plan.srt)
        self._attributes = _attributes_read(plan.srt)
        self._places: dict[int, int] = {}
        self._active: dict[OpenInterval, MarkSet] = {}
        self._answers: dict[int, list[MarkSet]] = {}
        self._position = -1
        self.counts = OperationCounts()

    def fresh(self) -> IntervalRuns:
        """Return an empty evaluation of the same plan for another stream."""
        other = copy(self)
        other._places, other._active, other._answers = {}, {}, {}
        other._position, other.counts = -1, OperationCounts()
        return other

    @property
    def live(self) -> int:
        """The number of configurations that later events may continue."""
        return len(self._active)

    def advance(self, event: Event, position: int) -> None:
        """Move all configurations by an event, including the run that starts there."""
        if self._plan.strategy is not None:
            self._places[position] = len(self._places)
        start = OpenInterval(self._plan.srt.q0, NO_REGISTERS, position)
        growth = Growth(position)
        arrivals: dict[OpenInterval, list[MarkSet]] = {}
        for c, marks in spend_over((*self._active.items(), (start, EMPTY_MATCH))):
            for mark, after in self._successors(c, event):
                match_set = growth.with_mark(marks) if mark is Mark.TAKE else marks
                arrivals.setdefault(after, []).append(match_set)
        self.counts.arrivals = len(arrivals)
        if len(arrivals) > MAX_CONFIGURATIONS:
            raise ResourceLimit(
                "CER0685",
                f"more than {MAX_CONFIGURATIONS:,} configurations are active together",
                hint="use a window; or the compiled engine, on streams that are read as a whole",
            )
        configurations = {c: growth.either(parts) for c, parts in arrivals.items()}
        self._active = {c: marks for c, marks in configurations.items() if self._leaving[c.state]}
        self._answers = {}
        for c, marks in configurations.items():
            if c.state in self._plan.srt.F:
                self._answers.setdefault(c.start, []).append(marks)
        self._position = position

    def _successors(self, c: OpenInterval, event: Event) -> Iterator[tuple[Mark, OpenInterval]]:
        transitions = self._leaving[c.state]
        moves = [t for t in transitions if satisfies(event, t.guard, c.registers)]
        self.counts.leave(len(transitions), len(moves))
        for t in moves:
            live = self._live[t.target]
            old = {r: value for r, value in c.registers.items() if r in live - t.writes}
            new = {r: _project(event, self._attributes[r]) for r in t.writes & live}
            yield t.mark, OpenInterval(t.target, Registers({**old, **new}), c.start)

    def answers(self, lowest_start: int) -> Iterator[ComplexEvent]:
        """Yield the answers that end at the last event, each once."""
        sets, end, strategy = self._answers, self._position, self._plan.strategy
        if strategy is None:
            inside = sorted(start for start in sets if start >= lowest_start)
            matches = (
                ComplexEvent(start, end, M) for start in inside for M in each_once(sets[start])
            )
            return matches if self._plan.limit is None else iter(sorted(matches, key=latest_first))
        every = ((start, M) for start in sets for M in each_once(sets[start]))
        candidates = (ComplexEvent(start, end, M) for start, M in every)
        selection = select_answers(
            strategy, candidates, lambda m: tuple(self._places[p] for p in m.positions)
        )
        in_window = (answer for answer in selection if answer.start >= lowest_start)
        return iter(sorted(in_window, key=latest_first))

    def forget(self, before: int) -> None:
        """Drop the runs that start before a position, unless a strategy compares their answers."""
        if self._plan.strategy is None:
            self._active = {c: marks for c, marks in self._active.items() if c.start >= before}

    def reset(self) -> None:
        """Drop all runs."""
        self._active = {}

    def state(self) -> Any:
        """Return the runs for `resume`; the plan must have no strategy.

        A node is its position, or -1 for a union, and the numbers of the nodes below, which come
        before it; number 0 is the empty match.
        """
        numbers, nodes = {id(EMPTY_MATCH): 0}, list[tuple[int, ...]]()
        pending = [*self._active.values()]
        while pending:
            node = pending.pop()
            if id(node) in numbers or isinstance(node, EmptyMatch):
                continue
            position, below = -1, getattr(node, "parts", ())
            if isinstance(node, Extension):
                position, below = node.position, (node.before,)
            if unnumbered := [part for part in below if id(part) not in numbers]:
                pending += (node, *unnumbered)
                continue
            numbers[id(node)] = len(numbers)
            nodes.append((position, *(numbers[id(part)] for part in below)))
        held = {c: [(r, *values_of(t)) for r, t in c.registers.items()] for c in self._active}
        return nodes, [
            (c.state, held[c], c.start, numbers[id(marks)]) for c, marks in self._active.items()
        ]

    def resume(self, state: Any, read: int) -> None:
        """Restore the result of `state`; damaged values raise `BadData` or another error."""
        nodes, runs = state
        made: list[tuple[MarkSet, int, int]] = [(EMPTY_MATCH, read, -1)]
        for position, *below in nodes:  # `made` has each set with its first and last mark
            expect(below and all(is_whole(n, 0, len(made)) for n in below), "a set of marks")
            parts, first, last = zip(*(made[n] for n in below), strict=True)
            if position == -1:
                made.append((Either(parts), min(first), max(last)))
                continue
            expect(is_whole(position, 0, read) and len(below) == 1, "a mark")
            expect(last[0] < position, "the order of marks")
            made.append((Extension(parts[0], position), min(first[0], position), position))
        for q, held, start, n in runs:
            expect(is_whole(q, 0, self._plan.srt.states), "a state")
            expect(is_whole(n, 0, len(made)) and is_whole(start, 0, read), "a run")
            marks, first_mark, _ = made[n]
            expect(start <= first_mark, "the start of a run")
            registers = {r: event_of(*values) for r, *values in held}
            expect(len(held) == len(registers) and registers.keys() <= self._live[q], "registers")
            c = OpenInterval(q, Registers(registers), start)
            expect(c not in self._active, "equal runs")
            self._active[c] = marks


def values_of(t: Event) -> Any:
    """Return the type, stream and attributes of an event for a saved state."""
    pairs = (((n,) if isinstance(n, PlaceName) else n, v) for n, v in t.attributes.items())
    return t.type, t.stream, [*pairs]


def event_of(kind: Any, stream: Any, attributes: Any) -> Event:
    """Return the event with saved values; damaged ones raise `BadData` or another error."""
    expect(isinstance(kind, str) and isinstance(stream, str | None), "the event of a register")
    pairs = {PlaceName(*n) if isinstance(n, tuple) else n: value for n, value in attributes}
    for name, value in pairs.items():
        expect(isinstance(name, str) and is_value(value), "the event of a register")
    return Event(kind, pairs, stream)


def _attributes_read(T: Srt) -> dict[str, frozenset[str]]:
    """Return the attributes of each register that some guard reads."""
    read: dict[str, set[str]] = {r: set() for r in T.R}
    for t in T.Delta:
        for each in register_attributes(t.guard):
            read[each.register].add(each.attribute)
    return {r: frozenset(names) for r, names in read.items()}


def _project(event: Event, attributes: frozenset[str]) -> Event:
    """Return the event with only the attributes that guards read, so that more events are equal."""
    listed = [name for name in event.attributes if name in attributes]
    paths = sorted(name for name in attributes.difference(listed) if name in event.attributes)
    return Event(
        event.type if "type" in attributes else "",
        {name: event.attributes[name] for name in (*listed, *paths)},
        event.stream if "stream" in attributes else None,
    )


@dataclass(slots=True)
class OperationCounts:
    """Counts of guard evaluations, updates and copies of runs.

    A run that leaves its state by n of its p transitions evaluates p guards, is updated n times,
    and copied n - 1 times, because one of the n reuses it. The paper's model assumes n = p as the
    worst case: ``|Run| (p c_p + (p - 1) c_c + p c_u)`` for each event.
    """

    evaluations: int = 0
    copies: int = 0
    updates: int = 0
    arrivals: int = 0
    """The runs or configurations that the last event created, including those in dead ends."""

    def leave(self, transitions: int, moves: int) -> None:
        """Count the operations when one run or configuration reads an event."""
        self.evaluations += transitions
        self.copies += max(moves - 1, 0)
        self.updates += moves


class Horizon:
    """The first position inside all windows that end at the last event, as `oldest`.

    It never goes back, as time does not: a run whose first mark lies before it can report no more
    matches. Keeps the times of the positions from `oldest` on.
    """

    def __init__(self, windows: Sequence[MarkWindow]) -> None:
        in_events = [window.width for window in windows if isinstance(window, EventWindow)]
        self._events = min(in_events, default=None)
        self._times = [_Times(w) for w in windows if isinstance(w, AttributeWindow)]
        self.bounded = bool(windows)
        self.oldest = 0

    def read(self, event: Event, position: int) -> None:
        """Read the time of an event; raise `BadData` if it is missing or goes back."""
        bounds = [times.read(event, position) for times in self._times]
        if self._events is not None:
            bounds.append(position - self._events)
        self.oldest = max([self.oldest, *bounds])


class _Times:
    """A clock that gives, for each event, the first position within a window in time."""

    def __init__(self, window: AttributeWindow) -> None:
        self._clock: Clock = clock_for(window, None)
        self._pointer = WindowPointer(window)
        self._before: Instant | None = None

    def read(self, event: Event, position: int) -> int:
        """Read an event; return the first position inside its window."""
        now = self._clock(event, position)
        if self._before is not None:
            self._clock.check_order(self._before, now, position)
        self._before = now
        return self._pointer.advance(now, position)


Marks: TypeAlias = tuple[frozenset[str], ...]
"""The labels of each position of an answer."""


class _Configuration(NamedTuple):
    state: int
    registers: Registers


class _Move(NamedTuple):
    source: _Configuration
    labels: frozenset[str]
    target: _Configuration


def labels_of_answer(
    A: LabelledSrt, clauses: Clauses, events: Sequence[Event], answer: ComplexEvent
) -> Iterator[Marks]:
    """Yield each assignment of labels to the positions of an answer, once.

    A forward pass computes the configurations of runs over the answer; a backward pass keeps those
    that lead to acceptance, so no way is a dead end.
    """
    leaving, positions = outgoing(A), set(answer.positions)
    current = {_Configuration(A.q0, Registers())}
    layers: list[list[_Move]] = []
    for i in substream(clauses, events, answer):
        moves = [
            _Move(c, t.labels, _Configuration(t.target, c.registers.written(t.writes, events[i])))
            for c in current
            for t in leaving[c.state]
            if bool(t.labels) == (i in positions) and satisfies(events[i], t.guard, c.registers)
        ]
        layers.append(moves)
        current = {move.target for move in moves}
    ways: dict[_Configuration, set[Marks]] = {c: {()} for c in current if c.state in A.F}
    for moves in reversed(layers):
        before: dict[_Configuration, set[Marks]] = {}
        for source, labels, target in moves:
            for way in ways.get(target, ()):
                longer = (labels, *way) if labels else way
                before.setdefault(source, set()).add(longer)
        ways = before
    return iter(sorted(set().union(*ways.values()), key=lambda way: [sorted(L) for L in way]))
