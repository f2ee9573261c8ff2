"""How many answers an event ends, without listing them (CORE Sec. 4.3)."""

from __future__ import annotations

from cerlab.engine.kernels.arrays import (
    DONE,
    END_ANSWERS,
    ENTRY,
    NEED_STACK,
    NO_LIMIT,
    NONE,
    TOP,
    Tecs,
)
from cerlab.engine.kernels.compiled import inline
from cerlab.engine.kernels.registers.arrays import ATTEMPT, Floats, NodeMemo


@inline
def count_event(tecs: Tecs, memo: NodeMemo, lowest: int, limit: int, total: Floats) -> int:
    """Add the number of the event's answers to `total`, at most `limit`: DONE or NEED_STACK.

    A float64: exact up to 2^53. Costs the nodes that the window reaches, not the answers.
    """
    arena, reg, pool, count = tecs.arena, tecs.reg, tecs.pool, 0.0
    for i in range(reg[ENTRY] + 2, tecs.parts.length[0]):
        if arena.max_start[pool[i]] < lowest:
            continue
        if count_node(tecs, memo, pool[i], lowest) != DONE:
            return NEED_STACK
        count += memo.matches[pool[i]]
    reg[END_ANSWERS] = 1 if count > 0 else 0
    total[0] += count if limit == NO_LIMIT else min(count, float(limit))
    return DONE


@inline
def count_node(tecs: Tecs, memo: NodeMemo, root: int, lowest: int) -> int:
    """Write ``memo.matches[root]``: how many matches inside the window the node has."""
    arena, reg, stack = tecs.arena, tecs.reg, tecs.stack
    now = reg[ATTEMPT]
    stack.node[0] = root
    reg[TOP] = 1
    while reg[TOP] > 0:
        if reg[TOP] + 2 > stack.node.shape[0]:
            return NEED_STACK
        node = stack.node[reg[TOP] - 1]
        left, right = arena.left[node], NONE
        if left != NONE and arena.position[node] == NONE:
            right = arena.right[node]
            if right != NONE and arena.max_start[right] < lowest:
                right = NONE
        waits = False
        if left != NONE and memo.matches_at[left] != now:
            stack.node[reg[TOP]] = left
            reg[TOP] += 1
            waits = True
        if right != NONE and memo.matches_at[right] != now:
            stack.node[reg[TOP]] = right
            reg[TOP] += 1
            waits = True
        if waits:
            continue
        reg[TOP] -= 1
        if memo.matches_at[node] != now:
            memo.matches_at[node] = now
            memo.matches[node] = 1.0 if left == NONE else memo.matches[left]
            if right != NONE:
                memo.matches[node] += memo.matches[right]
    return DONE
