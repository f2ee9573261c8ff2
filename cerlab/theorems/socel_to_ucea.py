"""Unary SO-CEL to UCEA under the *-semantics, and on to ordinary runs (SOCEL Thm. 5).

Runs under the *-semantics skip events by themselves, so no transition here is without labels.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import NoReturn

from cerlab.automata.automaton import LabelTransition, Ucea
from cerlab.automata.products import all_product, and_product
from cerlab.errors import ResourceLimit, Unsupported
from cerlab.logic.cel.syntax import (
    All,
    And,
    As,
    Atom,
    Filter,
    Formula,
    Or,
    Plus,
    Rename,
    Seq,
)
from cerlab.predicates.condition import Atomic, Condition, On, alternatives
from cerlab.predicates.syntax import EVERYTHING, StreamIs, TypeIs, conjunction

NO_LABELS: frozenset[str] = frozenset()

MAX_COPIES = 4096
"""How many copies of a formula the disjunctive form of one filter may need."""


def socel_to_ucea(phi: Formula) -> Ucea:
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
        case Atom(R, stream):
            is_atom = TypeIs(R) if stream is None else conjunction(StreamIs(stream), TypeIs(R))
            step = LabelTransition(0, is_atom, frozenset({R}), 1)
            return Ucea(2, (step,), frozenset({0}), frozenset({1}))
        case As(body, X):
            return _relabelled(socel_to_ucea(body), lambda L: L | {X})
        case Rename(old, new, body):
            return _relabelled(socel_to_ucea(body), lambda L: L - {old} | {new} if old in L else L)
        case Filter(body, condition):
            return _filtered(socel_to_ucea(body), condition)
        case Or(left, right):
            return _choice(socel_to_ucea(left), socel_to_ucea(right))
        case Seq(left, right):
            return _sequence(socel_to_ucea(left), socel_to_ucea(right))
        case Plus(body):
            return _iteration(socel_to_ucea(body))
        case And(left, right):
            return and_product(socel_to_ucea(left), socel_to_ucea(right))
        case All(left, right):
            return all_product(socel_to_ucea(left), socel_to_ucea(right))
        case _:
            _refuse(type(phi).__name__.upper())


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


def _relabelled(A: Ucea, change: Callable[[frozenset[str]], frozenset[str]]) -> Ucea:
    Delta = tuple(t._replace(labels=change(t.labels)) for t in A.Delta)
    return Ucea(A.states, Delta, A.I, A.F)


def _filtered(A: Ucea, condition: Condition) -> Ucea:
    """One copy of the automaton for each way to satisfy the filter."""
    copies = alternatives(condition)
    if len(copies) > MAX_COPIES:
        raise ResourceLimit(
            "CER0606",
            f"a filter needs {len(copies):,} copies of its formula, more than {MAX_COPIES:,}",
            hint="move OR into the brackets of one label where that is what you mean",
        )
    return reduce(_choice, (reduce(_demand, copy, A) for copy in copies))


def _demand(A: Ucea, condition: Atomic) -> Ucea:
    """``X[P]``, put to every transition that gives its event to X."""
    if not isinstance(condition, On):
        _refuse("filters that are not unary")
    X, P = condition.label, condition.predicate
    Delta = tuple(
        t._replace(predicate=conjunction(t.predicate, P)) if X in t.labels else t for t in A.Delta
    )
    return Ucea(A.states, Delta, A.I, A.F)


def _choice(A: Ucea, B: Ucea) -> Ucea:
    """The runs of either."""
    B = _shifted(B, A.states)
    return Ucea(B.states, A.Delta + B.Delta, A.I | B.I, A.F | B.F)


def _sequence(A: Ucea, B: Ucea) -> Ucea:
    """A run of A, then one of B: where A would end it also enters the initial states of B."""
    B = _shifted(B, A.states)
    return Ucea(B.states, A.Delta + B.Delta + _ends_in(A, B.I), A.I, B.F)


def _iteration(A: Ucea) -> Ucea:
    """Runs of A one after the other: where one ends, the next may begin."""
    Delta = dict.fromkeys(A.Delta + _ends_in(A, A.I))
    return Ucea(A.states, tuple(Delta), A.I, A.F)


def _ends_in(A: Ucea, targets: frozenset[int]) -> tuple[LabelTransition, ...]:
    """The last transitions of A, into other states."""
    ends = (t._replace(target=q) for t in A.Delta if t.target in A.F for q in sorted(targets))
    return tuple(dict.fromkeys(ends))


def _shifted(A: Ucea, by: int) -> Ucea:
    Delta = tuple(t._replace(source=t.source + by, target=t.target + by) for t in A.Delta)
    I, F = (frozenset(q + by for q in states) for states in (A.I, A.F))
    return Ucea(A.states + by, Delta, I, F)


def _refuse(what: str) -> NoReturn:
    raise Unsupported(
        "CER0403",
        f"there is no automaton under the *-semantics for {what}",
        hint="cel_to_vcea has an automaton under the semantics of CEL",
    )
