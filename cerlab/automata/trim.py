"""States that no accepting run passes through, removed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

from cerlab.automata.automaton import Automaton
from cerlab.automata.explore import along, reachable

M = TypeVar("M", bound=Automaton[Any])


def trim(A: M) -> M:
    """The same runs, with only states that are reachable and reach a final state.

    A kind with a single initial state keeps it in any case. The remaining states keep their order
    and are renumbered from 0; registers stay, so that they mean the same.
    """
    edges = [(t.source, t.target) for t in (*A.Delta, *A.moves)]
    forward = reachable(A.I, along(edges))
    backward = reachable(A.F, along((q, p) for p, q in edges))
    useful = frozenset(forward).intersection(backward)
    number = {q: n for n, q in enumerate(sorted(useful | A.I if A.single else useful))}
    Delta, moves = (
        tuple(
            t._replace(source=number[t.source], target=number[t.target])
            for t in steps
            if t.source in number and t.target in useful
        )
        for steps in (A.Delta, A.moves)
    )
    I, F = (frozenset(number[q] for q in states if q in number) for states in (A.I, A.F))
    return replace(A, states=len(number), Delta=Delta, I=I, F=F, moves=moves)
