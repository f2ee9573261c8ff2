"""The first phase of a window scan: the events that end an answer, found without a tECS."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cerlab.engine.kernels import arrays as k
from cerlab.engine.kernels.arrays import NONE, Bytes, Int32s, Int64s, Symbols, kernel


@kernel
def relevant(
    symbols: Symbols, read: Bytes, action: Symbols, index: Int32s, actions: Symbols
) -> int:
    """Write the index and action of each event whose symbol has to be read; return their number.

    For programs without `Read.ONCE`. Without a branch: each event is written, and the next one
    overwrites it if it is not read; so `index` and `actions` need room for one more.
    """
    count = 0
    for i in range(symbols.shape[0]):
        s = symbols[i]
        index[count] = i
        actions[count] = action[s]
        count += read[s] != 0
    return count


@kernel
def relevant_once(
    symbols: Symbols,
    codes: Int32s,
    read: Bytes,
    action: Symbols,
    always: int,
    fresh: Bytes,
    index: Int32s,
    actions: Symbols,
) -> int:
    """Write the relevant events of a program with `Read.ONCE`; return their number.

    ``fresh[p]`` is 1 while the next such event of partition p must be read; it is kept from batch
    to batch. `always` is `Read.ALWAYS`.
    """
    count = 0
    for i in range(symbols.shape[0]):
        p = codes[i]
        if p == NONE:
            continue
        s = symbols[i]
        index[count] = i
        actions[count] = action[s]
        every = read[s] == always
        count += every | (fresh[p] != 0)
        fresh[p] = every
    return count


class Events(NamedTuple):
    """The relevant events of a batch; either `times` or `first` is empty."""

    actions: Symbols  # (events,): the action of each event
    codes: Int32s  # (events,): the partition, or NONE
    times: Int64s  # (events,)
    first: Int32s  # (events,): the first event in each window
    report_from: int  # events before this index are read again, not reported


(AT, ENDS, RESETS, REGISTERS) = range(4)
"""Registers, int64: the next event, ends of answers, resets so far; the number of registers."""


class Latest(NamedTuple):
    """The latest start of the runs in each state."""

    start: Int32s  # (partitions * states,): at p * states + q for state q
    epoch: Int64s  # (partitions,): the last reset (CONSUME BY ANY) that each has applied
    idle: Int32s  # (partitions,)
    scratch: Int32s  # (ops of an action,): the latest starts of the sources
    idle_before: Int32s  # (events,): receives the idle state before each, unless empty
    best: Int32s  # (events,): receives the latest start of answers, unless empty


@kernel
def find_ends(
    moves: k.Moves, events: Events, limits: k.Limits, latest: Latest, ends: Int32s, counters: Int64s
) -> None:
    """Write the indices of the events that end an answer into `ends`.

    Reads the events from ``counters[AT]`` on; a call with more events continues after them.
    """
    begin, move = moves.begin, moves.move
    start, epoch, idle, scratch = latest.start, latest.epoch, latest.idle, latest.scratch
    times, consume = events.times, limits.consume
    count, now = counters[ENDS], counters[RESETS]
    for i in range(counters[AT], events.actions.shape[0]):
        a, p = events.actions[i], events.codes[i]
        if p == k.NONE:
            continue
        row = p * moves.states
        if epoch[p] != now:
            epoch[p] = now
            idle[p] = 0
            for q in range(row, row + moves.states):
                start[q] = k.NONE
        w = idle[p] * moves.actions + a
        if latest.idle_before.shape[0]:
            latest.idle_before[i] = idle[p]
            idle[p] = moves.wait[w]
        best = k.NONE
        low, high = move.first[a], move.first[a + 1]
        for o in range(low, high):
            # read all sources before writing any target, since a target may also be a source
            scratch[o - low] = start[row + move.source[o]]
        for o in range(moves.leave_first[a], moves.leave_first[a + 1]):
            start[row + moves.leave[o]] = k.NONE
        for o in range(low, high):
            origin, target = scratch[o - low], move.target[o]
            if target != k.NONE:
                start[row + target] = max(start[row + target], origin)
            if move.accepts[o]:
                # only the latest start matters: if it is outside the window, all others are
                best = max(best, origin)
        for o in range(begin.first[w], begin.first[w + 1]):
            if begin.target[o] != k.NONE:
                start[row + begin.target[o]] = i
            if begin.accepts[o]:
                best = i
        if best == k.NONE or i < events.report_from:
            continue
        if (
            (times[i] - times[best] <= limits.width)
            if times.shape[0]
            else (best >= events.first[i])
        ):
            ends[count] = i
            count += 1
            if latest.best.shape[0]:
                latest.best[i] = best
            if consume != k.KEEP:
                if consume == k.RESET_ALL:
                    now += 1
                else:
                    epoch[p] = k.NONE
    counters[AT], counters[ENDS], counters[RESETS] = events.actions.shape[0], count, now


class TimedEvents(NamedTuple):
    """The relevant events of one partition; `times` are those of the whole batch."""

    actions: Symbols  # (events,)
    times: Int64s  # (events of the batch,)
    row: Int32s  # (events,): event i has the time ``times[row[i]]``
    report_from: int


@kernel
def find_ends_by_copies(
    steps: k.CopySteps,
    events: TimedEvents,
    width: int,
    latest: Int32s,
    ends: Int32s,
    counters: Int64s,
) -> None:
    """Write the events that end an answer, for a chained program, one partition and no CONSUME BY.

    `latest` has the cells of `CopySteps`. Unsigned indices and the first steps outside the loop
    halve the time.
    """
    source, target, accepting = steps.source, steps.target, steps.accepting
    actions, times, row, report_from = events.actions, events.times, events.row, events.report_from
    count, copies, accepts = counters[ENDS], np.uintp(steps.width), np.uintp(steps.accepts)
    for i in range(counters[AT], actions.shape[0]):
        a = np.uintp(actions[i])
        latest[k.BEGINNING] = i
        n = a * accepts
        best = latest[accepting[n]]
        for _ in range(1, accepts):
            n += np.uintp(1)
            best = max(best, latest[accepting[n]])
        n = a * copies
        latest[target[n]] = latest[source[n]]
        if copies > 1:
            n += np.uintp(1)
            latest[target[n]] = latest[source[n]]
            for _ in range(2, copies):
                n += np.uintp(1)
                latest[target[n]] = latest[source[n]]
        if best != k.NONE and i >= report_from and times[row[i]] - times[row[best]] <= width:
            ends[count] = i
            count += 1
    counters[AT], counters[ENDS] = actions.shape[0], count


@kernel
def inside_windows(first: Int32s, ends: Int32s, indices: Int32s, restarts: Bytes) -> int:
    """Write the events inside the window of any of the `ends`; return their number.

    ``restarts[n]`` is 1 if the event before ``indices[n]`` is missing or not among them.
    """
    count, at = 0, 0
    for n in range(ends.shape[0]):
        end = ends[n]
        low = max(at, first[end])
        if n == 0 or low > at:
            restarts[count] = 1
        for i in range(low, end + 1):
            indices[count] = i
            count += 1
        at = end + 1
    return count


@kernel
def idle_after(symbols: Symbols, wait: Int32s, idle: int) -> int:
    """Return the idle state after the given symbols."""
    for i in range(symbols.shape[0]):
        idle = wait[idle, symbols[i]]
    return idle
