"""The tables of the predicate stage, as kernels and their twins take them."""

from __future__ import annotations

from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

Codes: TypeAlias = NDArray[np.unsignedinteger[Any]]
"""Numbers >= 0, one for each event, in an unsigned dtype."""

N = TypeVar("N", bound=np.generic)
T = TypeVar("T", bound=np.generic)


BLOCK = 2048
"""So many events are counted at once, in scratch that stays in the nearest cache."""


class Stretches(NamedTuple, Generic[N, T]):
    """Stretches of a dtype of numbers: where they begin, increasing, and what to say of each.

    `table` has one more cell than `starts`: the first is for NaN.
    """

    starts: NDArray[N]
    table: NDArray[T]


class Cells(NamedTuple):
    """A flat table with a cell for each combination of classes.

    The cell of an event is `base` and the sum of its classes, each times its stride; `lut` has the
    symbol of a cell, or ``UNKNOWN``.
    """

    strides: NDArray[np.int32]
    base: int
    lut: NDArray[np.int32]
