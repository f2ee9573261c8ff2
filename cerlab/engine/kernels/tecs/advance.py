"""One iteration of the main loop: the active states of a partition after an event (CORE Alg. 1).

A partition's part of the pool is a row of entries ``state, n, id0 .. id(n-1)``, in the order of
insertion, which keeps max-starts decreasing from entry to entry.
"""

from __future__ import annotations

from cerlab.engine.kernels import arrays as k
from cerlab.engine.kernels.arrays import Int32s, Int64s
from cerlab.engine.kernels.compiled import inline
from cerlab.engine.kernels.tecs.arena import bottom, extend, insert, merge


@inline
def advance(tecs: k.Tecs, p: int, symbol: int, position: int, order: int, lowest: int) -> int:
    """Read the event at a position of the stream in partition p; DONE, or what is lacking.

    `order` is the event's place as the window counts it, `lowest` the first place inside it. On
    any other status than DONE nothing has changed.
    """
    arena, reg, table, parts, pool = tecs.arena, tecs.reg, tecs.table, tecs.parts, tecs.pool
    status = _is_ready(tecs, p, symbol)
    if status != k.DONE:
        return status
    idle = parts.idle[p]
    count = 0
    take, skip = table.begin_take[idle, symbol], table.begin_skip[idle, symbol]
    if take != k.NONE or skip != k.NONE:
        start = bottom(arena, reg, position, order)
        if take != k.NONE:
            count = _add_entry(tecs.scratch, count, take, extend(arena, reg, start, position))
        if skip != k.NONE:
            count = _add_entry(tecs.scratch, count, skip, start)
    at, end = parts.start[p], parts.start[p] + parts.length[p]
    while at < end:
        q, length = pool[at], pool[at + 1]
        first = at + 2
        at = first + length
        alive = _inside(arena, pool, first, length, lowest)
        if alive == 0:
            continue
        reg[k.STEPS] += 1
        count = _execute(tecs, count, q, first, alive, symbol, position)
        if count < 0:
            return k.NEED_SCRATCH
    if not _commit(tecs, p, count):
        return k.NEED_POOL
    parts.idle[p] = table.wait[idle, symbol]
    return k.DONE


@inline
def _is_ready(tecs: k.Tecs, p: int, symbol: int) -> int:
    """Whether all cells that the event needs are known, and the arena has room for its nodes."""
    table, parts, pool = tecs.table, tecs.parts, tecs.pool
    if table.begin_take[parts.idle[p], symbol] == k.UNKNOWN:
        return k.NEED_CELL
    nodes = 2
    at, end = parts.start[p], parts.start[p] + parts.length[p]
    while at < end:
        if table.take[pool[at], symbol] == k.UNKNOWN:
            return k.NEED_CELL
        nodes += pool[at + 1] + 8
        at += 2 + pool[at + 1]
    return k.DONE if tecs.reg[k.HEAD] + nodes <= tecs.arena.position.shape[0] else k.NEED_ARENA


@inline
def _inside(arena: k.Arena, pool: Int32s, first: int, length: int, lowest: int) -> int:
    """How many nodes of a union-list the window still allows: they are in front."""
    if arena.max_start[pool[first]] < lowest:
        return 0
    alive = length
    while alive > 1 and arena.max_start[pool[first + alive - 1]] < lowest:
        alive -= 1
    return alive


@inline
def _execute(
    tecs: k.Tecs, count: int, q: int, first: int, length: int, symbol: int, position: int
) -> int:
    """``ExecTrans``: the marking transition first; how many entries there are now, or -1."""
    arena, reg, table, pool = tecs.arena, tecs.reg, tecs.table, tecs.pool
    scratch = tecs.scratch
    take, skip = table.take[q, symbol], table.skip[q, symbol]
    if take == k.NONE and skip == k.NONE:
        return count
    there = _find(scratch, count, skip)
    node = k.NONE
    if take != k.NONE or there != k.NONE:
        node = merge(arena, reg, pool, first, length)
    if take != k.NONE:
        count = _add(arena, reg, scratch, count, take, extend(arena, reg, node, position))
        if count < 0 or skip == k.NONE:
            return count
        there = _find(scratch, count, skip)
    if there != k.NONE:
        if node == k.NONE:
            node = merge(arena, reg, pool, first, length)
        return count if insert(arena, reg, scratch, there, node) else -1
    return _hand_over(scratch, count, skip, pool, first, length)


@inline
def _find(scratch: k.Scratch, count: int, state: int) -> int:
    """The entry of a state, NONE if there is none."""
    if state != k.NONE:
        for entry in range(count):
            if scratch.state[entry] == state:
                return entry
    return k.NONE


@inline
def _add_entry(scratch: k.Scratch, count: int, state: int, node: int) -> int:
    """A new entry with a list of one node; there is room for two."""
    scratch.state[count] = state
    scratch.length[count] = 1
    scratch.nodes[count, 0] = node
    return count + 1


@inline
def _add(arena: k.Arena, reg: Int64s, scratch: k.Scratch, count: int, state: int, node: int) -> int:
    """``Add``: a new entry, or an insertion; -1 without room."""
    entry = _find(scratch, count, state)
    if entry != k.NONE:
        return count if insert(arena, reg, scratch, entry, node) else -1
    return _add_entry(scratch, count, state, node) if count < scratch.state.shape[0] else -1


@inline
def _hand_over(
    scratch: k.Scratch, count: int, state: int, pool: Int32s, first: int, length: int
) -> int:
    """The first to reach a state hands its list over; -1 without room."""
    if count == scratch.state.shape[0] or length > scratch.nodes.shape[1]:
        return -1
    scratch.state[count] = state
    scratch.length[count] = length
    for i in range(length):
        scratch.nodes[count, i] = pool[first + i]
    return count + 1


@inline
def _commit(tecs: k.Tecs, p: int, count: int) -> bool:
    """Write the entries into the pool, where they were if there is room; False if there is none."""
    reg, parts, pool, scratch = tecs.reg, tecs.parts, tecs.pool, tecs.scratch
    length = 0
    for entry in range(count):
        length += 2 + scratch.length[entry]
    if length > parts.room[p]:
        if reg[k.POOL_END] + 2 * length > pool.shape[0]:
            return False
        parts.start[p] = reg[k.POOL_END]
        parts.room[p] = 2 * length
        reg[k.POOL_END] += 2 * length
    at, active = parts.start[p], 0
    for entry in range(count):
        pool[at] = scratch.state[entry]
        pool[at + 1] = scratch.length[entry]
        for i in range(scratch.length[entry]):
            pool[at + 2 + i] = scratch.nodes[entry, i]
        at += 2 + scratch.length[entry]
        active |= 1 << min(scratch.state[entry], 63)
    parts.length[p] = length
    parts.active[p] = active
    return True
