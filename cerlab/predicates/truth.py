"""The truth of predicates on an event, and of guards with registers (CORE Sec. 2.2; SRT Def. 13).

This is the scalar reference: one event at a time, without optimisation. Keys of partitions are
equal as values are.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from functools import lru_cache
from types import MappingProxyType
from typing import Any, TypeAlias, assert_never

from cerlab.model.event import Duration, Event, Timestamp, Value, value_of
from cerlab.predicates import syntax as pred

RELATIONS: dict[pred.Operator, Callable[[Any, Any], bool]] = {
    pred.Operator.LT: operator.lt,
    pred.Operator.LE: operator.le,
    pred.Operator.GT: operator.gt,
    pred.Operator.GE: operator.ge,
    pred.Operator.EQ: operator.eq,
    pred.Operator.NE: operator.ne,
}
"""Function of each comparison operator, for values and for z3 terms."""

EMPTY: Mapping[str, Event] = MappingProxyType({})
"""Empty registers."""

INT64 = range(-(2**63), 2**63)
"""Range of 64-bit integers."""


def satisfies(event: Event, guard: pred.Guard, registers: Mapping[str, Event] = EMPTY) -> bool:
    """Return whether an event, with registers, satisfies a predicate or guard.

    An atom that reads an empty register or a missing value is false, so its negation is true.

    Args:
        event: The current event.
        guard: A predicate, or a guard that may read registers.
        registers: The events in registers (default: none).

    >>> stored = pred.RegisterAttribute("r", "id")
    >>> other = pred.RegisterComparison(pred.Operator.NE, pred.Attribute("id"), stored)
    >>> same = pred.RegisterComparison(pred.Operator.EQ, pred.Attribute("id"), stored)
    >>> t = Event("A", {"id": 1})
    >>> satisfies(t, other), satisfies(t, pred.Not(same)), satisfies(t, same, {"r": t})
    (False, True, True)
    """
    match guard:
        case pred.Everything():
            return True
        case pred.TypeIs(type_name):
            return event.type == type_name
        case pred.StreamIs(stream):
            return event.stream is None or event.stream == stream
        case pred.Comparison(op, left, right):
            return compare(op, evaluate(event, left), evaluate(event, right))
        case pred.Member(operand, values, negated):
            value = evaluate(event, operand)
            # NOT IN is not the negation of IN: a value that compares with nothing satisfies neither
            if negated:
                return all(compare(pred.Operator.NE, value, each.value) for each in values)
            return any(compare(pred.Operator.EQ, value, each.value) for each in values)
        case pred.Between(operand, low, high, negated):
            value = evaluate(event, operand)
            outside = []
            inside = []
            for bound, within, beyond in (
                (low, pred.Operator.GE, pred.Operator.LT),
                (high, pred.Operator.LE, pred.Operator.GT),
            ):
                if bound is not None:
                    inside.append(compare(within, value, evaluate(event, bound)))
                    outside.append(compare(beyond, value, evaluate(event, bound)))
            return any(outside) if negated else all(inside)
        case pred.Like(operand, pattern):
            value = evaluate(event, operand)
            return isinstance(value, str) and search(pattern, value)
        case pred.RegisterComparison(op, left, right):
            sides = (evaluate(event, side, registers) for side in (left, right))
            return compare(op, *sides)
        case pred.And(left, right):
            return satisfies(event, left, registers) and satisfies(event, right, registers)
        case pred.Or(left, right):
            return satisfies(event, left, registers) or satisfies(event, right, registers)
        case pred.Not(operand):
            return not satisfies(event, operand, registers)
        case _:
            assert_never(guard)


def kind_of(value: Value) -> str | None:
    """Return the kind of a value; only values of one kind compare. None for NULL and NaN."""
    # before int, because True is an int in Python
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "number"
    if isinstance(value, float):
        return None if math.isnan(value) else "number"
    if isinstance(value, str):
        return "text"
    if isinstance(value, Timestamp):
        return "timestamp"
    if isinstance(value, Duration):
        return "duration"
    return None


def compare(op: pred.Operator, left: Value, right: Value) -> bool:
    """Return whether ``left op right``; false for all operators if the values do not compare.

    Integers and floats compare by exact value, text by code point.

    >>> compare(pred.Operator.NE, 1, None), compare(pred.Operator.EQ, 2**53 + 1, float(2**53))
    (False, False)
    """
    kind = kind_of(left)
    return kind is not None and kind == kind_of(right) and RELATIONS[op](left, right)


def evaluate(
    event: Event | None, expression: pred.Expression, named: Mapping[str, Event] = EMPTY
) -> Value:
    """Return the value of an expression; None if undefined.

    `named` has the events of labels, or of nonempty registers. A value is undefined for a missing
    attribute, a missing event, arithmetic on kinds that `compute` does not support, division by
    zero, and a result beyond 64 bits at any step.
    """
    match expression:
        case pred.Constant(value):
            return value
        case pred.Attribute(name):
            return None if event is None else value_of(event, name)
        case pred.LabelAttribute(name, attribute) | pred.RegisterAttribute(name, attribute):
            return value_of(named[name], attribute) if name in named else None
        case pred.Computed(op, left, right):
            return compute(op, evaluate(event, left, named), evaluate(event, right, named))
        case pred.Negated(operand):
            return negate(evaluate(event, operand, named))
        case pred.OfGroup() | pred.Previous():
            raise AssertionError(f"{expression} cannot be evaluated on single events")
        case _:
            assert_never(expression)


def compute(op: pred.Arithmetic, left: Value, right: Value) -> Value:
    """Return ``left op right`` in 64-bit arithmetic; None if undefined.

    For numbers, ``/`` is true division with a float result; ``%`` has the sign of the divisor.
    `_OF_TIME` has the operations with timestamps and durations.

    >>> compute(pred.Arithmetic.MOD, -7, 3), compute(pred.Arithmetic.DIV, 1, 0)
    (2, None)
    >>> compute(pred.Arithmetic.MUL, 1.5, Duration(3)), compute(pred.Arithmetic.SUB, 0, Duration(3))
    (Duration(nanoseconds=4), None)
    """
    if not _fits(left) or not _fits(right):
        return None
    kinds = kind_of(left), kind_of(right)
    if (op, *kinds) in _OF_TIME:
        return _compute_time(op, left, right)
    if kinds != ("number", "number"):
        return None
    assert isinstance(left, (int, float))
    assert isinstance(right, (int, float))
    try:
        result = _ARITHMETIC[op](left, right)
    except (ZeroDivisionError, OverflowError):
        return None
    # Python's integers do not overflow, so check the range afterwards
    if isinstance(result, int):
        return result if result in INT64 else None
    finite_in = math.isfinite(left) and math.isfinite(right)
    is_overflow = finite_in and not math.isfinite(result)
    return None if is_overflow or math.isnan(result) else result


def negate(value: Value) -> Value:
    """Return ``- value`` for a number or a duration; None if undefined."""
    if isinstance(value, Duration):
        return compute(pred.Arithmetic.SUB, Duration(0), value)
    return compute(pred.Arithmetic.SUB, 0, value)


def _fits(value: Value) -> bool:
    """Return whether arithmetic accepts a value: integers beyond 64 bits can only be compared."""
    if isinstance(value, Timestamp | Duration):
        return value.nanoseconds in INT64
    return not isinstance(value, int) or value in INT64


_OF_TIME: dict[tuple[pred.Arithmetic, str | None, str | None], type[Timestamp | Duration | float]]
_OF_TIME = {
    (pred.Arithmetic.SUB, "timestamp", "timestamp"): Duration,
    (pred.Arithmetic.ADD, "timestamp", "duration"): Timestamp,
    (pred.Arithmetic.ADD, "duration", "timestamp"): Timestamp,
    (pred.Arithmetic.SUB, "timestamp", "duration"): Timestamp,
    (pred.Arithmetic.ADD, "duration", "duration"): Duration,
    (pred.Arithmetic.SUB, "duration", "duration"): Duration,
    (pred.Arithmetic.MUL, "number", "duration"): Duration,
    (pred.Arithmetic.MUL, "duration", "number"): Duration,
    (pred.Arithmetic.DIV, "duration", "number"): Duration,
    (pred.Arithmetic.DIV, "duration", "duration"): float,
}
"""Operations with timestamps and durations, with the type of each result."""


def kind_of_result(op: pred.Arithmetic, left: str | None, right: str | None) -> str | None:
    """Return the kind of ``left op right`` for the kinds of its sides; None if undefined.

    >>> kind_of_result(pred.Arithmetic.DIV, "duration", "duration")
    'number'
    """
    if left == right == "number":
        return "number"
    names = {Duration: "duration", Timestamp: "timestamp", float: "number", None: None}
    return names[_OF_TIME.get((op, left, right))]


def _compute_time(op: pred.Arithmetic, left: Value, right: Value) -> Value:
    """Return ``left op right`` with times, rounded half to even."""
    try:
        exact = _ARITHMETIC[op](_rational(left), _rational(right))
    except (ZeroDivisionError, OverflowError):  # OverflowError: an infinity
        return None
    kind = _OF_TIME[op, kind_of(left), kind_of(right)]
    if kind is float:
        return float(exact)
    whole = round(exact)
    return kind(whole) if whole in INT64 else None


def _rational(value: Value) -> Fraction:
    if isinstance(value, Timestamp | Duration):
        return Fraction(value.nanoseconds)
    assert isinstance(value, int | float)
    return Fraction(value)


_ARITHMETIC: dict[pred.Arithmetic, Callable[[Any, Any], Any]] = {
    pred.Arithmetic.ADD: operator.add,
    pred.Arithmetic.SUB: operator.sub,
    pred.Arithmetic.MUL: operator.mul,
    pred.Arithmetic.DIV: operator.truediv,
    pred.Arithmetic.MOD: operator.mod,
}


@lru_cache(maxsize=65_536)
def search(pattern: str, text: str) -> bool:
    """Return whether RE2 finds `pattern` in `text`; raises ValueError for a bad pattern."""
    import pyarrow as pa
    import pyarrow.compute as pc

    return bool(pc.match_substring_regex(pa.array([text], pa.string()), pattern)[0].as_py())


Key: TypeAlias = tuple[tuple[str, Value], ...]


def partition_key(event: Event, attributes: tuple[str, ...]) -> Key | None:
    """Return the partition key of an event; None if an attribute is missing, NULL or NaN.

    Two keys are equal exactly if each pair of values compares equal: 1 and 1.0 do, 1 and TRUE do
    not.

    >>> partition_key(Event("A", {"k": 1}), ("k",)) == partition_key(Event("A", {"k": 1.0}), ("k",))
    True
    """
    return key_of([value_of(event, attribute) for attribute in attributes])


def key_of(values: Iterable[Value]) -> Key | None:
    """Return the partition key of the given values; None if one is NULL or NaN."""
    key = []
    for value in values:
        kind = kind_of(value)
        if kind is None:
            return None
        # include the kind, since 1 and TRUE are equal in Python; 1 and 1.0 stay one key
        key.append((kind, value))
    return tuple(key)
