"""The answers of the event just read that LIMIT takes: in the order `latest_first`.

Depth first by sets of nodes: a level of the stack holds what follows the positions taken so far, as
a heap. A node's id is larger than those of all nodes made at earlier events, so of a heap the
largest id leads to the latest position.
"""

from __future__ import annotations

from cerlab.engine.kernels import arrays as k
from cerlab.engine.kernels.arrays import Int32s, Int64s
from cerlab.engine.kernels.compiled import inline, kernel


@kernel
def list_latest(tecs: k.Tecs, p: int, end: int, lowest: int, limit: int) -> int:
    """The first `limit` answers of the event; DONE, FULL or NEED_STACK.

    Called again with the same registers it goes on. Each answer comes once, also if nodes share
    some.
    """
    reg, stack, answers = tecs.reg, tecs.stack, tecs.answers
    if reg[k.ENTRY] < tecs.parts.start[p] + tecs.parts.length[p]:
        if not roots(tecs, p, lowest):
            return k.NEED_STACK
        reg[k.ENTRY] = tecs.parts.start[p] + tecs.parts.length[p]
    while reg[k.END_ANSWERS] < limit and reg[k.TOP] > 0:
        if reg[k.TOP] == reg[k.BASE]:
            reg[k.TOP] = reg[k.BASE] - 1
            reg[k.BASE] = stack.node[reg[k.TOP]]
            reg[k.LEVEL] -= 1
            continue
        if reg[k.LEVEL] + 1 >= stack.path.shape[0]:
            return k.NEED_STACK
        if reg[k.ANSWERS] == answers.start.shape[0]:
            return k.FULL
        if reg[k.POSITIONS] + reg[k.LEVEL] > answers.positions.shape[0]:
            return k.FULL
        if not descend(tecs.arena, reg, stack, answers, end, lowest):
            return k.NEED_STACK
    reg[k.TOP] = 0
    return k.DONE


@inline
def roots(tecs: k.Tecs, p: int, lowest: int) -> bool:
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
    reg[k.BASE], reg[k.TOP], reg[k.LEVEL] = 1, top, 0
    return True


@inline
def descend(
    arena: k.Arena, reg: Int64s, stack: k.Stack, answers: k.Answers, end: int, lowest: int
) -> bool:
    """Take the latest position of the level: a level for what is below, or the answer that begins.

    False if there is no room; the level is then as large a set of nodes, with the same answers.
    """
    node, taking = stack.node, stack.depth
    base, top = reg[k.BASE], reg[k.TOP]
    position, start, takes = k.NONE, k.NONE, 0
    while top > base:
        x = node[base]
        if arena.position[x] != k.NONE and arena.position[x] < position:
            break
        if top + takes + 4 > node.shape[0]:
            for i in range(takes):
                top = push(node, base, top, taking[i])
            if start != k.NONE:
                top = push(node, base, top, start)
            reg[k.TOP] = top
            return False
        reg[k.STEPS] += 1
        top = pop(node, base, top)
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
        list_answer(arena.position[start], end, reg, stack.path, answers)
    stack.path[reg[k.LEVEL]] = position
    reg[k.LEVEL] += 1
    node[top] = base
    reg[k.BASE] = top + 1
    reg[k.TOP] = top + 1
    for i in range(takes):
        reg[k.TOP] = push(node, reg[k.BASE], reg[k.TOP], arena.left[taking[i]])
    return True


@inline
def list_answer(start: int, end: int, reg: Int64s, path: Int64s, answers: k.Answers) -> None:
    """The answer of the positions taken; there is room for it."""
    answer, place, length = reg[k.ANSWERS], reg[k.POSITIONS], reg[k.LEVEL]
    answers.start[answer] = start
    answers.end[answer] = end
    for i in range(length):
        answers.positions[place + i] = path[length - 1 - i]
    answers.offsets[answer + 1] = place + length
    reg[k.ANSWERS] = answer + 1
    reg[k.POSITIONS] = place + length
    reg[k.END_ANSWERS] += 1


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
