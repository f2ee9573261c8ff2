"""The events that matter, out of many."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cerlab.predicates.columns.arrays import operations
from cerlab.predicates.columns.lookup_tables import Codes

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def relevant_indices(symbols: Codes, keep: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The indices of the events whose symbol is kept, increasing; ``keep[s]`` says it of symbol s.

    `symbols` has shape (n,) and an integer dtype, `keep` has one boolean for each symbol id.
    Raises IndexError for a symbol that `keep` does not know.
    """
    import numpy as np

    if symbols.size and int(symbols.max()) >= keep.size:
        raise IndexError(f"symbol {symbols.max()} of {keep.size} that have a say")
    out = np.empty(symbols.size, np.int64)
    count = operations().compact(symbols, keep, out)
    return out[:count].copy()
