"""Where the window begins, event by event: a pointer that only moves forward."""

from __future__ import annotations

from cerlab.engine.kernels.arrays import Int32s, Int64s
from cerlab.engine.kernels.compiled import kernel


@kernel
def goes_back(times: Int64s) -> int:
    """The index of an event whose time, int64 (events,), is before that of the last one; or -1."""
    back = False
    for i in range(1, times.shape[0]):
        back |= times[i] < times[i - 1]
    if back:
        for i in range(1, times.shape[0]):
            if times[i] < times[i - 1]:
                return i
    return -1


@kernel
def window_starts(times: Int64s, width: int, begin: int, first: Int32s) -> None:
    """The index of the first event inside the window of each event from event `begin` on.

    `times` is int64 (events,) and does not decrease, `first` int32 (events - begin,) is written.
    """
    low = 0
    for i in range(begin, times.shape[0]):
        while times[i] - times[low] > width:
            low += 1
        first[i - begin] = low


@kernel
def window_starts_by_group(groups: Int64s, times: Int64s, width: int, first: Int64s) -> int:
    """The same of events that lie group by group, where a window never reaches into another group.

    All are int64 (events,), `first` is written. Returns the index of an event whose time is before
    that of the one before it in its group, or -1.
    """
    low = 0
    for i in range(times.shape[0]):
        if i == 0 or groups[i] != groups[i - 1]:
            low = i
        elif times[i] < times[i - 1]:
            return i
        while times[i] - times[low] > width:
            low += 1
        first[i] = low
    return -1
