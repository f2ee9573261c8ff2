"""Expressions of row patterns to functions of a mapping, or of a row.

`of_mapping` has the value at the mapping, `at_row` that at a row, whatever the qualifiers. A
condition that reads the row under test and its neighbours only is a function of the row alone.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import count
from typing import Any, Literal, NamedTuple, TypeAlias, assert_never

from cerlab.model.event import Duration
from cerlab.predicates import syntax as pred
from cerlab.predicates.truth import compute, negate
from cerlab.rows import expressions as ex
from cerlab.rows.expression_semantics import cast, epoch, rounded
from cerlab.rows.machine import GrowingMapping

OfMapping: TypeAlias = Callable[[GrowingMapping], Any]

AtRow: TypeAlias = Callable[[GrowingMapping, int], Any]

Names: TypeAlias = Mapping[str, str]
"""The column that each name stands for."""


def of_mapping(e: ex.Expression, names: Names) -> OfMapping:
    """Return the value of an expression in DEFINE or MEASURES, as a function of the mapping."""
    match e:
        case ex.Literal(constant):
            return lambda m: constant
        case ex.Column(name, x):
            column = names[name]
            return lambda m: (
                m.columns[column][m.positions[x][k - 1]] if (k := m.count_rows(x, False)) else None
            )
        case ex.Classifier(x):
            return lambda m: (
                m.labels[m.positions[x][k - 1] - m.s] if (k := m.count_rows(x, False)) else None
            )
        case ex.MatchNumber():
            return operator.attrgetter("number")
        case ex.First(body) | ex.Last(body):
            landing, at = landing_of(e), at_row(body, names)
            return lambda m: None if (p := landing(m)) is None else at(m, p)
        case ex.Prev(body, j):
            return _step(body, -j, names)
        case ex.Next(body, j):
            return _step(body, j, names)
        case ex.Aggregate(function, body, final):
            return _aggregate(function, body, final, names)
        case _:
            return _operation(e, lambda part: of_mapping(part, names))


def landing_of(e: ex.Edge) -> Callable[[GrowingMapping], int | None]:
    """Return the row that FIRST or LAST lands on, None if there are too few."""
    x, final, offset = ex.variable_of(e.body), e.final, e.offset
    if isinstance(e, ex.First):
        return lambda m: m.positions[x][offset] if m.count_rows(x, final) > offset else None
    return lambda m: (
        m.positions[x][k - 1 - offset] if (k := m.count_rows(x, final)) > offset else None
    )


def _step(body: ex.Expression, j: int, names: Names) -> OfMapping:
    """PREV (j < 0) and NEXT."""
    if isinstance(body, ex.First | ex.Last):
        landing, at = landing_of(body), at_row(body.body, names)
    else:
        landing, at = landing_of(ex.Last(body)), at_row(body, names)

    def value(m: GrowingMapping) -> Any:
        p = landing(m)
        return None if p is None or not 0 <= p + j < m.length else at(m, p + j)

    return value


def _aggregate(
    function: ex.AggregateFunction, body: ex.Expression | ex.AllRows, final: bool, names: Names
) -> OfMapping:
    x = ex.variable_of(body)
    if isinstance(body, ex.AllRows):
        return lambda m: m.count_rows(x, final)
    at, fold = at_row(body, names), FOLDS[function]
    key = next(_KEYS)

    def value(m: GrowingMapping) -> Any:
        state = m.fold(key, x, final, fold.empty, lambda state, p: fold.step(state, at(m, p)))
        return fold.result(state)

    return value


_KEYS = count()
"""Identities of aggregates: a mapping keeps the running states of each."""


def at_row(e: ex.Expression, names: Names) -> AtRow:
    """Return the value at a row of the partition; PREV and NEXT step from there."""
    match e:
        case ex.Literal(constant):
            return lambda m, p: constant
        case ex.Column(name):
            column = names[name]
            return lambda m, p: m.columns[column][p]
        case ex.Classifier():
            return lambda m, p: m.labels[p - m.s] if 0 <= p - m.s < len(m.labels) else None
        case ex.MatchNumber():
            return lambda m, p: m.number
        case ex.Prev(body, j) | ex.Next(body, j):
            step, at = (-j if isinstance(e, ex.Prev) else j), at_row(body, names)
            return lambda m, p: at(m, p + step) if 0 <= p + step < m.length else None
        case ex.First() | ex.Last() | ex.Aggregate():
            raise AssertionError("what reads the mapping is no function of a row")
        case _:
            return _operation(e, lambda part: at_row(part, names))


def _operation(
    e: ex.Operation, part: Callable[[ex.Expression], Callable[..., Any]]
) -> Callable[..., Any]:
    """Return an operator applied to its operands, whatever these are functions of."""
    match e:
        case ex.And(left, right):
            return _apply(conjunction, (left, right), part)
        case ex.Or(left, right):
            return _apply(disjunction, (left, right), part)
        case ex.Not(body):
            return _apply(negation, (body,), part)
        case ex.Is(body, truth):
            return _apply(lambda a: a is truth, (body,), part)
        case ex.Like(body, pattern):
            return _apply(strict(_is_like), (body, pattern), part)
        case ex.Cast(body, to):
            return _apply(strict(lambda value: cast(value, to)), (body,), part)
        case ex.In(body, members):
            return _apply(member, (body, *members), part)
        case ex.Between(body, low, high):
            return _apply(between, (body, low, high), part)
        case ex.Comparison(sign, left, right):
            return _apply(comparison(sign), (left, right), part)
        case ex.Negative(body):
            return _apply(_negative, (body,), part)
        case ex.Arithmetic(sign, left, right):
            return _apply(ARITHMETIC[sign], (left, right), part)
        case ex.Concatenation(left, right):
            return _apply(strict(operator.add), (left, right), part)
        case ex.Call(function, arguments):
            return _apply(FUNCTIONS[function], arguments, part)
        case ex.Case():
            return _case(e, part)
        case _:
            assert_never(e)


def _apply(
    function: Function,
    operands: Sequence[ex.Expression],
    part: Callable[[ex.Expression], Callable[..., Any]],
) -> Callable[..., Any]:
    parts = [part(operand) for operand in operands]
    # most operators are binary: a call without a generator takes a third of the time
    if len(parts) == 2:
        left, right = parts
        return lambda *at: function(left(*at), right(*at))
    return lambda *at: function(*(each(*at) for each in parts))


def _case(e: ex.Case, part: Callable[[ex.Expression], Callable[..., Any]]) -> Callable[..., Any]:
    branches = [(part(test), part(result)) for test, result in e.branches]
    operand = part(e.operand) if e.operand is not None else None
    otherwise = part(e.otherwise) if e.otherwise is not None else lambda *at: None

    def value(*at: Any) -> Any:
        for test, result in branches:
            truth = test(*at) if operand is None else equal(operand(*at), test(*at))
            if truth is True:
                return result(*at)
        return otherwise(*at)

    return value


def of_row(e: ex.Expression, own: frozenset[str | None]) -> bool:
    """Return whether a condition is a function of the row under test and its neighbours.

    `own` are the names whose last row is the row under test: the variable, its unions, and None.
    """
    other = any(isinstance(part, ex.Classifier | ex.MatchNumber) for part in ex.subexpressions(e))
    return not other and not registers_read(e, own)


class Register(NamedTuple):
    """A part of the mapping that a condition reads: first or last rows of a name, their number, or
    something that no register holds.
    """

    kind: Literal["first", "last", "number", "other"]
    name: str | None
    rows: int = 0
    labels: bool = False
    """True if their labels are read."""


def registers_read(e: ex.Expression, own: frozenset[str | None]) -> set[Register]:
    """Return the registers that a condition reads of the mapping before the row under test."""
    match e:
        case ex.Column(_, x) | ex.Classifier(x):
            label = isinstance(e, ex.Classifier)
            return set() if x in own else {Register("last", x, 1, label)}
        case ex.First(body, j) | ex.Last(body, j):
            x, label = ex.variable_of(body), _reads_label(body)
            kind: Literal["first", "last"] = "first" if isinstance(e, ex.First) else "last"
            return {Register(kind, x, j + 1, label)}
        case ex.Prev(body) | ex.Next(body):
            if _reads_label(body):
                return {Register("other", None)}
            edge = isinstance(body, ex.First | ex.Last)
            x = ex.variable_of(body)
            return registers_read(body, own) if edge or x not in own else set()
        case ex.Aggregate(_, ex.AllRows(x)):
            return {Register("number", x)}
        case ex.Aggregate():
            return {Register("other", None)}
        case _:
            parts = (part for part in ex.children(e) if not isinstance(part, ex.AllRows))
            return {r for part in parts for r in registers_read(part, own)}


def _reads_label(e: ex.Expression) -> bool:
    return any(isinstance(part, ex.Classifier) for part in ex.subexpressions(e))


def registers_of(read: Iterable[Register]) -> Callable[[GrowingMapping], Hashable] | None:
    """Return the registers' values, as a function of the mapping.

    None where they do not suffice.
    """
    # By their text, as a name may be None, which has no order.
    registers = sorted(set(read), key=repr)
    if not registers or any(register.kind == "other" for register in registers):
        return None

    def values(m: GrowingMapping) -> Hashable:
        return tuple(register_value(register, m) for register in registers)

    return values


def register_value(r: Register, m: GrowingMapping) -> Hashable:
    """Return the content of a register: rows, perhaps with their labels, or their number."""
    positions = m.positions.get(r.name, [])
    if r.kind == "number":
        return len(positions)
    rows = positions[: r.rows] if r.kind == "first" else positions[-r.rows :]
    return (*rows, *(m.labels[p - m.s] for p in rows)) if r.labels else tuple(rows)


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
    # any TRUE decides IN; a NULL among the others leaves it open
    return True if True in answers else (None if None in answers else False)


def between(a: Any, low: Any, high: Any) -> bool | None:
    """``a BETWEEN low AND high``."""
    return conjunction(_at_least(a, low), _at_most(a, high))


_at_least = comparison(ex.ComparisonOperator.GE)

_at_most = comparison(ex.ComparisonOperator.LE)


def strict(function: Function) -> Function:
    """Return the function where no argument is NULL, else NULL.

    NULL too for what no number is near.
    """

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


def _arithmetic(sign: ex.ArithmeticOperator, function: Function) -> Function:
    """Return an operator of numbers, which also takes moments and durations."""
    of_numbers, of_times = strict(function), pred.Arithmetic(sign.value)

    def of_values(a: Any, b: Any) -> Any:
        try:
            return of_numbers(a, b)
        except TypeError:  # moments and durations have no operators of Python
            return compute(of_times, a, b)

    return of_values


_NUMBERS = {
    ex.ArithmeticOperator.ADD: operator.add,
    ex.ArithmeticOperator.SUB: operator.sub,
    ex.ArithmeticOperator.MUL: operator.mul,
    ex.ArithmeticOperator.DIV: operator.truediv,
    ex.ArithmeticOperator.MOD: remainder,
}


def _is_like(text: str, pattern: str) -> bool:
    return _like_regex(pattern).fullmatch(text) is not None


@lru_cache(maxsize=1024)
def _like_regex(pattern: str) -> re.Pattern[str]:
    signs = {"%": ".*", "_": "."}
    return re.compile("".join(signs.get(c) or re.escape(c) for c in pattern), re.DOTALL)


ARITHMETIC = {sign: _arithmetic(sign, function) for sign, function in _NUMBERS.items()}


def _negative(a: Any) -> Any:
    return negate(a) if isinstance(a, Duration) else strict(operator.neg)(a)


def coalesce(*values: Any) -> Any:
    """Return the first that is not NULL."""
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
    ex.Function.ROUND: strict(rounded),
    ex.Function.EPOCH: strict(epoch),
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
    of_time: bool = False
    """True for durations, by their nanoseconds."""


def _add(total: Total, value: Any) -> Total:
    if value is None:
        return total
    n, whole, parts, special, _ = total
    if isinstance(value, Duration):
        return Total(n + 1, whole + value.nanoseconds, of_time=True)
    if isinstance(value, int):
        return Total(n + 1, whole + value, parts, special)
    if not math.isfinite(value):
        return Total(n + 1, whole, parts, value if special is None else special + value)
    # Shewchuk's sum: parts do not overlap, so no bit of any number is lost
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
    n, whole, parts, special, of_time = total
    if of_time:
        return Duration(whole)
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


def _mean(total: Total) -> Any:
    if total.of_time:
        return Duration(round(Fraction(total.whole, total.numbers)))
    return _division(_sum(total), total.numbers) if total.numbers else None


FOLDS: dict[ex.AggregateFunction, Fold] = {
    ex.AggregateFunction.COUNT: Fold(0, lambda n, value: n + (value is not None), lambda n: n),
    ex.AggregateFunction.SUM: Fold(Total(), _add, _sum),
    ex.AggregateFunction.AVG: Fold(Total(), _add, _mean),
    ex.AggregateFunction.MIN: _best(comparison(ex.ComparisonOperator.LT)),
    ex.AggregateFunction.MAX: _best(comparison(ex.ComparisonOperator.GT)),
}
