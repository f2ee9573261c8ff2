"""The values of COUNT, SUM, AVG, MIN, MAX, FIRST and LAST over the events of a label.

This is the scalar reference, as is `cerlab.predicates.truth`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import assert_never

from cerlab.model.event import Duration, Event, Value, value_of
from cerlab.predicates.syntax import Group, OfGroup
from cerlab.predicates.truth import INT64, kind_of


def group_value(operand: OfGroup, events: Sequence[Event]) -> Value:
    """Return the value of an operand such as SUM(x.v) on events in stream order; None if undefined.

    Missing values, NULL and NaN are ignored, except by FIRST and LAST.

    >>> from cerlab.model.event import Event
    >>> events = [Event("A", {"p": p}) for p in (1, 2.5, None, 1.0)]
    >>> [group_value(OfGroup(f, "a", "p"), events) for f in (Group.DISTINCT, Group.SUM, Group.AVG)]
    [2, 4.5, 1.5]
    """
    name, function = operand.attribute, operand.function
    if name is None:
        return len(events)
    if function in (Group.FIRST, Group.LAST):
        return value_of(events[-(function is Group.LAST)], name) if events else None
    values = [v for t in events if kind_of(v := value_of(t, name)) is not None]
    match function:
        case Group.DISTINCT:
            # include the kind, because 1 and TRUE are equal in Python
            return len({(kind_of(v), v) for v in values})
        case Group.SUM | Group.AVG:
            return _total(function, values)
        case Group.MIN | Group.MAX:
            return _extreme(function, values)
        case Group.COUNT | Group.FIRST | Group.LAST:
            raise AssertionError(f"{function} has other values")
        case _:
            assert_never(function)


def kind_of_group(function: Group, kind: str | None) -> str | None:
    """Return the kind of a function's result for an attribute's kind; None if undefined.

    >>> kind_of_group(Group.DISTINCT, "text"), kind_of_group(Group.SUM, "text")
    ('number', None)
    """
    if function in (Group.COUNT, Group.DISTINCT):
        return "number"
    if function in (Group.SUM, Group.AVG) and kind not in ("number", "duration"):
        return None
    return kind


def _extreme(function: Group, values: Sequence[Value]) -> Value:
    """Return the least or greatest of values of one kind; of equal ones the first."""
    if len(set(map(kind_of, values))) != 1:
        return None
    comparable: Sequence[float] = values  # type: ignore[assignment] # of one kind that compares
    return min(comparable) if function is Group.MIN else max(comparable)


def _total(function: Group, values: Sequence[Value]) -> Value:
    """Return the exact sum or mean, rounded once; None if undefined."""
    kinds, is_mean = set(map(kind_of, values)), function is Group.AVG
    divisor = len(values) if is_mean else 1
    if kinds == {"duration"}:
        nanoseconds = [v.nanoseconds for v in values if isinstance(v, Duration)]
        if not all(n in INT64 for n in nanoseconds):
            return None
        total = round(Fraction(sum(nanoseconds), divisor))
        return Duration(total) if total in INT64 else None
    if kinds != {"number"}:
        return None
    numbers = [v for v in values if isinstance(v, int | float)]
    if any(isinstance(v, int) and v not in INT64 for v in numbers):
        return None
    if infinities := {v for v in numbers if math.isinf(v)}:
        return infinities.pop() if len(infinities) == 1 else None
    exact = sum(map(Fraction, numbers), Fraction(0))
    if not is_mean and all(isinstance(v, int) for v in numbers):
        return int(exact) if int(exact) in INT64 else None
    try:
        return float(exact / divisor)
    except OverflowError:
        return None
