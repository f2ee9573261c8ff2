"""Comparisons of two labels, rearranged so that each side reads one label.

FIRST, LAST and PREV of a label count as other labels here: each reads one event.

``b.ts - a.ts <= 1 MINUTE`` computes for each pair of events, ``b.ts <= a.ts + 1 MINUTE`` for each
event, since a register keeps the result. Both agree if all values are timestamps, durations or
integers, and no step of either exceeds 64 bits. They may differ for doubles, which round.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, TypeAlias, assert_never

from cerlab.model.event import Duration, Timestamp, Value
from cerlab.predicates import syntax as pred
from cerlab.predicates.condition import Correlation
from cerlab.predicates.truth import INT64, kind_of, kind_of_result

Term: TypeAlias = tuple[bool, pred.Expression]
"""A summand, with True if it is added and False if it is subtracted."""

_OF_ONE_EVENT = (pred.Group.FIRST, pred.Group.LAST)


def separated(C: Correlation) -> Correlation | None:
    """Return a comparison with one label on each side; None if it cannot be rearranged.

    Return None if it already has this form, has another number of labels than two, or multiplies
    them.

    >>> from cerlab.logic.ceql.parser import parse_cel
    >>> from cerlab.predicates.text import predicate_text
    >>> phi, _ = parse_cel("A AS a ; B AS b FILTER 5 >= b.v - a.v")
    >>> predicate_text(separated(phi.condition))
    'b.v <= a.v + 5'
    >>> predicate_text(separated(parse_cel("A+ FILTER A.v - PREV(A.v) > 1")[0].condition))
    'A.v > PREV(A.v) + 1'
    """
    groups = [x.function for x in C.operands if isinstance(x, pred.OfGroup)]
    read = {_read_by(x): None for x in C.operands}
    if len(read) != 2 or not set(groups) <= set(_OF_ONE_EVENT):
        return None
    if all(len(_reads(side)) < 2 for side in (C.left, C.right)):
        return None
    terms = [*_terms(C.left, True), *_terms(C.right, False)]
    if any(len(_reads(term)) > 1 for _, term in terms):
        return None
    first = next(iter(read))
    here = [(plus, term) for plus, term in terms if first in _reads(term)]
    there = [(not plus, term) for plus, term in terms if first not in _reads(term)]
    operator = C.operator
    if not any(plus for plus, _ in here):
        here, there = ([(not plus, term) for plus, term in side] for side in (here, there))
        operator = pred.CONVERSE[operator]
    return Correlation(operator, _sum(here), _sum(there))


def _reads(expression: pred.Expression) -> set[tuple[object, str]]:
    leaves = pred.leaves_of(expression)
    return {
        _read_by(x)
        for x in leaves
        if isinstance(x, pred.LabelAttribute | pred.Previous | pred.OfGroup)
    }


def _read_by(x: pred.LabelLeaf) -> tuple[object, str]:
    """Return the label of an operand and the function applied to its events."""
    return x.function if isinstance(x, pred.OfGroup) else type(x), x.label


def _terms(expression: pred.Expression, plus: bool) -> Iterator[Term]:
    """Yield the summands of an expression, each with True if it is added."""
    match expression:
        case pred.Computed(pred.Arithmetic.ADD, left, right):
            yield from (*_terms(left, plus), *_terms(right, plus))
        case pred.Computed(pred.Arithmetic.SUB, left, right):
            yield from (*_terms(left, plus), *_terms(right, not plus))
        case pred.Negated(operand):
            yield from _terms(operand, not plus)
        case pred.Constant(Duration(n)) if n < 0:
            yield not plus, pred.Constant(Duration(-n))
        case pred.Constant(bool()):
            yield plus, expression
        case pred.Constant(int() | float() as n) if n < 0:
            yield not plus, pred.Constant(-n)
        case _:
            yield plus, expression


def _sum(terms: Iterable[Term]) -> pred.Expression:
    """Return the sum of terms, beginning with an added one, since timestamps cannot be negated."""
    (plus, total), *others = sorted(terms, key=lambda term: (not term[0], not _reads(term[1])))
    if not plus:
        total = pred.Negated(total)
    for plus, term in others:
        total = pred.Computed(pred.Arithmetic.ADD if plus else pred.Arithmetic.SUB, total, term)
    return total


class Range(NamedTuple):
    """The kind of some values, with their minimum and maximum.

    Values that are not exact integers (or nanoseconds, for timestamps and durations) have no
    bounds.
    """

    kind: str | None
    bounds: tuple[int, int] | None = None


NOTHING = Range(None)
"""Range of missing values."""


def agree(one: Correlation, other: Correlation, ranges: Mapping[str, Range]) -> bool:
    """Return whether two comparisons hold for equal events, given the ranges of attributes.

    `ranges` has the ranges of the attributes over all events.
    """
    sides = [[_range(side, ranges) for side in (C.left, C.right)] for C in (one, other)]
    comparable = [left.kind is not None and left.kind == right.kind for left, right in sides]
    if not all(comparable):
        return not any(comparable)
    return all(side.bounds is not None for pair in sides for side in pair)


def _range(expression: pred.Expression, ranges: Mapping[str, Range]) -> Range:
    """Return the range of an expression; without bounds if a step may overflow 64 bits."""
    match expression:
        case pred.Constant(value):
            n = _integer(value)
            return _within(kind_of(value), None if n is None else (n, n))
        case (
            pred.LabelAttribute(_, name)
            | pred.Previous(_, name)
            | pred.OfGroup(_, _, str() as name)
        ):
            return _within(*ranges.get(name, NOTHING))
        case pred.Negated(operand):
            of = _range(operand, ranges)
            if of.kind not in ("number", "duration"):
                return NOTHING
            return _within(of.kind, of.bounds and (-of.bounds[1], -of.bounds[0]))
        case pred.Computed(operator, left, right):
            a, b = (_range(side, ranges) for side in (left, right))
            kind = kind_of_result(operator, a.kind, b.kind)
            return _within(kind, _bounds(operator, a.bounds, b.bounds))
        case pred.Attribute() | pred.RegisterAttribute() | pred.OfGroup():
            raise AssertionError(f"{expression} is not of a label")
        case _:
            assert_never(expression)


def _integer(value: Value) -> int | None:
    if isinstance(value, Timestamp | Duration):
        return value.nanoseconds
    return value if isinstance(value, int) else None


def _bounds(
    operator: pred.Arithmetic, a: tuple[int, int] | None, b: tuple[int, int] | None
) -> tuple[int, int] | None:
    if a is None or b is None:
        return None
    match operator:
        case pred.Arithmetic.ADD:
            return a[0] + b[0], a[1] + b[1]
        case pred.Arithmetic.SUB:
            return a[0] - b[1], a[1] - b[0]
        case pred.Arithmetic.MUL:
            products = [x * y for x in a for y in b]
            return min(products), max(products)
        case pred.Arithmetic.DIV | pred.Arithmetic.MOD:  # quotients are doubles
            return None
        case _:
            assert_never(operator)


def _within(kind: str | None, bounds: tuple[int, int] | None) -> Range:
    fits = kind is not None and bounds is not None and bounds[0] in INT64 and bounds[1] in INT64
    return Range(kind, bounds if fits else None)
