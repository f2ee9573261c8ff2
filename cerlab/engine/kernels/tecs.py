"""The tECS in flat arrays, with the operations of `engine.reference.tecs` (CORE Sec. 4.1)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cerlab.engine.kernels import arrays as k
from cerlab.engine.kernels.arrays import (
    HEAD,
    NONE,
    Arena,
    Bytes,
    Int32s,
    Int64s,
    Scratch,
    Symbols,
    inline,
    kernel,
)
from cerlab.engine.kernels.enumeration import enumerate_event


@inline
def new_node(
    arena: Arena, counters: Int64s, position: int, left: int, right: int, max_start: int
) -> int:
    """Add a node to the arena and return its id; there must be room."""
    node = counters[HEAD]
    arena.position[node] = position
    arena.left[node] = left
    arena.right[node] = right
    arena.max_start[node] = max_start
    counters[HEAD] = node + 1
    return node


@inline
def bottom(arena: Arena, counters: Int64s, position: int, order: int) -> int:
    """Add a bottom node (``new-bottom(i)``); `order` is its start as the window counts it."""
    return new_node(arena, counters, position, NONE, NONE, order)


@inline
def extend(arena: Arena, counters: Int64s, node: int, position: int) -> int:
    """Add an output node, ``extend(n, j)``."""
    return new_node(arena, counters, position, node, NONE, arena.max_start[node])


@inline
def join(arena: Arena, counters: Int64s, left: int, right: int) -> int:
    """Add a union node, ``left | right``; `left` must have at least the max-start of `right`."""
    return new_node(arena, counters, NONE, left, right, arena.max_start[left])


@inline
def is_union(arena: Arena, node: int) -> bool:
    """Return whether a node is a union: only unions have a left child and no position."""
    return arena.position[node] == NONE


@inline
def union(arena: Arena, counters: Int64s, first: int, second: int) -> int:
    """Return ``union(n1, n2)``, safe if n1, n2 are safe with equal max-start (CORE Sec. 4.2)."""
    if not is_union(arena, first):
        return join(arena, counters, first, second)
    if not is_union(arena, second):
        return join(arena, counters, second, first)
    l1, r1 = arena.left[first], arena.right[first]
    l2, r2 = arena.left[second], arena.right[second]
    if r1 == NONE:  # NONE: the right child has left the window
        older = r2
    elif r2 == NONE:
        older = r1
    elif arena.max_start[r1] >= arena.max_start[r2]:
        older = join(arena, counters, r1, r2)
    else:
        older = join(arena, counters, r2, r1)
    if older != NONE:
        l2 = join(arena, counters, l2, older)
    return join(arena, counters, l1, l2)


@inline
def insert(arena: Arena, counters: Int64s, scratch: Scratch, entry: int, node: int) -> bool:
    """Insert a node into a union-list (``insert(ul, n)``, erratum E11); False without room."""
    length = scratch.length[entry]
    max_start = arena.max_start[node]
    at = length
    for i in range(1, length):
        other = arena.max_start[scratch.nodes[entry, i]]
        if other == max_start:
            scratch.nodes[entry, i] = union(arena, counters, scratch.nodes[entry, i], node)
            return True
        if other < max_start:
            at = i
            break
    if length == scratch.nodes.shape[1]:
        return False
    for i in range(length, at, -1):
        scratch.nodes[entry, i] = scratch.nodes[entry, i - 1]
    scratch.nodes[entry, at] = node
    scratch.length[entry] = length + 1
    return True


@inline
def merge(arena: Arena, counters: Int64s, pool: Int32s, first: int, length: int) -> int:
    """Return ``merge(ul)``: one node for the union-list ``pool[first : first + length]``."""
    node = pool[first + length - 1]
    for i in range(length - 2, -1, -1):
        node = join(arena, counters, pool[first + i], node)
    return node


@inline
def advance(tecs: k.Tecs, p: int, symbol: int, position: int, order: int, lowest: int) -> int:
    """Read one event in partition p; return DONE, or a NEED status with nothing changed.

    `order` is the event's place as the window counts it, `lowest` the first place inside it. With
    any status other than DONE nothing has changed.
    """
    arena, counters, table, parts, pool = (
        tecs.arena,
        tecs.counters,
        tecs.table,
        tecs.parts,
        tecs.pool,
    )
    status = _is_ready(tecs, p, symbol)
    if status != k.DONE:
        return status
    idle = parts.idle[p]
    count = 0
    take, skip = table.begin_take[idle, symbol], table.begin_skip[idle, symbol]
    if take != k.NONE or skip != k.NONE:
        start = bottom(arena, counters, position, order)
        if take != k.NONE:
            count = _add_entry(tecs.scratch, count, take, extend(arena, counters, start, position))
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
        counters[k.STEPS] += 1
        count = _execute(tecs, count, q, first, alive, symbol, position)
        if count < 0:
            return k.NEED_SCRATCH
    if not _commit(tecs, p, count):
        return k.NEED_POOL
    parts.idle[p] = table.wait[idle, symbol]
    return k.DONE


@inline
def _is_ready(tecs: k.Tecs, p: int, symbol: int) -> int:
    """Return DONE if the table has the needed cells and the arena has room, or a NEED status."""
    table, parts, pool = tecs.table, tecs.parts, tecs.pool
    if table.begin_take[parts.idle[p], symbol] == k.UNKNOWN:
        return k.NEED_CELL
    nodes = 2
    at, end = parts.start[p], parts.start[p] + parts.length[p]
    while at < end:
        if table.take[pool[at], symbol] == k.UNKNOWN:
            return k.NEED_CELL
        # bound: `merge` makes length - 1 nodes, the extension one, and each of two unions three
        nodes += pool[at + 1] + 8
        at += 2 + pool[at + 1]
    return k.DONE if tecs.counters[k.HEAD] + nodes <= tecs.arena.position.shape[0] else k.NEED_ARENA


@inline
def _inside(arena: k.Arena, pool: Int32s, first: int, length: int, lowest: int) -> int:
    """Return how many nodes at the front of a union-list are inside the window."""
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
    """Move an entry by its taking, then its skipping transition (``ExecTrans``); -1 if full."""
    arena, counters, table, pool = tecs.arena, tecs.counters, tecs.table, tecs.pool
    scratch = tecs.scratch
    take, skip = table.take[q, symbol], table.skip[q, symbol]
    if take == k.NONE and skip == k.NONE:
        return count
    there = _find(scratch, count, skip)
    node = k.NONE
    # nodes are merged only where a node is needed; the next state can take them as a list
    if take != k.NONE or there != k.NONE:
        node = merge(arena, counters, pool, first, length)
    if take != k.NONE:
        count = _add(arena, counters, scratch, count, take, extend(arena, counters, node, position))
        if count < 0 or skip == k.NONE:
            return count
        there = _find(scratch, count, skip)
    if there != k.NONE:
        if node == k.NONE:
            node = merge(arena, counters, pool, first, length)
        return count if insert(arena, counters, scratch, there, node) else -1
    return _hand_over(scratch, count, skip, pool, first, length)


@inline
def _find(scratch: k.Scratch, count: int, state: int) -> int:
    """Return the entry of a state in the scratch, or NONE."""
    if state != k.NONE:
        for entry in range(count):
            if scratch.state[entry] == state:
                return entry
    return k.NONE


@inline
def _add_entry(scratch: k.Scratch, count: int, state: int, node: int) -> int:
    """Add an entry for a state, whose list has one node; there must be room."""
    scratch.state[count] = state
    scratch.length[count] = 1
    scratch.nodes[count, 0] = node
    return count + 1


@inline
def _add(
    arena: k.Arena, counters: Int64s, scratch: k.Scratch, count: int, state: int, node: int
) -> int:
    """Insert a node into the entry of a state, or add an entry for the state (``Add``).

    Return the number of entries, or -1 without room.
    """
    entry = _find(scratch, count, state)
    if entry != k.NONE:
        return count if insert(arena, counters, scratch, entry, node) else -1
    return _add_entry(scratch, count, state, node) if count < scratch.state.shape[0] else -1


@inline
def _hand_over(
    scratch: k.Scratch, count: int, state: int, pool: Int32s, first: int, length: int
) -> int:
    """Copy a union-list into an entry for a state; return the number of entries, or -1 if full."""
    if count == scratch.state.shape[0] or length > scratch.nodes.shape[1]:
        return -1
    scratch.state[count] = state
    scratch.length[count] = length
    for i in range(length):
        scratch.nodes[count, i] = pool[first + i]
    return count + 1


@inline
def _commit(tecs: k.Tecs, p: int, count: int) -> bool:
    """Write the new entries of a partition into the pool; return False without room."""
    counters, parts, pool, scratch = tecs.counters, tecs.parts, tecs.pool, tecs.scratch
    length = 0
    for entry in range(count):
        length += 2 + scratch.length[entry]
    if length > parts.room[p]:
        # double the room: a growing partition then moves only a logarithmic number of times
        if counters[k.POOL_END] + 2 * length > pool.shape[0]:
            return False
        parts.start[p] = counters[k.POOL_END]
        parts.room[p] = 2 * length
        counters[k.POOL_END] += 2 * length
    at, active = parts.start[p], 0
    for entry in range(count):
        pool[at] = scratch.state[entry]
        pool[at + 1] = scratch.length[entry]
        for i in range(scratch.length[entry]):
            pool[at + 2 + i] = scratch.nodes[entry, i]
        at += 2 + scratch.length[entry]
        state = scratch.state[entry]
        active |= 1 << (state if state < 63 else 63)
    parts.length[p] = length
    parts.active[p] = active
    return True


NO_RESTARTS = np.zeros(0, np.uint8)


NO_IDLE_STATES = np.zeros(0, np.int32)


class Events(NamedTuple):
    """A batch of events for the general engine.

    Before an event with ``restarts[i]``, everything returns to the initial state, except that the
    idle state is ``idles[i]``. The answers of the events before `report_from`, and of events with
    ``silent[i]``, are not listed, and consume nothing.
    """

    symbols: Symbols  # (events,)
    codes: NDArray[np.signedinteger[Any]]  # (events,): the partition, NONE for no partition
    positions: Int64s  # (events,)
    lowest: Int64s  # (events,): the first start in the window, unless partitions count events
    restarts: Bytes = NO_RESTARTS  # (events,)
    idles: Int32s = NO_IDLE_STATES  # (events,)
    silent: Bytes = NO_RESTARTS  # (events,)
    report_from: int = 0


@kernel
def read_batch(tecs: k.Tecs, events: Events, limits: k.Limits, idle: int, limit: int | None) -> int:
    """Read the events from register EVENT on; return DONE, or a NEED status at that event.

    The window allows starts from ``events.lowest[i]`` on or, if `limits.width` is not NONE, at most
    that many events earlier in the same partition. `idle` is the initial idle state, `limit` the
    most answers of one end, None for all.
    """
    counters, parts, width = tecs.counters, tecs.parts, limits.width
    while True:
        if counters[k.PHASE] == k.READING:
            counters[k.EVENT] = next_that_matters(tecs, events, idle)
        i = counters[k.EVENT]
        if i == events.symbols.shape[0]:
            return k.DONE
        p, position = events.codes[i], events.positions[i]
        if counters[k.PHASE] == k.READING:
            count = parts.events[p]
            order, lowest = position, events.lowest[i]
            if width != k.NONE:
                order, lowest = count, count - width
            status = advance(tecs, p, events.symbols[i], position, order, lowest)
            if status != k.DONE:
                return status
            parts.events[p] = count + 1
            if i < events.report_from or (events.silent.shape[0] and events.silent[i]):
                counters[k.EVENT] = i + 1
                continue
            counters[k.PHASE] = k.LISTING
            counters[k.ENTRY] = parts.start[p]
            counters[k.LIST_INDEX] = counters[k.TOP] = counters[k.END_ANSWERS] = 0
        lowest = events.lowest[i] if width == k.NONE else parts.events[p] - 1 - width
        status = enumerate_event(tecs, p, position, lowest, limit)
        if status != k.DONE:
            return status
        if counters[k.END_ANSWERS] > 0 and limits.consume != k.KEEP:
            if limits.consume == k.RESET_ALL:
                counters[k.EPOCH] += 1
            else:
                parts.length[p] = 0
                parts.active[p] = 0
                parts.idle[p] = idle
        counters[k.PHASE] = k.READING
        counters[k.EVENT] = i + 1


@inline
def next_that_matters(tecs: k.Tecs, events: Events, idle: int) -> int:
    """Return the next event, from register EVENT on, that changes more than the count of events.

    Earlier events are read on the way: every run, and the idle state, skips them. An event that
    needs an unknown cell of the table is returned too. Its partition is reset first if all were
    since.
    """
    counters, table, parts = tecs.counters, tecs.table, tecs.parts
    symbols, codes, restarts, idles = events.symbols, events.codes, events.restarts, events.idles
    active, silent, counts, epoch = parts.active, table.silent, parts.events, parts.epoch
    by_partition, length = parts.idle, parts.length
    begin_take, begin_skip, wait = table.begin_take, table.begin_skip, table.wait
    now = counters[k.EPOCH]
    for i in range(counters[k.EVENT], symbols.shape[0]):
        p = codes[i]
        fresh = idle
        if restarts.shape[0] and restarts[i]:
            # clear the flag: the kernel may be called again for this event
            restarts[i] = 0
            now += 1
            counters[k.EPOCH] = now
            if idles.shape[0]:
                fresh = idles[i]
        if p == k.NONE:
            continue
        if epoch[p] != now:
            epoch[p] = now
            length[p] = 0
            active[p] = 0
            by_partition[p] = fresh
        s, w = symbols[i], by_partition[p]
        if (
            (active[p] & ~silent[s]) != 0
            or begin_take[w, s] != k.NONE
            or begin_skip[w, s] != k.NONE
            or wait[w, s] != w
        ):
            return i
        counts[p] += 1
    return symbols.shape[0]
