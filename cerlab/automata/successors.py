"""Where sets of states lead on an event, by truth vectors of the predicates (CORE Sec. 4.4)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from cerlab.automata.automaton import Mark, Transition
from cerlab.budget import Budget, spend
from cerlab.model.event import Event
from cerlab.predicates.syntax import EVERYTHING, Not, Predicate, conjunction
from cerlab.predicates.truth import satisfies

States = frozenset[int]


class Moves(NamedTuple):
    """Where one event leads from a macro-state: by •, by ∘; None where no run goes on."""

    take: int | None
    skip: int | None


class Successors:
    """The image of sets of states under one event and one mark.

    Events are seen through `predicates` only: a symbol is a truth vector, bit k for the k-th.
    """

    def __init__(self, Delta: Iterable[Transition]) -> None:
        Delta = tuple(Delta)
        self.predicates: tuple[Predicate, ...] = tuple(
            dict.fromkeys(t.predicate for t in Delta if t.predicate != EVERYTHING)
        )
        number = {P: bit for bit, P in enumerate(self.predicates)}
        self._by_source: dict[int, list[tuple[int | None, Mark, int]]] = {}
        for t in Delta:
            moves = self._by_source.setdefault(t.source, [])
            moves.append((number.get(t.predicate), t.mark, t.target))
        self._budget = Budget(
            "determinisation",
            'evaluator="automaton" does not determinise; or iterate and nest less',
        )

    def symbol(self, event: Event) -> int:
        """The truth vector of an event: bit k is set if it satisfies ``predicates[k]``."""
        vector = 0
        for bit, P in enumerate(self.predicates):
            if satisfies(event, P):
                vector |= 1 << bit
        return vector

    def after(self, states: States, symbol: int, mark: Mark) -> States:
        """``Delta(S, t, m)``: the states that some state leads to on the symbol with the mark.

        Raises `ResourceLimit` where a machine has asked for too many: steps are the states.
        """
        spend(len(states), self._budget)
        return frozenset(
            target
            for q in states
            for bit, its_mark, target in self._by_source.get(q, ())
            if its_mark is mark and (bit is None or symbol >> bit & 1)
        )


def type_of(tests: Sequence[Predicate], symbol: int) -> Predicate:
    """The predicate that says of each test whether it holds, as a truth vector does."""
    literal: Predicate = EVERYTHING
    for bit, P in enumerate(tests):
        literal = conjunction(literal, P if symbol >> bit & 1 else Not(P))
    return literal
