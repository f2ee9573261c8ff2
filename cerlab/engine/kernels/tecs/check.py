"""Whether nodes stand as Algorithm 1 makes them (CORE Sec. 4.1; CORE App. B.2)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cerlab.engine.kernels.arrays import NONE, Arena, Bytes, Int32s, Int64s
from cerlab.engine.kernels.compiled import inline, kernel

FINE = -1
"""No node is misplaced."""


@kernel
def misplaced_node(arena: Arena, latest: NDArray[np.int64]) -> int:
    """The first node that is no bottom, output or union in time order; FINE if all are.

    Children are in range and before their parents. `latest` is int64 (nodes,): written with the
    latest position at or below each node. Below an output all is earlier, but for a bottom at the
    event itself; a union has the max-start of its left child, and that of the right is no later.
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
    """Mark where entries begin in a pool that has them one after the other; False if it has not.

    `heads` is uint8 (entries and nodes,), zeros at first.
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
    """The first partition whose entries are not as Algorithm 1 makes them; FINE if all are.

    Entries are known to lie one after the other. Those of a partition fill its part of the pool;
    their states are below `states`, their nodes those of the arena, by decreasing latest start, and
    the entries by the latest start of their first nodes.
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
    """Whether an output of a position may stand above a node."""
    return latest[node] < position or (arena.left[node] == NONE and latest[node] == position)
