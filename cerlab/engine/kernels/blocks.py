"""The totals of open runs, in one block of cells per partition, and how events move them.

A run is identified only by its partition, its state, its start and its group. A partition has a
block of a pool: a row for each state, group and column, with a cell for each open start. Starts
leave the window in the order of arrival, so the open ones are contiguous. Without a window, if rows
are not grouped by start, each row has one cell.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cerlab.engine.kernels import arrays as k
from cerlab.engine.kernels.arrays import NONE, Bytes, Int32s, Int64s, inline, kernel
from cerlab.engine.kernels.limbs import (
    MOST,
    MOST_RUNS,
    add_counts,
    add_up,
    any_of,
    carry,
    copy,
    fill,
    largest_of,
    occupied,
    plus,
)

NOTHING: Any = np.iinfo(np.int64).max
"""Sentinel: the least of no values."""


class Read(NamedTuple):
    """The relevant events of a batch, and what each adds to the totals of a run that takes it.

    An event may begin runs at place `order`; those at a place before `lowest` have left the window.
    """

    actions: Int64s  # (events,): the action of each event
    codes: Int64s  # (events,), the partition
    order: Int64s  # (events,)
    lowest: Int64s  # (events,)
    positions: Int64s  # (events,)
    sums: Int64s  # (limbs of all sums, events): what an event adds
    limbs: Int64s  # (sums + 1,): sum r is in rows ``limbs[r] .. limbs[r + 1]``
    least: Int64s  # (least, events): values for minima, or `NOTHING`
    groups: Int64s  # (groups, events): what an event adds to a group's number
    adds: Bytes  # (marks, sums): whether a mark has the label of a sum
    lessens: Bytes  # (marks, least)
    divides: Bytes  # (marks, groups)


class Layout(NamedTuple):
    """The rows of a block: the order and position of each start, then the columns of each group.

    The columns are the limbs of the number of runs and of each sum, then least values.
    """

    states: int
    groups: int
    least: int
    at: Int64s  # (sums + 2,): number r is in columns ``at[r] .. at[r + 1]``


class Cells(NamedTuple):
    """The totals of open runs: one block of the pool for each partition."""

    pool: Int64s
    base: Int64s  # (partitions,): where each block begins in the pool
    size: Int64s  # (partitions,): cells per row of the block, a power of two or 0
    live: Int64s  # (partitions, 2): the first open start, and the end; later cells are 0
    epoch: Int64s  # (partitions,): the last reset (CONSUME BY ANY) that each has applied
    idle: Int32s  # (partitions,)


class Stacks(NamedTuple):
    """The two stacks of each partition with many open starts, within one batch.

    `parts` has the columns `BASE` to `LIMIT` for each partition.
    """

    parts: Int64s  # (partitions, PARTS)
    earlier: Int64s  # (events,): 1 + the previous event in the same stack, or 0
    opened: Int64s  # (events,): the row of `Moves.begin` that opened a start here, or NONE
    occupied: Int64s  # (events,): bit q if the newer stack has a run in state q after the event


(BASE, SIZE, FIRST, LAST, NEWEST, STATES, LIMIT, PARTS) = range(8)
"""Columns of `Stacks.parts`: the beginning of the block, the cells in a row of it, the oldest open
start of the older stack and the next cell (both 0 for a partition without stacks), one more than
the newest event of the newer stack, the states of the older stack's runs when the newer one began
(bit q for state q), the number of open starts at which dead ones are searched; the number of
columns."""

(AT, ROWS, EPOCH, END, WIDER, STACKED, SETTLES, FEW, STEPS, REGISTERS) = range(10)
"""Registers, int64: the next event, listed rows, resets so far, the used end of the pool, whether
numbers need another limb, whether a partition has stacks, whether they are taken down by a second
pass over their events, the number of cells of a state below which stacks are not used, cells read
so far; the number of registers."""

NEED_WIDTH = 99
"""The status of a kernel whose numbers need another limb."""


@inline
def make_room(cells: Cells, layout: Layout, counters: Int64s, p: int) -> bool:
    """Make room in a partition's block for one more start; return False if the pool is full."""
    columns = layout.at[layout.at.shape[0] - 1] + layout.least
    height = 2 + layout.states * layout.groups * columns
    size, low, base = cells.size[p], cells.live[p, 0], cells.base[p]
    count = cells.live[p, 1] - low
    to, room = base, size
    if 2 * low < size or size == 0:
        # shifting a block that is more than half open would happen too often: enlarge it
        room = max(1, 2 * size)
        to = counters[END]
        if to + height * room > cells.pool.shape[0]:
            return False
        counters[END] = to + height * room
    for r in range(height):
        copy(cells.pool, to + r * room, cells.pool, base + r * size + low, count)
        if to == base:
            fill(cells.pool, to + r * room + count, 0, low)
    cells.base[p], cells.size[p] = to, room
    cells.live[p, 0], cells.live[p, 1] = 0, count
    return True


@inline
def add_place(cells: Cells, p: int, order: int, position: int) -> None:
    """Add an open start, without runs, to a partition that has room."""
    n, base, size = cells.live[p, 1], cells.base[p], cells.size[p]
    cells.pool[base + n] = order
    cells.pool[base + size + n] = position
    cells.live[p, 1] = n + 1


@inline
def clear(pool: Int64s, at: int, layout: Layout, wider: int, size: int, m: int) -> None:
    """Set the totals at `m` starts of one state to 0, for all groups."""
    numbers = layout.at.shape[0] - 1
    rows = layout.groups * (layout.at[numbers] + wider * numbers + layout.least)
    if size == m or rows == 1:
        fill(pool, at, 0, rows * m)
        return
    for r in range(rows):
        fill(pool, at + r * size, 0, m)


@inline
def gather(
    pool: Int64s,
    source: int,
    m: int,
    size: int,
    out: Int64s,
    to: int,
    layout: Layout,
    by_start: bool,
) -> None:
    """Copy totals into wider numbers, by start or summed over all starts."""
    numbers, many = layout.at.shape[0] - 1, m if by_start else 1
    columns = layout.at[numbers] + layout.least
    one = Layout(1, 1, layout.least, layout.at)
    for g in range(layout.groups):
        at, of = to + g * (columns + numbers) * many, source + g * columns * size
        if layout.groups > 1 and not any_of(pool, of, layout.at[1], size, m):
            fill(out, at, 0, (layout.at[1] + 1) * many)
            continue
        clear(out, at, one, 1, many, many)
        for r in range(numbers):
            for c in range(layout.at[r], layout.at[r + 1]):
                row = source + (g * columns + c) * size
                into = to + (g * (columns + numbers) + c + r) * many
                if by_start:
                    copy(out, into, pool, row, m)
                    continue
                add_up(pool, row, m, out, into)
        for c in range(layout.least):
            row = source + (g * columns + layout.at[numbers] + c) * size
            into = to + (g * (columns + numbers) + layout.at[numbers] + numbers + c) * many
            if by_start:
                copy(out, into, pool, row, m)
                continue
            out[into] = NOTHING
            for n in range(m):
                if occupied(pool, of + n, layout.at[1], size):
                    out[into] = min(out[into], pool[row + n])


@inline
def arrive(
    read: Read,
    mark: int,
    i: int,
    source: Int64s,
    of: int,
    m: int,
    target: Int64s,
    to: int,
    size: int,
    layout: Layout,
    wider: int,
    counters: Int64s,
) -> None:
    """Add the totals of runs at `m` starts to another state, with what event i adds to them.

    Numbers have `wider` more limbs than in the layout. Rows of the source have m cells, those of
    the target `size`.
    """
    numbers, grows = layout.at.shape[0] - 1, 0
    limbs = layout.at[numbers] + wider * numbers
    columns, most = limbs + layout.least, MOST_RUNS if numbers > 1 else MOST
    runs = layout.at[1] + wider
    if mark != k.NONE:
        for r in range(read.groups.shape[0]):
            if read.divides[mark, r]:
                grows += read.groups[r, i]
    for g in range(layout.groups):
        cell, into = of + g * columns * m, to + (g + grows) * columns * size
        if layout.groups > 1 and not any_of(source, cell, 1, 0, runs * m):
            continue
        for r in range(layout.least):
            gain, row = NOTHING, (limbs + r) * size
            if mark != k.NONE and read.lessens[mark, r]:
                gain = read.least[r, i]
            for n in range(m):
                if occupied(source, cell + n, runs, m):
                    least = min(gain, source[cell + (limbs + r) * m + n])
                    if occupied(target, into + n, runs, size):
                        least = min(least, target[into + row + n])
                    target[into + row + n] = least
        for r in range(numbers):
            first, last = layout.at[r] + r * wider, layout.at[r + 1] + (r + 1) * wider
            for c in range(first, last):
                plus(target, into + c * size, source, cell + c * m, m, 1)
            if r > 0 and mark != k.NONE and read.adds[mark, r - 1]:
                for d in range(read.limbs[r - 1], read.limbs[r]):
                    gain, at = read.sums[d, i], first + d - read.limbs[r - 1]
                    if gain != 0:
                        for c in range(runs):
                            plus(target, into + (at + c) * size, source, cell + c * m, m, gain)
            for c in range(first, last - 1):
                carry(target, into + c * size, size, m)
            if largest_of(target, into + (last - 1) * size, m) > (most if r == 0 else MOST):
                counters[WIDER] = 1


@inline
def move_runs(
    moves: k.Moves,
    read: Read,
    layout: Layout,
    i: int,
    sources: Int32s,
    targets: Int32s,
    only: int,
    pool: Int64s,
    first: int,
    size: int,
    m: int,
    scratch: Int64s,
    moved: int,
    counters: Int64s,
) -> None:
    """Move the totals at `m` starts by event i, into the states whose bits are in `only`.

    `first` is the cell of the first place in state 0, and `only` is NONE for all states. The
    scratch has room from `moved` on. `sources` and `targets` are those of ``moves.move``, or
    exchanged: then the places are the ends of runs, and the event comes before them.
    """
    a, move = read.actions[i], moves.move
    columns = layout.at[layout.at.shape[0] - 1] + layout.least
    width = layout.groups * columns
    low, high = move.first[a], move.first[a + 1]
    counters[STEPS] += (1 + high - low) * width * m
    for o in range(low, high):
        # copy all sources before writing any target, since a target may also be a source
        if move.target[o] != NONE and is_among(only, targets[o]):
            of, to = first + sources[o] * width * size, moved + (o - low) * width * m
            # one number of one limb: loops over groups and columns would double the cost
            if width == 1:
                copy(scratch, to, pool, of, m)
                continue
            for g in range(layout.groups):
                for c in range(columns):
                    r = g * columns + c
                    copy(scratch, to + r * m, pool, of + r * size, m)
                    if c + 1 != layout.at[1] or layout.groups == 1:
                        continue
                    # most groups have no runs: skip their other columns
                    if not any_of(scratch, to + g * columns * m, 1, 0, layout.at[1] * m):
                        break
    for o in range(moves.leave_first[a], moves.leave_first[a + 1]):
        clear(pool, first + moves.leave[o] * width * size, layout, 0, size, m)
    for o in range(low, high):
        if move.target[o] != NONE and is_among(only, targets[o]):
            source, mark = moved + (o - low) * width * m, move.marks[o]
            at = first + targets[o] * width * size
            if width == 1:
                if add_counts(pool, at, scratch, source, m) > MOST:
                    counters[WIDER] = 1
                continue
            arrive(read, mark, i, scratch, source, m, pool, at, size, layout, 0, counters)


@inline
def is_among(only: int, state: int) -> bool:
    """Return whether the bit of a state is set in `only`; NONE means all states."""
    return only == NONE or (only >> state) & 1 != 0


@inline
def drop_dead(cells: Cells, layout: Layout, counters: Int64s, p: int) -> None:
    """Remove the open starts of a partition that have no runs left."""
    columns = layout.at[layout.at.shape[0] - 1] + layout.least
    height = 2 + layout.states * layout.groups * columns
    base, size, kept = cells.base[p], cells.size[p], 0
    counters[STEPS] += height * (cells.live[p, 1] - cells.live[p, 0])
    for n in range(cells.live[p, 0], cells.live[p, 1]):
        alive = False
        for r in range(2, height, columns):
            if occupied(cells.pool, base + r * size + n, layout.at[1], size):
                alive = True
                break
        if alive:
            if kept < n:
                for r in range(height):
                    cells.pool[base + r * size + kept] = cells.pool[base + r * size + n]
            kept += 1
    for r in range(height):
        fill(cells.pool, base + r * size + kept, 0, max(0, cells.live[p, 1] - kept))
    cells.live[p, 0], cells.live[p, 1] = 0, kept


@kernel
def move_cells(
    cells: Cells, stacks: Stacks, layout: Layout, pool: Int64s, new: Layout, epoch: int
) -> int:
    """Move all blocks into another pool with a larger layout; return the end of the used part.

    A block with less than a quarter of its cells open becomes smaller; others would soon grow
    again.
    """
    parts, end = stacks.parts, 0
    rows = new.states * new.groups * (new.at[new.at.shape[0] - 1] + new.least)
    for p in range(cells.base.shape[0]):
        base, size, low = cells.base[p], cells.size[p], cells.live[p, 0]
        m = cells.live[p, 1] - low if cells.epoch[p] == epoch else 0
        room = size
        while room > 4 * m:
            room //= 2
        cells.live[p, 0], cells.live[p, 1] = 0, m
        cells.base[p], cells.size[p] = end, room
        for r in range(2):
            copy(pool, end + r * room, cells.pool, base + r * size + low, m)
        of, to = base + 2 * size + low, end + 2 * room
        end = to + rows * room
        begun, low = layout.states + 1, parts[p, FIRST]
        front = parts[p, LAST] - low
        for block in range(3 if low > 0 and cells.epoch[p] == epoch else 1):
            # block 0 is the partition's, 1 the newer stack, 2 the older stack
            if block == 1:
                of, size, to, room, m = parts[p, BASE], parts[p, SIZE], end, begun + front, begun
                parts[p, BASE], parts[p, SIZE] = end, room
                parts[p, FIRST], parts[p, LAST] = begun, room
                end += rows * room
            elif block == 2:
                of, to, m = of + low, to + begun, front
            move_states(cells.pool, of, size, layout, pool, to, room, new, m)
        if parts[p, FIRST] == 0 and parts[p, SIZE] > 0:
            parts[p, SIZE] = 0
    return end


@inline
def move_states(
    pool: Int64s,
    base: int,
    size: int,
    layout: Layout,
    target: Int64s,
    end: int,
    room: int,
    new: Layout,
    m: int,
) -> None:
    """Copy the totals at `m` starts of all states into rows of a larger layout."""
    numbers = layout.at.shape[0] - 1
    limbs, new_limbs = layout.at[numbers], new.at[numbers]
    columns, new_columns = limbs + layout.least, new_limbs + new.least
    for q in range(new.states):
        row = end + q * new.groups * new_columns * room
        clear(target, row, new, 0, room, m)
        for g in range(layout.groups if q < layout.states else 0):
            of = base + (q * layout.groups + g) * columns * size
            to = row + g * new_columns * room
            for r in range(numbers):
                from_row, to_row = of + layout.at[r] * size, to + new.at[r] * room
                many, last = layout.at[r + 1] - layout.at[r], new.at[r + 1] - new.at[r] - 1
                for c in range(many):
                    copy(target, to_row + c * room, pool, from_row + c * size, m)
                for c in range(many - 1, last):
                    carry(target, to_row + c * room, room, m)
            for r in range(layout.least):
                above = to + (new_limbs + r) * room
                copy(target, above, pool, of + (limbs + r) * size, m)
