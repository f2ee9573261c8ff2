"""What is looked for: a derivation with given marks, with so many obligations unmet."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TypeAlias

from cerlab.logic.sremo.syntax import Sremo
from cerlab.logic.sremo.text import sremo_text
from cerlab.model.answer import Positions
from cerlab.model.event import Event
from cerlab.why.failure import Drop, Failure, Kind, blamed, cost
from cerlab.why.goal import NARROW, SAID, Budget
from cerlab.why.sremo.derivation import SremoDerivation, Stored

Known: TypeAlias = dict[tuple[object, ...], list[SremoDerivation]]


@dataclass(frozen=True, slots=True)
class Goal:
    """Positions of a stream that a derivation is to mark; it reads no event from `end` on.

    `marked` is None where any marks will do, as inside a negation; there `by_marks` says whether
    derivations that differ in them look different from above. `read` are the registers that
    guards read; others are not followed. `allowance` is the highest cost of the failures of a
    derivation (`cerlab.why.failure.cost`), `known` are the derivations found so far.
    """

    events: Sequence[Event]
    marked: Positions | None
    end: int
    read: frozenset[str]
    allowance: int = 0
    by_marks: bool = False
    budget: Budget = field(default_factory=Budget)
    known: Known = field(default_factory=dict)

    def stored(self, v: Stored, writes: frozenset[str], position: int | None) -> Stored:
        """``v[W <- t]``, by the positions of events (SRT Def. 12)."""
        followed = dict.fromkeys(writes & self.read, position)
        return tuple(sorted({**dict(v), **followed}.items()))

    def asks(self, position: int) -> bool:
        """Whether a position is among the marked ones."""
        return self.marked is not None and position in self.marked

    def asked_between(self, start: int, end: int) -> Positions:
        """The marked positions from `start` to before `end`."""
        if self.marked is None:
            return ()
        return self.marked[bisect_left(self.marked, start) : bisect_left(self.marked, end)]

    @property
    def narrow(self) -> bool:
        """Whether the positions are close enough to blame every event among them."""
        return not self.marked or self.end - self.marked[0] <= NARROW

    def inside_negation(self, *, by_marks: bool) -> Goal:
        """The same events, with any marks and without any failure."""
        return replace(self, marked=None, allowance=0, by_marks=by_marks)


class Table:
    """The best derivations of one subexpression from one position: one for each that looks equal.

    Equal from above are those that end at the same event with the same events in the registers.
    """

    def __init__(self, goal: Goal) -> None:
        self._goal = goal
        self._best: dict[tuple[object, ...], tuple[tuple[int, int], SremoDerivation]] = {}

    def offer(self, found: SremoDerivation) -> bool:
        """Keep a derivation if it is allowed and better than what is there of its class."""
        goal = self._goal
        goal.budget.spend()
        price = cost(found.failures)
        if price > goal.allowance:
            return False
        key = (found.end, found.registers, found.marks if goal.by_marks else ())
        rank = (price, blamed(found.failures))
        if key in self._best and self._best[key][0] <= rank:
            return False
        self._best[key] = (rank, found)
        return True

    def found(self) -> list[SremoDerivation]:
        """The derivations, in the order in which their classes were found."""
        return [derivation for _, derivation in self._best.values()]


def leftover(goal: Goal, positions: Iterable[int]) -> tuple[Failure, ...]:
    """Marked positions whose events no part of the expression marks."""
    return tuple(
        Failure(
            Kind.LEFTOVER,
            f"event {p} is {goal.events[p].type}, and no part of the expression marks it",
            positions=(p,),
            repairs=(Drop(p),),
        )
        for p in positions
    )


@lru_cache(512)
def said(e: Sremo) -> str:
    """The text of a subexpression, cut where it is long."""
    text = sremo_text(e)
    return text if len(text) <= SAID else text[: SAID - 2] + ".."
