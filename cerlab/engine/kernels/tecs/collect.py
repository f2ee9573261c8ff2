"""Room again: nodes that no window allows any more, and parts of the pool that nothing uses.

A child has a smaller id than its parent, so one pass downwards marks what is reachable and one
upwards moves it together; ids stay small for ever. Run when the arena is full, and the arena is
grown if it stays more than half full, this costs each node a constant.
"""

from __future__ import annotations

import numpy as np

from cerlab.engine.kernels.arrays import HEAD, NONE, POOL_END, Arena, Int32s, Int64s, Partitions
from cerlab.engine.kernels.compiled import inline, kernel

UNREACHABLE = np.iinfo(np.int64).min


@kernel
def collect(
    arena: Arena, reg: Int64s, parts: Partitions, pool: Int32s, lowest: Int64s, number: Int64s
) -> None:
    """Keep the nodes that a live partition reaches inside its window; `lowest` is by partition.

    `number` is int64 (nodes,): first the lowest start that a node's partition allows, then its new
    id. Entries of the pool that are outside the window are dropped.
    """
    head = reg[HEAD]
    number[:head] = UNREACHABLE
    for p in range(parts.start.shape[0]):
        _mark_roots(arena, parts, pool, p, lowest[p], number)
    for node in range(head - 1, -1, -1):
        limit = number[node]
        if limit == UNREACHABLE or arena.left[node] == NONE:
            continue
        number[arena.left[node]] = limit
        if arena.position[node] == NONE and arena.right[node] != NONE:
            right = arena.right[node]
            if arena.max_start[right] >= limit:
                number[right] = limit
            else:
                arena.right[node] = NONE
    new_id = 0
    for node in range(head):
        if number[node] == UNREACHABLE:
            continue
        arena.position[new_id] = arena.position[node]
        left, right = arena.left[node], arena.right[node]
        arena.left[new_id] = NONE if left == NONE else number[left]
        arena.right[new_id] = NONE if right == NONE else number[right]
        arena.max_start[new_id] = arena.max_start[node]
        number[node] = new_id
        new_id += 1
    reg[HEAD] = new_id
    for p in range(parts.start.shape[0]):
        at, end = parts.start[p], parts.start[p] + parts.length[p]
        while at < end:
            for i in range(at + 2, at + 2 + pool[at + 1]):
                pool[i] = number[pool[i]]
            at += 2 + pool[at + 1]


@inline
def _mark_roots(
    arena: Arena, parts: Partitions, pool: Int32s, p: int, lowest: int, number: Int64s
) -> None:
    """Mark the nodes of a partition's lists; what is outside the window leaves the lists."""
    at, end, to = parts.start[p], parts.start[p] + parts.length[p], parts.start[p]
    active = 0
    while at < end:
        state, length = pool[at], pool[at + 1]
        count = 0
        for i in range(length):
            node = pool[at + 2 + i]
            if arena.max_start[node] >= lowest:
                pool[to + 2 + count] = node
                number[node] = lowest
                count += 1
        at += 2 + length
        if count:
            pool[to], pool[to + 1] = state, count
            active |= 1 << min(state, 63)
            to += 2 + count
    parts.length[p] = to - parts.start[p]
    parts.active[p] = active


@kernel
def move_together(reg: Int64s, parts: Partitions, pool: Int32s, into: Int32s) -> None:
    """Copy the partitions' entries into another pool, each with room to grow to twice its size."""
    at = 0
    for p in range(parts.start.shape[0]):
        length = parts.length[p]
        start = parts.start[p]
        for i in range(length):
            into[at + i] = pool[start + i]
        parts.start[p] = at
        parts.room[p] = 2 * length
        at += 2 * length
    reg[POOL_END] = at
