"""Aggregates over the rows of matches, one after the other."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from cerlab.engine.kernels.arrays import Bytes
from cerlab.engine.kernels.compiled import kernel


@kernel
def running_best(values: NDArray[Any], there: Bytes, begins: Bytes, greatest: bool) -> None:
    """Put in place of each value the best so far since one that `begins`; `there`: if there is."""
    for i in range(1, len(values)):
        if begins[i] or not there[i - 1]:
            continue
        if not there[i] or (values[i] <= values[i - 1]) == greatest:
            values[i] = values[i - 1]
            there[i] = 1
