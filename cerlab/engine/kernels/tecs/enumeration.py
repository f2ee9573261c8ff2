"""Answers of the event just read, into a buffer; resumed where that was full (CORE Alg. 2)."""

from __future__ import annotations

from cerlab.engine.kernels.arrays import (
    ANSWERS,
    DONE,
    END_ANSWERS,
    ENTRY,
    FULL,
    LIST_INDEX,
    NEED_STACK,
    NO_LIMIT,
    NONE,
    POSITIONS,
    STEPS,
    TOP,
    Answers,
    Arena,
    Int64s,
    Stack,
    Tecs,
)
from cerlab.engine.kernels.compiled import inline
from cerlab.engine.kernels.tecs.latest import list_latest


@inline
def enumerate_event(tecs: Tecs, p: int, end: int, lowest: int, limit: int) -> int:
    """``Output``: all answers of the final active states; DONE, FULL or NEED_STACK.

    Called again with the same registers it goes on. With a `limit` only so many of the event are
    listed, in the order `latest_first`.
    """
    if limit != NO_LIMIT:
        return list_latest(tecs, p, end, lowest, limit)
    reg, pool, stack, parts = tecs.reg, tecs.pool, tecs.stack, tecs.parts
    stop = parts.start[p] + parts.length[p]
    while True:
        if reg[TOP] > 0:
            status = _search(tecs.arena, reg, stack, tecs.answers, end, lowest)
            if status != DONE:
                return status
            continue
        if reg[ENTRY] >= stop:
            break
        entry = reg[ENTRY]
        length = pool[entry + 1]
        if not tecs.table.final[pool[entry]] or reg[LIST_INDEX] == length:
            reg[ENTRY] = entry + 2 + length
            reg[LIST_INDEX] = 0
            continue
        node = pool[entry + 2 + reg[LIST_INDEX]]
        reg[LIST_INDEX] += 1
        if tecs.arena.max_start[node] >= lowest:
            stack.node[0] = node
            stack.depth[0] = 0
            reg[TOP] = 1
    reg[TOP] = 0
    return DONE


@inline
def _search(
    arena: Arena, reg: Int64s, stack: Stack, answers: Answers, end: int, lowest: int
) -> int:
    """Depth first, left before right; a right child only if its max-start is inside the window."""
    top, count = reg[TOP], reg[END_ANSWERS]
    answer, place = reg[ANSWERS], reg[POSITIONS]
    status = DONE
    while top > 0:
        top -= 1
        node, depth = stack.node[top], stack.depth[top]
        while True:
            reg[STEPS] += 1
            if depth + 1 >= stack.path.shape[0] or top + 1 >= stack.node.shape[0]:
                status = NEED_STACK
            elif arena.left[node] == NONE and (
                answer == answers.start.shape[0] or place + depth > answers.positions.shape[0]
            ):
                status = FULL
            if status != DONE:
                stack.node[top] = node
                stack.depth[top] = depth
                top += 1
                break
            if arena.left[node] == NONE:
                answers.start[answer] = arena.position[node]
                answers.end[answer] = end
                for k in range(depth):
                    answers.positions[place + k] = stack.path[depth - 1 - k]
                place += depth
                answer += 1
                answers.offsets[answer] = place
                count += 1
                break
            if arena.position[node] == NONE:
                right = arena.right[node]
                if right != NONE and arena.max_start[right] >= lowest:
                    stack.node[top] = right
                    stack.depth[top] = depth
                    top += 1
            else:
                stack.path[depth] = arena.position[node]
                depth += 1
            node = arena.left[node]
        if status != DONE:
            break
    reg[TOP], reg[END_ANSWERS] = top, count
    reg[ANSWERS], reg[POSITIONS] = answer, place
    return status
