"""VCEA to CEA: labels become marks, and there is one initial state (CORE App. A.1)."""

from __future__ import annotations

from cerlab.automata.automaton import IntervalCea, LabelTransition, Mark, Vcea
from cerlab.automata.product import remember
from cerlab.predicates.syntax import Predicate


def vcea_to_cea(A: Vcea) -> IntervalCea:
    """The complex events of a VCEA's valuations: some label becomes •, none ∘.

    A fresh ``q0`` stands for all initial states, and none comes in. The states are those that are
    reachable from it, numbered breadth first; ``q0`` is 0.
    """

    def marked(_: None, t: LabelTransition) -> list[tuple[tuple[Predicate, Mark], None]]:
        return [((t.predicate, Mark.TAKE if t.labels else Mark.SKIP), None)]

    return remember(A, None, marked, IntervalCea)
