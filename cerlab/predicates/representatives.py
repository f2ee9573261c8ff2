"""Values that realise all that comparisons with finitely many constants can be.

On a line cut at the constants these are the constants and one value from each gap.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import pairwise
from typing import TypeAlias, assert_never

from cerlab.model.event import Timestamp, Value
from cerlab.model.schema import AttributeType
from cerlab.predicates.domains import INT64, Domain, allows, is_finite, is_int64
from cerlab.predicates.truth import kind_of


def representatives(constants: Iterable[Value]) -> tuple[Value, ...]:
    """NULL, each constant, and a value from each gap between and beyond them, of every kind.

    >>> representatives([1, 3])
    (1, 3, 2, 0, 4, True, False, 'other', None)
    """
    points = tuple(constants)
    kinds: list[AttributeType | None] = [None, AttributeType.BOOLEAN, AttributeType.STRING]
    if any(isinstance(value, Timestamp) for value in points):
        kinds.append(AttributeType.TIMESTAMP)
    return (*(value for kind in kinds for value in _of_type(kind, points)), None)


def candidates(name: str, domain: Domain, constants: Iterable[Value]) -> tuple[Value, ...]:
    """Values of an attribute that realise all that its comparisons with the constants can be.

    >>> candidates("v", Domain(AttributeType.INT, nullable=False), [1, 2.5])
    (1, 0, 2, 3)
    """
    if domain.type is None:
        return representatives(constants)
    # The smallest type is not the empty text but what comes after it.
    points = [*constants, *([""] if name == "type" else [])]
    values = [value for value in _of_type(domain.type, points) if allows(name, domain, value)]
    return (*values, *([None] if domain.nullable else []))


def _of_type(kind: AttributeType | None, constants: Iterable[Value]) -> tuple[Value, ...]:
    """The representatives of one type; of all numbers if there is none."""
    points = tuple(constants)
    match kind:
        case None:
            return _points_and_gaps(points, _number_between)
        case AttributeType.INT:
            ends = (INT64.start - 1, INT64.stop)
            return tuple(
                int(n) for n in _points_and_gaps((*points, *ends), _integer_between) if is_int64(n)
            )
        case AttributeType.DOUBLE:
            floats = [
                _nearest(n) for n in _points_and_gaps(points, _float_between) if _nearest(n) == n
            ]
            return (*floats, math.nan)
        case AttributeType.STRING:
            texts = sorted({value for value in points if isinstance(value, str)})
            gaps = [
                text_after(low, high) for low, high in pairwise([*texts, None]) if low is not None
            ]
            return tuple(dict.fromkeys(("other", *texts, *gaps, *([""] if texts else []))))
        case AttributeType.BOOLEAN:
            return (True, False)
        case AttributeType.TIMESTAMP:
            moments = [value.nanoseconds for value in points if isinstance(value, Timestamp)]
            return tuple(Timestamp(int(n)) for n in _points_and_gaps(moments, _integer_between))
        case _:
            assert_never(kind)


_Between: TypeAlias = Callable[[float | None, float | None], float | None]


def _points_and_gaps(constants: Iterable[Value], between: _Between) -> tuple[float, ...]:
    """The numbers among the constants and what is `between` and beyond them."""
    line = sorted({n for n in constants if isinstance(n, int | float) and kind_of(n) == "number"})
    if not line:
        gaps = [between(None, None)]
    else:
        gaps = [between(low, high) for low, high in pairwise(line)]
        gaps += [between(None, line[0]), between(line[-1], None)]
    return (*line, *(number for number in gaps if number is not None))


def _number_between(low: float | None, high: float | None) -> float | None:
    whole = _integer_between(low, high)
    return whole if whole is not None else _float_between(low, high)


def _integer_between(low: float | None, high: float | None) -> int | None:
    """The integer nearest to 0 above `low` and below `high`, None if there is none."""
    if low == math.inf or high == -math.inf:
        return None
    start = None if low is None or low == -math.inf else math.floor(low) + 1
    stop = None if high is None or high == math.inf else math.ceil(high) - 1
    if start is not None and stop is not None and start > stop:
        return None
    if start is not None and start > 0:
        return start
    return stop if stop is not None and stop < 0 else 0


def _float_between(low: float | None, high: float | None) -> float | None:
    """A float above `low` and below `high`, a round one if possible; None if there is none."""
    options: list[float] = []
    if (whole := _integer_between(low, high)) is not None:
        options.append(_nearest(whole))
    if low is not None and high is not None and is_finite(low) and is_finite(high):
        options.append(_nearest((Fraction(low) + Fraction(high)) / 2))
    if low is not None:
        near = _nearest(low)
        options.append(near if near > low else math.nextafter(near, math.inf))
    elif high is not None:
        near = _nearest(high)
        options.append(near if near < high else math.nextafter(near, -math.inf))
    inside = (n for n in options if (low is None or low < n) and (high is None or n < high))
    return next(inside, None)


def _nearest(number: float | Fraction) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def text_after(low: str, high: str | None, nth: int = 0) -> str:
    """The nth of some ascending texts after `low`; before `high`, if there are as many.

    >>> text_after("a", "b"), text_after("a", "a0", 1), text_after("a", None, 25)
    ('aa', 'a\\x00\\x00', 'az')
    >>> len(text_after("a", None, 26))
    28
    """
    if nth < 26 and (high is None or not high.startswith(low)):
        return low + chr(ord("a") + nth)
    return low + "\0" * (nth + 1)
