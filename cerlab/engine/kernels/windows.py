"""The bounds of windows and waits, found in sorted arrays of instants."""

from __future__ import annotations

from cerlab.engine.kernels.arrays import Int32s, Int64s, inline, kernel


@kernel
def goes_back(times: Int64s) -> int:
    """Return the index of the first event whose time is below the previous one, or -1."""
    back = False
    for i in range(1, times.shape[0]):
        # no early exit: the loop compiles to vector instructions; another one finds the index
        back |= times[i] < times[i - 1]
    if back:
        for i in range(1, times.shape[0]):
            if times[i] < times[i - 1]:
                return i
    return -1


@inline
def first_from(keys: Int64s, n: int, until: int, lowest: int) -> int:
    """Return the first index between `n` and `until` whose key is at least `lowest`.

    A window begins there. Keys do not decrease.
    """
    while n < until and keys[n] < lowest:
        n += 1
    return n


@kernel
def window_starts(
    groups: Int64s, times: Int64s, width: int, begin: int, first: Int32s | Int64s
) -> int:
    """Write, for each event from `begin` on, the index of the first event in its window.

    Groups are contiguous, and a window never reaches into another group. `times` is int64
    (events,). `groups` is as long, or empty if all events are in one group, whose times do not
    decrease. `first` (events - begin,) is written. Returns the index of an event whose time is
    before that of the previous event in its group, or -1.
    """
    low, has_groups = 0, groups.shape[0] > 0
    for i in range(begin, times.shape[0]):
        if has_groups:
            if i == 0 or groups[i] != groups[i - 1]:
                low = i
            elif times[i] < times[i - 1]:
                return i
        low = first_from(times, low, i, times[i] - width)
        first[i - begin] = low
    return -1


@kernel
def first_above(times: Int64s, begun: Int64s, width: int, after: Int64s) -> None:
    """Write, for each of `begun`, the index of the first of `times` over `width` later.

    `times`, int64 (events,), do not decrease. `after`, (begun,), is written. The cost is linear if
    `begun` does not decrease either.
    """
    high = 0
    for n in range(begun.shape[0]):
        # `begun` may decrease: ends that wait a second time come in the order of their first wait
        while high > 0 and times[high - 1] - begun[n] > width:
            high -= 1
        while high < times.shape[0] and times[high] - begun[n] <= width:
            high += 1
        after[n] = high
