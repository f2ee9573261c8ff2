"""The loops over events, compiled once for each combination of dtypes and never for a query.

The bodies keep to flat arrays and to blocks of events whose counters stay in the nearest cache.
`lookup_tables` has the same functions in NumPy.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cerlab.kernel_cache import Kernel, jit
from cerlab.predicates.columns.lookup_tables import Cells, Codes, N, Stretches, T

FEW = 16
"""Up to this many starts, comparing with each is faster than a binary search."""

UNKNOWN = -1
PENDING = -2


def kernel(function: Kernel) -> Kernel:
    """`function` under Numba: compiled at the first call, kept on disk, without the GIL."""
    return jit(function, nogil=True, _nrt=False)


@kernel
def translate(codes: NDArray[np.uint32], table: NDArray[T], out: NDArray[T]) -> None:
    """``out[i] = table[codes[i]]``; all of one dimension, `out` as long as `codes`."""
    for i in range(codes.size):
        out[i] = table[codes[i]]


@kernel
def regions(
    values: NDArray[N], stretches: Stretches[N, T], out: NDArray[T], counts: NDArray[np.uint32]
) -> None:
    """``out[i] = table[number of starts <= values[i]]``; the number is 0 for NaN.

    `values` and `starts` share a dtype (int64, uint64, float64); `counts` is scratch.
    """
    starts, table = stretches.starts, stretches.table
    for begin in range(0, values.size, counts.size):
        end = min(begin + counts.size, values.size)
        below = counts[: end - begin]
        below[:] = 0
        # comparing with each has no branch, and its loop over the events is vectorised
        if starts.size <= FEW:
            _compare_with_each(values[begin:end], starts, below)
        else:
            _halve(values[begin:end], starts, below)
        translate(below, table, out[begin:end])


@kernel
def _compare_with_each(values: NDArray[N], starts: NDArray[N], below: NDArray[np.uint32]) -> None:
    for start in starts:
        for j in range(values.size):
            below[j] += np.uint32(1) if start <= values[j] else np.uint32(0)


@kernel
def _halve(values: NDArray[N], starts: NDArray[N], below: NDArray[np.uint32]) -> None:
    """Binary search of all values in step: ``below[j] <= the number <= below[j] + remaining``."""
    remaining = np.uint32(starts.size)
    # no branch depends on a value, so there is none for the processor to mispredict
    while remaining > 0:
        half = np.uint32((remaining + 1) // 2)
        for j in range(values.size):
            next_one = np.uint32(below[j] + half)
            is_above = starts[np.uint32(next_one - np.uint32(1))] <= values[j]
            below[j] = next_one if is_above else below[j]
        remaining = np.uint32(remaining - half)


@kernel
def fuse(
    classes: Codes, cells: Cells, out: Codes, pending: NDArray[np.int32], block: NDArray[np.uint32]
) -> int:
    """``out[i] = lut[base + sum over k of strides[k] * classes[k * n + i]]``, n events.

    Cells of `cells.lut` that are `UNKNOWN` become `PENDING` and are listed in `pending` in order of
    their first event; returns how many. If there are any, what is in `out` is not to be used.
    `block` is scratch.
    """
    strides, base, lut = cells
    count, n = 0, out.size
    for begin in range(0, n, block.size):
        end = begin + block.size if begin + block.size < n else n
        numbers = block[: end - begin]
        numbers[:] = base
        for k in range(strides.size):
            # block by block, so the cell numbers stay in the first-level cache from axis to axis
            _add_scaled(numbers, classes[k * n + begin : k * n + end], np.uint32(strides[k]))
        if _look_up(numbers, lut, out[begin:end]) < 0:
            for cell in numbers:
                if lut[cell] == UNKNOWN:
                    lut[cell] = PENDING
                    pending[count] = cell
                    count += 1
    return count


@kernel
def _add_scaled(cells: NDArray[np.uint32], classes: Codes, stride: np.uint32) -> None:
    for j in range(cells.size):
        cells[j] += np.uint32(stride * np.uint32(classes[j]))


@kernel
def _look_up(cells: NDArray[np.uint32], lut: NDArray[np.int32], out: Codes) -> np.int32:
    """The symbols of the cells; returns a negative number if one is not known."""
    lowest = np.int32(0)
    for j in range(cells.size):
        symbol = lut[cells[j]]
        # not by min() and int(): each would be one more function to compile, at 0.03 s
        lowest = symbol if symbol < lowest else lowest
        out[j] = symbol
    return lowest


@kernel
def compact(symbols: Codes, keep: NDArray[np.bool_], out: NDArray[np.int64]) -> int:
    """Write the indices i with ``keep[symbols[i]]`` into `out` (as long as `symbols`); how many.

    Without a branch: each index is written, and the next one overwrites it if it is not kept.
    """
    count = 0
    for i in range(symbols.size):
        out[count] = i
        count += int(keep[symbols[i]])
    return count
