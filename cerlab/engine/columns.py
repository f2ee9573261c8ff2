"""Parts of columns of events, whatever they are: Arrow arrays or lists of values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cerlab.engine.kernels.arrays import Int64s
from cerlab.model.columns import Column, Columns, array_of, is_arrow, numbers_of, values_of

Indices: TypeAlias = NDArray[np.integer[Any]]


def rows_of_streams(streams: Sequence[str], columns: Mapping[str, Any]) -> Int64s | None:
    """The indices of the events that FROM leaves, increasing; None for all."""
    if not streams or "stream" not in columns:
        return None
    inside = _is_in(columns["stream"], streams)
    return None if inside.all() else np.flatnonzero(inside)


def events_of_streams(
    streams: Sequence[str], columns: Mapping[str, Any], length: int
) -> tuple[Mapping[str, Any], Int64s]:
    """The columns of the events that FROM leaves, and where these were: int64 (events,)."""
    inside = rows_of_streams(streams, columns)
    if inside is None:
        return columns, np.arange(length, dtype=np.int64)
    return take_columns(columns, inside), inside


def _is_in(column: Any, streams: Sequence[str]) -> NDArray[np.bool_]:
    """Whether each event is in one of some streams, or in every one: shape (events,)."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not is_arrow(column):
        names = values_of(column, "stream")
        return np.array([name is None or name in streams for name in names], np.bool_)
    texts = column.cast(pa.string())
    inside = pc.or_(pc.is_null(texts), pc.is_in(texts, array_of(streams)))
    whole = inside.combine_chunks() if isinstance(inside, pa.ChunkedArray) else inside
    return numbers_of(whole.cast(pa.uint8())).view(np.bool_)


def take_rows(column: Column, indices: Indices) -> Column:
    """The values at some indices, shape (indices,)."""
    if hasattr(column, "take"):
        return column.take(indices)
    return [column[n] for n in indices.tolist()]


def take_columns(columns: Mapping[str, Column], indices: Indices) -> Columns:
    """The events at some indices; a column is made when it is used."""
    return Columns(columns, lambda name: take_rows(columns[name], indices))


def slice_rows(column: Column, start: int, size: int) -> Column:
    """`size` values from `start` on."""
    if hasattr(column, "slice"):
        return column.slice(start, size)
    return column[start : start + size]


def slice_columns(columns: Mapping[str, Any], start: int, size: int) -> Columns:
    """`size` events from `start` on; a column is made when it is used."""
    return Columns(columns, lambda name: slice_rows(columns[name], start, size))
