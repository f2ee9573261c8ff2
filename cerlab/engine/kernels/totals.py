"""Sums over the answers of each end, as defined by `engine.reference.totals` (CORE Sec. 4.3).

Events move the runs of their partition (`kernels.blocks`): by a cell for each open start, or by two
stacks if many starts are open (`kernels.two_stacks`).
"""

from __future__ import annotations

from typing import NamedTuple

from cerlab.engine.kernels import arrays as k
from cerlab.engine.kernels.arrays import Int64s, inline, kernel
from cerlab.engine.kernels.blocks import (
    AT,
    BASE,
    EPOCH,
    FEW,
    FIRST,
    LIMIT,
    NEED_WIDTH,
    NOTHING,
    ROWS,
    SETTLES,
    SIZE,
    WIDER,
    Cells,
    Layout,
    Read,
    Stacks,
    add_place,
    arrive,
    clear,
    gather,
    make_room,
    move_runs,
)
from cerlab.engine.kernels.limbs import add_up, fill, occupied
from cerlab.engine.kernels.two_stacks import (
    FEW_DEAD,
    MOST_STATES,
    arrange,
    forget,
    note,
    total_after,
)

MOST_OPS = 1 << 10
"""The most moves of one symbol: the most terms that one event adds to one number."""


class TotalRows(NamedTuple):
    """The totals over the answers at each end, by start and group, as arrays of limbs."""

    event: Int64s  # (rows,)
    start: Int64s  # (rows,): the position where the answers start
    group: Int64s  # (rows,)
    columns: Int64s  # (rows, columns)


class Options(NamedTuple):
    """The clauses of the query and the requested totals, as integers."""

    consume: int
    separate: bool
    """True if starts are separated: for a window, or because rows are grouped by them."""
    by_start: bool


@kernel
def total_ends(
    moves: k.Moves,
    read: Read,
    layout: Layout,
    cells: Cells,
    stacks: Stacks,
    scratch: Int64s,
    rows: TotalRows,
    counters: Int64s,
    options: Options,
) -> int:
    """Write the totals at each end; return DONE, or a NEED status before an event is read.

    NEED_ARENA: room in the pool; NEED_SCRATCH: room for moves; FULL: room for rows; NEED_WIDTH.
    """
    live, numbers, parts = cells.live, layout.at.shape[0] - 1, stacks.parts
    columns = layout.at[numbers] + layout.least
    width = layout.groups * columns
    wide = layout.groups * (columns + numbers)
    begin, move, settles = moves.begin, moves.move, counters[SETTLES] != 0
    # a run that starts now belongs to no group yet
    one = Layout(1, 1, layout.least, layout.at)
    # one number of 64 bits per start needs no loop over rows, which would double the cost
    plain = width == 1 and not options.by_start
    # two stacks need sums over all starts, and a single group
    many = not settles and not options.by_start and layout.groups == 1
    many &= layout.states <= MOST_STATES
    least_limit = min(FEW_DEAD, counters[FEW])
    while counters[AT] < read.actions.shape[0]:
        if counters[WIDER]:
            return NEED_WIDTH
        i = counters[AT]
        p, a = read.codes[i], read.actions[i]
        if cells.epoch[p] != counters[EPOCH]:
            cells.epoch[p] = counters[EPOCH]
            cells.idle[p] = 0
            for r in range(2 + layout.states * width):
                fill(cells.pool, cells.base[p] + r * cells.size[p], 0, live[p, 1])
            live[p, 0] = live[p, 1] = 0
            parts[p, FIRST] = parts[p, LIMIT] = 0
        if options.separate:
            if settles:
                renews = parts[p, FIRST] > 0
            else:
                renews = forget(cells, stacks, layout, p, read.lowest[i])
                renews |= live[p, 1] - live[p, 0] > max(least_limit, parts[p, LIMIT])
            if renews:
                status = arrange(moves, read, layout, cells, stacks, scratch, counters, p, many)
                if status != k.DONE:
                    return status
        if settles:
            counters[AT] += 1
            continue
        w = cells.idle[p] * moves.actions + a
        begins = begin.first[w] < begin.first[w + 1]
        fresh = begins if options.separate else live[p, 1] == 0
        # check for room before reading the event, which must move totals only once
        if fresh and live[p, 1] == cells.size[p] and not make_room(cells, layout, counters, p):
            return k.NEED_ARENA
        if fresh and not options.separate:
            add_place(cells, p, 0, 0)
        low, high, m = move.first[a], move.first[a + 1], live[p, 1] - live[p, 0]
        b, size = cells.base[p] + 2 * cells.size[p], cells.size[p]
        first, place = b + live[p, 0], b
        stacked = options.separate and parts[p, FIRST] > 0
        if stacked:
            b, size, m = parts[p, BASE], parts[p, SIZE], layout.states + 1
            first, place = b, b + layout.states
        elif options.separate:
            place = b + live[p, 1]
        places = m + 1 if options.by_start else 1
        work = 2 * wide * places
        moved = work + 2 * layout.at[numbers] + 4
        if moved + width * max(1, (high - low) * m) > scratch.shape[0]:
            return k.NEED_SCRATCH
        if counters[ROWS] + layout.groups * places > rows.event.shape[0]:
            return k.FULL
        answered = False
        for o in range(low, high):
            if move.accepts[o]:
                if not answered:
                    clear(scratch, 0, layout, 1, places, places)
                answered = True
                of, at = first + move.source[o] * width * size, wide * places
                if stacked:
                    older, newer = b + parts[p, FIRST], of + layout.states
                    out = scratch, at, work
                    if not total_after(layout, parts, p, cells.pool, older, size, of, newer, *out):
                        return NEED_WIDTH
                elif plain:
                    add_up(cells.pool, of, m, scratch, 0)
                    continue
                else:
                    gather(cells.pool, of, m, size, scratch, at, layout, options.by_start)
                many_of, mark = m if options.by_start else 1, move.marks[o]
                arrive(read, mark, i, scratch, at, many_of, scratch, 0, places, layout, 1, counters)
        cells.idle[p] = moves.wait[w]
        to = cells.pool, first, size, m, scratch, moved
        move_runs(moves, read, layout, i, move.source, move.target, k.NONE, *to, counters)
        if begins:
            if options.separate:
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
                        run = scratch, moved, 1, cells.pool, at, size
                        arrive(read, mark, i, *run, one, 0, counters)
                if begin.accepts[o]:
                    if not answered:
                        clear(scratch, 0, layout, 1, places, places)
                    answered = True
                    if plain:
                        scratch[0] += 1
                        continue
                    gather(scratch, moved, 1, 1, scratch, wide * places, one, options.by_start)
                    at, last = wide * places, places - 1
                    arrive(read, mark, i, scratch, at, 1, scratch, last, places, one, 1, counters)
        if stacked:
            note(stacks, layout, cells.pool, p, i, w if begins else k.NONE)
        if answered:
            before = counters[ROWS]
            if plain:
                rows.event[before], rows.group[before] = i, 0
                rows.columns[before, 0], rows.columns[before, 1] = scratch[0], scratch[1]
                counters[ROWS] += (scratch[0] | scratch[1]) != 0
            else:
                list_totals(cells, scratch, places, layout, rows, counters, p, i)
            if counters[ROWS] > before and options.consume == k.RESET_ALL:
                counters[EPOCH] += 1
            elif counters[ROWS] > before and options.consume != k.KEEP:
                cells.epoch[p] = k.NONE
        counters[AT] += 1
    return k.DONE


@inline
def list_totals(
    cells: Cells,
    out: Int64s,
    places: int,
    layout: Layout,
    rows: TotalRows,
    counters: Int64s,
    p: int,
    i: int,
) -> None:
    """Write a row for each start and group that has answers; there must be room."""
    row, numbers = counters[ROWS], layout.at.shape[0] - 1
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
    counters[ROWS] = row
