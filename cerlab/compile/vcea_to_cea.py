"""VCEA to CEA: labels become marks, and there is one initial state (CORE App. A.1)."""

from __future__ import annotations

from operator import attrgetter

from cerlab.automata.automaton import IntervalCea, Mark, Transition, Vcea


def vcea_to_cea(A: Vcea) -> IntervalCea:
    """The complex events of a VCEA's valuations: some label becomes •, none ∘.

    A fresh ``q0``, which is 0, stands for all initial states, and none comes in. The other states
    are those that a transition enters, in their order; Delta is by source.
    """
    number = {q: n for n, q in enumerate(sorted({t.target for t in A.Delta}), 1)}
    Delta = dict.fromkeys(
        Transition(q, t.predicate, Mark.TAKE if t.labels else Mark.SKIP, number[t.target])
        for t in A.Delta
        for q in (0 if t.source in A.I else None, number.get(t.source))
        if q is not None
    )
    in_order = tuple(sorted(Delta, key=attrgetter("source")))
    F = frozenset(number[q] for q in A.F if q in number)
    return IntervalCea(len(number) + 1, in_order, frozenset({0}), F)
