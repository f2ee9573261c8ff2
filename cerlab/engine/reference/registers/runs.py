"""Algorithm 1, corrected: every active run follows every transition it can (SRT Alg. 1)."""

from __future__ import annotations

from typing import NamedTuple

from cerlab.automata.automaton import Mark, outgoing
from cerlab.automata.plan import RegisterPlan
from cerlab.budget import spend_over
from cerlab.engine.reference.registers.counts import OperationCounts
from cerlab.engine.reference.registers.horizon import Horizon
from cerlab.errors import ResourceLimit
from cerlab.model.answer import Positions, Registers
from cerlab.model.event import Event
from cerlab.predicates.truth import satisfies

MAX_RUNS = 500_000
"""How many runs may be active at once."""


class Run(NamedTuple):
    """An active run: where it is, what its registers hold, what it marked."""

    state: int
    registers: Registers
    marks: Positions


class Runs:
    """The active runs of a plan, each for itself: one for each way to each partial match.

    A run that accepts is reported if its last transition marks, and it goes on: as printed it is
    dropped, and its longer matches are lost; and each match is reported once, however many runs
    have it (erratum SRT-E24). A run whose first mark no window allows any more is dropped.
    """

    def __init__(self, plan: RegisterPlan) -> None:
        self._leaving = outgoing(plan.srt)
        self._F = plan.srt.F
        self._horizon = Horizon(plan.windows)
        self._runs = [Run(plan.srt.q0, Registers(), ())]
        self.counts = OperationCounts()

    @property
    def live(self) -> int:
        """How many runs may still go on."""
        return len(self._runs)

    def advance(self, event: Event, position: int) -> frozenset[Positions]:
        """Follow all runs over an event; the matches whose last mark is on it."""
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

    def _successors(self, run: Run, event: Event, position: int) -> list[Run]:
        transitions = self._leaving[run.state]
        moves = [t for t in transitions if satisfies(event, t.guard, run.registers)]
        self.counts.leave(len(transitions), len(moves))
        return [
            Run(
                t.target,
                run.registers.written(t.writes, event) if t.writes else run.registers,
                (*run.marks, position) if t.mark is Mark.TAKE else run.marks,
            )
            for t in moves
        ]

    def _is_expired(self, run: Run) -> bool:
        return bool(run.marks) and run.marks[0] < self._horizon.oldest
