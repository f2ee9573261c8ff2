"""Running the transducer of a query: runs begin anywhere and answer intervals (CORE Sec. 3)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from cerlab.automata.automaton import Mark, outgoing
from cerlab.automata.plan import CorrelatedPlan
from cerlab.automata.registers import Srt, live_registers
from cerlab.budget import spend_over
from cerlab.engine.reference.registers.counts import OperationCounts
from cerlab.engine.reference.registers.marks import EMPTY_MATCH, Growth, MarkSet, matches_of
from cerlab.engine.reference.registers.shared import MAX_CONFIGURATIONS
from cerlab.engine.reference.selection import select_answers
from cerlab.errors import ResourceLimit
from cerlab.model.answer import ComplexEvent, Registers, latest_first
from cerlab.model.event import Event
from cerlab.predicates.syntax import RegisterAttribute, RegisterComparison, atoms
from cerlab.predicates.truth import satisfies

NO_REGISTERS = Registers()


class Configuration(NamedTuple):
    """What the future of a run depends on, and where its interval begins.

    Of the registers only those that a later guard may read, and of their events what guards read.
    """

    state: int
    registers: Registers
    start: int


class IntervalRuns:
    """The runs of a correlated plan by configuration, with what they marked as shared sets.

    A strategy selects among all answers of an end, so then no run is forgotten.
    """

    def __init__(self, plan: CorrelatedPlan) -> None:
        self._plan = plan
        self._leaving = outgoing(plan.srt)
        self._live = live_registers(plan.srt)
        self._attributes = _attributes_read(plan.srt)
        self._places: dict[int, int] = {}
        self._active: dict[Configuration, MarkSet] = {}
        self._answers: dict[int, list[MarkSet]] = {}
        self._position = -1
        self.counts = OperationCounts()

    @property
    def live(self) -> int:
        """How many configurations may still go on."""
        return len(self._active)

    def advance(self, event: Event, position: int) -> None:
        """Follow all configurations over an event, and that of the run that starts here."""
        if self._plan.strategy is not None:
            self._places[position] = len(self._places)
        start = Configuration(self._plan.srt.q0, NO_REGISTERS, position)
        growth = Growth(position)
        arrivals: dict[Configuration, list[MarkSet]] = {}
        for c, marks in spend_over((*self._active.items(), (start, EMPTY_MATCH))):
            for mark, after in self._successors(c, event):
                match_set = growth.with_mark(marks) if mark is Mark.TAKE else marks
                arrivals.setdefault(after, []).append(match_set)
        self.counts.arrivals = len(arrivals)
        if len(arrivals) > MAX_CONFIGURATIONS:
            raise ResourceLimit(
                "CER0685",
                f"more than {MAX_CONFIGURATIONS:,} configurations are active at once",
                hint="use a window; or the compiled engine, on streams that are read as a whole",
            )
        configurations = {c: growth.either(parts) for c, parts in arrivals.items()}
        self._active = {c: marks for c, marks in configurations.items() if self._leaving[c.state]}
        self._answers = {}
        for c, marks in configurations.items():
            if c.state in self._plan.srt.F:
                self._answers.setdefault(c.start, []).append(marks)
        self._position = position

    def _successors(self, c: Configuration, event: Event) -> Iterator[tuple[Mark, Configuration]]:
        transitions = self._leaving[c.state]
        moves = [t for t in transitions if satisfies(event, t.guard, c.registers)]
        self.counts.leave(len(transitions), len(moves))
        for t in moves:
            live = self._live[t.target]
            old = {r: value for r, value in c.registers.items() if r in live - t.writes}
            new = {r: _project(event, self._attributes[r]) for r in t.writes & live}
            yield t.mark, Configuration(t.target, Registers({**old, **new}), c.start)

    def answers(self, lowest_start: int) -> Iterator[ComplexEvent]:
        """What the accepting runs marked, each answer once; lazily, unless there is a LIMIT."""
        sets, end, strategy = self._answers, self._position, self._plan.strategy
        if strategy is None:
            inside = sorted(start for start in sets if start >= lowest_start)
            matches = (
                ComplexEvent(start, end, M) for start in inside for M in _each_once(sets[start])
            )
            return matches if self._plan.limit is None else iter(sorted(matches, key=latest_first))
        every = ((start, M) for start in sets for M in _each_once(sets[start]))
        candidates = (ComplexEvent(start, end, M) for start, M in every)
        selection = select_answers(
            strategy, candidates, lambda m: tuple(self._places[p] for p in m.positions)
        )
        in_window = (answer for answer in selection if answer.start >= lowest_start)
        return iter(sorted(in_window, key=latest_first))

    def forget(self, before: int) -> None:
        """Drop the runs that started earlier, unless they compete."""
        if self._plan.strategy is None:
            self._active = {c: marks for c, marks in self._active.items() if c.start >= before}

    def reset(self) -> None:
        """Drop all runs."""
        self._active = {}


def _each_once(sets: list[MarkSet]) -> Iterator[tuple[int, ...]]:
    """The matches of some sets, which may overlap."""
    matches: set[tuple[int, ...]] = set()
    for marks in sets:
        for M in matches_of(marks):
            if M not in matches:
                matches.add(M)
                yield M


def _attributes_read(T: Srt) -> dict[str, frozenset[str]]:
    """For each register the attributes that some guard reads of it."""
    read: dict[str, set[str]] = {r: set() for r in T.R}
    for t in T.Delta:
        for atom in atoms(t.guard):
            if isinstance(atom, RegisterComparison):
                for side in (atom.left, atom.right):
                    if isinstance(side, RegisterAttribute):
                        read[side.register].add(side.attribute)
    return {r: frozenset(names) for r, names in read.items()}


def _project(event: Event, attributes: frozenset[str]) -> Event:
    """The event with nothing but what is read of it, so that more of them are equal."""
    return Event(
        event.type if "type" in attributes else "",
        {name: value for name, value in event.attributes.items() if name in attributes},
        event.stream if "stream" in attributes else None,
    )
