"""The answers of one end that NEXT, LAST, MAX or STRICT selects (FOUND Sec. 4)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cerlab.engine.kernels.arrays import Int64s, Offsets, kernel
from cerlab.model.clauses import Strategy

NEXT, LAST, MAX = range(3)

NUMBERS = {Strategy.NXT: NEXT, Strategy.LAST: LAST, Strategy.MAX: MAX}

MOST_STEPS = 1 << 20
"""The number of comparisons of answers between two checks of the limits."""


@kernel
def select(
    strategy: int,
    ends: Int64s,
    offsets: Offsets,
    positions: Int64s,
    begin: int,
    order: Int64s,
    keep: NDArray[np.bool_],
) -> int:
    """Mark in `keep` the answers that a strategy selects, from answer `begin` on.

    Answers of an end are contiguous, and answers with equal positions survive together. `order` is
    scratch, with a cell for each answer. Returns the next answer, at the beginning of an end: after
    the last one, or after `MOST_STEPS` comparisons.
    """
    steps = 0
    while begin < ends.size and steps < MOST_STEPS:
        stop = begin + 1
        while stop < ends.size and ends[stop] == ends[begin]:
            stop += 1
        if strategy == MAX:
            steps += _maximal(offsets, positions, begin, stop, order, keep)
        else:
            best = begin
            for n in range(begin + 1, stop):
                if _compare(strategy, offsets, positions, n, best) > 0:
                    best = n
            for n in range(begin, stop):
                keep[n] = _compare(strategy, offsets, positions, n, best) == 0
            steps += 2 * (stop - begin)
        begin = stop
    return begin


@kernel
def _compare(strategy: int, offsets: Offsets, positions: Int64s, n: int, m: int) -> int:
    """Return 1 if answer n is preferred to m, 0 if they have equal positions, -1 otherwise."""
    lengths = offsets[n + 1] - offsets[n], offsets[m + 1] - offsets[m]
    for at in range(min(lengths[0], lengths[1])):
        if strategy == NEXT:
            p, q = positions[offsets[m] + at], positions[offsets[n] + at]
        else:
            p, q = positions[offsets[n + 1] - 1 - at], positions[offsets[m + 1] - 1 - at]
        if p != q:
            return 1 if p > q else -1
    if lengths[0] == lengths[1]:
        return 0
    return 1 if lengths[0] > lengths[1] else -1


@kernel
def _maximal(
    offsets: Offsets,
    positions: Int64s,
    begin: int,
    stop: int,
    order: Int64s,
    keep: NDArray[np.bool_],
) -> int:
    """Mark the answers that no other answer strictly contains; return the number of comparisons.

    A set is compared only with the longer sets that are kept: every other superset is inside one of
    them.
    """
    longest, steps = 0, 0
    for n in range(begin, stop):
        longest = max(longest, offsets[n + 1] - offsets[n])
    kept = 0
    for back in range(longest + 1):
        length = longest - back
        longer = kept
        steps += stop - begin
        for n in range(begin, stop):
            if offsets[n + 1] - offsets[n] != length:
                continue
            keep[n] = True
            for k in range(longer):
                steps += 1
                if _is_inside(offsets, positions, n, order[k]):
                    keep[n] = False
                    break
            if keep[n]:
                order[kept] = n
                kept += 1
    return steps


@kernel
def _is_inside(offsets: Offsets, positions: Int64s, n: int, m: int) -> bool:
    """Return whether answer m contains all positions of answer n."""
    at = offsets[m]
    for i in range(offsets[n], offsets[n + 1]):
        while at < offsets[m + 1] and positions[at] < positions[i]:
            at += 1
        if at == offsets[m + 1] or positions[at] != positions[i]:
            return False
        at += 1
    return True
