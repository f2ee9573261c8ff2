"""How many answers an event ends, without listing them (CORE Sec. 4.3)."""

from __future__ import annotations

from cerlab.engine.kernels import arrays as k
from cerlab.engine.kernels.compiled import inline
from cerlab.engine.kernels.registers.arrays import ATTEMPT, Floats, NodeMemo


@inline
def count_event(tecs: k.Tecs, memo: NodeMemo, lowest: int, limit: int, total: Floats) -> int:
    """Add the number of the event's answers to `total`, at most `limit`: DONE or NEED_STACK.

    A float64: exact up to 2^53. Costs the nodes that the window reaches, not the answers.
    """
    arena, reg, pool, count = tecs.arena, tecs.reg, tecs.pool, 0.0
    for i in range(reg[k.ENTRY] + 2, tecs.parts.length[0]):
        if arena.max_start[pool[i]] < lowest:
            continue
        if count_node(tecs, memo, pool[i], lowest) != k.DONE:
            return k.NEED_STACK
        count += memo.matches[pool[i]]
    reg[k.END_ANSWERS] = 1 if count > 0 else 0
    total[0] += count if limit == k.NO_LIMIT else min(count, float(limit))
    return k.DONE


@inline
def count_node(tecs: k.Tecs, memo: NodeMemo, root: int, lowest: int) -> int:
    """Write ``memo.matches[root]``: how many matches inside the window the node has."""
    arena, reg, stack = tecs.arena, tecs.reg, tecs.stack
    now = reg[ATTEMPT]
    stack.node[0] = root
    reg[k.TOP] = 1
    while reg[k.TOP] > 0:
        if reg[k.TOP] + 2 > stack.node.shape[0]:
            return k.NEED_STACK
        node = stack.node[reg[k.TOP] - 1]
        left, right = arena.left[node], k.NONE
        if left != k.NONE and arena.position[node] == k.NONE:
            right = arena.right[node]
            if right != k.NONE and arena.max_start[right] < lowest:
                right = k.NONE
        waits = False
        if left != k.NONE and memo.matches_at[left] != now:
            stack.node[reg[k.TOP]] = left
            reg[k.TOP] += 1
            waits = True
        if right != k.NONE and memo.matches_at[right] != now:
            stack.node[reg[k.TOP]] = right
            reg[k.TOP] += 1
            waits = True
        if waits:
            continue
        reg[k.TOP] -= 1
        if memo.matches_at[node] != now:
            memo.matches_at[node] = now
            memo.matches[node] = 1.0 if left == k.NONE else memo.matches[left]
            if right != k.NONE:
                memo.matches[node] += memo.matches[right]
    return k.DONE
