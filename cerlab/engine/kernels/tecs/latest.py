"""The answers of the event just read that LIMIT takes: in the order `latest_first`.

Depth first by sets of nodes: a level of the stack holds what follows the positions taken so far, as
a heap. A node's id is larger than those of all nodes made at earlier events, so of a heap the
largest id leads to the latest position.
"""

from __future__ import annotations

from cerlab.engine.kernels.arrays import (
    ANSWERS,
    BASE,
    DONE,
    END_ANSWERS,
    ENTRY,
    FULL,
    LEVEL,
    NEED_STACK,
    NONE,
    POSITIONS,
    STEPS,
    TOP,
    Answers,
    Arena,
    Int32s,
    Int64s,
    Stack,
    Tecs,
)
from cerlab.engine.kernels.compiled import inline, kernel


@kernel
def list_latest(tecs: Tecs, p: int, end: int, lowest: int, limit: int) -> int:
    """The first `limit` answers of the event; DONE, FULL or NEED_STACK.

    Called again with the same registers it goes on. Each answer comes once, also if nodes share
    some.
    """
    reg, stack, answers = tecs.reg, tecs.stack, tecs.answers
    if reg[ENTRY] < tecs.parts.start[p] + tecs.parts.length[p]:
        if not roots(tecs, p, lowest):
            return NEED_STACK
        reg[ENTRY] = tecs.parts.start[p] + tecs.parts.length[p]
    while reg[END_ANSWERS] < limit and reg[TOP] > 0:
        if reg[TOP] == reg[BASE]:
            reg[TOP] = reg[BASE] - 1
            reg[BASE] = stack.node[reg[TOP]]
            reg[LEVEL] -= 1
            continue
        if reg[LEVEL] + 1 >= stack.path.shape[0]:
            return NEED_STACK
        if reg[ANSWERS] == answers.start.shape[0]:
            return FULL
        if reg[POSITIONS] + reg[LEVEL] > answers.positions.shape[0]:
            return FULL
        if not descend(tecs.arena, reg, stack, answers, end, lowest):
            return NEED_STACK
    reg[TOP] = 0
    return DONE


@inline
def roots(tecs: Tecs, p: int, lowest: int) -> bool:
    """The first level: the nodes of the final active states; False if there is no room."""
    reg, pool, parts, node = tecs.reg, tecs.pool, tecs.parts, tecs.stack.node
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
    reg[BASE], reg[TOP], reg[LEVEL] = 1, top, 0
    return True


@inline
def descend(
    arena: Arena, reg: Int64s, stack: Stack, answers: Answers, end: int, lowest: int
) -> bool:
    """Take the latest position of the level: a level for what is below, or the answer that begins.

    False if there is no room; the level is then as large a set of nodes, with the same answers.
    """
    node, taking = stack.node, stack.depth
    base, top = reg[BASE], reg[TOP]
    position, start, takes = NONE, NONE, 0
    while top > base:
        x = node[base]
        if arena.position[x] != NONE and arena.position[x] < position:
            break
        if top + takes + 4 > node.shape[0]:
            for i in range(takes):
                top = push(node, base, top, taking[i])
            if start != NONE:
                top = push(node, base, top, start)
            reg[TOP] = top
            return False
        reg[STEPS] += 1
        top = pop(node, base, top)
        while top > base and node[base] == x:
            top = pop(node, base, top)
        if arena.left[x] == NONE:
            position, start = arena.position[x], x
        elif arena.position[x] != NONE:
            position = arena.position[x]
            taking[takes] = x
            takes += 1
        else:
            top = push(node, base, top, arena.left[x])
            right = arena.right[x]
            if right != NONE and arena.max_start[right] >= lowest:
                top = push(node, base, top, right)
    if start != NONE:
        list_answer(arena.position[start], end, reg, stack.path, answers)
    stack.path[reg[LEVEL]] = position
    reg[LEVEL] += 1
    node[top] = base
    reg[BASE] = top + 1
    reg[TOP] = top + 1
    for i in range(takes):
        reg[TOP] = push(node, reg[BASE], reg[TOP], arena.left[taking[i]])
    return True


@inline
def list_answer(start: int, end: int, reg: Int64s, path: Int64s, answers: Answers) -> None:
    """The answer of the positions taken; there is room for it."""
    answer, place, length = reg[ANSWERS], reg[POSITIONS], reg[LEVEL]
    answers.start[answer] = start
    answers.end[answer] = end
    for i in range(length):
        answers.positions[place + i] = path[length - 1 - i]
    answers.offsets[answer + 1] = place + length
    reg[ANSWERS] = answer + 1
    reg[POSITIONS] = place + length
    reg[END_ANSWERS] += 1


@inline
def push(heap: Int32s, base: int, top: int, node: int) -> int:
    """Put a node into the heap from `base` to `top`; where it ends then."""
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
    """Take the largest node out of the heap from `base` to `top`; where it ends then."""
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
