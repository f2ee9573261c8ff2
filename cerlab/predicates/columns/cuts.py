"""Numbers against constants: a line cut at the constants, one class for each stretch of it.

No number of a dtype lies between two neighbouring starts without being in the stretch of the
first, and no constant separates two numbers of a stretch. So one evaluation at each start, where
its stretch begins, decides every number of the dtype. Exact: integers and floats compare by value.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from cerlab.model.event import Event, Timestamp, Value
from cerlab.predicates.mentions import leaves_of, operands
from cerlab.predicates.syntax import Atom, Attribute
from cerlab.predicates.truth import evaluate, kind_of

_BOUNDS = {"int64": (-(2**63), 2**63 - 1), "uint64": (0, 2**64 - 1)}
_NOWHERE = Event("nowhere")


def constants(atoms: Iterable[Atom]) -> list[Value] | None:
    """What some atoms compare an attribute itself with; None if one computes with the attribute."""
    values: list[Value] = []
    for atom in atoms:
        for side in operands(atom):
            if not any(isinstance(leaf, Attribute) for leaf in leaves_of(side)):
                values.append(evaluate(_NOWHERE, side))
            elif not isinstance(side, Attribute):
                return None
    return values


def numbers_of(values: Iterable[Value], *, moments: bool) -> list[int | float]:
    """The constants that a column of numbers, or of moments, compares with."""
    if moments:
        return [value.nanoseconds for value in values if isinstance(value, Timestamp)]
    return [
        value for value in values if isinstance(value, (int, float)) and kind_of(value) == "number"
    ]


def starts(cuts: Iterable[int | float], dtype: str) -> list[int] | list[float]:
    """Where the stretches of a dtype begin, increasing; the first is the smallest number.

    >>> starts([2**53 + 0.5, 3], "int64")[1:]
    [3, 4, 9007199254740992, 9007199254740993]
    """
    if dtype == "float64":
        floats = {-math.inf}
        for cut in cuts:
            floats.update(_floats_from(cut))
        return sorted(floats)
    low, high = _BOUNDS[dtype]
    integers = {low}
    for cut in cuts:
        integers.update(max(start, low) for start in _integers_from(cut) if start <= high)
    return sorted(integers)


def _floats_from(cut: int | float) -> Sequence[float]:
    """The least float >= `cut`, and the least one above it if there is one."""
    try:
        near = float(cut)
    except OverflowError:
        near = math.inf if cut > 0 else -math.inf
    if near > cut:
        return (near,)
    above = math.nextafter(near, math.inf)
    first = above if near < cut else near
    return (first,) if near == math.inf else (first, above)


def _integers_from(cut: int | float) -> Sequence[int]:
    """The least integer >= `cut`, and the least one above it."""
    if isinstance(cut, float) and math.isinf(cut):
        return () if cut > 0 else (_BOUNDS["int64"][0],)
    return (math.ceil(cut), math.floor(cut) + 1)
