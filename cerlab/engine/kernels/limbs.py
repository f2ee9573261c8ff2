"""Integers of any size as limbs of `BITS` bits, and loops over rows of cells.

A number is one or more cells, a fixed step apart: the lowest limb first, the last one signed and
larger. Invariant: between events no last limb is near 64 bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cerlab.engine.kernels.arrays import Int64s, inline

BITS = 24
"""The bits of a limb."""

MASK = (1 << BITS) - 1

# bounds: a gain's limb is below 2^24, a product below 2^51, a sum of 2^10 products below 2^62
MOST_RUNS = 1 << 27
"""The largest last limb of the number of runs before an event; sums are multiples of it."""

MOST = 1 << 51
"""The largest last limb of other numbers before an event."""

TOGETHER = 1 << 10
"""The number of terms after which a sum is cut into limbs."""

SMALL = 1 << 31
"""The product of two numbers below 2^31 fits 62 bits."""

MOST_ABOVE = 1 << 30
"""The bound on the part above the last limb: 2^7 products with it sum to 62 bits."""

# unsigned indices: Numba checks signed ones, which keeps LLVM from using vector instructions


@inline
def copy(target: Int64s, to: int, source: Int64s, of: int, m: int) -> None:
    """Copy `m` cells from one array to another."""
    t, s = np.uintp(to), np.uintp(of)
    for n in range(np.uintp(m)):
        target[t + n] = source[s + n]


@inline
def fill(target: Int64s, to: int, value: int, m: int) -> None:
    """Write a value into `m` cells."""
    t = np.uintp(to)
    for n in range(np.uintp(m)):
        target[t + n] = value


@inline
def plus(target: Int64s, to: int, source: Int64s, of: int, m: int, times: int) -> None:
    """Add `m` cells, multiplied by `times`, to other cells."""
    t, s = np.uintp(to), np.uintp(of)
    for n in range(np.uintp(m)):
        target[t + n] += source[s + n] * times


@inline
def add_counts(target: Int64s, to: int, source: Int64s, of: int, m: int) -> Any:
    """Add `m` counts of one limb; return the bitwise OR of the sums, which bounds their length."""
    t, s, bits = np.uintp(to), np.uintp(of), np.int64(0)
    for n in range(np.uintp(m)):
        there = target[t + n] + source[s + n]
        target[t + n] = there
        bits |= there
    return bits


@inline
def carry(target: Int64s, to: int, size: int, m: int) -> None:
    """Move the bits above `BITS` in `m` cells into the next row of limbs, `size` cells further."""
    t, above = np.uintp(to), np.uintp(to + size)
    for n in range(np.uintp(m)):
        target[above + n] += target[t + n] >> BITS
        target[t + n] &= MASK


@inline
def carry_one(target: Int64s, at: int, step: int) -> None:
    """Move the bits above `BITS` in one cell into the next limb, `step` cells further."""
    target[at + step] += target[at] >> BITS
    target[at] &= MASK


@inline
def sum_of(source: Int64s, of: int, m: int) -> Any:
    """Return the sum of `m` cells."""
    s, total = np.uintp(of), np.int64(0)
    for n in range(np.uintp(m)):
        total += source[s + n]
    return total


@inline
def largest_of(source: Int64s, of: int, m: int) -> Any:
    """Return the largest magnitude in `m` cells."""
    s, largest = np.uintp(of), np.int64(0)
    for n in range(np.uintp(m)):
        largest = max(largest, abs(source[s + n]))
    return largest


@inline
def any_of(source: Int64s, at: int, rows: int, size: int, m: int) -> bool:
    """Return whether any of `m` cells in some rows is nonzero."""
    some = np.int64(0)
    for r in range(rows):
        s = np.uintp(at + r * size)
        for n in range(np.uintp(m)):
            some |= source[s + n]
    return some != 0


@inline
def occupied(source: Int64s, at: int, count: int, step: int) -> bool:
    """Return whether any limb of a number is nonzero."""
    some = np.int64(0)
    for n in range(count):
        some |= source[at + n * step]
    return some != 0


@inline
def add_up(pool: Int64s, row: int, m: int, out: Int64s, into: int) -> None:
    """Add `m` limbs to a number of two limbs."""
    for n in range(0, m, TOGETHER):
        part = out[into] + sum_of(pool, row + n, min(m - n, TOGETHER))
        out[into] = part & MASK
        out[into + 1] += part >> BITS


@inline
def digit(pool: Int64s, at: int, step: int, count: int, d: int) -> Any:
    """Return digit `d` of a number with `count` limbs; its last limb has three digits."""
    if d < count - 1:
        return pool[at + d * step]
    top = pool[at + (count - 1) * step]
    if d == count - 1:
        return top & MASK
    if d == count:
        return (top >> BITS) & MASK
    return top >> (2 * BITS)


@inline
def add_product(
    pool: Int64s,
    first: int,
    first_step: int,
    first_count: int,
    second: int,
    second_step: int,
    second_count: int,
    out: Int64s,
    to: int,
    count: int,
    work: int,
) -> bool:
    """Add the product of two numbers to `count` >= 2 limbs; return whether the result fits.

    The cells of `out` from `work` on are written: as many as both numbers have limbs, and four
    more.
    """
    x, y = pool[first], pool[second]
    if first_count == 1 and second_count == 1 and abs(x) < SMALL and abs(y) < SMALL:
        out[to] += (x * y) & MASK
        out[to + 1] += (x * y) >> BITS
        return True
    last = first_count + second_count + 3
    fill(out, work, 0, last + 1)
    for d in range(first_count + 2):
        x = digit(pool, first, first_step, first_count, d)
        if x != 0:
            for e in range(second_count + 2):
                y = digit(pool, second, second_step, second_count, e)
                out[work + d + e] += x * y
    for d in range(last):
        carry_one(out, work + d, 1)
    for d in range(count - 1):
        out[to + d] += out[work + d]
    above = out[work + last]
    for d in range(last - 1, count - 2, -1):
        if abs(above) > MOST_ABOVE:
            return False
        above = (above << BITS) + out[work + d]
    out[to + count - 1] += above
    return True


DOUBLE_BITS = 62
"""The bits of a number that are rounded to a double; the last one is 1 if any lower bit is set."""


@inline
def rounded(
    limb: NDArray[np.int64], first: int, count: int, at: int, exponent: int, work: Int64s
) -> Any:
    """Return the double nearest to a number times ``2**exponent``; ties round to even.

    Its limbs are ``limb[first:first + count, at]``, signed and of at most 63 bits. The first
    ``count + 2`` cells of `work` are written. The product must be below 2^1023.
    """
    above = np.int64(0)
    for d in range(count):
        above += limb[first + d, at]
        work[d], above = above & MASK, above >> BITS
    is_negative = above < 0
    work[count], work[count + 1] = above & MASK, above >> BITS
    if is_negative:
        above = np.int64(0)
        for d in range(count + 2):
            above -= work[d]
            work[d], above = above & MASK, above >> BITS
    top = count + 1
    while top >= 0 and work[top] == 0:
        top -= 1
    if top < 0:
        return 0.0
    bits, left, d = work[top], DOUBLE_BITS, top
    while bits >> (DOUBLE_BITS - left) != 0:
        left -= 1
    shift = left
    while left > 0 and d > 0:
        d -= 1
        taken = min(left, BITS)
        bits = (bits << taken) | (work[d] >> (BITS - taken))
        left -= taken
        if taken < BITS and (work[d] & ((1 << (BITS - taken)) - 1)) != 0:
            bits |= 1
    bits <<= left
    while d > 0:
        d -= 1
        if work[d] != 0:
            bits |= 1
    value = times_power(float(bits), exponent + BITS * top - shift)
    return -value if is_negative else value


@inline
def times_power(value: float, exponent: int) -> Any:
    """Return a double times a power of two; `math.ldexp` would need Numba's runtime."""
    factor = 2.0 if exponent > 0 else 0.5
    left = abs(exponent)
    while left > 0:
        # every factor is exact: 2^512 is the largest, and a value has 62 bits
        step, base = min(left, 511), factor
        left -= step
        while step > 0:
            if step & 1:
                value *= base
            base *= base
            step >>= 1
    return value
