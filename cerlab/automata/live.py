"""The live states of a prioritised automaton, determinised from the last row backwards.

A state is live at a row if some run from there over the rows that follow accepts. The set of live
states at a row is a function of that at the next row and of the variables that hold at the row, so
one pass from the last row to the first knows all of them. Forwards, the match at a row is then the
first step, and again the first, whose variable holds and whose target is live: nothing is tried in
vain, and the rows that decide between two choices may be as far ahead as they like.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias

from cerlab.automata.prioritised import Accept, PrioritisedAutomaton, Step, Steps

MAX_STATES = 1_000
"""Automata of more states are not taken: their live sets are too large."""

States: TypeAlias = int
"""A set of states: bit q is state q."""
Letter: TypeAlias = frozenset[str]
"""The variables that hold at a row."""


class StepTable(NamedTuple):
    """All states of an automaton, numbered; state 0 begins a match.

    The last state is another beginning, before the first row of a partition.
    """

    steps: tuple[Steps, ...]
    final: States
    """Those that accept after the last row."""

    @property
    def first_row(self) -> int:
        """The state that begins a match before the first row of a partition."""
        return len(self.steps) - 1


def step_table(A: PrioritisedAutomaton[Any], at_most: int = MAX_STATES) -> StepTable | None:
    """The table of an automaton; None where it has more states than that."""
    at_start = A.steps(A.initial, True, False)
    steps: list[Steps] = []
    while len(steps) < len(A):
        if len(A) > at_most:
            return None
        steps.append(A.steps(len(steps), False, False))
    final = [q for q in range(len(steps)) if _accepts(A.steps(q, False, True))]
    return StepTable((*steps, at_start), sum(1 << q for q in final))


def _accepts(steps: Steps) -> bool:
    return any(isinstance(step, Accept) for step in steps)


class LiveSets:
    """The sets of live states that rows lead to, numbered as they are met; 0 is after all rows."""

    def __init__(self, table: StepTable) -> None:
        self.table = table
        self.sets: list[States] = [table.final]
        self._numbers = {table.final: 0}
        self._before: dict[tuple[int, Letter], int] = {}

    def before(self, following: int, letter: Letter) -> int:
        """The live states at a row where these variables hold, from those at the next row."""
        key = (following, letter)
        if key not in self._before:
            live = live_before(self.table.steps, self.sets[following], letter)
            if live not in self._numbers:
                self._numbers[live] = len(self.sets)
                self.sets.append(live)
            self._before[key] = self._numbers[live]
        return self._before[key]

    def lives(self, number: int, q: int) -> bool:
        """Whether a state is in a set."""
        return bool(self.sets[number] >> q & 1)

    def step(self, q: int, letter: Letter, following: int) -> Step | None:
        """What a live state does at a row: the first step that leads on, None to accept."""
        for step in self.table.steps[q]:
            if isinstance(step, Accept):
                return None
            if step.variable in letter and self.lives(following, step.target):
                return step
        raise AssertionError("the state is not live")


def live_before(steps: Sequence[Steps], following: States, letter: Letter) -> States:
    """The states with a step that accepts, or that reads the row and leads to a live state."""
    return sum(1 << q for q, choices in enumerate(steps) if _leads(choices, following, letter))


def _leads(steps: Iterable[Step | Accept], following: States, letter: Letter) -> bool:
    return any(
        isinstance(step, Accept) or (step.variable in letter and following >> step.target & 1)
        for step in steps
    )
