"""The values of expressions by columns: a second implementation of `truth.evaluate`.

Doubles, integers, moments and durations in one array each are computed with as arrays, where no
result can leave 64 bits or 53 bits of a double; all else by each distinct combination of values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, assert_never

import numpy as np
from numpy.typing import NDArray

from cerlab.model.columns import Column
from cerlab.model.event import Duration, Event, Timestamp, Value
from cerlab.predicates import syntax as pred
from cerlab.predicates.columns.axes import distinct_rows
from cerlab.predicates.columns.pieces import Numbers, OfTime, Piece, ValueList, one_array, pieces
from cerlab.predicates.syntax import Arithmetic, Expression, attributes_in
from cerlab.predicates.truth import evaluate

EXACT = 1 << 53
"""Doubles hold all integers up to here."""

LARGEST = (1 << 63) - 1

_OF_TIME: dict[tuple[Arithmetic, OfTime, OfTime], OfTime] = {
    (Arithmetic.SUB, Timestamp, Timestamp): Duration,
    (Arithmetic.ADD, Timestamp, Duration): Timestamp,
    (Arithmetic.ADD, Duration, Timestamp): Timestamp,
    (Arithmetic.SUB, Timestamp, Duration): Timestamp,
    (Arithmetic.ADD, Duration, Duration): Duration,
    (Arithmetic.SUB, Duration, Duration): Duration,
}
"""Operators that compute with nanoseconds as with integers, and the kind of their results."""


def computed(expression: Expression, columns: Mapping[str, Column], length: int) -> Sequence[Piece]:
    """The values of an expression with attributes on each event, one piece after the other.

    An attribute without a column is missing. Raises `BadData` for columns of types that hold no
    values of events.

    >>> import numpy as np
    >>> twice = pred.Computed(Arithmetic.MUL, pred.Constant(2), pred.Attribute("v"))
    >>> import pyarrow as pa
    >>> computed(twice, {"v": pa.array([1.5, np.nan])}, 2)[0].values.tolist()
    [3.0, nan]
    """
    if not length:
        return []
    if isinstance(expression, pred.Attribute):
        name = expression.name
        return [*pieces(columns[name], name, numeric=True)] if name in columns else []
    numbers = _numbers(expression, columns, length)
    return [numbers] if numbers is not None else [_by_values(expression, columns, length)]


def _by_values(expression: Expression, columns: Mapping[str, Column], length: int) -> Piece:
    """Each distinct combination of values is computed with once."""
    names = attributes_in([expression])
    rows, code = distinct_rows(columns, names, length)
    values: list[Value] = [
        evaluate(Event("", dict(zip(names, row, strict=True))), expression) for row in rows
    ]
    return ValueList([values[k] for k in code.tolist()])


def _numbers(expression: Expression, columns: Mapping[str, Column], length: int) -> Numbers | None:
    """The values as one array, NaN or NULL where undefined; None where they may be none."""
    match expression:
        case pred.Attribute(name):
            found = one_array(columns[name], name) if name in columns else None
            return None if found is None or found.values.dtype == np.uint64 else found
        case pred.Constant(value):
            return _constant(value)
        case pred.Negated(operand):
            inner = _numbers(operand, columns, length)
            if inner is None or inner.of_time is Timestamp:
                return None
            zero = Numbers(np.zeros(1, np.int64), None, inner.of_time)
            return _compute(Arithmetic.SUB, zero, inner)
        case pred.Computed(op, left, right):
            one, other = (_numbers(side, columns, length) for side in (left, right))
            return None if one is None or other is None else _compute(op, one, other)
        case pred.LabelAttribute() | pred.RegisterAttribute():
            raise AssertionError("an attribute of another event")
        case _:
            assert_never(expression)


def _constant(value: Value) -> Numbers | None:
    if isinstance(value, Timestamp | Duration):
        whole, of_time = value.nanoseconds, type(value)
        return Numbers(np.array([whole]), None, of_time) if abs(whole) <= LARGEST else None
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        return None
    if isinstance(value, int) and abs(value) > LARGEST:
        return None
    return Numbers(np.array([value]), None, None)


def _compute(op: Arithmetic, left: Numbers, right: Numbers) -> Numbers | None:
    nulls = left.nulls if right.nulls is None else right.nulls
    if left.nulls is not None and right.nulls is not None:
        nulls = left.nulls | right.nulls
    if left.of_time or right.of_time:
        of_time = _OF_TIME.get((op, left.of_time, right.of_time))
        whole = None if of_time is None else _of_integers(op, left.values, right.values)
        return None if whole is None else Numbers(whole, nulls, of_time)
    a, b = left.values, right.values
    if a.dtype == b.dtype == np.int64:
        # Python divides integers exactly and rounds once; so do doubles that hold them exactly
        if op is Arithmetic.DIV and max(_largest(a), _largest(b)) <= EXACT:
            return Numbers(_of_doubles(op, a, b), nulls, None)
        whole = _of_integers(op, a, b)
        return None if whole is None else Numbers(whole, nulls, None)
    if op is Arithmetic.MOD:
        return None
    return Numbers(_of_doubles(op, a, b), nulls, None)


def _of_integers(
    op: Arithmetic, a: NDArray[np.int64], b: NDArray[np.int64]
) -> NDArray[np.int64] | None:
    """The result in 64 bits; None where one may leave them."""
    if op is Arithmetic.MUL:
        return a * b if _largest(a) * _largest(b) <= LARGEST else None
    if op in _SUMS and _largest(a) + _largest(b) <= LARGEST:
        whole: NDArray[np.int64] = _SUMS[op](a, b)
        return whole
    return None


def _of_doubles(op: Arithmetic, a: NDArray[Any], b: NDArray[Any]) -> NDArray[np.float64]:
    """The result in doubles, NaN where undefined: divided by zero, or beyond the largest."""
    x, y = a.astype(np.float64, copy=False), b.astype(np.float64, copy=False)
    with np.errstate(all="ignore"):
        result: NDArray[np.float64] = _OF_DOUBLES[op](x, y)
    # an overflow is undefined, an infinity that was given is a value
    undefined = np.isinf(result) & np.isfinite(x) & np.isfinite(y)
    if op is Arithmetic.DIV:
        undefined |= y == 0
    result[undefined] = np.nan
    return result


_SUMS: dict[Arithmetic, Any] = {Arithmetic.ADD: np.add, Arithmetic.SUB: np.subtract}
_OF_DOUBLES = {**_SUMS, Arithmetic.MUL: np.multiply, Arithmetic.DIV: np.divide}


def _largest(values: NDArray[np.int64]) -> int:
    """The largest magnitude, as an integer without bounds."""
    return max(abs(int(values.min())), abs(int(values.max()))) if len(values) else 0
