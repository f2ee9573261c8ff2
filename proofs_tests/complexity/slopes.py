"""Bounds, each with a family that counts it, and slopes fitted to the counts.

A power ``n^e`` is a line of slope e where both axes are logarithmic, an exponential ``2^(r n)`` one
of slope r where only the counts are; a doubly exponential one is a line against a power of two.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, NamedTuple, TypeAlias

Scale: TypeAlias = Callable[[int], float]
"""Position of a size on the axis on which the binary logarithms of the counts are a line."""

POWER: Scale = math.log2
EXPONENTIAL: Scale = float
DOUBLY_EXPONENTIAL: Scale = lambda n: 2.0**n  # noqa: E731

QUANTILE = {3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306}
"""Quantiles of Student's t for 95 %, by degrees of freedom: the number of sizes less two."""


class Slope(NamedTuple):
    """The slope of the line through some points by least squares, and how far off it may be."""

    value: float
    within: float


@dataclass(frozen=True)
class Bound:
    """A bound of a statement, and the family on which it is counted."""

    key: str
    says: str
    family: str
    sizes: Sequence[int]
    count: Callable[[int], int]
    slope: float
    """That of the theorem: the power, or how often the count doubles with each step."""
    scale: Scale = POWER
    relation: Literal["=", "<=", ">="] = "="
    """Whether the family grows as fast as that, not faster, or (lower bounds) not slower."""

    @property
    def counts(self) -> tuple[int, ...]:
        """The count for each size."""
        return _counts(self.count, tuple(self.sizes))

    @property
    def fit(self) -> Slope:
        """The slope of the counts."""
        return slope([*map(self.scale, self.sizes)], [*map(math.log2, self.counts)])

    @property
    def row(self) -> dict[str, Any]:
        """The data of its drawing."""
        slope = self.fit
        return {
            "key": self.key,
            "says": self.says,
            "family": self.family,
            "sizes": list(self.sizes),
            "counts": list(self.counts),
            "slope": round(self.slope, 3),
            "at": [round(self.scale(n), 3) for n in self.sizes],
            "fitted": round(slope.value, 3),
            "within": round(slope.within, 3),
        }


@cache
def _counts(count: Callable[[int], int], sizes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(map(count, sizes))


def slope(xs: Sequence[float], ys: Sequence[float]) -> Slope:
    """By least squares, with its 95 % confidence interval.

    >>> slope([0, 1, 2, 3, 4], [1, 3, 5, 7, 9])
    Slope(value=2.0, within=0.0)
    """
    x, y = math.fsum(xs) / len(xs), math.fsum(ys) / len(ys)
    spread = math.fsum((a - x) ** 2 for a in xs)
    value = math.fsum((a - x) * (b - y) for a, b in zip(xs, ys, strict=True)) / spread
    errors = (b - y - value * (a - x) for a, b in zip(xs, ys, strict=True))
    rest = math.fsum(error**2 for error in errors) / (len(xs) - 2)
    return Slope(value, QUANTILE[len(xs) - 2] * math.sqrt(rest / spread))
