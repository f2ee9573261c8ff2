"""Rows as tasks get them: record batches, and tables that have enough rows for an engine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count, takewhile
from typing import Any

import numpy as np

from cerlab.model.columns import numbers_of

SIZE = 1 << 16
"""How many rows a table has before an engine reads it."""


def tables_of(batches: Iterable[Any], size: int = SIZE) -> Iterator[Any]:
    """Tables of at least `size` rows, but for the last; no row is copied."""
    import pyarrow as pa

    waiting: list[Any] = []
    rows = 0
    for batch in batches:
        waiting.append(batch)
        rows += batch.num_rows
        if rows >= size:
            yield pa.Table.from_batches(waiting)
            waiting, rows = [], 0
    if rows:
        yield pa.Table.from_batches(waiting)


def numbers_in(batches: Iterable[Any]) -> Iterator[int]:
    """The numbers that a task is given: rows of one column of integers, without NULL."""
    for batch in batches:
        yield from batch.column(0).to_pylist()


def integers(table: Any, name: str) -> Any:
    """A column of integers, moments or days without NULL as a flat int64 array."""
    import pyarrow as pa

    column = table.column(name)
    if pa.types.is_date32(column.type):
        column = column.cast(pa.int32())
    column = column.cast(pa.int64())
    parts = [*map(numbers_of, column.chunks if hasattr(column, "chunks") else [column])]
    return parts[0] if len(parts) == 1 else np.concatenate([np.zeros(0, np.int64), *parts])


def keys_in(rows: Any) -> list[str]:
    """The columns that order rows: ``k0``, ``k1``, .."""
    return list(takewhile(rows.schema.names.__contains__, (f"k{n}" for n in count())))
