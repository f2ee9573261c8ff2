"""The rows of a table as a row pattern reads them: partitions, and the order in each, by arrays.

It is rows.md 1.2 and 1.3 over Arrow columns; `cerlab.compile.rows_to_search` has the same over
values, for columns that are not comparable as numbers or text.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from cerlab.compile.row_columns import WHOLE, NotColumnar, OrderedRows, ranks
from cerlab.engine.kernels.arrays import Int64s
from cerlab.engine.kernels.row_search import admitted_ends
from cerlab.logic.rows import syntax as rp
from cerlab.logic.rows.syntax import RowPattern
from cerlab.logic.rows.types import Binding
from cerlab.model.clauses import TimeWindow


def ordered_rows(query: RowPattern, binding: Binding, table: Any) -> OrderedRows:
    """All partitions of a table, by first appearance; raises as `row_columns` says."""
    n = table.num_rows
    table_rows = OrderedRows(None, np.zeros(n, np.uint8), None, table, binding.names)
    partition = _partitions(query, table_rows)
    keys = [key for item in query.order_by for key in _keys(item, table_rows)]
    if partition is not None:
        keys.insert(0, partition)
    order = None if _is_sorted(keys) else np.lexsort(keys[::-1])
    last = np.zeros(n, np.uint8)
    last[-1:] = 1
    if partition is not None:
        partition = partition if order is None else partition[order]
        last[:-1] = partition[1:] != partition[:-1]
    return OrderedRows(order, last, partition, table, binding.names)


def _partitions(query: RowPattern, R: OrderedRows) -> Int64s | None:
    """The number of each row's partition, None without PARTITION BY; NULL equals NULL."""
    number: Int64s | None = None
    for column in query.partition_by:
        codes = pc.dictionary_encode(R.column(column.name), null_encoding="encode").indices
        code = codes.to_numpy(zero_copy_only=False).astype(np.int64)
        if number is None:
            number = code
        else:
            pairs = pa.array(number * (int(code.max(initial=0)) + 1) + code)
            number = pc.dictionary_encode(pairs).indices.to_numpy().astype(np.int64)
    return number


def _keys(item: rp.OrderItem, R: OrderedRows) -> list[NDArray[Any]]:
    """What rows are sorted by, the first key first: whether there is a value, and the value."""
    column = R.column(item.column.name)
    if pa.types.is_large_string(column.type):
        column = ranks(column)
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int64())
    keys: list[NDArray[Any]] = []
    if column.null_count:
        absent = pc.is_null(column).to_numpy(zero_copy_only=False)
        keys.append(absent != item.nulls_first)
        column = pc.fill_null(column, 0)
    values = column.to_numpy(zero_copy_only=False)
    if not item.descending:
        return [*keys, values]
    return [*keys, -values if values.dtype == np.float64 else ~values]


def _is_sorted(keys: list[NDArray[Any]]) -> bool:
    """Whether rows stand in the order of their keys already."""
    if not keys:
        return True
    ties = np.ones(max(0, len(keys[0]) - 1), np.bool_)
    for key in keys:
        if (ties & (key[1:] < key[:-1])).any():
            return False
        ties &= key[1:] == key[:-1]
    return True


def window_ends(query: RowPattern, R: OrderedRows) -> Int64s:
    """Where the rows end that WITHIN admits to a match, by its first row (rows.md 9.1).

    Without WITHIN there are none of these.
    """
    if query.within is None:
        return np.zeros(0, np.int64)
    column = R.column(query.order_by[0].column.name)
    null = pc.is_null(column).to_numpy(zero_copy_only=False).astype(np.uint8)
    times = pc.fill_null(column, 0).to_numpy(zero_copy_only=False)
    d = query.within
    width = d.nanoseconds if isinstance(d, TimeWindow) else d
    if times.dtype == np.float64:
        if width > WHOLE:
            raise NotColumnar
        width = float(width)
    else:
        ends = pc.min_max(column).as_py()
        width = math.ceil(width)  # of integers, which differ by less than d or by less than that
        if max((ends["max"] or 0) - (ends["min"] or 0), width) >= 1 << 63:
            raise NotColumnar
    end = np.empty(len(R), np.int64)
    admitted_ends(times, null, R.last, width, end)
    return end
