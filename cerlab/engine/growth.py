"""Room for more: kernels say that it lacks, and drivers provide it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

import numpy as np

from cerlab.budget import poll

Arrays = TypeVar("Arrays", bound=tuple[Any, ...])


def doubled(arrays: Arrays) -> Arrays:
    """A named tuple of arrays with the same contents and twice the room in the first dimension.

    Raises `ResourceLimit` where that is more memory than the caller may take.
    """
    poll(sum(array.nbytes for array in arrays))
    grown = (np.concatenate((array, np.zeros_like(array))) for array in arrays)
    return type(arrays)(*grown)


def joined(first: Arrays, second: Arrays) -> Arrays:
    """Named tuples of arrays one after the other."""
    pairs: Iterable[tuple[Any, Any]] = zip(first, second, strict=True)
    return type(first)(*map(np.concatenate, pairs))
