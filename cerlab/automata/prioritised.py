"""Prioritised automata: the transitions of a state stand in order of preference (rows.md 5.5).

They are made as far as runs need them. Empty moves are gone: a step reads a row, or accepts.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Final, Generic, NamedTuple, TypeAlias, TypeVar

from cerlab.display import drawable

State = TypeVar("State", bound=Hashable)


class Step(NamedTuple):
    """Read a row as a variable, and go on in `target`; `excluded` rows are not shown."""

    variable: str
    excluded: bool
    target: int


class Accept(NamedTuple):
    """Read no more: what was read so far is the match."""


ACCEPT: Final = Accept()
Steps: TypeAlias = tuple[Step | Accept, ...]
"""Steps, the most preferred first; none follows `ACCEPT`, which never fails."""


class Open(NamedTuple, Generic[State]):
    """A step whose target has no number yet."""

    variable: str
    excluded: bool
    target: State


@drawable
class PrioritisedAutomaton(Generic[State]):
    """The automaton of an initial macro-state and what `follow` says can be done in each.

    ``follow(w, at_start, at_end)`` are the steps of the macro-state w, in order of preference,
    before the first row of the partition or not, and after its last row or not. States are numbered
    as runs meet them, `initial` is 0.
    """

    initial: Final = 0

    def __init__(
        self,
        initial: State,
        follow: Callable[[State, bool, bool], tuple[Open[State] | Accept, ...]],
    ) -> None:
        self._follow = follow
        self._numbers = {initial: 0}
        self._states = [initial]
        self._steps: dict[tuple[int, bool, bool], Steps] = {}

    def __len__(self) -> int:
        """How many states runs have met so far."""
        return len(self._states)

    def steps(self, q: int, at_start: bool, at_end: bool) -> Steps:
        """The steps of a state, in order of preference."""
        key = (q, at_start, at_end)
        if key not in self._steps:
            open_steps = self._follow(self._states[q], at_start, at_end)
            self._steps[key] = tuple(
                ACCEPT
                if isinstance(step, Accept)
                else Step(step.variable, step.excluded, self._number(step.target))
                for step in open_steps
            )
        return self._steps[key]

    def _number(self, w: State) -> int:
        if w not in self._numbers:
            self._numbers[w] = len(self._states)
            self._states.append(w)
        return self._numbers[w]
