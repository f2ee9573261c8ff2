"""Parts of columns of events, whatever they are: Arrow arrays or lists of values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np


def rows_of_streams(streams: Sequence[str], columns: Mapping[str, Any], length: int) -> Any | None:
    """The indices of the events that FROM leaves, int64, increasing; None for all."""
    if not streams or "stream" not in columns:
        return None
    listed = columns["stream"]
    values = listed.to_pylist() if hasattr(listed, "to_pylist") else listed
    inside = [n for n, name in enumerate(values) if name is None or name in streams]
    return None if len(inside) == length else np.array(inside, np.int64)


def take_rows(column: Any, indices: Any) -> Any:
    """The values at some indices, shape (indices,)."""
    if hasattr(column, "take"):
        return column.take(indices)
    return [column[n] for n in indices.tolist()]


def slice_rows(column: Any, start: int, size: int) -> Any:
    """`size` values from `start` on."""
    if hasattr(column, "slice"):
        return column.slice(start, size)
    return column[start : start + size]


def slice_columns(columns: Mapping[str, Any], start: int, size: int) -> dict[str, Any]:
    """`size` events from `start` on."""
    return {name: slice_rows(column, start, size) for name, column in columns.items()}
