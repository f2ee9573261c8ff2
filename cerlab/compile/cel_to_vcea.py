"""CEL formulas to VCEA, by induction on the formula (CORE App. A.1, with iteration corrected).

The printed construction for ``+`` skips nothing between iterations and never iterates a body of
one event more than twice; see ``proofs_tests/errata/test_e9_iteration.py``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NoReturn, assert_never

from cerlab.automata.automaton import LabelTransition, Vcea
from cerlab.automata.compose import iteration, relabel, sequence, union
from cerlab.automata.product import both, in_any_order, strict, unless
from cerlab.automata.trim import trim
from cerlab.budget import budgeted
from cerlab.compile.filters import apply_filter, demand_of_label, kept_of
from cerlab.errors import Unsupported
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
from cerlab.logic.cel.text import node_text
from cerlab.model.clauses import Strategy
from cerlab.predicates import syntax as pred
from cerlab.predicates.condition import Applied, Atomic, Condition, Correlation, On
from cerlab.predicates.syntax import EVERYTHING, Predicate, StreamIs, TypeIs, conjunction

NO_LABELS: frozenset[str] = frozenset()

REFERENCE = 'evaluator="reference" takes it, on small streams'


@budgeted("the automaton of the formula")
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
            return relabel(_construct(body), lambda L: L | {X} if L else L)
        case Filter(body, condition):
            return apply_filter(_construct(body), condition, _demand)
        case Or(left, right):
            return union(_construct(left), _construct(right))
        case Seq(left, right):
            return sequence(_construct(left), _construct(right), gaps=True)
        case Concat(left, right):
            return sequence(_construct(left), _construct(right), gaps=False)
        case Plus(body):
            return iteration(_construct(body), gaps=True)
        case ConcatPlus(body):
            return iteration(_construct(body), gaps=False)
        case Project(_, body):
            A = _construct(body)
            Delta = tuple(
                t._replace(predicate=conjunction(t.predicate, P), labels=kept)
                for t in A.Delta
                for P, kept in kept_of(phi, t.labels)
            )
            return replace(A, Delta=Delta)
        case Rename(old, new, body):
            return relabel(_construct(body), lambda L: L - {old} | {new} if old in L else L)
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


def _demand(A: Vcea, condition: Atomic) -> Vcea:
    if not isinstance(condition, On):
        _refuse(condition)
    return demand_of_label(A, condition)


def _refuse(what: Formula | Correlation | Applied) -> NoReturn:
    hint = REFERENCE
    if isinstance(what, Correlation):
        name, hint = "comparisons between labels", f'evaluator="registers" may take it; {REFERENCE}'
    elif isinstance(what, Applied):
        name = f"'{what.predicate.name}', a predicate over sets of events"
    elif isinstance(what, Select):
        name = f"{what.strategy.value}(..) inside a formula"
    else:
        name = node_text(what)
    raise Unsupported("CER0403", f"there is no automaton for {name}", hint=hint)
