"""CEL formulas to VCEA, by induction on the formula (CORE App. A.1, with iteration corrected).

The printed construction for ``+`` skips nothing between iterations and never iterates a body of
one event more than twice; see ``proofs_tests/errata/test_e9_iteration.py``.
"""

from __future__ import annotations

from typing import NoReturn, assert_never

from cerlab.automata.automaton import LabelTransition, Vcea
from cerlab.automata.product import both, in_any_order, strict, unless
from cerlab.automata.trim import trim
from cerlab.budget import step_budget
from cerlab.compile.operators import Composition, compose, demand_of_label
from cerlab.errors import Unsupported
from cerlab.logic.cel import syntax as cel
from cerlab.logic.cel.text import node_text
from cerlab.model.clauses import Strategy
from cerlab.predicates import syntax as pred
from cerlab.predicates.condition import Application, Atomic, Condition, Correlation, On

NO_LABELS: frozenset[str] = frozenset()

REFERENCE = 'evaluator="reference" takes it, on small streams'


@step_budget("the automaton of the formula")
def cel_to_vcea(phi: cel.Formula) -> Vcea:
    """A VCEA with the same valuations as the formula on every stream (CORE Thm. 2).

    Linearly many states; the transitions of ``;`` and ``+`` are products, so up to quadratic.
    Raises `Unsupported` for operators and filters without a construction here.
    """
    return trim(_construct(phi))


def _construct(phi: cel.Formula) -> Vcea:
    if isinstance(phi, Composition):
        return compose(phi, _construct, _demand)
    match phi:
        case cel.Atom() | cel.Not():
            labels = frozenset({phi.type}) if isinstance(phi, cel.Atom) else NO_LABELS
            step = LabelTransition(0, _one_event(phi), labels, 1)
            return Vcea(2, (step,), frozenset({0}), frozenset({1}))
        case cel.And(left, right):
            return both(_construct(left), _construct(right))
        case cel.All(left, right):
            return in_any_order(_construct(left), _construct(right))
        case cel.Unless(left, right):
            return unless(_construct(left), _construct(right))
        case cel.Select(Strategy.STRICT, body):
            return strict(_construct(body))
        case cel.Select():
            _refuse(phi)
        case _:
            assert_never(phi)


def _one_event(phi: cel.Atom | cel.Not | cel.Filter) -> pred.Predicate:
    """The predicate of a formula that reads one event: R, NOT(R), NOT(R FILTER ..)."""
    match phi:
        case cel.Atom(R, stream):
            return (
                pred.TypeIs(R)
                if stream is None
                else pred.conjunction(pred.StreamIs(stream), pred.TypeIs(R))
            )
        case cel.Not(body):
            assert isinstance(body, cel.Atom | cel.Filter)
            return pred.Not(_one_event(body))
        case cel.Filter(body, condition):
            assert isinstance(body, cel.Atom | cel.Filter)
            return pred.conjunction(_one_event(body), _on_own_label(_atom_of(body).type, condition))
        case _:
            assert_never(phi)


def _atom_of(phi: cel.Formula) -> cel.Atom:
    while isinstance(phi, cel.Filter):
        phi = phi.body
    assert isinstance(phi, cel.Atom)
    return phi


def _on_own_label(R: str, condition: Condition) -> pred.Predicate:
    """What a filter says of the one event of label R; other labels are empty, so it holds there."""
    match condition:
        case On(label, P):
            return P if label == R else pred.EVERYTHING
        case pred.And(left, right):
            return pred.And(_on_own_label(R, left), _on_own_label(R, right))
        case pred.Or(left, right):
            return pred.Or(_on_own_label(R, left), _on_own_label(R, right))
        case Correlation() | Application():
            _refuse(condition)
        case _:
            assert_never(condition)


def _demand(A: Vcea, condition: Atomic) -> Vcea:
    if not isinstance(condition, On):
        _refuse(condition)
    return demand_of_label(A, condition)


def _refuse(what: cel.Formula | Correlation | Application) -> NoReturn:
    hint = REFERENCE
    if isinstance(what, Correlation):
        name, hint = "comparisons between labels", f'evaluator="registers" may take it; {REFERENCE}'
    elif isinstance(what, Application):
        name = f"'{what.predicate.name}', a predicate over sets of events"
    elif isinstance(what, cel.Select):
        name = f"{what.strategy.value}(..) inside a formula"
    else:
        name = node_text(what)
    raise Unsupported("CER0403", f"there is no automaton for {name}", hint=hint)
