"""Totals over the answers of each end, as `engine.reference.totals` has them (CORE Sec. 4.3).

A run is known by its partition, its state, its start and its group only. A partition has a block of
a pool: a row for each state, group and column, with a cell for each open start. Starts leave the
window in the order in which they came, so the open ones lie side by side. Without a window, and
where rows are not grouped by start, there is one cell in each row.

A number is one row or several: limbs of `BITS` bits, lowest first, the last one signed and larger.
After an event no last limb is near 64 bits, or the kernel asks for more limbs before the next one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cerlab.engine.kernels import arrays as k
from cerlab.engine.kernels.arrays import Bytes, Int32s, Int64s, inline, kernel
from cerlab.engine.kernels.windows import first_from

BITS = 24
"""The size of a limb."""

MASK = (1 << BITS) - 1

MOST_OPS = 1 << 10
"""The most moves of one symbol: so many numbers may be added to one at one event."""

# a limb of a gain is below 2^24, so a product is below 2^51, and 2^10 of both sizes below 2^62
MOST_RUNS = 1 << 27
"""The largest last limb of the number of runs before an event, where sums are multiples of it."""

MOST = 1 << 51
"""The largest last limb of other numbers before an event."""

TOGETHER = 1 << 10
"""So many numbers are added up before their sum is cut into limbs."""

NEED_WIDTH = 99
"""The status that the kernel returns where numbers need another limb."""

NOTHING: Any = np.iinfo(np.int64).max
"""The least of no values."""


class Read(NamedTuple):
    """The events that change something, and what a run gains by taking one.

    An event may begin runs at place `order`; those of a place before `lowest` have left the window.
    """

    actions: Int64s  # (events,), what each does in the program
    codes: Int64s  # (events,), the partition
    order: Int64s  # (events,)
    lowest: Int64s  # (events,)
    positions: Int64s  # (events,)
    sums: Int64s  # (limbs of all sums, events)
    limbs: Int64s  # (sums + 1,): sum r has the limbs ``limbs[r] .. limbs[r + 1]``
    least: Int64s  # (least, events), `NOTHING` for none
    groups: Int64s  # (groups, events), the number that a group grows by
    adds: Bytes  # (marks, sums), whether a mark has the label of a sum
    lessens: Bytes  # (marks, least)
    divides: Bytes  # (marks, groups)


class Layout(NamedTuple):
    """The rows of a block: the place and the position of the starts, then all columns of a group.

    The columns are the limbs of the number of runs and of each sum, then least values.
    """

    states: int
    groups: int
    least: int
    at: Int64s  # (sums + 2,): number r has the columns ``at[r] .. at[r + 1]``


class Cells(NamedTuple):
    """The totals of runs, by partition."""

    pool: Int64s
    base: Int64s  # (partitions,), where the block begins
    size: Int64s  # (partitions,), cells in a row, a power of two or 0
    live: Int64s  # (partitions, 2), the first open start and the next cell, from which all are 0
    epoch: Int64s  # (partitions,), when it was last reset
    idle: Int32s  # (partitions,)


class Rows(NamedTuple):
    """Totals of ends, by start and group. Numbers have a limb more than in `Layout`."""

    event: Int64s  # (rows,)
    start: Int64s  # (rows,), the position of the start
    group: Int64s  # (rows,)
    columns: Int64s  # (rows, columns)


class Options(NamedTuple):
    """The clauses and the request as integers."""

    consume: int
    separate: bool
    """Whether starts are told apart: for a window, or because rows are grouped by them."""
    by_start: bool


(AT, ROWS, EPOCH, END, WIDER, REGISTERS) = range(6)
"""Registers, int64: the next event, rows listed, resets so far, the end of the pool that is used,
whether numbers need another limb; how many there are."""


@kernel
def total_ends(
    moves: k.Moves,
    read: Read,
    layout: Layout,
    cells: Cells,
    scratch: Int64s,
    rows: Rows,
    reg: Int64s,
    options: Options,
) -> int:
    """List the totals of every end; DONE, or what is needed before the next event is read.

    NEED_ARENA: room in the pool; NEED_SCRATCH: room for moves; FULL: room for rows; NEED_WIDTH.
    """
    live, numbers = cells.live, layout.at.shape[0] - 1
    columns = layout.at[numbers] + layout.least
    width = layout.groups * columns
    wide = layout.groups * (columns + numbers)
    begin, move = moves.begin, moves.move
    # the run that starts has no group yet
    one = Layout(1, 1, layout.least, layout.at)
    # numbers of runs alone, one limb each: loops over rows of one cell would cost twice as much
    plain = width == 1 and not options.by_start
    while reg[AT] < read.actions.shape[0]:
        if reg[WIDER]:
            return NEED_WIDTH
        i = reg[AT]
        p, a = read.codes[i], read.actions[i]
        if cells.epoch[p] != reg[EPOCH]:
            cells.epoch[p] = reg[EPOCH]
            cells.idle[p] = 0
            for r in range(2 + layout.states * width):
                fill(cells.pool, cells.base[p] + r * cells.size[p], 0, live[p, 1])
            live[p, 0] = live[p, 1] = 0
        w = cells.idle[p] * moves.actions + a
        begins = begin.first[w] < begin.first[w + 1]
        if options.separate:
            forget(cells, p, read.lowest[i])
        fresh = begins if options.separate else live[p, 1] == 0
        # all room is asked for before the event is read: its totals move once only
        if fresh and live[p, 1] == cells.size[p] and not make_room(cells, layout, reg, p):
            return k.NEED_ARENA
        if fresh and not options.separate:
            add_place(cells, p, 0, 0)
        low, high, m = move.first[a], move.first[a + 1], live[p, 1] - live[p, 0]
        places = m + 1 if options.by_start else 1
        moved = 2 * wide * places
        if moved + width * max(1, (high - low) * m) > scratch.shape[0]:
            return k.NEED_SCRATCH
        if reg[ROWS] + layout.groups * places > rows.event.shape[0]:
            return k.FULL
        cells.idle[p] = moves.wait[w]
        b, size = cells.base[p] + 2 * cells.size[p], cells.size[p]
        first, answered = b + live[p, 0], False
        for o in range(low, high):
            if move.accepts[o]:
                if not answered:
                    clear(scratch, 0, layout, 1, places, places)
                answered = True
                of, at = first + move.source[o] * width * size, wide * places
                if plain:
                    add_up(cells.pool, of, m, scratch, 0)
                    continue
                gather(cells.pool, of, m, size, scratch, at, layout, options.by_start)
                many, mark = m if options.by_start else 1, move.marks[o]
                arrive(read, mark, i, scratch, at, many, scratch, 0, places, layout, 1, reg)
        for o in range(low, high):
            # all sources are copied before a target is written: one may be the target of another
            if move.target[o] != k.NONE:
                of, to = first + move.source[o] * width * size, moved + (o - low) * width * m
                if plain:
                    copy(scratch, to, cells.pool, of, m)
                    continue
                for g in range(layout.groups):
                    for c in range(columns):
                        r = g * columns + c
                        copy(scratch, to + r * m, cells.pool, of + r * size, m)
                        if c + 1 != layout.at[1] or layout.groups == 1:
                            continue
                        # most groups have no runs: then the other columns are not read
                        if not any_of(scratch, to + g * columns * m, 1, 0, layout.at[1] * m):
                            break
        for o in range(moves.leave_first[a], moves.leave_first[a + 1]):
            at = first + moves.leave[o] * width * size
            clear(cells.pool, at, layout, 0, size, m)
        for o in range(low, high):
            if move.target[o] != k.NONE:
                source, mark = moved + (o - low) * width * m, move.marks[o]
                at = first + move.target[o] * width * size
                if plain:
                    if add_counts(cells.pool, at, scratch, source, m) > MOST:
                        reg[WIDER] = 1
                    continue
                arrive(read, mark, i, scratch, source, m, cells.pool, at, size, layout, 0, reg)
        if begins:
            place = b
            if options.separate:
                place = b + live[p, 1]
                add_place(cells, p, read.order[i], read.positions[i])
            if not plain:
                clear(scratch, moved, one, 0, 1, 1)
                scratch[moved] = 1
                fill(scratch, moved + layout.at[numbers], NOTHING, layout.least)
            for o in range(begin.first[w], begin.first[w + 1]):
                mark = begin.marks[o]
                if begin.target[o] != k.NONE:
                    at = place + begin.target[o] * width * size
                    if plain:
                        cells.pool[at] += 1
                    else:
                        to = scratch, moved, 1, cells.pool, at, size
                        arrive(read, mark, i, *to, one, 0, reg)
                if begin.accepts[o]:
                    if not answered:
                        clear(scratch, 0, layout, 1, places, places)
                    answered = True
                    if plain:
                        scratch[0] += 1
                        continue
                    gather(scratch, moved, 1, 1, scratch, wide * places, one, options.by_start)
                    at, to = wide * places, places - 1
                    arrive(read, mark, i, scratch, at, 1, scratch, to, places, one, 1, reg)
        if answered:
            before = reg[ROWS]
            if plain:
                rows.event[before], rows.group[before] = i, 0
                rows.columns[before, 0], rows.columns[before, 1] = scratch[0], scratch[1]
                reg[ROWS] += (scratch[0] | scratch[1]) != 0
            else:
                list_totals(cells, scratch, places, layout, rows, reg, p, i)
            if reg[ROWS] > before and options.consume == k.RESET_ALL:
                reg[EPOCH] += 1
            elif reg[ROWS] > before and options.consume != k.KEEP:
                cells.epoch[p] = k.NONE
        reg[AT] += 1
    return k.DONE


@inline
def forget(cells: Cells, p: int, lowest: int) -> None:
    """Drop the starts of a partition that have left the window."""
    base, live = cells.base[p], cells.live
    live[p, 0] = first_from(cells.pool, base + live[p, 0], base + live[p, 1], lowest) - base


@inline
def make_room(cells: Cells, layout: Layout, reg: Int64s, p: int) -> bool:
    """Make room for one more start of a partition; whether the pool has it."""
    columns = layout.at[layout.at.shape[0] - 1] + layout.least
    height = 2 + layout.states * layout.groups * columns
    size, low, base = cells.size[p], cells.live[p, 0], cells.base[p]
    count = cells.live[p, 1] - low
    to, room = base, size
    if 2 * low < size or size == 0:
        # half of the cells or more are open: moved within the block, they would move often
        room = max(1, 2 * size)
        to = reg[END]
        if to + height * room > cells.pool.shape[0]:
            return False
        reg[END] = to + height * room
    for r in range(height):
        copy(cells.pool, to + r * room, cells.pool, base + r * size + low, count)
        if to == base:
            fill(cells.pool, to + r * room + count, 0, low)
    cells.base[p], cells.size[p] = to, room
    cells.live[p, 0], cells.live[p, 1] = 0, count
    return True


@inline
def add_place(cells: Cells, p: int, order: int, position: int) -> None:
    """Open a start, for which there is room, without runs."""
    n, base, size = cells.live[p, 1], cells.base[p], cells.size[p]
    cells.pool[base + n] = order
    cells.pool[base + size + n] = position
    cells.live[p, 1] = n + 1


@inline
def clear(pool: Int64s, at: int, layout: Layout, wider: int, size: int, m: int) -> None:
    """Leave no runs at `m` places of all groups of a state."""
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
    """Copy runs with a limb more for each number; add up those of all starts unless `by_start`."""
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
def add_up(pool: Int64s, row: int, m: int, out: Int64s, into: int) -> None:
    """Add up `m` limbs into two."""
    for n in range(0, m, TOGETHER):
        part = out[into] + sum_of(pool, row + n, min(m - n, TOGETHER))
        out[into] = part & MASK
        out[into + 1] += part >> BITS


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
    reg: Int64s,
) -> None:
    """Add the runs at `m` places to others, with what they gain by taking event i.

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
                reg[WIDER] = 1


# Unsigned indices: for others Numba asks whether they count from the end, and LLVM does not
# compile the loop to vector instructions.


@inline
def copy(target: Int64s, to: int, source: Int64s, of: int, m: int) -> None:
    """Copy `m` cells."""
    t, s = np.uintp(to), np.uintp(of)
    for n in range(np.uintp(m)):
        target[t + n] = source[s + n]


@inline
def fill(target: Int64s, to: int, value: int, m: int) -> None:
    """Write a value into `m` cells."""
    t = np.uintp(to)
    for n in range(np.uintp(m)):
        target[t + n] = value


@inline
def plus(target: Int64s, to: int, source: Int64s, of: int, m: int, times: int) -> None:
    """Add a multiple of `m` cells to others."""
    t, s = np.uintp(to), np.uintp(of)
    for n in range(np.uintp(m)):
        target[t + n] += source[s + n] * times


@inline
def add_counts(target: Int64s, to: int, source: Int64s, of: int, m: int) -> Any:
    """Add `m` numbers of runs to others; return a number with as many bits as the largest."""
    t, s, bits = np.uintp(to), np.uintp(of), np.int64(0)
    for n in range(np.uintp(m)):
        there = target[t + n] + source[s + n]
        target[t + n] = there
        bits |= there
    return bits


@inline
def carry(target: Int64s, to: int, size: int, m: int) -> None:
    """Move what is above a limb in `m` cells to the next row, `size` cells on."""
    t, above = np.uintp(to), np.uintp(to + size)
    for n in range(np.uintp(m)):
        target[above + n] += target[t + n] >> BITS
        target[t + n] &= MASK


@inline
def sum_of(source: Int64s, of: int, m: int) -> Any:
    """Add up `m` cells."""
    s, total = np.uintp(of), np.int64(0)
    for n in range(np.uintp(m)):
        total += source[s + n]
    return total


@inline
def largest_of(source: Int64s, of: int, m: int) -> Any:
    """Return the largest size in `m` cells."""
    s, largest = np.uintp(of), np.int64(0)
    for n in range(np.uintp(m)):
        largest = max(largest, abs(source[s + n]))
    return largest


@inline
def any_of(source: Int64s, at: int, rows: int, size: int, m: int) -> bool:
    """Return whether any of `m` cells in some rows is not zero."""
    some = np.int64(0)
    for r in range(rows):
        s = np.uintp(at + r * size)
        for n in range(np.uintp(m)):
            some |= source[s + n]
    return some != 0


@inline
def occupied(source: Int64s, at: int, count: int, step: int) -> bool:
    """Return whether a number is not zero in any of its limbs."""
    some = np.int64(0)
    for n in range(count):
        some |= source[at + n * step]
    return some != 0


@inline
def list_totals(
    cells: Cells, out: Int64s, places: int, layout: Layout, rows: Rows, reg: Int64s, p: int, i: int
) -> None:
    """List a row for each start and group with answers. There is room."""
    row, numbers = reg[ROWS], layout.at.shape[0] - 1
    columns = layout.at[numbers] + numbers + layout.least
    starts = cells.base[p] + cells.size[p] + cells.live[p, 0]
    for n in range(places):
        for g in range(layout.groups):
            at = g * columns * places + n
            if occupied(out, at, layout.at[1] + 1, places):
                rows.event[row] = i
                rows.start[row] = cells.pool[starts + n]
                rows.group[row] = g
                for c in range(columns):
                    rows.columns[row, c] = out[at + c * places]
                row += 1
    reg[ROWS] = row


@kernel
def move_cells(cells: Cells, layout: Layout, pool: Int64s, new: Layout, epoch: int) -> int:
    """Move all open starts into another pool with a larger layout; where the pool ends.

    A block that is open for less than a quarter becomes smaller; others would grow again.
    """
    numbers, end = layout.at.shape[0] - 1, 0
    limbs, new_limbs = layout.at[numbers], new.at[numbers]
    columns, new_columns = limbs + layout.least, new_limbs + new.least
    height = 2 + new.states * new.groups * new_columns
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
        for q in range(new.states):
            row = end + (2 + q * new.groups * new_columns) * room
            clear(pool, row, new, 0, room, m)
            for g in range(layout.groups if q < layout.states else 0):
                of = base + (2 + (q * layout.groups + g) * columns) * size + low
                to = row + g * new_columns * room
                for r in range(numbers):
                    from_row, to_row = of + layout.at[r] * size, to + new.at[r] * room
                    many, last = layout.at[r + 1] - layout.at[r], new.at[r + 1] - new.at[r] - 1
                    for c in range(many):
                        copy(pool, to_row + c * room, cells.pool, from_row + c * size, m)
                    for c in range(many - 1, last):
                        carry(pool, to_row + c * room, room, m)
                for r in range(layout.least):
                    above = to + (new_limbs + r) * room
                    copy(pool, above, cells.pool, of + (limbs + r) * size, m)
        end += height * room
    return end
