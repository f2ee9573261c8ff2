"""Enumeration of the answers at the last event, resumable when the buffer is full (CORE Alg. 2)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cerlab.engine.kernels import arrays as k
from cerlab.engine.kernels.arrays import (
    HEAD,
    NONE,
    POOL_END,
    Arena,
    Bytes,
    Int32s,
    Int64s,
    Partitions,
    inline,
    kernel,
)


@inline
def enumerate_event(tecs: k.Tecs, p: int, end: int, lowest: int, limit: int | None) -> int:
    """List the answers at the last event (``Output``); return DONE, FULL or NEED_STACK.

    Another call with the same registers continues. With a `limit`, only that many answers of the
    event are listed, in the order `latest_first`.
    """
    # resolved by Numba from the type: without LIMIT, this branch is not compiled
    if limit is not None:
        return list_latest(tecs, p, end, lowest, limit)
    counters, pool, stack, parts = tecs.counters, tecs.pool, tecs.stack, tecs.parts
    stop = parts.start[p] + parts.length[p]
    while True:
        if counters[k.TOP] > 0:
            status = _search(tecs.arena, counters, stack, tecs.answers, end, lowest)
            if status != k.DONE:
                return status
            continue
        if counters[k.ENTRY] >= stop:
            break
        entry = counters[k.ENTRY]
        length = pool[entry + 1]
        if not tecs.table.final[pool[entry]] or counters[k.LIST_INDEX] == length:
            counters[k.ENTRY] = entry + 2 + length
            counters[k.LIST_INDEX] = 0
            continue
        node = pool[entry + 2 + counters[k.LIST_INDEX]]
        counters[k.LIST_INDEX] += 1
        if tecs.arena.max_start[node] >= lowest:
            stack.node[0] = node
            stack.depth[0] = 0
            counters[k.TOP] = 1
    counters[k.TOP] = 0
    return k.DONE


@inline
def _search(
    arena: k.Arena, counters: Int64s, stack: k.Stack, answers: k.Answers, end: int, lowest: int
) -> int:
    """List the answers below the nodes on the stack, left children first; return DONE or FULL.

    Enter a right child only if the window has its max-start.
    """
    top, count = counters[k.TOP], counters[k.END_ANSWERS]
    answer, place = counters[k.ANSWERS], counters[k.POSITIONS]
    status = k.DONE
    while top > 0:
        top -= 1
        node, depth = stack.node[top], stack.depth[top]
        while True:
            counters[k.STEPS] += 1
            if depth + 1 >= stack.path.shape[0] or top + 1 >= stack.node.shape[0]:
                status = k.NEED_STACK
            elif arena.left[node] == k.NONE and (
                answer == answers.start.shape[0] or place + depth > answers.positions.shape[0]
            ):
                status = k.FULL
            if status != k.DONE:
                stack.node[top] = node
                stack.depth[top] = depth
                top += 1
                break
            if arena.left[node] == k.NONE:
                answers.start[answer] = arena.position[node]
                answers.end[answer] = end
                for n in range(depth):
                    answers.positions[place + n] = stack.path[depth - 1 - n]
                place += depth
                answer += 1
                answers.offsets[answer] = place
                count += 1
                break
            if arena.position[node] == k.NONE:
                right = arena.right[node]
                # invariant: max-start bounds everything below, so each branch entered has an answer
                if right != k.NONE and arena.max_start[right] >= lowest:
                    stack.node[top] = right
                    stack.depth[top] = depth
                    top += 1
            else:
                stack.path[depth] = arena.position[node]
                depth += 1
            node = arena.left[node]
        if status != k.DONE:
            break
    counters[k.TOP], counters[k.END_ANSWERS] = top, count
    counters[k.ANSWERS], counters[k.POSITIONS] = answer, place
    return status


@kernel
def list_latest(tecs: k.Tecs, p: int, end: int, lowest: int, limit: int) -> int:
    """List the first `limit` answers at the last event; return DONE, FULL or NEED_STACK.

    Another call with the same registers continues. Each answer is listed once, even if nodes share
    some.
    """
    counters, stack, answers = tecs.counters, tecs.stack, tecs.answers
    if counters[k.ENTRY] < tecs.parts.start[p] + tecs.parts.length[p]:
        if not roots(tecs, p, lowest):
            return k.NEED_STACK
        counters[k.ENTRY] = tecs.parts.start[p] + tecs.parts.length[p]
    while counters[k.END_ANSWERS] < limit and counters[k.TOP] > 0:
        # this level is finished: the cell below its heap has the base of the level above
        if counters[k.TOP] == counters[k.BASE]:
            counters[k.TOP] = counters[k.BASE] - 1
            counters[k.BASE] = stack.node[counters[k.TOP]]
            counters[k.LEVEL] -= 1
            continue
        if counters[k.LEVEL] + 1 >= stack.path.shape[0]:
            return k.NEED_STACK
        if counters[k.ANSWERS] == answers.start.shape[0]:
            return k.FULL
        if counters[k.POSITIONS] + counters[k.LEVEL] > answers.positions.shape[0]:
            return k.FULL
        if not descend(tecs.arena, counters, stack, answers, end, lowest):
            return k.NEED_STACK
    counters[k.TOP] = 0
    return k.DONE


@inline
def roots(tecs: k.Tecs, p: int, lowest: int) -> bool:
    """Put the nodes of the final active states into the first heap; return False without room."""
    counters, pool, parts, node = tecs.counters, tecs.pool, tecs.parts, tecs.stack.node
    at, stop = parts.start[p], parts.start[p] + parts.length[p]
    if stop - at >= node.shape[0]:
        return False
    node[0] = 0
    top = 1
    while at < stop:
        first, after = at + 2, at + 2 + pool[at + 1]
        if tecs.table.final[pool[at]]:
            for i in range(first, after):
                if tecs.arena.max_start[pool[i]] >= lowest:
                    top = push(node, 1, top, pool[i])
        at = after
    counters[k.BASE], counters[k.TOP], counters[k.LEVEL] = 1, top, 0
    return True


@inline
def descend(
    arena: k.Arena, counters: Int64s, stack: k.Stack, answers: k.Answers, end: int, lowest: int
) -> bool:
    """Take the latest position in the heap: open the level below it, or list the finished answer.

    Return False without room; the level is then an equivalent, larger set of nodes.
    """
    node, taking = stack.node, stack.depth
    base, top = counters[k.BASE], counters[k.TOP]
    position, start, takes = k.NONE, k.NONE, 0
    while top > base:
        # invariant: ids grow with time, so the node with the largest id has the latest position
        x = node[base]
        if arena.position[x] != k.NONE and arena.position[x] < position:
            break
        if top + takes + 4 > node.shape[0]:
            for i in range(takes):
                top = push(node, base, top, taking[i])
            if start != k.NONE:
                top = push(node, base, top, start)
            counters[k.TOP] = top
            return False
        counters[k.STEPS] += 1
        top = pop(node, base, top)
        # a node may be in the heap several times, but its answers are listed once
        while top > base and node[base] == x:
            top = pop(node, base, top)
        if arena.left[x] == k.NONE:
            position, start = arena.position[x], x
        elif arena.position[x] != k.NONE:
            position = arena.position[x]
            taking[takes] = x
            takes += 1
        else:
            top = push(node, base, top, arena.left[x])
            right = arena.right[x]
            if right != k.NONE and arena.max_start[right] >= lowest:
                top = push(node, base, top, right)
    if start != k.NONE:
        list_answer(arena.position[start], end, counters, stack.path, answers)
    stack.path[counters[k.LEVEL]] = position
    counters[k.LEVEL] += 1
    node[top] = base
    counters[k.BASE] = top + 1
    counters[k.TOP] = top + 1
    for i in range(takes):
        counters[k.TOP] = push(node, counters[k.BASE], counters[k.TOP], arena.left[taking[i]])
    return True


@inline
def list_answer(start: int, end: int, counters: Int64s, path: Int64s, answers: k.Answers) -> None:
    """Write the answer with the positions on the path; the buffer must have room."""
    answer, place, length = counters[k.ANSWERS], counters[k.POSITIONS], counters[k.LEVEL]
    answers.start[answer] = start
    answers.end[answer] = end
    for i in range(length):
        answers.positions[place + i] = path[length - 1 - i]
    answers.offsets[answer + 1] = place + length
    counters[k.ANSWERS] = answer + 1
    counters[k.POSITIONS] = place + length
    counters[k.END_ANSWERS] += 1


@inline
def push(heap: Int32s, base: int, top: int, node: int) -> int:
    """Push a node onto the heap from `base` to `top`; return the new top."""
    at = top - base
    while at > 0:
        above = (at - 1) >> 1
        if heap[base + above] >= node:
            break
        heap[base + at] = heap[base + above]
        at = above
    heap[base + at] = node
    return top + 1


@inline
def pop(heap: Int32s, base: int, top: int) -> int:
    """Pop the largest node of the heap from `base` to `top`; return the new top."""
    size = top - base - 1
    node = heap[base + size]
    at = 0
    while 2 * at + 1 < size:
        below = 2 * at + 1
        if below + 1 < size and heap[base + below + 1] > heap[base + below]:
            below += 1
        if heap[base + below] <= node:
            break
        heap[base + at] = heap[base + below]
        at = below
    heap[base + at] = node
    return top - 1


UNREACHABLE = np.iinfo(np.int64).min


@kernel
def collect(
    arena: Arena, counters: Int64s, parts: Partitions, pool: Int32s, lowest: Int64s, number: Int64s
) -> None:
    """Compact the arena: keep only nodes that a partition's lists reach inside its window.

    `number` is int64 (nodes,): first the lowest start that a node's partition allows, then its new
    id. Entries of the pool that are outside the window are dropped.
    """
    head = counters[HEAD]
    number[:head] = UNREACHABLE
    for p in range(parts.start.shape[0]):
        _mark_roots(arena, parts, pool, p, lowest[p], number)
    # invariant: a parent has a larger id than its children, so this order visits parents first
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
    # children first: a new id is never larger than the old one, so nodes move in place
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
    counters[HEAD] = new_id
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
    """Mark the nodes in a partition's lists; remove nodes outside the window."""
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
def move_together(counters: Int64s, parts: Partitions, pool: Int32s, into: Int32s) -> None:
    """Copy the entries of all partitions into another pool, with twice the room for each."""
    at = 0
    for p in range(parts.start.shape[0]):
        length = parts.length[p]
        start = parts.start[p]
        for i in range(length):
            into[at + i] = pool[start + i]
        parts.start[p] = at
        parts.room[p] = 2 * length
        at += 2 * length
    counters[POOL_END] = at


FINE = -1
"""Sentinel: no node is misplaced."""


@kernel
def misplaced_node(arena: Arena, latest: NDArray[np.int64]) -> int:
    """Return the first node that is invalid in a saved tECS, or FINE.

    Children are in range and before their parents. `latest` is int64 (nodes,): written with the
    latest position at or below each node. Below an output all positions are earlier, except a
    bottom at the event itself. A union has the max-start of its left child, and that of the right
    child is no later.
    """
    for n in range(arena.position.shape[0]):
        position, left, right = arena.position[n], arena.left[n], arena.right[n]
        latest[n] = position
        if left == NONE:
            fine = position != NONE and right == NONE
        elif position != NONE:
            fine = right == NONE and is_before(arena, latest, left, position)
        else:
            latest[n] = latest[left]
            fine = right == NONE or arena.max_start[right] <= arena.max_start[n]
            if right != NONE:
                latest[n] = max(latest[n], latest[right])
        if not fine or (left != NONE and arena.max_start[left] != arena.max_start[n]):
            return n
    return FINE


@kernel
def mark_entries(pool: Int32s, heads: Bytes) -> bool:
    """Mark where the entries of a saved pool begin; return False if the pool is invalid.

    `heads` is uint8 (entries and nodes,), initially zeros.
    """
    at = 0
    while at < pool.shape[0]:
        heads[at] = 1
        if at + 2 >= pool.shape[0] or not 0 < pool[at + 1] <= pool.shape[0] - at - 2:
            return False
        at += 2 + pool[at + 1]
    return True


@kernel
def misplaced_entry(max_start: Int64s, lengths: Int64s, pool: Int32s, states: int) -> int:
    """Return the first partition whose saved entries Algorithm 1 could not have made, or FINE.

    The entries must be consecutive. Those of a partition fill its part of the pool; their states
    are below `states`, their nodes are nodes of the arena, by decreasing latest start, and the
    entries are sorted by the latest start of their first nodes.
    """
    at = 0
    for p in range(lengths.shape[0]):
        end, head, begins = at + lengths[p], 0, True
        while at < end:
            first, length = at + 2, pool[at + 1]
            if first + length > end or not 0 <= pool[at] < states:
                return p
            for i in range(first, first + length):
                if not 0 <= pool[i] < max_start.shape[0]:
                    return p
                if i > first and max_start[pool[i]] > max_start[pool[i - 1]]:
                    return p
            if not begins and max_start[pool[first]] > head:
                return p
            head, begins = max_start[pool[first]], False
            at = first + length
    return FINE


@inline
def is_before(arena: Arena, latest: NDArray[np.int64], node: int, position: int) -> bool:
    """Return whether an output node at `position` may be the parent of a node."""
    return latest[node] < position or (arena.left[node] == NONE and latest[node] == position)
