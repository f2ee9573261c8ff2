"""A chained program in steps of one length: what `kernels.windowed.ends.find_ends_by_copies` reads.

Where what enters a state never starts earlier than what is there, the latest start of a state is
that of the last move into it: a copy, no comparison.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cerlab.engine.kernels.arrays import BEGINNING, NEVER, NONE, SPARE, Cells, CopySteps, Ops

Copy = tuple[int, int]
"""From a cell, to a cell."""


def copy_steps(actions: int, begin: Ops, move: Ops) -> CopySteps | None:
    """The copy_steps of a chained program, or None if an action moves runs round in a circle."""
    copies: list[list[Copy]] = []
    accepting: list[list[int]] = []
    for a in range(actions):
        moves = _rows(move, a) + _rows(begin, a)
        order = _sources_first([(s, t) for s, t, _ in moves if t not in (SPARE, s)])
        if order is None:
            return None
        copies.append(order)
        accepting.append([s for s, _, accepts in moves if accepts])
    width = max(1, *map(len, copies)) if copies else 1
    accepts = max(1, *map(len, accepting)) if accepting else 1
    full_rows = [row + [(SPARE, SPARE)] * (width - len(row)) for row in copies]
    return CopySteps(
        width,
        _flat([[s for s, _ in row] for row in full_rows]),
        _flat([[t for _, t in row] for row in full_rows]),
        accepts,
        _flat([row + [NEVER] * (accepts - len(row)) for row in accepting]),
    )


def _rows(ops: Ops, a: int) -> list[tuple[int, int, bool]]:
    """Source, target and whether it accepts, as cells; SPARE for no target."""
    where = slice(int(ops.first[a]), int(ops.first[a + 1]))
    return [
        (
            BEGINNING if source == NONE else 3 + source,
            SPARE if target == NONE else 3 + target,
            bool(accepts),
        )
        for source, target, accepts in zip(
            ops.source[where].tolist(),
            ops.target[where].tolist(),
            ops.accepts[where].tolist(),
            strict=True,
        )
    ]


def _sources_first(copies: Sequence[Copy]) -> list[Copy] | None:
    """An order in which each cell is copied before it is written; None for a circle.

    Of two copies into one cell the later start wins, which is that of the later copy as given.
    """
    order: list[Copy] = []
    left = list(copies)
    while left:
        ready = [
            c
            for n, c in enumerate(left)
            if not any(s == c[1] for s, _ in left if (s, _) != c)
            and not any(t == c[1] for _, t in left[:n])
        ]
        if not ready:
            return None
        order.append(ready[0])
        left.remove(ready[0])
    return order


def _flat(rows: Sequence[Sequence[int]]) -> Cells:
    return np.array([cell for row in rows for cell in row], np.uint32)
