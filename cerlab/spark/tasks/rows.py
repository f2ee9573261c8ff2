"""Rows as tasks get them: sorted Arrow batches, cut where the number in a column changes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count, groupby, pairwise, takewhile
from typing import Any

import numpy as np

SIZE = 1 << 16
"""How many rows are gathered before an engine reads them."""


def gathered(batches: Iterable[Any], size: int = SIZE) -> Iterator[Any]:
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


def integers(table: Any, name: str) -> Any:
    """A column of integers without NULL as a flat int64 array."""
    return table.column(name).combine_chunks().to_numpy(zero_copy_only=False).astype(np.int64)


def keys_in(rows: Any) -> list[str]:
    """The columns that order rows: ``k0``, ``k1``, .."""
    return list(takewhile(rows.schema.names.__contains__, (f"k{n}" for n in count())))


def stretches(tables: Iterable[Any], name: str) -> Iterator[tuple[int, Iterator[Any]]]:
    """The rows between changes of a column, as its value and the pieces that hold it.

    As with `itertools.groupby`, the pieces are to be read before the next stretch is asked for.
    """
    for number, pieces in groupby(_pieces(tables, name), key=lambda piece: piece[0]):
        yield number, (rows for _, rows in pieces)


def _pieces(tables: Iterable[Any], name: str) -> Iterator[tuple[int, Any]]:
    for table in tables:
        numbers = integers(table, name)
        bounds = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), len(numbers)]
        for start, end in pairwise(bounds):
            if end > start:
                yield int(numbers[start]), table.slice(start, end - start)
