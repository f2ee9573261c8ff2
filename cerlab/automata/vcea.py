"""Valuation complex event automata: runs give positions to labels (CORE App. A.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from cerlab.display import shown
from cerlab.errors import IllFormed
from cerlab.predicates.syntax import Predicate


class LabelTransition(NamedTuple):
    """``source -- predicate | labels --> target``; no labels is the unmarked transition."""

    source: int
    predicate: Predicate
    labels: frozenset[str]
    target: int


@shown
@dataclass(frozen=True, slots=True)
class Vcea:
    """``(Q, Delta, I, F)`` with ``Delta`` a subset of ``Q x P x 2^X x Q`` (CORE App. A.1).

    A run over ``[i, j]`` starts in I at any position i and takes one transition per event. States
    are ``0 .. states-1``.
    """

    states: int
    Delta: tuple[LabelTransition, ...]
    I: frozenset[int]  # the paper's letter
    F: frozenset[int]

    def __post_init__(self) -> None:
        check_states(self.states, self.Delta, self.I | self.F)


def check_states(states: int, Delta: tuple[LabelTransition, ...], others: frozenset[int]) -> None:
    """Raise `IllFormed` for states that are not ``0 .. states-1``."""
    used = others.union(*((t.source, t.target) for t in Delta))
    if not used <= set(range(states)):
        raise IllFormed(
            "CER0220",
            f"states {sorted(used - set(range(states)))} are not in Q",
            hint="states are numbered from 0 to Q - 1",
        )
