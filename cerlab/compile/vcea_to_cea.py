"""VCEA to CEA: labels become marks, and there is one initial state (CORE App. A.1)."""

from __future__ import annotations

from operator import attrgetter

from cerlab.automata.automaton import IntervalCea, Mark, Transition, Vcea
from cerlab.automata.compose import distinct, shift
from cerlab.automata.trim import trim


def vcea_to_cea(A: Vcea) -> IntervalCea:
    """The complex events of a VCEA's valuations: some label becomes •, none ∘.

    A fresh ``q0``, which is 0, stands for all initial states, and none comes in. The other states
    keep their order, less those that no accepting run passes through; Delta is by source.
    """
    A = shift(A, 1)
    Delta = [
        Transition(q, t.predicate, Mark.TAKE if t.labels else Mark.SKIP, t.target)
        for t in A.Delta
        for q in ((0, t.source) if t.source in A.I else (t.source,))
    ]
    Delta.sort(key=attrgetter("source"))
    return trim(IntervalCea(A.states, distinct(Delta), frozenset({0}), A.F))
