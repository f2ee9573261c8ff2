"""Unary SO-CEL to UCEA under the *-semantics, and on to ordinary runs (SOCEL Thm. 5).

Runs under the *-semantics skip events by themselves, so no transition here is without labels.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NoReturn, TypeAlias

from cerlab.automata.automaton import START, LabelTransition, Ucea, outgoing
from cerlab.automata.compose import distinct, ends_in, relabel, sequence, union
from cerlab.automata.explore import explore
from cerlab.automata.product import pairs
from cerlab.compile.cel_to_vcea import apply_filter, demand_of_label
from cerlab.errors import Unsupported
from cerlab.logic.cel import syntax as cel
from cerlab.logic.cel.text import node_text
from cerlab.predicates.condition import Atomic, On
from cerlab.predicates.syntax import EVERYTHING, Predicate, StreamIs, TypeIs, conjunction

NO_LABELS: frozenset[str] = frozenset()


def socel_to_ucea(phi: cel.Formula) -> Ucea:
    """A UCEA that under the *-semantics has the formula's complex events (SOCEL Thm. 5).

    For R, AS, unary FILTER, OR, ``;``, ``+``, RENAME, and for AND and ALL, which are products
    (SOCEL Sec. 5.2). Raises `Unsupported` for other operators (with projection the *-semantics is
    not enough), and for filters that compare labels or apply predicates from Python.

    >>> from cerlab.logic.ceql.parser import parse_cel
    >>> A = socel_to_ucea(parse_cel("(A ; B)+")[0])
    >>> [(t.source, "".join(t.labels), t.target) for t in A.Delta]
    [(0, 'A', 1), (2, 'B', 3), (0, 'A', 2), (2, 'B', 0)]
    """
    match phi:
        case cel.Atom(R, stream):
            is_atom = TypeIs(R) if stream is None else conjunction(StreamIs(stream), TypeIs(R))
            step = LabelTransition(0, is_atom, frozenset({R}), 1)
            return Ucea(2, (step,), frozenset({0}), frozenset({1}))
        case cel.As(body, X):
            return relabel(socel_to_ucea(body), lambda L: L | {X})
        case cel.Rename(old, new, body):
            return relabel(socel_to_ucea(body), lambda L: L - {old} | {new} if old in L else L)
        case cel.Filter(body, condition):
            return apply_filter(socel_to_ucea(body), condition, _demand)
        case cel.Or(left, right):
            return union(socel_to_ucea(left), socel_to_ucea(right))
        case cel.Seq(left, right):
            return _sequence(socel_to_ucea(left), socel_to_ucea(right))
        case cel.Plus(body):
            return _iteration(socel_to_ucea(body))
        case cel.And(left, right):
            return and_product(socel_to_ucea(left), socel_to_ucea(right))
        case cel.All(left, right):
            return all_product(socel_to_ucea(left), socel_to_ucea(right))
        case _:
            _refuse(node_text(phi))


def under_star_to_runs(A: Ucea) -> Ucea:
    """An automaton whose ordinary runs answer what A answers under the *-semantics (SOCEL Prop. 2).

    In every state of A any event may pass without a label. Only the last transition of a run enters
    the fresh final state, and it has labels; nothing leaves that state.
    """
    f = A.states
    steps = [t for t in A.Delta if t.labels]
    wait = [LabelTransition(q, EVERYTHING, NO_LABELS, q) for q in range(A.states)]
    last = [t._replace(target=f) for t in steps if t.target in A.F]
    return Ucea(f + 1, tuple(dict.fromkeys(steps + wait + last)), A.I, frozenset({f}))


def _demand(A: Ucea, condition: Atomic) -> Ucea:
    if not isinstance(condition, On):
        _refuse("filters that are not unary")
    return demand_of_label(A, condition)


def _sequence(A: Ucea, B: Ucea) -> Ucea:
    return sequence(A, B, gaps=False)


def _iteration(A: Ucea) -> Ucea:
    """Runs of A one after the other: where one ends, the next may begin."""
    return replace(A, Delta=distinct((*A.Delta, *ends_in(A, A.I))))


def _refuse(what: str) -> NoReturn:
    raise Unsupported(
        "CER0403",
        f"there is no automaton under the *-semantics for {what}",
        hint="cel_to_vcea has an automaton under the semantics of CEL",
    )


Pair: TypeAlias = tuple[int, int]
"""A state of each of the two machines; `START` before its first move."""


def and_product(A: Ucea, B: Ucea) -> Ucea:
    """Intersect two machines under the *-semantics (SOCEL Sec. 5.2).

    A state is a state of each, after the same events with the same labels: they move together.
    """

    def joint(s: LabelTransition, t: LabelTransition) -> _Test | None:
        return _together(s, t) if s.labels and s.labels == t.labels else None

    return pairs(A, B, joint, Ucea)


def all_product(A: Ucea, B: Ucea) -> Ucea:
    """One complex event of each, united, under the *-semantics (SOCEL Sec. 5.2).

    A state is a state of each, or that one has not moved yet. At an event that the answer labels A
    moves, or B moves, or both do, and then their labels are united.

    >>> from cerlab.predicates.syntax import TypeIs
    >>> a, b = (
    ...     Ucea(2, (LabelTransition(0, TypeIs(R), frozenset(R), 1),), frozenset({0}),
    ...          frozenset({1})) for R in "AB"
    ... )
    >>> [(t.source, "".join(sorted(t.labels)), t.target) for t in all_product(a, b).Delta]
    [(0, 'A', 1), (0, 'B', 2), (0, 'AB', 3), (1, 'B', 3), (2, 'A', 3)]
    """
    left, right = outgoing(A), outgoing(B)

    def follow(state: Pair) -> Iterator[tuple[_Test, Pair]]:
        p, q = state
        for s in _with_labels(left[p]):
            yield (s.predicate, s.labels), (s.target, q)
        for t in _with_labels(right[q]):
            yield (t.predicate, t.labels), (p, t.target)
        for s in _with_labels(left[p]):
            for t in _with_labels(right[q]):
                yield _together(s, t), (s.target, t.target)

    def final(state: Pair) -> bool:
        return state[0] in A.F and state[1] in B.F

    return explore((START, START), follow, final, Ucea)


_Test: TypeAlias = tuple[Predicate, frozenset[str]]


def _with_labels(transitions: list[LabelTransition]) -> list[LabelTransition]:
    return [t for t in transitions if t.labels]


def _together(s: LabelTransition, t: LabelTransition) -> _Test:
    """Both read the event; it gets the labels of both."""
    return conjunction(s.predicate, t.predicate), s.labels | t.labels
