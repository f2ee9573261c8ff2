"""Expressions of row patterns evaluated as Arrow columns.

`at_rows` computes the value of an expression at every row together, by the column forms of
`cerlab.rows.library`. Results that no column can hold (integers beyond 64 bits, doubles mixed
with integers, moments) and labels of a match raise `NotColumnar` or an error of Arrow; the whole
expression is then computed value by value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from cerlab.engine.kernels.arrays import Bytes, Int64s
from cerlab.engine.kernels.limbs import BITS, MASK
from cerlab.model.arrays import order_of
from cerlab.model.clauses import TimeWindow
from cerlab.model.columns import decoded, is_duration, is_moment, is_text, nanoseconds
from cerlab.predicates.columns.key_codes import rows_by_code
from cerlab.predicates.columns.pieces import combinations
from cerlab.rows import expressions as ex
from cerlab.rows import syntax as rp
from cerlab.rows.column_forms import WHOLE, NotColumnar, Values, same_type
from cerlab.rows.kinds import Kind
from cerlab.rows.library import application, values_over
from cerlab.rows.search_kernels import admitted_ends
from cerlab.rows.syntax import RowPattern
from cerlab.rows.types import Binding, kinds_of

REFUSALS = (
    NotColumnar,
    OverflowError,
    pa.ArrowInvalid,
    pa.ArrowNotImplementedError,
    pa.ArrowTypeError,
)
"""The errors that mean: Arrow cannot compute this expression on these columns."""


@dataclass(frozen=True, slots=True)
class OrderedRows:
    """The rows of a table sorted by partition, and within each by ORDER BY.

    `order` are their places in the table, None if the table is in this order; `columns` the columns
    that are read, by their names in the query.
    """

    order: Int64s | None
    last: Bytes
    """True if a row is the last of its partition."""
    partition: Int64s | None
    """The number of each row's partition; None for a single partition."""
    table: Any
    names: Mapping[str, str]
    kind_of: Callable[[ex.Expression], Kind]
    """The static kind of an expression."""
    read: dict[str, Values] = field(default_factory=dict)
    base: int = 0
    """The origin of moments, in nanoseconds since 1970."""
    unit: int = 1
    """The unit of moments and durations, in nanoseconds."""

    def __len__(self) -> int:
        return len(self.last)

    def raw(self, name: str) -> Values:
        """Return a column in the order of the rows, with the Arrow type of the table."""
        column = self.table.column(self.names[name]).combine_chunks()
        if isinstance(column, pa.ChunkedArray):  # a column without rows, or a very long one
            column = pa.concat_arrays(column.chunks) if column.chunks else pa.nulls(0, column.type)
        return column if self.order is None else column.take(pa.array(self.order))

    def column(self, name: str) -> Values:
        """Return a column as Booleans, int64, doubles or text; times as nanoseconds."""
        if name not in self.read:
            raw = self.raw(name)
            values = _plain(raw, name)
            if is_moment(raw.type) and self.base:
                values = pc.subtract_checked(values, self.base)
            if (is_moment(raw.type) or is_duration(raw.type)) and self.unit != 1:
                values = pc.divide_checked(values, self.unit)
            self.read[name] = values
        return self.read[name]

    def key(self, name: str) -> Values:
        """Return a column for comparing and grouping rows; raise `NotColumnar` for NaN."""
        return without_nan(self.column(name))


def _plain(column: Values, name: str) -> Values:
    if pa.types.is_dictionary(column.type):
        column = decoded(column)
    kind = column.type
    if pa.types.is_boolean(kind):
        return column
    if pa.types.is_integer(kind):
        return column.cast(pa.int64())
    if pa.types.is_floating(kind):
        return column.cast(pa.float64())
    if is_text(kind):
        return column.cast(pa.large_string())
    if (is_moment(kind) or is_duration(kind)) and (whole := nanoseconds(column)) is not None:
        return whole
    raise NotColumnar


def without_nan(values: Values) -> Values:
    """Return the values; raise `NotColumnar` for NaN, which Arrow orders unlike SQL."""
    if pa.types.is_float64(values.type) and pc.any(pc.is_nan(values)).as_py():
        raise NotColumnar
    return values


MOST_LIMBS = 16
"""The most limbs of a double in a sum: enough for numbers from 2^-300 to 2^30."""


def limbs_of_doubles(values: Values) -> tuple[NDArray[np.int64], int]:
    """Return doubles as integers in limbs, times ``2**exponent``, so that sums are exact.

    Signed, shape (limbs, rows), 0 for NULL. Raises `NotColumnar` for NaN and infinities, which have
    no limbs, for values of very different sizes, and for sums beyond the largest double.
    """
    doubles = pc.fill_null(values, 0.0).to_numpy(zero_copy_only=False)
    if not np.isfinite(doubles).all():
        raise NotColumnar
    fractions, powers = np.frexp(doubles)
    whole = (fractions * 2.0**53).astype(np.int64)
    lowest_bit = (whole & -whole).astype(np.float64)
    zeros = np.where(whole == 0, 0, np.frexp(lowest_bit)[1] - 1)
    whole, powers = whole >> zeros, powers.astype(np.int64) + zeros - 53
    exponent = int(powers[whole != 0].min(initial=0))
    place, shift = np.divmod(np.where(whole == 0, 0, powers - exponent), BITS)
    count = int(place.max(initial=0)) + 4
    # with two spare limbs, no number of rows makes a sum overflow
    if count > MOST_LIMBS or BITS * (count + 2) + exponent > 1_023:
        raise NotColumnar
    limbs, rows = np.zeros((count, len(whole)), np.int64), np.arange(len(whole))
    for n, digit in enumerate((whole & MASK, (whole >> BITS) & MASK, whole >> 2 * BITS)):
        limbs[place + n, rows] += (digit << shift) & MASK
        limbs[place + n + 1, rows] += (digit << shift) >> BITS
    return limbs, exponent


def at_rows(e: ex.Expression, R: OrderedRows) -> Values:
    """Return the values of an expression on all rows, as `interpreter.at_row` defines them."""
    match e:
        case ex.Literal(constant):
            return literal(constant)
        case ex.Column(name):
            return R.column(name)
        case ex.Prev(body, j) | ex.Next(body, j):
            values = spread(at_rows(body, R), len(R))
            return _at_distance(values, -j if isinstance(e, ex.Prev) else j, R)
        case ex.Classifier() | ex.MatchNumber() | ex.First() | ex.Last() | ex.Aggregate():
            raise NotColumnar
        case _:
            return operation(e, lambda part: at_rows(part, R))


def literal(constant: object) -> Values:
    """Return a constant as an Arrow scalar."""
    match constant:
        case bool():
            return pa.scalar(constant)
        case int():
            return pa.scalar(constant, pa.int64())
        case float():
            return pa.scalar(constant, pa.float64())
        case str():
            return pa.scalar(constant, pa.large_string())
        case None:
            return pa.scalar(None)
        case _:
            raise NotColumnar


def _at_distance(values: Values, distance: int, R: OrderedRows) -> Values:
    """Return, for each row, the value `distance` rows later; NULL outside its partition.

    By slices: taking rows by number costs four times as much.
    """
    n = len(R)
    distance = max(-n, min(distance, n))
    low, high = max(0, -distance), n - max(0, distance)
    # the values at the ends are arbitrary, because the mask below makes them NULL
    parts = [values.slice(0, low), values.slice(low + distance, high - low), values.slice(high)]
    there = np.zeros(n, np.bool_)
    there[low:high] = True
    if R.partition is not None:
        there[low:high] = R.partition[low:high] == R.partition[low + distance : high + distance]
    moved = pa.concat_arrays(parts)
    return pc.if_else(pa.array(there), moved, pa.scalar(None, moved.type))


def in_same_partition(R: OrderedRows, origin: Int64s, rows: Int64s) -> NDArray[np.bool_]:
    """Return whether rows are in the partition of the rows from which PREV or NEXT steps."""
    within: NDArray[np.bool_] = (rows >= 0) & (rows < len(R))
    if R.partition is not None:
        # row 0 for rows outside the table, which `within` rejects
        there = np.where(within, rows, 0)
        within &= R.partition[there] == R.partition[np.where(within, origin, 0)]
    return within


def take_rows(values: Values, rows: Int64s, there: NDArray[np.bool_]) -> Values:
    """Return the values of the given rows, NULL where `there` is false."""
    return values.take(pa.array(rows, mask=None if there.all() else ~there))


def spread(values: Values, length: int) -> Values:
    """Return an array; a scalar is repeated `length` times."""
    return pa.repeat(values, length) if isinstance(values, pa.Scalar) else values


def ranks(*columns: Values) -> list[Values]:
    """Return columns as ranks: integers that compare as the texts or integers do."""
    arrays = [pa.array([c.as_py()], c.type) if isinstance(c, pa.Scalar) else c for c in columns]
    codes = [pc.dictionary_encode(each) for each in arrays]
    # sort each distinct text only once
    place = pc.rank(pa.concat_arrays([c.dictionary for c in codes]), tiebreaker="dense")
    results, begin = [], 0
    for column, code in zip(columns, codes, strict=True):
        of_column = place.slice(begin, len(code.dictionary)).cast(pa.int64()).take(code.indices)
        results.append(of_column[0] if isinstance(column, pa.Scalar) else of_column)
        begin += len(code.dictionary)
    return results


def operation(e: ex.Operation, part: Callable[[ex.Expression], Values]) -> Values:
    """Return an operator applied to columns; `part` computes its operands."""
    match e:
        case ex.Is(body, None):
            return pc.is_null(part(body))
        case ex.Is(body, truth):
            operand = part(body)
            return pc.fill_null(operand if truth else pc.invert(operand), False)
        case ex.In(body, members):
            operand = part(body)
            return reduce(pc.or_kleene, (values_over("=", operand, part(m)) for m in members))
        case ex.Between(body, low, high):
            operand = part(body)
            at_least, at_most = (
                values_over(">=", operand, part(low)),
                values_over("<=", operand, part(high)),
            )
            return pc.and_kleene(at_least, at_most)
        case ex.Case():
            return _case(e, part)
        case _:
            name, arguments = application(e)
            return values_over(name, *map(part, arguments))


def _case(e: ex.Case, part: Callable[[ex.Expression], Values]) -> Values:
    operand = None if e.operand is None else part(e.operand)
    results = [part(result) for _, result in e.branches]
    result = pa.scalar(None, results[0].type) if e.otherwise is None else part(e.otherwise)
    same_type([*results, result])
    for (test, _), value in zip(reversed(e.branches), reversed(results), strict=True):
        condition = part(test) if operand is None else values_over("=", operand, part(test))
        result = pc.if_else(pc.fill_null(condition, False), value, result)
    return result


def ordered_rows(query: RowPattern, binding: Binding, table: Any) -> OrderedRows:
    """Return the rows of a table sorted by partition and ORDER BY."""
    n = table.num_rows
    kind_of = kinds_of(query, binding)
    table_rows = OrderedRows(None, np.zeros(n, np.uint8), None, table, binding.names, kind_of)
    partition = _partitions(query, table_rows)
    keys = [key for item in query.order_by for key in sort_keys(item, table_rows)]
    order = _order(partition, keys)
    last = np.zeros(n, np.uint8)
    last[-1:] = 1
    if partition is not None:
        partition = partition if order is None else partition[order]
        last[:-1] = partition[1:] != partition[:-1]
    return OrderedRows(order, last, partition, table, binding.names, kind_of)


def _order(partition: Int64s | None, keys: list[NDArray[Any]]) -> Int64s | None:
    """Return the indices that sort rows by partition and keys; None if they are sorted."""
    if _is_sorted(keys if partition is None else [partition, *keys]):
        return None
    by_keys = None if _is_sorted(keys) else order_of(*keys)
    if partition is None:
        return by_keys
    # a stable sort by partition keeps the order of keys
    rows = rows_by_code(
        partition if by_keys is None else partition[by_keys], int(partition.max()) + 1
    )
    return rows if by_keys is None else by_keys[rows]


def _partitions(query: RowPattern, R: OrderedRows) -> Int64s | None:
    """Return the number of each row's partition; NULL equals NULL; None without PARTITION BY."""
    if not query.partition_by:
        return None
    columns = [_with_one_zero(R.key(column.name)) for column in query.partition_by]
    codes = [pc.dictionary_encode(each, null_encoding="encode") for each in columns]
    parts = [each.indices.to_numpy(zero_copy_only=False).view(np.uint32) for each in codes]
    if len(parts) == 1:
        (number,) = parts
    else:
        _, number = combinations(parts, [len(each.dictionary) for each in codes])
    partition: Int64s = number.astype(np.int64)
    return partition


def _with_one_zero(column: Values) -> Values:
    """Return a column with 0.0 in place of -0.0, which Arrow's dictionaries distinguish."""
    return pc.add(column, 0.0) if pa.types.is_floating(column.type) else column


def sort_keys(item: rp.OrderItem, R: OrderedRows) -> list[NDArray[Any]]:
    """Return sort keys for a column of ORDER BY: whether it is NULL, and its value."""
    column = R.key(item.column.name)
    if pa.types.is_large_string(column.type):
        (column,) = ranks(column)
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
    # ~x reverses the order, also of the least integer, which has no negative
    return [*keys, -values if values.dtype == np.float64 else ~values]


def _is_sorted(keys: list[NDArray[Any]]) -> bool:
    """Return whether rows are sorted by the keys already."""
    if not keys:
        return True
    ties = np.ones(max(0, len(keys[0]) - 1), np.bool_)
    for key in keys:
        if (ties & (key[1:] < key[:-1])).any():
            return False
        ties &= key[1:] == key[:-1]
    return True


def window_ends(query: RowPattern, R: OrderedRows) -> Int64s:
    """Return, for each row, the end of the rows that WITHIN permits in a match from there.

    The array is empty without WITHIN.
    """
    if query.within is None:
        return np.zeros(0, np.int64)
    column = R.key(query.order_by[0].column.name)
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
        # differences of integers are integers, so less than 2.5 means less than 3
        width = math.ceil(width)
        if max((ends["max"] or 0) - (ends["min"] or 0), width) >= 1 << 63:
            raise NotColumnar
    end = np.empty(len(R), np.int64)
    admitted_ends(times, null, R.last, width, end)
    return end
