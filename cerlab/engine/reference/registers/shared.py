"""Runs that differ in their marks alone, followed as one: a configuration and its matches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from cerlab.automata.automaton import Mark, outgoing
from cerlab.automata.plan import RegisterPlan
from cerlab.automata.registers import RegisterTransition
from cerlab.budget import spend_over
from cerlab.engine.reference.registers.counts import OperationCounts
from cerlab.engine.reference.registers.horizon import Horizon
from cerlab.engine.reference.registers.marks import EMPTY_MATCH, Growth, MarkSet, matches_of
from cerlab.errors import ResourceLimit
from cerlab.model.answer import ComplexEvent, Positions, Registers
from cerlab.model.event import Event
from cerlab.predicates.truth import satisfies

MAX_CONFIGURATIONS = 500_000
"""How many configurations may be active at once."""


class Configuration(NamedTuple):
    """What the future of a run depends on: its state, its registers, and under windows its start.

    `first` is the first position it marked; None before that, and always where there is no window.
    """

    state: int
    registers: Registers
    first: int | None


class SharedRuns:
    """The runs of a plan by configuration, with what they marked as a set that shares its parts.

    An event costs one evaluation for each configuration and transition, whatever the number of
    matches: at most ``|Q| (k + 1)^|R|`` configurations at event k, and under a window as many for
    each first mark in it. Listing the matches of an event comes on top.
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
        """How many configurations may still go on."""
        return len(self._active)

    def advance(self, event: Event, position: int) -> frozenset[Positions]:
        """Follow all configurations over an event; the matches whose last mark is on it."""
        self._horizon.read(event, position)
        growth = Growth(position)
        arrivals: dict[Configuration, list[MarkSet]] = {}
        answers: list[MarkSet] = []
        for c, marks in spend_over(self._active.items()):
            for t, after in self._successors(c, event, position):
                took = t.mark is Mark.TAKE
                match_set = growth.with_mark(marks) if took else marks
                arrivals.setdefault(after, []).append(match_set)
                if took and t.target in self._F:
                    answers.append(match_set)
        self.counts.arrivals = len(arrivals)
        if len(arrivals) > MAX_CONFIGURATIONS:
            raise ResourceLimit(
                "CER0685",
                f"more than {MAX_CONFIGURATIONS:,} configurations are active at once",
                hint="use a window, which ends runs",
            )
        self._active = {
            c: growth.either(parts) for c, parts in arrivals.items() if self._leaving[c.state]
        }
        return frozenset(matches_of(growth.either(answers))) if answers else frozenset()

    def _successors(
        self, c: Configuration, event: Event, position: int
    ) -> Iterator[tuple[RegisterTransition, Configuration]]:
        """The transitions that a configuration can take, and where to; none out of the windows."""
        transitions = self._leaving[c.state]
        moves = [t for t in transitions if satisfies(event, t.guard, c.registers)]
        self.counts.leave(len(transitions), len(moves))
        for t in moves:
            first = c.first
            if first is None and self._horizon.bounded and t.mark is Mark.TAKE:
                first = position
            if first is None or first >= self._horizon.oldest:
                v = c.registers.written(t.writes, event) if t.writes else c.registers
                yield t, Configuration(t.target, v, first)


def answers(plan: RegisterPlan, events: Iterable[Event]) -> Iterator[ComplexEvent]:
    """What a stream shows, each match once, as soon as its last marked event is read.

    By end; inside one end by positions. Raises `BadData` where a window in time meets an event
    without time, or time that goes back, `ResourceLimit` for too many configurations at once.
    """
    runs = SharedRuns(plan)
    for position, event in enumerate(events):
        for M in sorted(runs.advance(event, position)):
            yield ComplexEvent(M[0], position, M)
