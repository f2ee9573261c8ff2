"""Totals over the answers of each end, as `engine.reference.totals` has them (CORE Sec. 4.3).

Runs are told apart by their start and group only. Starts leave the window in the order in which
they came, so they are a ring, as in `windowed.counts`; without a window, and where rows are not
grouped by it, all share one place.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cerlab.engine.kernels import arrays as k
from cerlab.engine.kernels.arrays import Bytes, Int32s, Int64s, inline, kernel

# times a gain below 2^24 this is 2^61, and two sums of that size fit 63 bits
MOST_RUNS = 1 << 37
MOST = 1 << 61
"""Above these sums are left to Python's integers. Gains are below 2^24, so nothing overflows."""

TOO_LARGE = 99
"""The status that the kernel returns then."""

NOTHING = np.iinfo(np.int64).max
"""The least of no values."""

Place = tuple[int, int, int]
"""The axes of `RunTotals`: partition, state, and place of the start in the ring."""


class Ops(NamedTuple):
    """The moves of runs by symbol: symbol a has the ops ``first[a] .. first[a + 1]``.

    The runs in `source`, NONE for the one that starts, take the event with `mark`, NONE where they
    skip it; they go on in `target`, NONE for nowhere, and are answers if `accepts`.
    """

    first: Int32s  # (symbols + 1,), of those that start by idle state and symbol
    source: Int32s  # (ops,)
    target: Int32s  # (ops,)
    mark: Int32s  # (ops,)
    accepts: Bytes  # (ops,)


class Moves(NamedTuple):
    """A machine over the symbols of a stream; `leave` lists the states that a symbol empties."""

    begin: Ops
    move: Ops
    leave_first: Int32s  # (symbols + 1,)
    leave: Int32s  # (..,)
    wait: Int32s  # (idle states, symbols)


class Read(NamedTuple):
    """The events that change something, and what a run gains by taking one.

    An event may begin runs at place `order`; those of a place before `lowest` have left the window.
    """

    symbols: NDArray[np.int64]  # (events,)
    codes: Int64s  # (events,), the partition, NONE for none
    order: Int64s  # (events,)
    lowest: Int64s  # (events,)
    sums: Int64s  # (sums, events)
    least: Int64s  # (least, events), -1 for none
    groups: Int64s  # (groups, events), the number that a group grows by
    adds: Bytes  # (marks, sums), whether a mark has the label of a sum
    lessens: Bytes  # (marks, least)
    divides: Bytes  # (marks, groups)


class RunTotals(NamedTuple):
    """The totals of runs by partition, state, place of their start, and group."""

    runs: Int64s  # (partitions, states, places, groups)
    sums: Int64s  # (partitions, states, places, groups, sums)
    least: Int64s  # (partitions, states, places, groups, least)
    order: Int64s  # (partitions, places), of the start
    start: Int64s  # (partitions, places), the event of the start
    live: Int64s  # (partitions, 2), the first place inside the window and the next to be used
    epoch: Int64s  # (partitions,), when it was last reset
    idle: Int32s  # (partitions,)


class Rows(NamedTuple):
    """Totals of ends, by start and group."""

    event: Int64s  # (rows,)
    start: Int64s  # (rows,), the event of the start, or NONE
    group: Int64s  # (rows,)
    runs: Int64s  # (rows,)
    sums: Int64s  # (rows, sums)
    least: Int64s  # (rows, least)


class Options(NamedTuple):
    """The clauses and the request as integers."""

    consume: int
    separate: bool
    """Whether starts are told apart: for a window, or because rows are grouped by them."""
    by_start: bool


(AT, ROWS, EPOCH, REGISTERS) = range(4)
"""Registers, int64: the next event, rows listed, resets so far; how many there are."""


@kernel
def total_ends(
    moves: Moves,
    read: Read,
    totals: RunTotals,
    scratch: RunTotals,
    out: RunTotals,
    rows: Rows,
    reg: Int64s,
    options: Options,
) -> int:
    """List the totals of every end; DONE, FULL for more rows, NEED_SCRATCH for more places.

    TOO_LARGE where a sum is too large; NEED_SCRATCH and TOO_LARGE leave nothing to go on from.
    `scratch` has the totals that the ops of a symbol move, and `out` those of the answers.
    """
    places, groups = totals.runs.shape[2], totals.runs.shape[3]
    while reg[AT] < read.symbols.shape[0]:
        i = reg[AT]
        p = read.codes[i]
        if p == k.NONE:
            reg[AT] += 1
            continue
        # asked before the event is read: its totals move once only
        if reg[ROWS] + places * groups > rows.event.shape[0]:
            return k.FULL
        if totals.epoch[p] != reg[EPOCH]:
            renew(totals, p, reg[EPOCH], options)
        if options.separate:
            forget(totals, p, read.lowest[i])
        clear(out, 0, 0, 0, out.runs.shape[2])
        status = advance(moves, read, totals, scratch, out, p, i, options)
        if status != k.DONE:
            return status
        if list_totals(totals, out, rows, reg, p, i, options) and options.consume != k.KEEP:
            if options.consume == k.RESET_ALL:
                reg[EPOCH] += 1
            else:
                totals.epoch[p] = k.NONE
        reg[AT] += 1
    return k.DONE


@inline
def renew(totals: RunTotals, p: int, epoch: int, options: Options) -> None:
    """A partition as in the beginning."""
    totals.epoch[p] = epoch
    totals.idle[p] = 0
    totals.live[p, 0] = totals.live[p, 1]
    if not options.separate:
        totals.live[p, 0] = 0
        totals.live[p, 1] = 1
        for q in range(totals.runs.shape[1]):
            clear(totals, p, q, 0, 1)


@inline
def clear(totals: RunTotals, p: int, q: int, first: int, last: int) -> None:
    """No runs at the places from `first` to before `last`."""
    for s in range(first, last):
        for g in range(totals.runs.shape[3]):
            totals.runs[p, q, s, g] = 0
            for r in range(totals.sums.shape[4]):
                totals.sums[p, q, s, g, r] = 0
            for r in range(totals.least.shape[4]):
                totals.least[p, q, s, g, r] = NOTHING


@inline
def forget(totals: RunTotals, p: int, lowest: int) -> None:
    """Drop the starts of a partition that have left the window."""
    mask, n = totals.order.shape[1] - 1, totals.live[p, 0]
    while n < totals.live[p, 1] and totals.order[p, n & mask] < lowest:
        n += 1
    totals.live[p, 0] = n


@inline
def advance(
    moves: Moves,
    read: Read,
    totals: RunTotals,
    scratch: RunTotals,
    out: RunTotals,
    p: int,
    i: int,
    options: Options,
) -> int:
    """Move the totals of a partition on, and begin a run; DONE, NEED_SCRATCH or TOO_LARGE."""
    begin, move, live = moves.begin, moves.move, totals.live
    symbols = moves.wait.shape[1]
    a = read.symbols[i]
    w = totals.idle[p] * symbols + a
    totals.idle[p] = moves.wait[totals.idle[p], a]
    mask, size = totals.order.shape[1] - 1, totals.order.shape[1]
    low, high = move.first[a], move.first[a + 1]
    for o in range(low, high):
        for n in range(live[p, 0], live[p, 1]):
            # all sources are copied before a target is written: one may be the target of another
            copy(totals, (p, move.source[o], n & mask), scratch, (0, o - low, n & mask))
    for o in range(moves.leave_first[a], moves.leave_first[a + 1]):
        for n in range(live[p, 0], live[p, 1]):
            clear(totals, p, moves.leave[o], n & mask, (n & mask) + 1)
    fine = True
    for o in range(low, high):
        for n in range(live[p, 0], live[p, 1]):
            s = n & mask
            if move.target[o] != k.NONE:
                to = move.target[o]
                fine &= arrive(read, move.mark[o], i, scratch, (0, o - low, s), totals, (p, to, s))
            if move.accepts[o]:
                to = s if options.by_start else 0
                fine &= arrive(read, move.mark[o], i, scratch, (0, o - low, s), out, (0, 0, to))
    if begin.first[w] < begin.first[w + 1]:
        s = 0
        if options.separate:
            if live[p, 1] - live[p, 0] == size:
                return k.NEED_SCRATCH
            s = live[p, 1] & mask
            live[p, 1] += 1
            totals.order[p, s] = read.order[i]
            totals.start[p, s] = i
            for q in range(totals.runs.shape[1]):
                clear(totals, p, q, s, s + 1)
        clear(scratch, 0, 0, s, s + 1)
        scratch.runs[0, 0, s, 0] = 1
        for o in range(begin.first[w], begin.first[w + 1]):
            if begin.target[o] != k.NONE:
                to = begin.target[o]
                fine &= arrive(read, begin.mark[o], i, scratch, (0, 0, s), totals, (p, to, s))
            if begin.accepts[o]:
                to = s if options.by_start else 0
                fine &= arrive(read, begin.mark[o], i, scratch, (0, 0, s), out, (0, 0, to))
    return k.DONE if fine else TOO_LARGE


@inline
def copy(totals: RunTotals, at: Place, to: RunTotals, to_at: Place) -> None:
    """The totals of one place to another."""
    (p, q, s), (to_p, to_q, to_s) = at, to_at
    for g in range(totals.runs.shape[3]):
        to.runs[to_p, to_q, to_s, g] = totals.runs[p, q, s, g]
        for r in range(totals.sums.shape[4]):
            to.sums[to_p, to_q, to_s, g, r] = totals.sums[p, q, s, g, r]
        for r in range(totals.least.shape[4]):
            to.least[to_p, to_q, to_s, g, r] = totals.least[p, q, s, g, r]


@inline
def arrive(
    read: Read, mark: int, i: int, totals: RunTotals, at: Place, to: RunTotals, to_at: Place
) -> bool:
    """Add the totals of one place to another, with what event i gives; whether they fit."""
    (p, q, s), (to_p, to_q, to_s) = at, to_at
    grows, largest, many = 0, 0, 0
    if mark != k.NONE:
        for r in range(read.groups.shape[0]):
            if read.divides[mark, r]:
                grows += read.groups[r, i]
    for g in range(totals.runs.shape[3]):
        runs = totals.runs[p, q, s, g]
        if runs == 0:
            continue
        h = g + grows
        to.runs[to_p, to_q, to_s, h] += runs
        many = max(many, to.runs[to_p, to_q, to_s, h])
        for r in range(totals.sums.shape[4]):
            gain = totals.sums[p, q, s, g, r]
            if mark != k.NONE and read.adds[mark, r]:
                gain += runs * read.sums[r, i]
            to.sums[to_p, to_q, to_s, h, r] += gain
            largest = max(largest, abs(to.sums[to_p, to_q, to_s, h, r]))
        for r in range(totals.least.shape[4]):
            least = totals.least[p, q, s, g, r]
            if mark != k.NONE and read.lessens[mark, r] and read.least[r, i] >= 0:
                least = min(least, read.least[r, i])
            to.least[to_p, to_q, to_s, h, r] = min(least, to.least[to_p, to_q, to_s, h, r])
    return many <= MOST_RUNS and largest <= MOST


@inline
def list_totals(
    totals: RunTotals, out: RunTotals, rows: Rows, reg: Int64s, p: int, i: int, options: Options
) -> bool:
    """A row for each start and group with answers; whether there is one. There is room."""
    row = reg[ROWS]
    last = out.runs.shape[2] if options.by_start else 1
    for s in range(last):
        for g in range(out.runs.shape[3]):
            if out.runs[0, 0, s, g]:
                rows.event[row] = i
                rows.start[row] = totals.start[p, s] if options.by_start else k.NONE
                rows.group[row] = g
                rows.runs[row] = out.runs[0, 0, s, g]
                for r in range(rows.sums.shape[1]):
                    rows.sums[row, r] = out.sums[0, 0, s, g, r]
                for r in range(rows.least.shape[1]):
                    rows.least[row, r] = out.least[0, 0, s, g, r]
                row += 1
    before = reg[ROWS]
    reg[ROWS] = row
    return bool(row > before)
