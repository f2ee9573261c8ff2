"""The loops over events, compiled for each combination of array types.

The bodies use only flat arrays, and blocks of events whose counters fit the first-level cache.
`lookup_tables` has the functions before `EMPTY` in NumPy; hash tables of keys have no twin.
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
    """Return `function` compiled by Numba at its first call, cached on disk, without the GIL."""
    return jit(function, nogil=True, _nrt=False)


def inline(function: Kernel) -> Kernel:
    """Return `function` inlined into kernels: in a call, each array would be eight arguments."""
    return jit(function, nogil=True, _nrt=False, forceinline=True)


@kernel
def translate(codes: NDArray[np.uint32], table: NDArray[T], out: NDArray[T]) -> None:
    """Write ``table[codes[i]]`` to ``out[i]``."""
    for i in range(codes.size):
        out[i] = table[codes[i]]


@kernel
def regions(
    values: NDArray[N], stretches: Stretches[N, T], out: NDArray[T], counts: NDArray[np.uint32]
) -> None:
    """Write ``table[number of starts <= values[i]]`` to ``out[i]``; for NaN the number is 0.

    `values` and `starts` share a dtype (int64, uint64, float64); `counts` is scratch.
    """
    starts, table = stretches.starts, stretches.table
    for begin in range(0, values.size, counts.size):
        end = min(begin + counts.size, values.size)
        below = counts[: end - begin]
        below[:] = 0
        # comparing with every start needs no branch, so the loop compiles to vector instructions
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
    """Count the starts <= each value, by a binary search for all values together."""
    remaining = np.uint32(starts.size)
    # no branch depends on a value, so the processor predicts all branches
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
    """Write to ``out[i]`` the symbol at event i's combination of classes, for n events.

    Cells of `cells.lut` that are `UNKNOWN` become `PENDING`, and are listed in `pending` in order
    of their first event; return their number. If there are any, `out` must not be used. `block` is
    scratch.
    """
    strides, base, lut = cells
    count, n = 0, out.size
    for begin in range(0, n, block.size):
        end = begin + block.size if begin + block.size < n else n
        numbers = block[: end - begin]
        numbers[:] = base
        for k in range(strides.size):
            # block by block, so that the cell numbers stay in the first-level cache
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
    """Write the symbols at the given cells; return a negative number if a cell is unknown."""
    lowest = np.int32(0)
    for j in range(cells.size):
        symbol = lut[cells[j]]
        # min() and int() would each be another function to compile, at 0.03 s each
        lowest = symbol if symbol < lowest else lowest
        out[j] = symbol
    return lowest


@kernel
def compact(symbols: Codes, keep: NDArray[np.bool_], out: NDArray[np.int64]) -> int:
    """Write the indices i with ``keep[symbols[i]]`` to `out`; return their number.

    The loop is branch-free: each index is written, and the next one overwrites it if it is not
    kept.
    """
    count = 0
    for i in range(symbols.size):
        out[count] = i
        count += int(keep[symbols[i]])
    return count


EMPTY = 0
"""Tag of a cell without a value."""

_MIX = -7046029254386353131
"""Odd constant without a bit pattern: 2^64 by the golden ratio (Knuth, TAOCP 6.4)."""


def first_cell(word: int, mask: int) -> int:
    """Return the hash table cell where the search for a word begins.

    Overflowing 64-bit integers and Python's integers give the same cell, since it depends only on
    the lowest 64 bits of the product.
    """
    mixed = (word ^ (word >> 32)) * _MIX
    return (mixed ^ (mixed >> 29)) & mask


_first_cell = inline(first_cell)


@kernel
def words_of_doubles(
    values: NDArray[np.float64],
    bits: NDArray[np.int64],
    words: NDArray[np.int64],
    kinds: NDArray[np.uint8],
) -> None:
    """Write the word and the kind of each double, for use as a key; NaN has kind 0."""
    for i in range(values.size):
        value = values[i]
        words[i], kinds[i] = bits[i], 3
        if value != value:
            kinds[i] = 0
        elif -9223372036854775808.0 <= value < 9223372036854775808.0:
            whole = np.int64(value)
            if np.float64(whole) == value:
                words[i], kinds[i] = whole, 1
        elif 9223372036854775808.0 <= value < 18446744073709551616.0:
            words[i], kinds[i] = np.int64(value - 18446744073709551616.0), 2


@kernel
def number_words(
    words: NDArray[np.int64],
    kinds: NDArray[np.uint8],
    cells: NDArray[np.int64],
    most: int,
    count: NDArray[np.int64],
    begin: int,
    out: NDArray[np.uint32],
) -> int:
    """Assign numbers to pairs of a kind and a word, in order of first occurrence; 0 to kind 0.

    `cells`, (room, 2), is a hash table with linear probing: a word, and its number and kind as a
    tag. ``count[0]`` values are numbered from 1. Starts at index `begin`, and stops before a value
    that would get number `most` + 1; returns the index where it stopped.
    """
    mask = cells.shape[0] - 1
    for i in range(begin, words.size):
        if kinds[i] == 0:
            out[i] = 0
            continue
        kind, word = np.int64(kinds[i]), words[i]
        at = _first_cell(word, mask)
        tag = cells[at, 1]
        while tag != EMPTY and (cells[at, 0] != word or (tag & 255) != kind):
            at = (at + 1) & mask
            tag = cells[at, 1]
        if tag == EMPTY:
            if count[0] >= most:
                return i
            count[0] += 1
            tag = (count[0] << 8) | kind
            cells[at, 0], cells[at, 1] = word, tag
        out[i] = tag >> 8
    return words.size


@kernel
def hash_texts(offsets: NDArray[np.int64], data: NDArray[np.uint8], out: NDArray[np.int64]) -> None:
    """Write a hash (FNV-1a) of each text ``data[offsets[i]:offsets[i + 1]]``."""
    for i in range(out.size):
        word = np.int64(-3750763034362895579)
        for at in range(offsets[i], offsets[i + 1]):
            word = (word ^ np.int64(data[at])) * np.int64(1099511628211)
        out[i] = word


@kernel
def number_texts(
    words: NDArray[np.int64],
    offsets: NDArray[np.int64],
    data: NDArray[np.uint8],
    cells: NDArray[np.int64],
    most: int,
    kind: int,
    count: NDArray[np.int64],
    ends: NDArray[np.int64],
    arena: NDArray[np.uint8],
    begin: int,
    out: NDArray[np.uint32],
) -> int:
    """Assign numbers to texts, in order of first occurrence; `words` are their hashes.

    The text of number n is ``arena[ends[n - 1]:ends[n]]``; `arena` has room for all of `data`.
    """
    mask = cells.shape[0] - 1
    for i in range(begin, words.size):
        word, start = words[i], offsets[i]
        length = offsets[i + 1] - start
        at = _first_cell(word, mask)
        tag = cells[at, 1]
        while tag != EMPTY:
            n = tag >> 8
            if cells[at, 0] == word and (tag & 255) == kind and ends[n] - ends[n - 1] == length:
                same, first = True, ends[n - 1]
                for j in range(length):
                    if arena[first + j] != data[start + j]:
                        same = False
                        break
                if same:
                    break
            at = (at + 1) & mask
            tag = cells[at, 1]
        if tag == EMPTY:
            if count[0] >= most:
                return i
            count[0] += 1
            n = count[0]
            first = ends[n - 1]
            for j in range(length):
                arena[first + j] = data[start + j]
            ends[n] = first + length
            tag = (n << 8) | kind
            cells[at, 0], cells[at, 1] = word, tag
        out[i] = tag >> 8
    return words.size


@kernel
def move_cells(cells: NDArray[np.int64], larger: NDArray[np.int64]) -> None:
    """Move the values of a hash table into an empty one with more cells."""
    mask = larger.shape[0] - 1
    for i in range(cells.shape[0]):
        if cells[i, 1] != EMPTY:
            word = cells[i, 0]
            at = _first_cell(word, mask)
            while larger[at, 1] != EMPTY:
                at = (at + 1) & mask
            larger[at, 0], larger[at, 1] = word, cells[i, 1]


@kernel
def number_by_place(
    numbers: NDArray[np.uint32],
    ids: NDArray[np.int64],
    order: NDArray[np.uint32],
    count: NDArray[np.int64],
    out: NDArray[np.int64],
) -> None:
    """Assign ids to numbers, in order of first occurrence; -1 to number 0.

    ``ids[n]`` is the id of number n, -1 before it has one, and ``order[id]`` its number.
    """
    for i in range(numbers.size):
        n = numbers[i]
        if n != 0 and ids[n] < 0:
            ids[n] = count[0]
            order[count[0]] = n
            count[0] += 1
        out[i] = ids[n]


@kernel
def place_by_code(
    codes: NDArray[np.int64], next_place: NDArray[np.int64], out: NDArray[np.int64]
) -> None:
    """Write the rows sorted by code; ``next_place[c]`` is where the next row of code c goes."""
    for i in range(codes.size):
        out[next_place[codes[i]]] = i
        next_place[codes[i]] += 1
