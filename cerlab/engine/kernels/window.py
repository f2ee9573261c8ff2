"""Where the window begins, event by event: a pointer that only moves forward."""

from __future__ import annotations

from cerlab.engine.kernels.arrays import Ints
from cerlab.engine.kernels.compiled import kernel


@kernel
def window_starts(times: Ints, width: int, skipped: int, first: Ints) -> int:
    """The index of the first event inside the window of each event after the `skipped` ones.

    `times` is int64 (events,) and does not decrease, `first` int64 (events - skipped,) is written.
    Returns the index of an event whose time goes backwards, or -1; then `first` is not complete.
    """
    low = 0
    for i in range(times.shape[0]):
        if i > 0 and times[i] < times[i - 1]:
            return i
        if i >= skipped:
            while times[i] - times[low] > width:
                low += 1
            first[i - skipped] = low
    return -1
