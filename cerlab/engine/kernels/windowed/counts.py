"""How many answers each event ends, from the number of runs for each state and start (CORE 4.3).

Runs are told apart by their start only, and starts leave the window in the order in which they
came: a ring of counts for each state.
"""

from __future__ import annotations

import numpy as np

from cerlab.engine.kernels.arrays import (
    DONE,
    FULL,
    KEEP,
    NEED_SCRATCH,
    NONE,
    RESET_ALL,
    Ints,
    Ops,
)
from cerlab.engine.kernels.compiled import inlined, kernel

LARGEST = np.int64(1 << 53)
"""Numbers above it are left to Python's integers; sums of fewer than 1,024 of them still fit."""

TOO_LARGE: Ints = np.int64(-(1 << 62))


@kernel
def count_ends(
    states: int,
    actions: int,
    begin: Ops,
    move: Ops,
    leave_first: Ints,
    leave: Ints,
    wait: Ints,
    taken: Ints,
    codes: Ints,
    first: Ints,
    skipped: int,
    consume: int,
    starts: Ints,
    live: Ints,
    counts: Ints,
    carried: Ints,
    epoch: Ints,
    idle: Ints,
    ends: Ints,
    found: Ints,
    status: Ints,
) -> int:
    """Write the events that end answers into `ends`, their numbers into `found`; how many.

    The arguments up to `consume` are those of `ends.find_ends`. A partition p has a ring of starts,
    its size a power of two: number n is event ``starts[p, n % size]``, and those from
    ``live[p, 0]`` up to ``live[p, 1]`` are inside the window; ``counts[p, q, n % size]`` runs from
    it are in state q. ``carried`` has shape (ops, size). ``status[0]`` is DONE, NEED_SCRATCH for
    larger rings or FULL where a number is too large; then all is to be done again.
    """
    size, listed, now = starts.shape[1], 0, 0
    status[0] = DONE
    for i in range(taken.shape[0]):
        a, p = taken[i], codes[i]
        if p == NONE:
            continue
        if epoch[p] != now:
            epoch[p] = now
            idle[p] = 0
            live[p, 0] = live[p, 1]
        w = idle[p] * actions + a
        idle[p] = wait[w]
        forget(starts, live, p, first[i])
        ended = move_counts(move, leave_first, leave, a, p, live, counts, carried)
        if begin.first[w] < begin.first[w + 1]:
            if live[p, 1] - live[p, 0] == size:
                status[0] = NEED_SCRATCH
                return listed
            ended += begin_counts(begin, w, p, i, states, starts, live, counts)
        if ended > LARGEST or ended < 0:
            status[0] = FULL
            return listed
        if ended > 0 and i >= skipped:
            ends[listed] = i
            found[listed] = ended
            listed += 1
            if consume == RESET_ALL:
                now += 1
            elif consume != KEEP:
                epoch[p] = NONE
    return listed


@inlined
def forget(starts: Ints, live: Ints, p: int, first: int) -> None:
    """Drop the starts of a partition before event `first`."""
    mask, n = starts.shape[1] - 1, live[p, 0]
    while n < live[p, 1] and starts[p, n & mask] < first:
        n += 1
    live[p, 0] = n


@inlined
def move_counts(
    move: Ops,
    leave_first: Ints,
    leave: Ints,
    a: int,
    p: int,
    live: Ints,
    counts: Ints,
    carried: Ints,
) -> int:
    """Move the runs of a partition on; how many are accepted, -1 if a number is too large."""
    mask = counts.shape[2] - 1
    low, high = move.first[a], move.first[a + 1]
    for o in range(low, high):
        for n in range(live[p, 0], live[p, 1]):
            carried[o - low, n & mask] = counts[p, move.source[o], n & mask]
    for o in range(leave_first[a], leave_first[a + 1]):
        for n in range(live[p, 0], live[p, 1]):
            counts[p, leave[o], n & mask] = 0
    ended, largest = 0, 0
    for o in range(low, high):
        target = move.target[o]
        if target != NONE:
            for n in range(live[p, 0], live[p, 1]):
                there = counts[p, target, n & mask] + carried[o - low, n & mask]
                counts[p, target, n & mask] = there
                largest = max(largest, there)
        if move.accepts[o]:
            for n in range(live[p, 0], live[p, 1]):
                ended += carried[o - low, n & mask]
                largest = max(largest, ended)
    return ended if largest <= LARGEST else TOO_LARGE


@inlined
def begin_counts(
    begin: Ops, w: int, p: int, i: int, states: int, starts: Ints, live: Ints, counts: Ints
) -> int:
    """A new start in the ring of a partition; how many of its runs are accepted at once."""
    slot = live[p, 1] & (starts.shape[1] - 1)
    starts[p, slot] = i
    live[p, 1] += 1
    for q in range(states):
        counts[p, q, slot] = 0
    ended = 0
    for o in range(begin.first[w], begin.first[w + 1]):
        if begin.target[o] != NONE:
            counts[p, begin.target[o], slot] += 1
        if begin.accepts[o]:
            ended += 1
    return ended
