"""What sums over answers are made of: integers of each event that stand for its values.

A sum of doubles is exact: all are multiples of one power of two, so they are integers of it.
Least values are compared by their rank among the values of the column.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cerlab.engine.kernels.arrays import Int64s
from cerlab.errors import BadData, TypeMismatch
from cerlab.model.columns import values_of

Integers: TypeAlias = NDArray[Any]
"""Integers as int64, or as Python's own where 64 bits are too few."""


class Numbers(NamedTuple):
    """The numbers of some events as integers: ``value = integer * 2**exponent``, 0 for NULL."""

    integers: Integers  # (events,)
    present: Int64s  # (events,), 1 where there is a number
    exponent: int
    whole: bool
    """Whether the column holds integers."""


class Ranks(NamedTuple):
    """The values of some events by rank, -1 for NULL."""

    ranks: Int64s  # (events,)
    first: Int64s  # (values,), the index of an event that has the value

    @property
    def size(self) -> int:
        """How many values there are."""
        return len(self.first)

    def by(self, function: str) -> Int64s:
        """Numbers whose least is that of the min or max, shape (events,); -1 for none."""
        if function == "min":
            return self.ranks
        return np.where(self.ranks < 0, -1, self.size - 1 - self.ranks)

    def back(self, function: str, numbers: Integers) -> Int64s:
        """The ranks of numbers of `by`, -1 for the largest integer."""
        ranks = numbers if function == "min" else self.size - 1 - numbers
        return np.where(numbers == np.iinfo(np.int64).max, -1, ranks)

    def examples(self, ranks: Int64s) -> Any:
        """For each rank an event that has the value, NULL for -1: an Arrow array."""
        import pyarrow as pa

        ranks = ranks.astype(np.int64)
        return pa.array(np.append(self.first, 0)[ranks], mask=ranks < 0)


def numbers(column: Any, name: str) -> Numbers:
    """The numbers of an Arrow column; NaN is as NULL.

    Raises `TypeMismatch` for a column of something else, `BadData` for an infinity.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    present = np.asarray(pc.is_valid(column))
    if pa.types.is_null(kind):
        return Numbers(np.zeros(len(column), np.int64), present.astype(np.int64), 0, True)
    if pa.types.is_integer(kind) and not pa.types.is_uint64(kind):
        values = np.asarray(pc.fill_null(column.cast(pa.int64()), 0))
        return Numbers(values, present.astype(np.int64), 0, True)
    if pa.types.is_uint64(kind):
        integers = [value or 0 for value in column.to_pylist()]
        return Numbers(np.array(integers, object), present.astype(np.int64), 0, True)
    if not pa.types.is_floating(kind):
        raise no_sum(name, kind)
    doubles = np.asarray(pc.fill_null(column.cast(pa.float64()), np.nan))
    present = ~np.isnan(doubles)
    doubles = np.where(present, doubles, 0.0)
    if np.isinf(doubles).any():
        raise infinite(name)
    return Numbers(*_scale(doubles, present.astype(np.int64)), False)


def no_sum(name: str, kind: object) -> TypeMismatch:
    """The error that a column is not of numbers."""
    return TypeMismatch(
        "CER0306",
        f"column '{name}' of {kind} has no sum",
        hint="sums and averages are of numbers; min, max and count take every column",
    )


def infinite(name: str) -> BadData:
    """The error that a number that is summed is none."""
    return BadData(
        "CER0748",
        f"column '{name}' holds an infinity, so its sum is no number",
        hint="leave such events out by a filter, or take min and max",
    )


def _scale(doubles: NDArray[np.float64], present: Int64s) -> tuple[Integers, Int64s, int]:
    """The doubles as integers of one power of two."""
    mantissa, powers = np.frexp(doubles)
    exponent = powers.astype(np.int64)
    integers = (mantissa * 2.0**53).astype(np.int64)
    nonzero = integers != 0
    if not nonzero.any():
        return integers, present, 0
    low = integers[nonzero] & -integers[nonzero]  # the lowest bit that is set
    zeros = np.frexp(low.astype(np.float64))[1] - 1
    least = int((exponent[nonzero] - 53 + zeros).min())
    shift = np.where(nonzero, exponent - 53 - least, 0)
    if int(shift.max()) <= 9:
        up, down = np.maximum(shift, 0), np.maximum(-shift, 0)
        return (integers >> down) << up, present, least
    pairs = zip(integers.tolist(), shift.tolist(), strict=True)
    exact = [m << s if s >= 0 else m >> -s for m, s in pairs]
    return np.array(exact, object), present, least


def ranks(column: Any, name: str) -> Ranks:
    """The values of an Arrow column by rank; NaN is as NULL."""
    values = values_of(column, name)
    first: dict[Any, int] = {}
    for n, value in enumerate(values):
        if value is not None and value == value:
            first.setdefault(value, n)
    distinct = sorted(first)
    number = {value: rank for rank, value in enumerate(distinct)}
    codes = [number[v] if v is not None and v == v else -1 for v in values]
    return Ranks(np.array(codes, np.int64), np.array([first[v] for v in distinct], np.int64))


def limbs(integers: Integers, bits: int) -> list[Int64s]:
    """Integers as int64 digits in base ``2**bits``, lowest first, the highest one signed."""
    digits: list[Int64s] = []
    rest = integers
    while True:
        high = rest >> bits
        if all(_fits(rest, bits)):
            digits.append(rest.astype(np.int64))
            return digits
        digits.append((rest - (high << bits)).astype(np.int64))
        rest = high


def _fits(integers: Integers, bits: int) -> Sequence[bool]:
    if not len(integers):
        return [True]
    return [-(1 << bits) <= int(integers.min()), int(integers.max()) < 1 << bits]
