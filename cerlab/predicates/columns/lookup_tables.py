"""Tables from values and classes to symbols, and NumPy versions of the kernels that read them.

`kernels` has these four functions compiled by Numba; the twins run if Numba is switched off.
"""

from __future__ import annotations

from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from cerlab.model.arrays import order_of

Codes: TypeAlias = NDArray[np.unsignedinteger[Any]]
"""Nonnegative numbers, one for each event, in an unsigned dtype."""

N = TypeVar("N", bound=np.generic)
T = TypeVar("T", bound=np.generic)

BLOCK = 2048
"""Events per pass of a kernel: their scratch of 8 KB stays in the first-level cache."""


class Stretches(NamedTuple, Generic[N, T]):
    """Intervals of numbers: where they start, in ascending order, and the class of each.

    `table` has one more cell than `starts`: the first is for NaN.
    """

    starts: NDArray[N]
    table: NDArray[T]


class Cells(NamedTuple):
    """A flat table with a cell for each combination of classes; `lut` holds the symbols.

    The cell of an event is `base` plus the sum of its classes, each times its stride; `lut` has the
    symbol of a cell, or ``UNKNOWN``.
    """

    strides: NDArray[np.int32]
    base: int
    lut: NDArray[np.int32]


UNKNOWN = -1
"""Cell of a combination that no event has had: it has no symbol yet."""

PENDING = -2
"""Cell of a combination first met in this block: it gets its symbol after the block."""


def translate(codes: NDArray[np.uint32], table: NDArray[T], out: NDArray[T]) -> None:
    """Write ``table[codes[i]]`` to ``out[i]``."""
    out[:] = table[codes]


def regions(
    values: NDArray[N], stretches: Stretches[N, T], out: NDArray[T], _: NDArray[np.uint32]
) -> None:
    """Write ``table[number of starts <= values[i]]`` to ``out[i]``; for NaN the number is 0."""
    starts, table = stretches
    # NaN compares as greater in `searchsorted`, which would put it after all starts
    below = np.searchsorted(starts, values, side="right")
    out[:] = table[np.where(values == values, below, 0)]


def fuse(
    classes: Codes, cells: Cells, out: Codes, pending: NDArray[np.int32], _: NDArray[np.uint32]
) -> int:
    """Write the symbol of event i to ``out[i]``; return cells that are unknown."""
    strides, base, lut = cells
    rows = classes.reshape(strides.size, out.size).astype(np.int64)
    numbers = base + (strides.astype(np.int64)[:, np.newaxis] * rows).sum(axis=0, dtype=np.int64)
    distinct, first = np.unique(numbers, return_index=True)
    unknown = distinct[order_of(first)]
    unknown = unknown[lut[unknown] == UNKNOWN]
    lut[unknown] = PENDING
    pending[: unknown.size] = unknown
    out[:] = np.maximum(lut[numbers], 0)
    return int(unknown.size)


def compact(symbols: Codes, keep: NDArray[np.bool_], out: NDArray[np.int64]) -> int:
    """Write the indices i with ``keep[symbols[i]]`` into `out`; return their number."""
    indices = np.flatnonzero(keep[symbols])
    out[: indices.size] = indices
    return int(indices.size)
