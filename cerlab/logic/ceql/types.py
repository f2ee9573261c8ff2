"""The types of predicates: a comparison that can never hold by type is an error (DESIGN 3.3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from cerlab.errors import TypeMismatch, nearest
from cerlab.logic.ceql.parser import Source
from cerlab.model.schema import EventDeclaration
from cerlab.predicates import syntax as pred
from cerlab.predicates.condition import Correlation
from cerlab.predicates.domains import KIND_OF_TYPE
from cerlab.predicates.text import expression_text, predicate_text
from cerlab.predicates.truth import kind_of

_SAME_KIND = "both sides must be numbers, texts, booleans or timestamps"


def check_predicate(P: pred.Predicate, events: Sequence[EventDeclaration], source: Source) -> None:
    """Check a predicate that is put to events of some declared types.

    Raises `TypeMismatch` for an attribute that none of the types has, and for a comparison whose
    sides are of different kinds for every one of them.
    """
    match P:
        case pred.Everything() | pred.TypeIs() | pred.StreamIs():
            pass
        case pred.And(left, right) | pred.Or(left, right):
            check_predicate(left, events, source)
            check_predicate(right, events, source)
        case pred.Not(inner):
            check_predicate(inner, events, source)
        case pred.Comparison(_, left, right):
            _compare(P, [left, right], events, source)
        case pred.Member(operand, values):
            _compare(P, [operand, values[0]], events, source)
        case pred.Between(operand, low, high):
            for bound in (low, high):
                if bound is not None:
                    _compare(P, [operand, bound], events, source)
        case pred.Like(operand, pattern):
            _compare(P, [operand, pred.Constant(pattern)], events, source)
        case _:
            assert_never(P)


def _compare(
    P: pred.Predicate,
    sides: list[pred.Expression],
    events: Sequence[EventDeclaration],
    source: Source,
) -> None:
    for side in sides:
        _check_names(side, events, source)
    kinds = [tuple(_kind(side, event) for side in sides) for event in events]
    if all(left is None or right is None or left != right for left, right in kinds):
        left, right = next((pair for pair in kinds if None not in pair), kinds[0])
        kinds_text = " with ".join(
            f"{kind or 'nothing'} ({expression_text(side)})"
            for side, kind in zip(sides, (left, right), strict=True)
        )
        raise TypeMismatch(
            "CER0303",
            f"{predicate_text(P)} can never hold: it compares {kinds_text}",
            place=source.place(P),
            hint=_SAME_KIND,
        )


def check_correlation(
    comparison: Correlation,
    left: Sequence[EventDeclaration],
    right: Sequence[EventDeclaration],
    source: Source,
) -> None:
    """Check a comparison of events of some declared types with events of others.

    Raises `TypeMismatch` where the attributes are of different kinds for every pair of types.
    """
    ours = _declared_kinds(comparison.left.attribute, left)
    theirs = _declared_kinds(comparison.right.attribute, right)
    if ours and theirs and ours.isdisjoint(theirs):
        raise TypeMismatch(
            "CER0303",
            f"{predicate_text(comparison)} can never hold: it compares {' or '.join(sorted(ours))}"
            f" with {' or '.join(sorted(theirs))}",
            place=source.place(comparison),
            hint=_SAME_KIND,
        )


def _declared_kinds(name: str, events: Sequence[EventDeclaration]) -> set[str]:
    kinds = (_kind(pred.Attribute(name), event) for event in events)
    return {kind for kind in kinds if kind is not None}


def _check_names(
    expression: pred.Expression, events: Sequence[EventDeclaration], source: Source
) -> None:
    match expression:
        case pred.Attribute("type" | "stream") | pred.Constant():
            pass
        case pred.Attribute(name):
            if not any(event.attribute(name) for event in events):
                names = [each.name for event in events for each in event.attributes]
                carriers = " or ".join(sorted({event.name for event in events}))
                raise TypeMismatch(
                    "CER0302",
                    f"{carriers} has no attribute '{name}'",
                    place=source.place(expression),
                    hint=nearest(name, names),
                )
        case pred.Computed(_, left, right):
            _check_names(left, events, source)
            _check_names(right, events, source)
        case pred.Negated(operand):
            _check_names(operand, events, source)
        case _:
            assert_never(expression)


def _kind(expression: pred.Expression, event: EventDeclaration) -> str | None:
    """The kind of an expression's values on events of a type; None if it never has one."""
    match expression:
        case pred.Constant(value):
            return kind_of(value)
        case pred.Attribute("type" | "stream"):
            return "text"
        case pred.Attribute(name):
            declaration = event.attribute(name)
            return KIND_OF_TYPE[declaration.type] if declaration else None
        case pred.Computed(_, left, right):
            both = {_kind(left, event), _kind(right, event)}
            return "number" if both == {"number"} else None
        case pred.Negated(operand):
            return "number" if _kind(operand, event) == "number" else None
        case _:
            assert_never(expression)
