"""Operators of SQL as functions of values, NULL as None (rows.md 6.6, 6.10, 6.11)."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

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

    def compared(a: Any, b: Any) -> bool | None:
        if a is None or b is None:
            return None
        if a != a or b != b:  # a NaN
            return compare(a != a, b != b)
        return compare(a, b)

    return compared


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
    ex.Function.COALESCE: coalesce,
    ex.Function.LOWER: strict(str.lower),
    ex.Function.UPPER: strict(str.upper),
    ex.Function.MOD: ARITHMETIC[ex.ArithmeticOperator.MOD],
    ex.Function.NULLIF: nullif,
}


def aggregate(function: ex.AggregateFunction, values: Sequence[Any]) -> Any:
    """An aggregate over the values that are not NULL."""
    present = [value for value in values if value is not None]
    if function is ex.AggregateFunction.COUNT:
        return len(present)
    if not present:
        return None
    if function in (ex.AggregateFunction.MIN, ex.AggregateFunction.MAX):
        numbers = [value for value in present if value == value]
        if function is ex.AggregateFunction.MAX and len(numbers) < len(present):
            return math.nan
        best = min if function is ex.AggregateFunction.MIN else max
        return best(numbers) if numbers else math.nan
    total = _sum(present)
    return (
        total
        if function is ex.AggregateFunction.SUM
        else strict(operator.truediv)(total, len(present))
    )


def _sum(numbers: list[Any]) -> Any:
    if all(type(number) is int for number in numbers):
        return sum(numbers)
    try:
        return math.fsum(numbers)
    except (OverflowError, ValueError):  # infinities
        return sum(float(number) for number in numbers)
