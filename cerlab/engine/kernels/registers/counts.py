"""How many answers an event ends, without listing them (CORE Sec. 4.3)."""

from __future__ import annotations

import numpy as np

from cerlab.engine.kernels.arrays import (
    DONE,
    ENTRY,
    FOUND,
    NEED_STACK,
    NONE,
    TOP,
    Arena,
    Ints,
    Partitions,
    Stack,
)
from cerlab.engine.kernels.compiled import inlined
from cerlab.engine.kernels.registers.arrays import ATTEMPT, Made

UNLIMITED = np.iinfo(np.int64).max
"""The limit that is none."""


@inlined
def count_event(
    arena: Arena,
    made: Made,
    reg: Ints,
    ended: Partitions,
    pool: Ints,
    stack: Stack,
    lowest: int,
    limit: int,
    total: Ints,
) -> int:
    """Add the number of the event's answers to `total`, at most `limit`: DONE or NEED_STACK.

    A float64: exact up to 2^53. Costs the nodes that the window reaches, not the answers.
    """
    found = 0.0
    for i in range(reg[ENTRY] + 2, ended.length[0]):
        if arena.max_start[pool[i]] < lowest:
            continue
        if count_node(arena, made, reg, stack, pool[i], lowest) != DONE:
            return NEED_STACK
        found += made.count[pool[i]]
    reg[FOUND] = 1 if found > 0 else 0
    total[0] += found if limit == UNLIMITED else min(found, float(limit))
    return DONE


@inlined
def count_node(arena: Arena, made: Made, reg: Ints, stack: Stack, root: int, lowest: int) -> int:
    """Write ``made.count[root]``: how many matches inside the window the node has."""
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
        if left != NONE and made.counted[left] != now:
            stack.node[reg[TOP]] = left
            reg[TOP] += 1
            waits = True
        if right != NONE and made.counted[right] != now:
            stack.node[reg[TOP]] = right
            reg[TOP] += 1
            waits = True
        if waits:
            continue
        reg[TOP] -= 1
        if made.counted[node] != now:
            made.counted[node] = now
            made.count[node] = 1.0 if left == NONE else made.count[left]
            if right != NONE:
                made.count[node] += made.count[right]
    return DONE
