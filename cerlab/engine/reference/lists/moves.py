"""Where an event leads in a CEA that need not be I/O-deterministic (FOUND Thm. 6)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from cerlab.automata.automaton import AnchoredCea, Mark
from cerlab.model.event import Event
from cerlab.predicates.truth import satisfies

Successors: TypeAlias = dict[int, list[int]]
"""``Delta(q, t, m)`` for one event and one mark, in the order of the transitions."""


def moves(cea: AnchoredCea, event: Event) -> dict[Mark, Successors]:
    """The successors of each state by • and by ∘; a state without any is left out."""
    Delta: dict[Mark, Successors] = {mark: {} for mark in Mark}
    for t in cea.Delta:
        if satisfies(event, t.predicate):
            Delta[t.mark].setdefault(t.source, []).append(t.target)
    return Delta


def image(Delta: Successors, T: Iterable[int]) -> frozenset[int]:
    """``Delta(T, t, m)``: the successors of all states of a set."""
    return frozenset(p for q in T for p in Delta.get(q, ()))
