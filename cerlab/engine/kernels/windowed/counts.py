"""How many answers each event ends, from the number of runs for each state and start (CORE 4.3).

Runs are told apart by their start only, and starts leave the window in the order in which they
came: a ring of counts for each state.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cerlab.engine.kernels import arrays as k
from cerlab.engine.kernels.arrays import Int32s, Int64s
from cerlab.engine.kernels.compiled import inline, kernel
from cerlab.engine.kernels.windowed.ends import AT, ENDS, RESETS, Events

LARGEST = np.int64(1 << 53)
"""Numbers above it are left to Python's integers; sums of fewer than 1,024 of them still fit."""

TOO_LARGE: Any = np.int64(-(1 << 62))


class Counts(NamedTuple):
    """How many runs of each start are in each state.

    A partition p has a ring of starts, its size a power of two: number n is event
    ``starts[p, n % size]``, and those from ``live[p, 0]`` up to ``live[p, 1]`` are inside the
    window; ``runs[p, q, n % size]`` runs from it are in state q.
    """

    starts: Int32s  # (partitions, size)
    live: Int64s  # (partitions, 2)
    runs: Int64s  # (partitions, states, size)
    scratch: Int64s  # (ops of an action, size), scratch
    epoch: Int64s  # (partitions,), when it was last reset
    idle: Int32s  # (partitions,)


@kernel
def count_ends(
    moves: k.Moves,
    events: Events,
    limits: k.Limits,
    counts: Counts,
    ends: Int32s,
    numbers: Int64s,
    reg: Int64s,
) -> int:
    """Write the events that end answers into `ends`, how many each ends into `numbers`.

    `events` have `first`. Goes on as `find_ends` does. Returns DONE, NEED_SCRATCH for larger rings
    or FULL where a number is too large; then all is to be done again.
    """
    begin, live, epoch = moves.begin, counts.live, counts.epoch
    size, count, now = counts.starts.shape[1], reg[ENDS], reg[RESETS]
    for i in range(reg[AT], events.actions.shape[0]):
        a, p = events.actions[i], events.codes[i]
        if p == k.NONE:
            continue
        if epoch[p] != now:
            epoch[p] = now
            counts.idle[p] = 0
            live[p, 0] = live[p, 1]
        w = counts.idle[p] * moves.actions + a
        counts.idle[p] = moves.wait[w]
        forget(counts, p, events.first[i])
        answers = move_counts(moves, counts, a, p)
        if begin.first[w] < begin.first[w + 1]:
            if live[p, 1] - live[p, 0] == size:
                return k.NEED_SCRATCH
            answers += begin_counts(moves, counts, w, p, i)
        if answers > LARGEST or answers < 0:
            return k.FULL
        if answers > 0 and i >= events.report_from:
            ends[count] = i
            numbers[count] = answers
            count += 1
            if limits.consume == k.RESET_ALL:
                now += 1
            elif limits.consume != k.KEEP:
                epoch[p] = k.NONE
    reg[AT], reg[ENDS], reg[RESETS] = events.actions.shape[0], count, now
    return k.DONE


@inline
def forget(counts: Counts, p: int, first: int) -> None:
    """Drop the starts of a partition before event `first`."""
    starts, live = counts.starts, counts.live
    mask, n = starts.shape[1] - 1, live[p, 0]
    while n < live[p, 1] and starts[p, n & mask] < first:
        n += 1
    live[p, 0] = n


@inline
def move_counts(moves: k.Moves, counts: Counts, a: int, p: int) -> int:
    """Move the runs of a partition on; how many are accepted, TOO_LARGE for too large a number."""
    move, live, runs, scratch = moves.move, counts.live, counts.runs, counts.scratch
    mask = runs.shape[2] - 1
    low, high = move.first[a], move.first[a + 1]
    for o in range(low, high):
        for n in range(live[p, 0], live[p, 1]):
            scratch[o - low, n & mask] = runs[p, move.source[o], n & mask]
    for o in range(moves.leave_first[a], moves.leave_first[a + 1]):
        for n in range(live[p, 0], live[p, 1]):
            runs[p, moves.leave[o], n & mask] = 0
    answers, largest = 0, 0
    for o in range(low, high):
        target = move.target[o]
        if target != k.NONE:
            for n in range(live[p, 0], live[p, 1]):
                there = runs[p, target, n & mask] + scratch[o - low, n & mask]
                runs[p, target, n & mask] = there
                largest = max(largest, there)
        if move.accepts[o]:
            for n in range(live[p, 0], live[p, 1]):
                answers += scratch[o - low, n & mask]
                largest = max(largest, answers)
    return answers if largest <= LARGEST else TOO_LARGE


@inline
def begin_counts(moves: k.Moves, counts: Counts, w: int, p: int, i: int) -> int:
    """A new start in the ring of a partition; how many of its runs are accepted at once."""
    begin, live, runs = moves.begin, counts.live, counts.runs
    slot = live[p, 1] & (counts.starts.shape[1] - 1)
    counts.starts[p, slot] = i
    live[p, 1] += 1
    for q in range(moves.states):
        runs[p, q, slot] = 0
    answers = 0
    for o in range(begin.first[w], begin.first[w + 1]):
        if begin.target[o] != k.NONE:
            runs[p, begin.target[o], slot] += 1
        if begin.accepts[o]:
            answers += 1
    return answers
