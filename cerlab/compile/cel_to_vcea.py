"""CEL formulas to VCEA, by induction on the formula (CORE App. A.1, with iteration corrected).

The printed construction for ``+`` skips nothing between iterations and never iterates a body of
one event more than twice; see ``proofs_tests/errata/test_e9_iteration.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import NoReturn, assert_never

from cerlab.automata.automaton import LabelTransition, Vcea
from cerlab.automata.combine import both, in_any_order, strict, unless
from cerlab.automata.trim import trim
from cerlab.errors import ResourceLimit, Unsupported
from cerlab.logic.cel.syntax import (
    All,
    And,
    As,
    Atom,
    Concat,
    ConcatPlus,
    Filter,
    Formula,
    Not,
    Or,
    Plus,
    Project,
    Rename,
    Select,
    Seq,
    Unless,
)
from cerlab.model.clauses import Strategy
from cerlab.predicates import syntax as pred
from cerlab.predicates.condition import Applied, Atomic, Condition, Correlation, On, alternatives
from cerlab.predicates.syntax import EVERYTHING, Predicate, StreamIs, TypeIs, conjunction

NO_LABELS: frozenset[str] = frozenset()

REFERENCE = 'evaluator="reference" takes it, on small streams'

MAX_COPIES = 4096
"""How many copies of a formula the disjunctive form of one filter may need."""


def cel_to_vcea(phi: Formula) -> Vcea:
    """A VCEA with the same valuations as the formula on every stream (CORE Thm. 2).

    Linearly many states; the transitions of ``;`` and ``+`` are products, so up to quadratic.
    Raises `Unsupported` for operators and filters without a construction here.
    """
    return trim(_construct(phi))


def _construct(phi: Formula) -> Vcea:
    match phi:
        case Atom() | Not():
            labels = frozenset({phi.type}) if isinstance(phi, Atom) else NO_LABELS
            step = LabelTransition(0, _one_event(phi), labels, 1)
            return Vcea(2, (step,), frozenset({0}), frozenset({1}))
        case As(body, X):
            return _relabel(_construct(body), lambda L: L | {X} if L else L)
        case Filter(body, condition):
            return _filtered(_construct(body), condition)
        case Or(left, right):
            return _union(_construct(left), _construct(right))
        case Seq(left, right):
            return _sequence(_construct(left), _construct(right), gaps=True)
        case Concat(left, right):
            return _sequence(_construct(left), _construct(right), gaps=False)
        case Plus(body):
            return _iteration(_construct(body), gaps=True)
        case ConcatPlus(body):
            return _iteration(_construct(body), gaps=False)
        case Project(labels, body):
            return _relabel(_construct(body), lambda L: L & labels)
        case Rename(old, new, body):
            return _relabel(_construct(body), lambda L: L - {old} | {new} if old in L else L)
        case And(left, right):
            return both(_construct(left), _construct(right))
        case All(left, right):
            return in_any_order(_construct(left), _construct(right))
        case Unless(left, right):
            return unless(_construct(left), _construct(right))
        case Select(Strategy.STRICT, body):
            return strict(_construct(body))
        case Select():
            _refuse(phi)
        case _:
            assert_never(phi)


def _one_event(phi: Atom | Not | Filter) -> Predicate:
    """The predicate of a formula that reads one event: R, NOT(R), NOT(R FILTER ..)."""
    match phi:
        case Atom(R, stream):
            return TypeIs(R) if stream is None else conjunction(StreamIs(stream), TypeIs(R))
        case Not(body):
            assert isinstance(body, Atom | Filter)
            return pred.Not(_one_event(body))
        case Filter(body, condition):
            assert isinstance(body, Atom | Filter)
            return conjunction(_one_event(body), _on_own_label(_atom_of(body).type, condition))
        case _:
            assert_never(phi)


def _atom_of(phi: Formula) -> Atom:
    while isinstance(phi, Filter):
        phi = phi.body
    assert isinstance(phi, Atom)
    return phi


def _on_own_label(R: str, condition: Condition) -> Predicate:
    """What a filter says of the one event of label R; other labels are empty, so it holds there."""
    match condition:
        case On(label, P):
            return P if label == R else EVERYTHING
        case pred.And(left, right):
            return pred.And(_on_own_label(R, left), _on_own_label(R, right))
        case pred.Or(left, right):
            return pred.Or(_on_own_label(R, left), _on_own_label(R, right))
        case Correlation() | Applied():
            _refuse(condition)
        case _:
            assert_never(condition)


def _relabel(A: Vcea, change: Callable[[frozenset[str]], frozenset[str]]) -> Vcea:
    """The same runs with other labels: AS adds one where there are some, projection removes."""
    Delta = tuple(t._replace(labels=change(t.labels)) for t in A.Delta)
    return Vcea(A.states, Delta, A.I, A.F)


def _filtered(A: Vcea, condition: Condition) -> Vcea:
    """One copy of the automaton for each way to satisfy the filter.

    ``X[P]`` is put to every transition that gives its event to X.
    """
    copies = alternatives(condition)
    if len(copies) > MAX_COPIES:
        raise ResourceLimit(
            "CER0606",
            f"a filter needs {len(copies):,} copies of its formula, more than {MAX_COPIES:,}",
            hint="move OR into the brackets of one label where that is what you mean",
        )
    return reduce(_union, (reduce(_demand, copy, A) for copy in copies))


def _demand(A: Vcea, condition: Atomic) -> Vcea:
    if not isinstance(condition, On):
        _refuse(condition)
    X, P = condition.label, condition.predicate
    Delta = tuple(
        t._replace(predicate=conjunction(t.predicate, P)) if X in t.labels else t for t in A.Delta
    )
    return Vcea(A.states, Delta, A.I, A.F)


def _shifted(A: Vcea, by: int) -> Vcea:
    Delta = tuple(t._replace(source=t.source + by, target=t.target + by) for t in A.Delta)
    I, F = (frozenset(q + by for q in S) for S in (A.I, A.F))
    return Vcea(A.states + by, Delta, I, F)


def _union(A: Vcea, B: Vcea) -> Vcea:
    """The runs of either, on disjoint states."""
    B = _shifted(B, A.states)
    return Vcea(B.states, A.Delta + B.Delta, A.I | B.I, A.F | B.F)


def _sequence(A: Vcea, B: Vcea, *, gaps: bool) -> Vcea:
    """A run of A, then one of B: where A would end it may instead wait in an initial state of B.

    Sound because no construction here enters an initial state otherwise, and no run is empty.
    """
    B = _shifted(B, A.states)
    wait = [LabelTransition(p, EVERYTHING, NO_LABELS, p) for p in sorted(B.I) if gaps]
    bridge = [t._replace(target=p) for t in A.Delta if t.target in A.F for p in sorted(B.I)]
    return Vcea(B.states, (*A.Delta, *B.Delta, *wait, *_once(bridge)), A.I, B.F)


def _iteration(A: Vcea, *, gaps: bool) -> Vcea:
    """Runs of A one after the other; the fresh state w is "between two iterations"."""
    w = A.states
    wait = [LabelTransition(w, EVERYTHING, NO_LABELS, w)] if gaps else []
    leave = [t._replace(target=w) for t in A.Delta if t.target in A.F]
    enter = [t._replace(source=w) for t in A.Delta if t.source in A.I]
    both = [t._replace(source=w) for t in leave if t.source in A.I]
    Delta = (*A.Delta, *wait, *_once(leave + enter + both))
    return Vcea(w + 1, Delta, A.I, A.F)


def _once(transitions: list[LabelTransition]) -> tuple[LabelTransition, ...]:
    return tuple(dict.fromkeys(transitions))


def _refuse(what: Formula | Correlation | Applied) -> NoReturn:
    hint = REFERENCE
    if isinstance(what, Correlation):
        name, hint = "comparisons between labels", f'evaluator="registers" may take it; {REFERENCE}'
    elif isinstance(what, Applied):
        name = f"'{what.predicate.name}', a predicate over sets of events"
    elif isinstance(what, Select):
        name = f"{what.strategy.value}(..) inside a formula"
    else:
        name = type(what).__name__.upper()
    raise Unsupported("CER0403", f"there is no automaton for {name}", hint=hint)
