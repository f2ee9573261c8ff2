"""VCEA to CEA: labels become marks, and there is one initial state (CORE App. A.1)."""

from __future__ import annotations

from cerlab.automata.automaton import START, IntervalCea, Mark, Vcea, outgoing
from cerlab.automata.explore import explore


def vcea_to_cea(A: Vcea) -> IntervalCea:
    """The complex events of a VCEA's valuations: some label becomes •, none ∘.

    A fresh ``q0`` stands for all initial states, and none comes in. The states are those that are
    reachable from it, numbered breadth first; ``q0`` is 0.
    """

    successors = {
        q: [((t.predicate, Mark.TAKE if t.labels else Mark.SKIP), t.target) for t in steps]
        for q, steps in outgoing(A).items()
    }
    return explore(START, successors.__getitem__, A.F.__contains__, IntervalCea)
