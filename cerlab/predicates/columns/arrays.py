"""Small steps on arrays of codes, and the choice between the kernels and their twins."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cerlab.model.columns import array_from, numbers_of, room
from cerlab.predicates.columns.lookup_tables import Codes, T

MAX_KEY = 2**62


def operations() -> Any:
    """The kernels, or their twins where Numba is switched off (``NUMBA_DISABLE_JIT=1``)."""
    if os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0"):
        from cerlab.predicates.columns import kernels

        return kernels
    from cerlab.predicates.columns import twins

    return twins


def narrowest(largest: int) -> Any:
    """The smallest unsigned dtype of 8, 16 or 32 bits that holds `largest`."""
    if largest < 2**8:
        return np.uint8
    return np.uint16 if largest < 2**16 else np.uint32


def narrow(numbers: Sequence[int]) -> Codes:
    """Numbers >= 0 as an array of the narrowest dtype, shape (len(numbers),)."""
    return np.array(numbers, narrowest(max(numbers, default=0)))


def concatenate(parts: Sequence[Codes]) -> Codes:
    """The parts one after the other, in the widest of their dtypes."""
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return np.zeros(0, np.uint8)
    return np.concatenate(parts, out=room(sum(map(len, parts)), np.result_type(*parts)))


def look_up(codes: NDArray[np.uint32], table: NDArray[T]) -> NDArray[T]:
    """``table[codes]``, shape of `codes`, dtype of `table`."""
    out: NDArray[T] = room(codes.size, table.dtype)
    operations().translate(codes, table, out)
    return out


def relevant_indices(symbols: Codes, keep: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The indices of the events whose symbol is kept, increasing; ``keep[s]`` says it of symbol s.

    `symbols` has shape (n,) and an integer dtype, `keep` has one boolean for each symbol id.
    Raises IndexError for a symbol that `keep` does not know.
    """
    if symbols.size and int(symbols.max()) >= keep.size:
        raise IndexError(f"symbol {symbols.max()} of {keep.size} that have a say")
    out = np.empty(symbols.size, np.int64)
    count = operations().compact(symbols, keep, out)
    return out[:count].copy()


def combinations(
    parts: Sequence[Codes], counts: Sequence[int]
) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
    """The distinct rows of some columns of codes: where each is first, and which each event has.

    ``parts[k]`` has shape (n,) and values below ``counts[k]``. Rows are numbered in order of their
    first event; exact for any number of columns.
    """
    key, radix = parts[0].astype(np.int64), counts[0]
    for part, count in zip(parts[1:], counts[1:], strict=True):
        if radix * count > MAX_KEY:
            key = _codes_of(key).astype(np.int64)
            radix = int(key.max(initial=0)) + 1
        key = key * count + part.astype(np.int64)
        radix *= count
    code = _codes_of(key)
    first = np.empty(int(code.max(initial=0)) + 1 if code.size else 0, np.int64)
    first[code[::-1]] = np.arange(code.size - 1, -1, -1)  # of equal places the last one is kept
    return first, code


def _codes_of(key: NDArray[np.int64]) -> NDArray[np.uint32]:
    """The number of each value among the distinct values, in order of the first event."""
    return numbers_of(array_from(key).dictionary_encode().indices).view(np.uint32)
