"""Filters of formulas, put to the automata of what they filter (CORE App. A.1; DESIGN 3.5)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from typing import Any, TypeVar

from cerlab.automata.automaton import Automaton
from cerlab.automata.compose import union
from cerlab.budget import budgeted
from cerlab.logic.cel.syntax import Project
from cerlab.predicates.condition import Atomic, Condition, On, alternatives
from cerlab.predicates.syntax import (
    EVERYTHING,
    Predicate,
    StreamIs,
    conjunction,
    disjunction,
    negation,
)

HINT = "move OR into the brackets of one label where that is what you mean"

M = TypeVar("M", bound=Automaton[Any])


def apply_filter(A: M, condition: Condition, demand: Callable[[M, Atomic], M]) -> M:
    """One copy of the automaton for each way to satisfy the filter: `demand` puts a part to it.

    Raises `ResourceLimit` where that takes too many steps.
    """
    with budgeted("the copies of a formula for its filter", HINT):
        return reduce(union, (reduce(demand, copy, A) for copy in alternatives(condition)))


def kept_of(phi: Project, labels: frozenset[str]) -> list[tuple[Predicate, frozenset[str]]]:
    """What a projection keeps of the labels of an event: by what its stream is."""
    kinds: list[tuple[Predicate, frozenset[str]]] = [(EVERYTHING, labels & phi.labels)]
    for X in sorted(labels & {label for _, label in phi.of_streams}):
        streams: list[Predicate] = [StreamIs(S) for S, Y in sorted(phi.of_streams) if X == Y]
        of_them = reduce(disjunction, streams)
        kinds = [
            kind
            for P, kept in kinds
            for kind in (
                (conjunction(P, of_them), kept | {X}),
                (conjunction(P, negation(of_them)), kept),
            )
        ]
    return kinds


def demand_of_label(A: M, condition: On) -> M:
    """``X[P]``, put to every transition that gives its event to X."""
    X, P = condition.label, condition.predicate
    Delta = tuple(
        t._replace(predicate=conjunction(t.predicate, P)) if X in t.labels else t for t in A.Delta
    )
    return replace(A, Delta=Delta)
