"""Operators of SQL as functions of values, NULL as None (rows.md 6.6, 6.10, 6.11)."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from cerlab.logic.rows import expressions as ex

Function: TypeAlias = Callable[..., Any]

_OPERATORS: dict[ex.ComparisonOperator, Callable[[Any, Any], bool]] = {
    ex.ComparisonOperator.EQ: operator.eq,
    ex.ComparisonOperator.NE: operator.ne,
    ex.ComparisonOperator.LT: operator.lt,
    ex.ComparisonOperator.LE: operator.le,
    ex.ComparisonOperator.GT: operator.gt,
    ex.ComparisonOperator.GE: operator.ge,
}


def comparison(sign: ex.ComparisonOperator) -> Function:
    """``a sign b``; NaN equals itself and is greater than every number."""
    compare = _OPERATORS[sign]

    def test(a: Any, b: Any) -> bool | None:
        if a is None or b is None:
            return None
        if a != a or b != b:  # a NaN
            return compare(a != a, b != b)
        return compare(a, b)

    return test


equal = comparison(ex.ComparisonOperator.EQ)


def conjunction(a: Any, b: Any) -> bool | None:
    """AND."""
    if a is False or b is False:
        return False
    return None if a is None or b is None else True


def disjunction(a: Any, b: Any) -> bool | None:
    """OR."""
    if a is True or b is True:
        return True
    return None if a is None or b is None else False


def negation(a: Any) -> bool | None:
    """NOT."""
    return None if a is None else not a


def member(a: Any, *values: Any) -> bool | None:
    """``a IN (..)``."""
    answers = [equal(a, b) for b in values]
    return True if True in answers else (None if None in answers else False)


def between(a: Any, low: Any, high: Any) -> bool | None:
    """``a BETWEEN low AND high``."""
    return conjunction(_at_least(a, low), _at_most(a, high))


_at_least = comparison(ex.ComparisonOperator.GE)
_at_most = comparison(ex.ComparisonOperator.LE)


def strict(function: Function) -> Function:
    """The function where no argument is NULL, else NULL; NULL too for what no number is near."""

    def of_values(*arguments: Any) -> Any:
        if None in arguments:
            return None
        try:
            return function(*arguments)
        except (OverflowError, ZeroDivisionError):
            return None

    return of_values


def remainder(a: Any, b: Any) -> Any:
    """``a % b``, with the sign of a."""
    if b == 0:
        raise ZeroDivisionError
    if isinstance(a, int) and isinstance(b, int):
        rest = abs(a) % abs(b)
        return -rest if a < 0 else rest
    return math.nan if math.isinf(a) else math.fmod(a, b)


ARITHMETIC: dict[ex.ArithmeticOperator, Function] = {
    ex.ArithmeticOperator.ADD: strict(operator.add),
    ex.ArithmeticOperator.SUB: strict(operator.sub),
    ex.ArithmeticOperator.MUL: strict(operator.mul),
    ex.ArithmeticOperator.DIV: strict(operator.truediv),
    ex.ArithmeticOperator.MOD: strict(remainder),
}


def coalesce(*values: Any) -> Any:
    """The first that is not NULL."""
    for value in values:
        if value is not None:
            return value
    return None


def nullif(a: Any, b: Any) -> Any:
    """NULL if they are equal, else the first."""
    return None if equal(a, b) else a


FUNCTIONS: dict[ex.Function, Function] = {
    ex.Function.ABS: strict(abs),
    ex.Function.CHAR_LENGTH: strict(len),
    ex.Function.COALESCE: coalesce,
    ex.Function.LOWER: strict(str.lower),
    ex.Function.UPPER: strict(str.upper),
    ex.Function.MOD: ARITHMETIC[ex.ArithmeticOperator.MOD],
    ex.Function.NULLIF: nullif,
}


class Fold(NamedTuple):
    """An aggregate as a fold over values: `step` passes over NULL, states are immutable."""

    empty: Any
    step: Function
    result: Function


class Total(NamedTuple):
    """A sum on its way: how many numbers, the integers among them, the doubles exactly.

    The doubles are a sum of parts that do not overlap (Shewchuk), and apart what is not finite.
    """

    numbers: int = 0
    whole: int = 0
    parts: tuple[float, ...] = ()
    special: float | None = None


def _add(total: Total, value: Any) -> Total:
    if value is None:
        return total
    n, whole, parts, special = total
    if isinstance(value, int):
        return Total(n + 1, whole + value, parts, special)
    if not math.isfinite(value):
        return Total(n + 1, whole, parts, value if special is None else special + value)
    partials = []
    for part in parts:
        high, low = (value, part) if abs(value) >= abs(part) else (part, value)
        value = high + low
        if math.isinf(value):
            return Total(n + 1, whole, (), value)
        if rest := low - (value - high):
            partials.append(rest)
    return Total(n + 1, whole, (*partials, value), special)


def _sum(total: Total) -> Any:
    n, whole, parts, special = total
    if special is not None:
        return special
    if parts:
        return math.fsum((*parts, whole)) if whole else math.fsum(parts)
    return whole if n else None


def _best(takes: Function) -> Fold:
    def step(best: Any, value: Any) -> Any:
        if value is None:
            return best
        return value if best is None or takes(value, best) else best

    return Fold(None, step, lambda best: best)


_division = strict(operator.truediv)

FOLDS: dict[ex.AggregateFunction, Fold] = {
    ex.AggregateFunction.COUNT: Fold(0, lambda n, value: n + (value is not None), lambda n: n),
    ex.AggregateFunction.SUM: Fold(Total(), _add, _sum),
    ex.AggregateFunction.AVG: Fold(
        Total(), _add, lambda t: _division(_sum(t), t.numbers) if t.numbers else None
    ),
    ex.AggregateFunction.MIN: _best(comparison(ex.ComparisonOperator.LT)),
    ex.AggregateFunction.MAX: _best(comparison(ex.ComparisonOperator.GT)),
}
