"""COUNT(DISTINCT), minima, maxima and sums over the events of a label, for each answer row.

Row n has the events ``events[offsets[n] : offsets[n + 1]]``, in the order of the stream.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from cerlab.engine.kernels.arrays import NONE, Bytes, Int64s, kernel

KIND = 60
"""Codes of one kind differ in the bits below this one; `cerlab.predicates.columns.ranks` has it."""


@kernel
def count_distinct(
    codes: Int64s, offsets: Int64s, events: Int64s, seen: Int64s, counts: Int64s
) -> None:
    """Write the number of distinct codes in each row, ignoring NONE.

    `seen` has a cell for each code, initially NONE.
    """
    for n in range(counts.shape[0]):
        for i in range(offsets[n], offsets[n + 1]):
            code = codes[events[i]]
            # the cell remembers the row that saw the code, so rows need no clearing
            if code != NONE and seen[code] != n:
                seen[code] = n
                counts[n] += 1


@kernel
def find_extremes(
    codes: Int64s, offsets: Int64s, events: Int64s, sign: int, places: Int64s
) -> None:
    """Write each row's first event with the least code; with a `sign` of -1, with the greatest.

    NONE if no event has a code, or if codes are of several kinds.
    """
    for n in range(places.shape[0]):
        best = place = NONE
        for i in range(offsets[n], offsets[n + 1]):
            code = codes[events[i]]
            if code < 0:
                continue
            if place == NONE:
                best, place = code, events[i]
            elif code >> KIND != best >> KIND:
                place = NONE
                break
            elif sign * code < sign * best:
                best, place = code, events[i]
        places[n] = place


@kernel
def add_up(
    values: NDArray[Any],
    lacks: Bytes,
    offsets: Int64s,
    events: Int64s,
    sums: NDArray[Any],
    counts: Int64s,
) -> None:
    """Write the sum and the number of values in each row; `lacks` marks missing values.

    The caller guarantees that every partial sum is exact.
    """
    for n in range(counts.shape[0]):
        for i in range(offsets[n], offsets[n + 1]):
            if not lacks[events[i]]:
                sums[n] += values[events[i]]
                counts[n] += 1
