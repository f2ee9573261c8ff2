"""Phase one: which events end an answer, from the latest start in each state alone (CORE 4.4).

An event ends an answer inside the window exactly if the latest start of the runs that it accepts is
inside. So one number per state decides, and no tECS is needed where nothing ends.
"""

from __future__ import annotations

import numpy as np

from cerlab.engine.kernels.arrays import (
    BEGINNING,
    KEEP,
    NONE,
    RESET_ALL,
    CopySteps,
    Ints,
    Ops,
)
from cerlab.engine.kernels.compiled import kernel


@kernel
def find_ends(
    states: int,
    actions: int,
    begin: Ops,
    move: Ops,
    leave_first: Ints,
    leave: Ints,
    wait: Ints,
    taken: Ints,
    codes: Ints,
    times: Ints,
    width: int,
    first: Ints,
    skipped: int,
    consume: int,
    latest: Ints,
    epoch: Ints,
    idle: Ints,
    carried: Ints,
    idle_before: Ints,
    ends: Ints,
) -> int:
    """Write the indices of the events that end an answer into `ends`; how many.

    `taken` (the actions), `codes` and `times` have shape (events,), or `times` is empty and `first`
    has the first event inside the window of each. The events before `skipped` have been reported
    and are only read again. ``latest[p * states + q]`` is the latest start of the runs of partition
    p in state q, `epoch` and `idle` are by partition. ``idle_before[i]`` is set to the idle state
    that event i meets, if there is more than one. An event in no partition has the code NONE.
    """
    found, now = 0, 0
    for i in range(taken.shape[0]):
        a, p = taken[i], codes[i]
        if p == NONE:
            continue
        row = p * states
        if epoch[p] != now:
            epoch[p] = now
            idle[p] = 0
            for q in range(row, row + states):
                latest[q] = NONE
        w = idle[p] * actions + a
        if idle_before.shape[0]:
            idle_before[i] = idle[p]
            idle[p] = wait[w]
        best = NONE
        low, high = move.first[a], move.first[a + 1]
        for o in range(low, high):
            carried[o - low] = latest[row + move.source[o]]
        for o in range(leave_first[a], leave_first[a + 1]):
            latest[row + leave[o]] = NONE
        for o in range(low, high):
            start = carried[o - low]
            target = move.target[o]
            if target != NONE:
                latest[row + target] = max(latest[row + target], start)
            if move.accepts[o]:
                best = max(best, start)
        for o in range(begin.first[w], begin.first[w + 1]):
            if begin.target[o] != NONE:
                latest[row + begin.target[o]] = i
            if begin.accepts[o]:
                best = i
        if best == NONE or i < skipped:
            continue
        if (times[i] - times[best] <= width) if times.shape[0] else (best >= first[i]):
            ends[found] = i
            found += 1
            if consume != KEEP:
                if consume == RESET_ALL:
                    now += 1
                else:
                    epoch[p] = NONE
    return found


@kernel
def find_ends_by_copies(
    copy_steps: CopySteps,
    taken: Ints,
    times: Ints,
    index: Ints,
    width: int,
    skipped: int,
    latest: Ints,
    ends: Ints,
) -> int:
    """The same for a chained program, one partition, and nothing consumed.

    The time of event i is ``times[index[i]]``. `latest` has a cell each, as `CopySteps` says.
    Unsigned numbers and first steps outside the loop: that is half the time.
    """
    found, steps, accepts = 0, np.uintp(copy_steps.width), np.uintp(copy_steps.accepts)
    for i in range(taken.shape[0]):
        a = np.uintp(taken[i])
        latest[BEGINNING] = i
        n = a * accepts
        best = latest[copy_steps.accepted[n]]
        for _ in range(1, accepts):
            n += np.uintp(1)
            best = max(best, latest[copy_steps.accepted[n]])
        n = a * steps
        latest[copy_steps.target[n]] = latest[copy_steps.source[n]]
        if steps > 1:
            n += np.uintp(1)
            latest[copy_steps.target[n]] = latest[copy_steps.source[n]]
            for _ in range(2, steps):
                n += np.uintp(1)
                latest[copy_steps.target[n]] = latest[copy_steps.source[n]]
        if best != NONE and i >= skipped and times[index[i]] - times[index[best]] <= width:
            ends[found] = i
            found += 1
    return found


@kernel
def inside_windows(first: Ints, ends: Ints, chosen: Ints, restarts: Ints) -> int:
    """Write the events inside the window of one of the `ends` (increasing) into `chosen`; how many.

    ``restarts[n]`` is 1 where the one before ``chosen[n]`` is not chosen, or there is none.
    """
    count, at = 0, 0
    for n in range(ends.shape[0]):
        end = ends[n]
        low = max(at, first[end])
        if n == 0 or low > at:
            restarts[count] = 1
        for i in range(low, end + 1):
            chosen[count] = i
            count += 1
        at = end + 1
    return count


@kernel
def idle_after(symbols: Ints, wait: Ints, idle: int) -> int:
    """The idle state after some events, by ``wait[idle, symbol]``."""
    for i in range(symbols.shape[0]):
        idle = wait[idle, symbols[i]]
    return idle
