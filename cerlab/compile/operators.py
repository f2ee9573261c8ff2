"""Operators with one construction on all machines with labels (CORE App. A.1; DESIGN 3.5)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from typing import Any, TypeAlias, TypeVar, assert_never

from cerlab.automata.automaton import Automaton
from cerlab.automata.compose import iteration, relabel, sequence, union
from cerlab.budget import step_budget
from cerlab.logic.cel import syntax as cel
from cerlab.predicates import syntax as pred
from cerlab.predicates.condition import Atomic, Condition, On, alternatives

HINT = "move OR into the brackets of one label where that is what you mean"

M = TypeVar("M", bound=Automaton[Any])


Composition: TypeAlias = (
    cel.As
    | cel.Filter
    | cel.Or
    | cel.Seq
    | cel.Concat
    | cel.Plus
    | cel.ConcatPlus
    | cel.Project
    | cel.Rename
)
"""What is made of the machines of its parts, whatever these are."""


def compose(
    phi: Composition, machine: Callable[[cel.Formula], M], demand: Callable[[M, Atomic], M]
) -> M:
    """The machine of a formula from those of its parts; `demand` puts a part of a filter to one."""
    match phi:
        case cel.As(body, X):
            return relabel(machine(body), lambda L: L | {X} if L else L)
        case cel.Filter(body, condition):
            return apply_filter(machine(body), condition, demand)
        case cel.Or(left, right):
            return union(machine(left), machine(right))
        case cel.Seq(left, right):
            return sequence(machine(left), machine(right), gaps=True)
        case cel.Concat(left, right):
            return sequence(machine(left), machine(right), gaps=False)
        case cel.Plus(body):
            return iteration(machine(body), gaps=True)
        case cel.ConcatPlus(body):
            return iteration(machine(body), gaps=False)
        case cel.Project(_, body):
            A = machine(body)
            cases = ((t, P, L) for t in A.Delta for P, L in _cases(phi, t.labels))
            return replace(A, Delta=tuple(_demand(t, P)._replace(labels=L) for t, P, L in cases))
        case cel.Rename(old, new, body):
            return relabel(machine(body), lambda L: L - {old} | {new} if old in L else L)
        case _:
            assert_never(phi)


def apply_filter(A: M, condition: Condition, demand: Callable[[M, Atomic], M]) -> M:
    """One copy of the automaton for each way to satisfy the filter: `demand` puts a part to it.

    Raises `ResourceLimit` where that takes too many steps.
    """
    with step_budget("the copies of a formula for its filter", HINT):
        return reduce(union, (reduce(demand, copy, A) for copy in alternatives(condition)))


def demand_of_label(A: M, condition: On) -> M:
    """``X[P]``, put to every transition that gives its event to X."""
    X, P = condition.label, condition.predicate
    return replace(A, Delta=tuple(_demand(t, P) if X in t.labels else t for t in A.Delta))


def _demand(t: Any, P: pred.Predicate) -> Any:
    """A transition on the events of another one that satisfy P too."""
    test = "guard" if hasattr(t, "guard") else "predicate"
    return t._replace(**{test: pred.conjunction(getattr(t, test), P)})


def _cases(phi: cel.Project, labels: frozenset[str]) -> list[tuple[pred.Predicate, frozenset[str]]]:
    """What a projection keeps of the labels of an event: by what its stream is."""
    kinds: list[tuple[pred.Predicate, frozenset[str]]] = [(pred.EVERYTHING, labels & phi.labels)]
    for X in sorted(labels & {label for _, label in phi.of_streams}):
        streams: list[pred.Predicate] = [
            pred.StreamIs(S) for S, Y in sorted(phi.of_streams) if X == Y
        ]
        of_them = reduce(pred.disjunction, streams)
        kinds = [
            kind
            for P, L in kinds
            for kind in (
                (pred.conjunction(P, of_them), L | {X}),
                (pred.conjunction(P, pred.negation(of_them)), L),
            )
        ]
    return kinds
