"""What is looked for: a valuation that marks given positions, with so many obligations unmet."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from cerlab.errors import ResourceLimit
from cerlab.logic.cel.syntax import Formula
from cerlab.logic.cel.text import formula_text
from cerlab.model.answer import Positions
from cerlab.model.event import Event
from cerlab.why.context import Context
from cerlab.why.derivation import Derivation
from cerlab.why.failure import HEAVY, Drop, Failure, Kind, blamed, cost

MAX_STEPS = 200_000
"""How many derivations, of all subformulas, a search may look at."""

NARROW = 64
"""In intervals of up to so many events, unmarked events of the wrong type are blamed too."""

NEARBY = 8
"""In longer ones, an event that should be marked is looked for so near to a marked one."""

SAID = 60
"""How long the text of a subformula may be inside a sentence."""


@dataclass(slots=True)
class Budget:
    """How many derivations have been looked at."""

    steps: int = 0

    def spend(self) -> None:
        """Count one more; raises `ResourceLimit` above `MAX_STEPS`."""
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise ResourceLimit(
                "CER0695",
                f"the search for a derivation looks at up to {MAX_STEPS:,} partial ones",
                hint="give start and end, or a shorter interval",
            )


@dataclass(frozen=True, slots=True)
class Goal:
    """Positions `marked` of a substream, to be the ones that a valuation between lo and hi marks.

    `events` is the substream, `at` has its positions in the whole stream; everything else counts in
    the substream. `start` and `end` are those of the valuation, if they are given. `allowance` is
    the highest cost of the failures of a derivation (`cerlab.why.failure.cost`).
    """

    events: Sequence[Event]
    at: Sequence[int]
    marked: Positions
    lo: int
    hi: int
    start: int | None = None
    end: int | None = None
    allowance: int = 0
    budget: Budget = field(default_factory=Budget)

    def between(self, after: int, before: int) -> Positions:
        """The marked positions that lie strictly between two."""
        return self.marked[bisect_right(self.marked, after) : bisect_left(self.marked, before)]

    def candidates(self, *, visible: bool) -> Iterable[int]:
        """Where an atom may take its event."""
        everywhere = range(self.lo, self.hi + 1)
        if not visible:
            return everywhere
        if self.allowance < HEAVY:
            return self.marked
        if len(everywhere) <= NARROW:
            return everywhere
        near = {p + d for p in self.marked for d in range(-NEARBY, NEARBY + 1)}
        return sorted(near & set(everywhere))

    @property
    def narrow(self) -> bool:
        """Whether the interval is short enough to blame every event in it."""
        return self.hi - self.lo < NARROW


def leftover(goal: Goal, positions: Iterable[int]) -> tuple[Failure, ...]:
    """Marked positions whose events no part of the formula takes."""
    return tuple(
        Failure(
            Kind.LEFTOVER,
            f"event {goal.at[p]} is {goal.events[p].type}, and no part of the formula takes it",
            positions=(goal.at[p],),
            repairs=(Drop(goal.at[p]),),
        )
        for p in positions
    )


def said(phi: Formula) -> str:
    """The text of a subformula, cut where it is long."""
    text = formula_text(phi)
    return text if len(text) <= SAID else text[: SAID - 2] + ".."


Key: TypeAlias = tuple[object, ...] | None


class Table:
    """The best derivations of one subformula: for each class that looks equal from above, one.

    Equal from above are those with the same interval and the same positions of the labels that are
    read above; under ALL, of the visible labels too.
    """

    def __init__(self, goal: Goal, context: Context) -> None:
        self._goal = goal
        self._context = context
        self._best: dict[Key, tuple[tuple[int, int], Derivation]] = {}

    def offer(self, found: Derivation) -> bool:
        """Keep a derivation if it is allowed and better than what is there of its class."""
        self._goal.budget.spend()
        price = cost(found.failures)
        if price + self._outside(found) > self._goal.allowance:
            return False
        key = self.key(found)
        rank = (price, blamed(found.failures))
        if key in self._best and self._best[key][0] <= rank:
            return False
        self._best[key] = (rank, found)
        return True

    def found(self) -> list[Derivation]:
        """The derivations, in the order in which their classes were found."""
        return [derivation for _, derivation in self._best.values()]

    def key(self, found: Derivation) -> Key:
        """What a derivation looks like from above."""
        V, context = found.valuation, self._context
        if V is None:
            return None
        read = context.read | context.visible if context.loose else context.read
        return (V.start, V.end, *((X, D) for X, D in V.labels.items() if X in read))

    def _outside(self, found: Derivation) -> int:
        """What it costs that a part which begins or ends the whole does it at the wrong place."""
        goal, context, V = self._goal, self._context, found.valuation
        if V is None or context.loose:
            return 0
        price = missed = 0
        if context.leading:
            price += HEAVY * bisect_left(goal.marked, V.start)
            missed += goal.start is not None and V.start != goal.start
        if context.trailing:
            price += HEAVY * (len(goal.marked) - bisect_right(goal.marked, V.end))
            missed += goal.end is not None and V.end != goal.end
        return price + HEAVY * min(missed, 1)  # one repair of the interval mends both ends
