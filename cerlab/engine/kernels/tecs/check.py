"""Whether nodes stand as Algorithm 1 makes them (CORE Sec. 4.1; CORE App. B.2)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cerlab.engine.kernels.arrays import NONE, Arena
from cerlab.engine.kernels.compiled import inlined, kernel

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


@inlined
def is_before(arena: Arena, latest: NDArray[np.int64], node: int, position: int) -> bool:
    """Whether an output of a position may stand above a node."""
    return latest[node] < position or (arena.left[node] == NONE and latest[node] == position)
