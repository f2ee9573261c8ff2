"""VCEA to CEA: labels become marks, and there is one initial state (CORE App. A.1)."""

from __future__ import annotations

from cerlab.automata.automaton import IntervalCea, LabelTransition, Mark, Transition, Vcea
from cerlab.automata.explore import explore

FRESH = -1


def vcea_to_cea(A: Vcea) -> IntervalCea:
    """The complex events of a VCEA's valuations: some label becomes •, none ∘.

    The fresh ``q0`` has the outgoing transitions of all initial states, and none comes in. The
    states are those that are reachable from it, numbered breadth first; ``q0`` is 0.
    """
    outgoing: dict[int, list[LabelTransition]] = {}
    for t in A.Delta:
        outgoing.setdefault(t.source, []).append(t)
    outgoing[FRESH] = [t for q in sorted(A.I) for t in outgoing.get(q, ())]
    found = explore(
        FRESH, lambda q: [(t, t.target) for t in outgoing.get(q, ())], lambda q: q in A.F
    )
    number = {q: n for n, q in enumerate(found.states)}
    Delta = tuple(
        Transition(
            number[source], t.predicate, Mark.TAKE if t.labels else Mark.SKIP, number[target]
        )
        for source, t, target in found.moves
    )
    final = frozenset(number[q] for q in found.final)
    return IntervalCea(len(found.states), tuple(dict.fromkeys(Delta)), 0, final)
