"""Room for more: kernels say that it lacks, and drivers provide it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import numpy as np

from cerlab.budget import poll
from cerlab.engine.kernels import arrays as k

Arrays = TypeVar("Arrays", bound=tuple[Any, ...])


def double_room(arrays: Arrays) -> Arrays:
    """A named tuple of arrays with the same contents and twice the room in the first dimension.

    Raises `ResourceLimit` where that is more memory than the caller may take.
    """
    poll(sum(array.nbytes for array in arrays))
    larger = (np.concatenate((array, np.zeros_like(array))) for array in arrays)
    return type(arrays)(*larger)


def join_arrays(first: Arrays, second: Arrays) -> Arrays:
    """Named tuples of arrays one after the other; raises as `double_room`."""
    poll(sum(array.nbytes for array in (*first, *second)))
    pairs: Iterable[tuple[Any, Any]] = zip(first, second, strict=True)
    return type(first)(*map(np.concatenate, pairs))


def arena_of(nodes: int) -> k.Arena:
    """An arena with room for so many nodes."""
    return k.Arena(
        np.zeros(nodes, np.int64),
        np.zeros(nodes, np.int32),
        np.zeros(nodes, np.int32),
        np.zeros(nodes, np.int64),
    )


def firsts(rows: Sequence[Sequence[object]]) -> k.Int32s:
    """Where each row begins in the rows laid end to end, and where the last one ends."""
    return np.cumsum([0, *map(len, rows)], dtype=np.int32)
