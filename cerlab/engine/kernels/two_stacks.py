"""Two-stack windows: the cost of an event does not grow with the number of open starts.

The totals of all starts in a window are the sum of two parts. The older stack has, for each of its
starts, the runs of it and of all later starts there, as they were when the newer stack began. The
newer stack has the sum of the runs that began since, and for each state the runs that a run in it
has become since: a row of the transition matrix. So a start that leaves the window is dropped from
the older stack, and nothing is subtracted; least values and numbers of any size work alike. When
the older stack is empty, the newer one becomes the older one: its events are passed from the last
to the first, each once. For few open starts, one cell for each is cheaper (`kernels.totals`).

A block has a cell for each state of the older stack's runs, one for the sum of the newer stack, and
one for each start of the older stack.
"""

from __future__ import annotations

from cerlab.engine.kernels import arrays as k
from cerlab.engine.kernels.arrays import NONE, Int64s, inline
from cerlab.engine.kernels.blocks import (
    BASE,
    END,
    FEW,
    FIRST,
    LAST,
    LIMIT,
    NEED_WIDTH,
    NEWEST,
    NOTHING,
    SIZE,
    STACKED,
    STATES,
    STEPS,
    WIDER,
    Cells,
    Layout,
    Read,
    Stacks,
    arrive,
    clear,
    drop_dead,
    move_runs,
)
from cerlab.engine.kernels.limbs import (
    BITS,
    MOST,
    MOST_RUNS,
    add_product,
    carry_one,
    copy,
    fill,
    occupied,
)
from cerlab.engine.kernels.windows import first_from

FEW_STATES = 32
"""The states whose matrix costs as much as one cell for each start: with 32 more states, the limit
of few starts doubles."""

FEW_DEAD = 32
"""The number of open starts below which dead ones are not searched."""

MOST_STATES = 62
"""The most states of a machine for stacks: each has a bit of a register."""


@inline
def forget(cells: Cells, stacks: Stacks, layout: Layout, p: int, lowest: int) -> bool:
    """Remove the starts of a partition that have left the window.

    Returns whether the older stack, if there are stacks, is now empty.
    """
    base, live, parts = cells.base[p], cells.live, stacks.parts
    first = first_from(cells.pool, base + live[p, 0], base + live[p, 1], lowest) - base
    gone, live[p, 0] = first - live[p, 0], first
    if gone == 0 or parts[p, FIRST] == 0:
        return False
    parts[p, FIRST] = min(parts[p, FIRST] + gone, parts[p, LAST])
    if parts[p, FIRST] == parts[p, LAST]:
        return True
    # set states to 0 that only starts outside the window reached: their totals would grow in vain
    size, rows = parts[p, SIZE], layout.at[layout.at.shape[0] - 1] + layout.least
    for q in range(layout.states):
        row = parts[p, BASE] + q * rows * size
        if (parts[p, STATES] >> q) & 1 and not occupied(
            cells.pool, row + parts[p, FIRST], layout.at[1], size
        ):
            parts[p, STATES] ^= 1 << q
            for r in range(layout.states * rows):
                cells.pool[parts[p, BASE] + r * size + q] = 0
    return False


@inline
def arrange(
    moves: k.Moves,
    read: Read,
    layout: Layout,
    cells: Cells,
    stacks: Stacks,
    scratch: Int64s,
    counters: Int64s,
    p: int,
    many: bool,
) -> int:
    """Rebuild a partition's two stacks without dead starts; keep none if few starts remain.

    Returns DONE, or a NEED status; then the call is repeated.
    """
    parts = stacks.parts
    if parts[p, FIRST] > 0:
        status = settle(moves, read, layout, cells, stacks, scratch, counters, p)
        if status != k.DONE:
            return status
    drop_dead(cells, layout, counters, p)
    m = cells.live[p, 1]
    few = counters[FEW] + counters[FEW] * layout.states // FEW_STATES
    if not many or m * (layout.at[layout.at.shape[0] - 1] + layout.least) <= few:
        parts[p, LIMIT] = 2 * m
        return k.DONE
    # the caller makes room and calls again: the limit of 0 ensures another attempt
    parts[p, LIMIT] = 0
    return stack(layout, cells, stacks, counters, p)


@inline
def stack(layout: Layout, cells: Cells, stacks: Stacks, counters: Int64s, p: int) -> int:
    """Build a partition's stacks, all starts in the older one; return DONE or a NEED status."""
    pool, parts, numbers = cells.pool, stacks.parts, layout.at.shape[0] - 1
    limbs = layout.at[numbers]
    rows = limbs + layout.least
    begun, low = layout.states + 1, cells.live[p, 0]
    m = cells.live[p, 1] - low
    if parts[p, SIZE] < begun + m:
        if counters[END] + layout.states * rows * (begun + m) > pool.shape[0]:
            return k.NEED_ARENA
        parts[p, BASE], parts[p, SIZE] = counters[END], begun + m
        counters[END] += layout.states * rows * (begun + m)
    base, size, states = parts[p, BASE], parts[p, SIZE], 0
    counters[STEPS] += layout.states * rows * (begun + m)
    for q in range(layout.states):
        of = cells.base[p] + (2 + q * rows) * cells.size[p] + low
        row = base + q * rows * size
        for r in range(rows):
            copy(pool, row + r * size + begun, pool, of + r * cells.size[p], m)
            fill(pool, row + r * size, 0, begun)
        for at in range(row + begun + m - 2, row + begun - 1, -1):
            add_cell(layout, pool, at + 1, at, size, counters)
        if occupied(pool, row + begun, layout.at[1], size):
            states |= 1 << q
            pool[row + q] = 1
            for r in range(layout.least):
                pool[row + (limbs + r) * size + q] = NOTHING
    if counters[WIDER]:
        return NEED_WIDTH
    parts[p, FIRST], parts[p, LAST], parts[p, LIMIT] = begun, begun + m, NOTHING
    parts[p, NEWEST], parts[p, STATES] = 0, states
    counters[STACKED] = 1
    return k.DONE


@inline
def add_cell(layout: Layout, pool: Int64s, of: int, to: int, size: int, counters: Int64s) -> None:
    """Add the totals in one column of cells to those in another."""
    numbers, runs = layout.at.shape[0] - 1, layout.at[1]
    if not occupied(pool, of, runs, size):
        return
    for r in range(layout.at[numbers], layout.at[numbers] + layout.least):
        least = pool[of + r * size]
        if occupied(pool, to, runs, size):
            least = min(least, pool[to + r * size])
        pool[to + r * size] = least
    for r in range(numbers):
        last = layout.at[r + 1] - 1
        for c in range(layout.at[r], last + 1):
            pool[to + c * size] += pool[of + c * size]
        for c in range(layout.at[r], last):
            carry_one(pool, to + c * size, size)
        if abs(pool[to + last * size]) > MOST:
            counters[WIDER] = 1


@inline
def note(stacks: Stacks, layout: Layout, pool: Int64s, p: int, i: int, opened: int) -> None:
    """Push an event onto the newer stack; `opened` is the row of `Moves.begin` it used."""
    parts, states = stacks.parts, 0
    size, rows = parts[p, SIZE], layout.at[layout.at.shape[0] - 1] + layout.least
    for q in range(layout.states):
        at = parts[p, BASE] + q * rows * size + layout.states
        if occupied(pool, at, layout.at[1], size):
            states |= 1 << q
    stacks.earlier[i], stacks.opened[i], stacks.occupied[i] = parts[p, NEWEST], opened, states
    parts[p, NEWEST] = i + 1


@inline
def settle(
    moves: k.Moves,
    read: Read,
    layout: Layout,
    cells: Cells,
    stacks: Stacks,
    scratch: Int64s,
    counters: Int64s,
    p: int,
) -> int:
    """Write the totals of each open start back to its cells, and remove the stacks.

    Returns DONE, or a NEED status; then nothing has changed that the repeated call reads.
    """
    parts, pool, begin, states = stacks.parts, cells.pool, moves.begin, layout.states
    numbers = layout.at.shape[0] - 1
    limbs = layout.at[numbers]
    rows = limbs + layout.least
    height = rows * states
    # layout of `scratch`: rows for each state, then for one start; a cell for every end state
    begun, wide = states * height, (states + 1) * height
    work = wide + rows + numbers
    moved = work + 2 * limbs + 4
    if moved > scratch.shape[0]:
        return k.NEED_SCRATCH
    i, n, older = parts[p, NEWEST] - 1, cells.live[p, 1], cells.live[p, 0]
    older += parts[p, LAST] - parts[p, FIRST]
    block, size = cells.base[p] + 2 * cells.size[p], cells.size[p]
    fill(scratch, 0, 0, begun)
    for q in range(states if i >= 0 else 0):
        if (stacks.occupied[i] >> q) & 1:
            scratch[q * height + q] = 1
            for r in range(limbs, rows):
                scratch[q * height + r * states + q] = NOTHING
    while n > older:
        w = stacks.opened[i]
        if w != NONE:
            n -= 1
            fill(scratch, begun, 0, height)
            for o in range(begin.first[w], begin.first[w + 1]):
                if begin.target[o] != NONE:
                    mark, run = begin.marks[o], (scratch, begin.target[o] * height, states)
                    arrive(read, mark, i, *run, scratch, begun, states, layout, 0, counters)
            for q in range(states):
                for r in range(rows):
                    pool[block + (q * rows + r) * size + n] = scratch[begun + r * states + q]
        if n > older:
            low, high = moves.move.first[read.actions[i]], moves.move.first[read.actions[i] + 1]
            if moved + (high - low) * height > scratch.shape[0]:
                return k.NEED_SCRATCH
            only, move = stacks.occupied[stacks.earlier[i] - 1], moves.move
            ends = scratch, 0, states, states, scratch, moved
            move_runs(moves, read, layout, i, move.target, move.source, only, *ends, counters)
            # skip states without runs before the event: their numbers would grow in vain
            for q in range(states):
                if not (only >> q) & 1:
                    fill(scratch, q * height, 0, height)
            i = stacks.earlier[i] - 1
    if counters[WIDER]:
        return NEED_WIDTH
    if parts[p, NEWEST] > 0:
        counters[STEPS] += height * states * (older - cells.live[p, 0])
        for n in range(cells.live[p, 0], older):
            at = parts[p, FIRST] + n - cells.live[p, 0]
            for q in range(states):
                row = parts[p, BASE] + q * rows * parts[p, SIZE]
                older_run = pool, block + n, size, row
                if not total_after(layout, parts, p, *older_run, NONE, scratch, wide, work):
                    return NEED_WIDTH
                if not narrowed(layout, scratch, wide, pool, row + at, parts[p, SIZE]):
                    return NEED_WIDTH
        for r in range(height):
            of = parts[p, BASE] + r * parts[p, SIZE] + parts[p, FIRST]
            copy(pool, block + r * size + cells.live[p, 0], pool, of, older - cells.live[p, 0])
    parts[p, FIRST] = parts[p, LAST] = 0
    return k.DONE


@inline
def total_after(
    layout: Layout,
    parts: Int64s,
    p: int,
    pool: Int64s,
    first: int,
    step: int,
    row: int,
    newer: int,
    out: Int64s,
    to: int,
    work: int,
) -> bool:
    """Write the totals of those runs in a state whose starts are in the older stack.

    The runs in state 0 are at `first`, with a `step` from row to row, and the state has its rows
    from `row` on. The runs at `newer` are added, unless it is NONE. The result has one more limb
    for each number. Returns whether it fits.
    """
    numbers, runs, size = layout.at.shape[0] - 1, layout.at[1], parts[p, SIZE]
    limbs = layout.at[numbers]
    rows = limbs + layout.least
    clear(out, to, Layout(1, 1, layout.least, layout.at), 1, 1, 1)
    fill(out, to + limbs + numbers, NOTHING, layout.least)
    fits = True
    for q in range(layout.states):
        of, by = first + q * rows * step, row + q
        if not (parts[p, STATES] >> q) & 1 or not occupied(pool, of, runs, step):
            continue
        if not occupied(pool, by, runs, size):
            continue
        for r in range(2 * numbers - 1):
            # sum of a product = sum of one part times the count of the other, both ways
            number = (r + 1) // 2
            count = layout.at[number + 1] - layout.at[number]
            x, y = of + layout.at[number] * step, by
            x_count, y_count = count, runs
            if r > 0 and r % 2 == 0:
                x, y = of, by + layout.at[number] * size
                x_count, y_count = runs, count
            at = to + layout.at[number] + number
            product = pool, x, step, x_count, y, size, y_count
            fits &= add_product(*product, out, at, count + 1, work)
        for r in range(limbs, rows):
            least = min(pool[of + r * step], pool[by + r * size])
            out[to + r + numbers] = min(out[to + r + numbers], least)
    if newer != NONE and occupied(pool, newer, runs, size):
        for r in range(numbers):
            for c in range(layout.at[r], layout.at[r + 1]):
                out[to + c + r] += pool[newer + c * size]
        for r in range(limbs, rows):
            out[to + r + numbers] = min(out[to + r + numbers], pool[newer + r * size])
    for r in range(numbers):
        last = to + layout.at[r + 1] + r
        for at in range(to + layout.at[r] + r, last):
            carry_one(out, at, 1)
        fits &= abs(out[last]) <= MOST_RUNS
    return fits


@inline
def narrowed(layout: Layout, wide: Int64s, of: int, pool: Int64s, to: int, step: int) -> bool:
    """Copy totals without the extra limb that `total_after` adds; return whether they fit."""
    numbers, fits = layout.at.shape[0] - 1, True
    for r in range(numbers):
        for c in range(layout.at[r], layout.at[r + 1]):
            pool[to + c * step] = wide[of + c + r]
        last, above = layout.at[r + 1] - 1, wide[of + layout.at[r + 1] + r]
        pool[to + last * step] += above << BITS
        most = MOST_RUNS if r == 0 and numbers > 1 else MOST
        fits &= abs(pool[to + last * step]) <= most
    for r in range(layout.at[numbers], layout.at[numbers] + layout.least):
        pool[to + r * step] = wide[of + r + numbers]
    return fits
