"""The MEASURES of many matches computed together, as Arrow columns.

A row of the result sees the rows of its match that RUNNING sees. `ResultRows` has, for each row
of the result, its match and the number of rows it sees; counting up to there finds the rows of a
variable.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from cerlab.engine.kernels.arrays import Bytes, Int64s
from cerlab.rows import expressions as ex
from cerlab.rows.column_forms import NotColumnar, Values, cast_column
from cerlab.rows.columns import (
    OrderedRows,
    at_rows,
    in_same_partition,
    limbs_of_doubles,
    literal,
    operation,
    ranks,
    spread,
    take_rows,
    without_nan,
)
from cerlab.rows.engine import Matches
from cerlab.rows.value_kernels import rounded_sums, running_best, running_best_row, running_variance

Flags: TypeAlias = NDArray[np.bool_]


class ResultRows(NamedTuple):
    """The rows of the result for a batch of matches."""

    match: Int64s
    """The match of each row, counted in the batch."""
    row: Int64s
    """The row of the table whose columns it has."""
    visible: Int64s
    """The number of rows of the match that RUNNING sees."""


class VariableRows(NamedTuple):
    """For each row of the result, the first row of a variable that it may read, and how many."""

    begin: Int64s
    length: Int64s


@dataclass(frozen=True, slots=True)
class MeasureInput:
    """The input of MEASURES: rows, a batch of matches, and the rows of the result.

    `members` are the variables, by index, of each name.
    """

    R: OrderedRows
    M: Matches
    result: ResultRows
    variables: Sequence[str]
    members: Mapping[str | None, frozenset[str]]
    offsets: Int64s
    """The offset of the labels of each match."""
    of_name: dict[str | None, tuple[Int64s, Int64s]] = field(default_factory=dict)

    def has_all(self, x: str | None) -> bool:
        """Return whether a name includes every row of a match."""
        return len(self.members[x]) == len(self.variables)

    def places_of(self, x: str | None) -> tuple[Int64s, Int64s]:
        """Return the indices of a name's labels, and the number of them before each label."""
        if x not in self.of_name:
            taking = np.array([v in self.members[x] for v in self.variables], np.bool_)
            is_member = taking[self.M.variable]
            counts = np.concatenate([[0], np.cumsum(is_member)])
            self.of_name[x] = np.flatnonzero(is_member), counts
        return self.of_name[x]

    def rows(self, x: str | None, *, final: bool = False) -> VariableRows:
        """Return the rows of x that RUNNING or FINAL sees in each row of the result."""
        match = self.result.match
        begin = self.offsets[match]
        visible = np.maximum(self.M.length[match], 0) if final else self.result.visible
        if self.has_all(x):
            return VariableRows(begin, visible)
        _, counts = self.places_of(x)
        first = counts[begin]
        return VariableRows(first, counts[begin + visible] - first)

    def landing(self, e: ex.Edge) -> tuple[Int64s, Flags]:
        """Return the place of the row that FIRST or LAST selects, and whether it exists."""
        x = ex.variable_of(e.body)
        begin, length = self.rows(x, final=e.final)
        there = length > e.offset
        nth = begin + (e.offset if isinstance(e, ex.First) else length - 1 - e.offset)
        if self.has_all(x):
            return np.where(there, nth, 0), there
        places, _ = self.places_of(x)
        if not len(places):
            return np.zeros(len(there), np.int64), there
        return places[np.where(there, nth, 0)], there

    def row_of(self, label: Int64s) -> Int64s:
        """Return, for each row of the result, the table row of a label of its match."""
        match = self.result.match
        return self.M.start[match] + label - self.offsets[match]


def measure(e: ex.Expression, S: MeasureInput) -> Values:
    """Return the values of a measure in all rows of the result."""
    match e:
        case ex.Literal(constant):
            return literal(constant)
        case ex.Column():
            return _value_at_landing(ex.Last(e), S, 0)
        case ex.Classifier():
            return _label(ex.Last(e), S)
        case ex.MatchNumber():
            return pa.array(S.M.number[S.result.match])
        case ex.First(ex.Classifier()) | ex.Last(ex.Classifier()):
            return _label(e, S)
        case ex.First() | ex.Last():
            return _value_at_landing(e, S, 0)
        case ex.Prev(body, j) | ex.Next(body, j):
            edge = body if isinstance(body, ex.First | ex.Last) else ex.Last(body)
            return _value_at_landing(edge, S, -j if isinstance(e, ex.Prev) else j)
        case ex.Aggregate():
            return _aggregate(e, S)
        case _:
            return operation(e, lambda part: measure(part, S))


def _value_at_landing(edge: ex.Edge, S: MeasureInput, step: int) -> Values:
    """Return an expression's values at the rows of FIRST or LAST, or `step` rows later."""
    label, there = S.landing(edge)
    row = S.row_of(label)
    if step:
        target = row + step
        there = there & in_same_partition(S.R, np.where(there, row, 0), target)
        row = target
    return take_rows(spread(at_rows(edge.body, S.R), len(S.R)), row, there)


def _label(edge: ex.Edge, S: MeasureInput) -> Values:
    label, there = S.landing(edge)
    names = pa.array(S.variables, pa.large_string())
    if not len(S.M.variable):
        return pa.nulls(len(there), pa.large_string())
    return take_rows(names, S.M.variable[np.where(there, label, 0)].astype(np.int64), there)


def _aggregate(e: ex.Aggregate, S: MeasureInput) -> Values:
    x = ex.variable_of(e)
    rows = S.rows(x, final=e.final)
    if isinstance(e.body, ex.AllRows):
        return pa.array(rows.length)
    places, _ = S.places_of(x)
    values = _of_labels(spread(at_rows(e.body, S.R), len(S.R)), places, S)
    if e.function is ex.AggregateFunction.ARRAY_AGG:
        return _lists(values, rows)
    present = pc.is_valid(values).to_numpy(zero_copy_only=False)
    count = _sums(present.astype(np.int64), rows)
    match e.function:
        case ex.AggregateFunction.COUNT:
            return pa.array(count)
        case ex.AggregateFunction.COUNT_DISTINCT:
            return pa.array(_sums(_first_of_match(values, places, S), rows))
        case ex.AggregateFunction.LISTAGG:
            kept = VariableRows(_sums_before(present, rows), count)
            separator = literal(e.rest[0].value)  # type: ignore[union-attr]  # a literal
            return pc.binary_join(_lists(values.drop_null(), kept), separator)
        case ex.AggregateFunction.MAX_BY | ex.AggregateFunction.MIN_BY:
            keys = _of_labels(spread(at_rows(e.rest[0], S.R), len(S.R)), places, S)
            return _best_by(e.function, values, keys, rows, _begins(S, x))
        case ex.AggregateFunction.MIN | ex.AggregateFunction.MAX:
            return _best(e.function, values, present, rows, S, x)
        case ex.AggregateFunction.SUM | ex.AggregateFunction.AVG:
            if pa.types.is_float64(values.type):
                sums = pa.array(_sums_of_doubles(values, rows), mask=count == 0)
                if e.function is ex.AggregateFunction.SUM:
                    return sums
                return pc.divide(sums, pa.array(np.maximum(count, 1).astype(np.float64)))
            if not pa.types.is_int64(values.type):
                raise NotColumnar
            whole = pc.fill_null(values, 0).to_numpy(zero_copy_only=False)
            # differences of running totals are exact only if no total is rounded or overflows
            if int(np.abs(whole, dtype=np.float64).max(initial=0)) * len(whole) >= 1 << 52:
                raise NotColumnar
            total = pa.array(_sums(whole, rows), mask=count == 0)
            if e.function is ex.AggregateFunction.SUM:
                return total
            return pc.divide(total.cast(pa.float64()), pa.array(np.maximum(count, 1)))
        case _:
            return _spread(e.function, values, present, rows, _begins(S, x))


def _of_labels(values: Values, places: Int64s, S: MeasureInput) -> Values:
    """Return the values of an expression at the rows of the given labels."""
    match = np.searchsorted(S.offsets, places, "right") - 1
    return values.take(pa.array(S.M.start[match] + places - S.offsets[match]))


def _sums(values: Int64s, rows: VariableRows) -> Int64s:
    # a sum over a range is the difference of two running totals
    totals = np.concatenate([[0], np.cumsum(values)])
    sums: Int64s = totals[rows.begin + rows.length] - totals[rows.begin]
    return sums


def _sums_of_doubles(values: Values, rows: VariableRows) -> NDArray[np.float64]:
    """Return exact sums of doubles, rounded once."""
    parts, exponent = limbs_of_doubles(values)
    limbs = np.array([_sums(part, rows) for part in parts])
    sums = np.empty(len(rows.length))
    rounded_sums(limbs, exponent, np.zeros(len(limbs) + 2, np.int64), sums)
    return sums


def _best(
    function: ex.AggregateFunction,
    values: Values,
    present: Flags,
    rows: VariableRows,
    S: MeasureInput,
    x: str | None,
) -> Values:
    """Return MIN or MAX over the rows of each match."""
    if not (pa.types.is_int64(values.type) or pa.types.is_float64(values.type)):
        raise NotColumnar
    places, _ = S.places_of(x)
    numbers = pc.fill_null(without_nan(values), 0).to_numpy(zero_copy_only=False).copy()
    there = present.astype(np.uint8)
    running_best(numbers, there, _begins(S, x), function is ex.AggregateFunction.MAX)
    if not len(places):
        return pa.nulls(len(rows.length), values.type)
    at = np.where(rows.length > 0, rows.begin + rows.length - 1, 0)
    return take_rows(pa.array(numbers), at, (rows.length > 0) & (there[at] > 0))


def _begins(S: MeasureInput, x: str | None) -> Bytes:
    """Return where each match begins among the rows of a name."""
    places, counts = S.places_of(x)
    begins = np.zeros(len(places) + 1, np.uint8)
    begins[counts[S.offsets]] = 1
    return begins


def _sums_before(present: Flags, rows: VariableRows) -> Int64s:
    """Return, for each row of the result, the number of present values before its first row."""
    totals = np.concatenate([[0], np.cumsum(present)])
    before: Int64s = totals[rows.begin]
    return before


MOST_ITEMS = 1 << 31
"""The limit on the items of lists in one Arrow array, whose offsets have 32 bits."""


def _lists(values: Values, rows: VariableRows) -> Values:
    """Return, for each row of the result, the values of its rows as a list; NULL for no rows."""
    offsets = np.concatenate([[0], np.cumsum(rows.length)])
    if offsets[-1] >= MOST_ITEMS:
        raise NotColumnar
    items = np.arange(offsets[-1]) + np.repeat(rows.begin - offsets[:-1], rows.length)
    return pa.ListArray.from_arrays(
        pa.array(offsets, pa.int32()),
        values.take(pa.array(items)),
        mask=pa.array(rows.length == 0),
    )


def _first_of_match(values: Values, places: Int64s, S: MeasureInput) -> Int64s:
    """Return 1 for values that occur first in their match, otherwise 0."""
    if pa.types.is_float64(values.type):
        values = pc.add(without_nan(values), 0.0)  # adding 0.0 makes -0.0 and 0.0 one value
    codes = values.dictionary_encode()
    there = np.flatnonzero(pc.is_valid(values).to_numpy(zero_copy_only=False))
    match = np.searchsorted(S.offsets, places, "right") - 1
    code = pc.fill_null(codes.indices, 0).to_numpy(zero_copy_only=False)[there]
    keys = match[there] * max(len(codes.dictionary), 1) + code
    first = np.zeros(len(values), np.int64)
    first[there[np.unique(keys, return_index=True)[1]]] = 1
    return first


def _best_by(
    function: ex.AggregateFunction, values: Values, keys: Values, rows: VariableRows, begins: Bytes
) -> Values:
    """Return MAX_BY or MIN_BY over the rows of each match."""
    if pa.types.is_large_string(keys.type):
        (keys,) = ranks(keys)
    if not (pa.types.is_int64(keys.type) or pa.types.is_float64(keys.type)):
        raise NotColumnar
    both = pc.and_(pc.is_valid(values), pc.is_valid(keys)).to_numpy(zero_copy_only=False)
    numbers = pc.fill_null(without_nan(keys), 0).to_numpy(zero_copy_only=False)
    best = np.full(len(numbers) + 1, -1, np.int64)
    greatest = function is ex.AggregateFunction.MAX_BY
    running_best_row(numbers, both.astype(np.uint8), begins, greatest, best)
    at = best[np.where(rows.length > 0, rows.begin + rows.length - 1, len(numbers))]
    return (
        take_rows(values, np.maximum(at, 0), at >= 0)
        if len(values)
        else values.take(pa.nulls(len(at), pa.int64()))
    )


def _spread(
    function: ex.AggregateFunction,
    values: Values,
    present: Flags,
    rows: VariableRows,
    begins: Bytes,
) -> Values:
    """Return STDDEV or VARIANCE over the rows of each match."""
    if not (pa.types.is_int64(values.type) or pa.types.is_float64(values.type)):
        raise NotColumnar
    numbers = pc.fill_null(cast_column("float64", values), 0.0).to_numpy(zero_copy_only=False)
    numbers = np.append(numbers, 0.0)
    counts = np.zeros(len(numbers), np.int64)
    less = int(function.value in ("STDDEV", "VARIANCE"))
    running_variance(numbers[:-1], present.astype(np.uint8), begins, less, counts)
    # one more place, for rows without values
    at = np.where(rows.length > 0, rows.begin + rows.length - 1, len(numbers) - 1)
    variance = numbers[at]
    result = np.sqrt(variance) if function.value.startswith("STDDEV") else variance
    return pa.array(result, mask=counts[at] <= 0)


def null_where(values: Values, length: int, absent: Flags) -> Values:
    """Return a measure as an array, with NULL in rows without a match."""
    values = spread(values, length)
    if not absent.any():
        return values
    return pc.if_else(pa.array(absent), pa.scalar(None, values.type), values)


def offsets_of(M: Matches) -> Int64s:
    """Return where the labels of each match begin."""
    lengths = np.maximum(M.length, 0)
    offsets: Int64s = np.cumsum(lengths) - lengths
    return offsets
