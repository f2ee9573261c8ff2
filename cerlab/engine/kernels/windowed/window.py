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
def window_starts(times: Int64s, width: int, skipped: int, first: Int32s) -> None:
    """The index of the first event inside the window of each event after the `skipped` ones.

    `times` is int64 (events,) and does not decrease, `first` int32 (events - skipped,) is written.
    """
    low = 0
    for i in range(skipped, times.shape[0]):
        while times[i] - times[low] > width:
            low += 1
        first[i - skipped] = low
