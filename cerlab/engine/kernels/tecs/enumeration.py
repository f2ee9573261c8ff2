"""Answers of the event just read, into a buffer; resumed where that was full (CORE Alg. 2)."""

from __future__ import annotations

from cerlab.engine.kernels import arrays as k
from cerlab.engine.kernels.arrays import Int64s
from cerlab.engine.kernels.compiled import inline
from cerlab.engine.kernels.tecs.latest import list_latest


@inline
def enumerate_event(tecs: k.Tecs, p: int, end: int, lowest: int, limit: int) -> int:
    """``Output``: all answers of the final active states; DONE, FULL or NEED_STACK.

    Called again with the same registers it goes on. With a `limit` only so many of the event are
    listed, in the order `latest_first`.
    """
    if limit != k.NO_LIMIT:
        return list_latest(tecs, p, end, lowest, limit)
    reg, pool, stack, parts = tecs.reg, tecs.pool, tecs.stack, tecs.parts
    stop = parts.start[p] + parts.length[p]
    while True:
        if reg[k.TOP] > 0:
            status = _search(tecs.arena, reg, stack, tecs.answers, end, lowest)
            if status != k.DONE:
                return status
            continue
        if reg[k.ENTRY] >= stop:
            break
        entry = reg[k.ENTRY]
        length = pool[entry + 1]
        if not tecs.table.final[pool[entry]] or reg[k.LIST_INDEX] == length:
            reg[k.ENTRY] = entry + 2 + length
            reg[k.LIST_INDEX] = 0
            continue
        node = pool[entry + 2 + reg[k.LIST_INDEX]]
        reg[k.LIST_INDEX] += 1
        if tecs.arena.max_start[node] >= lowest:
            stack.node[0] = node
            stack.depth[0] = 0
            reg[k.TOP] = 1
    reg[k.TOP] = 0
    return k.DONE


@inline
def _search(
    arena: k.Arena, reg: Int64s, stack: k.Stack, answers: k.Answers, end: int, lowest: int
) -> int:
    """Depth first, left before right; a right child only if its max-start is inside the window."""
    top, count = reg[k.TOP], reg[k.END_ANSWERS]
    answer, place = reg[k.ANSWERS], reg[k.POSITIONS]
    status = k.DONE
    while top > 0:
        top -= 1
        node, depth = stack.node[top], stack.depth[top]
        while True:
            reg[k.STEPS] += 1
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
    reg[k.TOP], reg[k.END_ANSWERS] = top, count
    reg[k.ANSWERS], reg[k.POSITIONS] = answer, place
    return status
