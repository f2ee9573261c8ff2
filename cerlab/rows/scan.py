"""Row patterns on tables by compiled scan or search.

The compiled scan answers conditions on the row under test and its neighbours, without WITHIN; the
compiled search answers all others by programs over columns. The order, conditions of a row and
measures are Arrow columns; those without a columnar form are computed value by value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cerlab.engine.kernels.arrays import Int32s, Int64s
from cerlab.model.columns import values_of
from cerlab.rows import expressions as ex
from cerlab.rows import syntax as rp
from cerlab.rows.columns import REFUSALS, OrderedRows, ordered_rows, window_ends
from cerlab.rows.compile import Machine, failures, stuck
from cerlab.rows.engine import LetteredRows, Matches, RegisterSearch, Stuck, Walk
from cerlab.rows.interpreter import at_row, of_mapping
from cerlab.rows.machine import GrowingMapping, Letter, LiveSets, StepTable, step_table
from cerlab.rows.measures import MeasureInput, ResultRows, measure, null_where, offsets_of
from cerlab.rows.search_kernels import PAST_LAST, TO_FIRST, TO_LAST, TO_NEXT, ScanOptions
from cerlab.rows.stack_compiler import match_conditions
from cerlab.rows.times import over_integers, row_truths
from cerlab.rows.types import Binding

_SMALL = 12
"""The most conditions for which each combination of outcomes has a number without a search."""


@dataclass(slots=True)
class ByValue:
    """Rows as Python values, for expressions that Arrow cannot compute."""

    rows: OrderedRows
    names_of: Mapping[str, Sequence[str | None]]
    by_value: list[str] = field(default_factory=list)
    columns: dict[str, Any] = field(default_factory=dict)
    current: tuple[int, GrowingMapping] | None = None

    def partition(self, begin: int) -> GrowingMapping:
        """Return the rows of the partition that begins at a row."""
        # keep one partition, because matches come partition by partition
        if self.current is None or self.current[0] != begin:
            R = self.rows
            if not self.columns:
                self.columns = {R.names[name]: R.raw(name) for name in R.names}
            length = int(np.argmax(R.last[begin:])) + 1
            cut = {n: values_of(c.slice(begin, length), n) for n, c in self.columns.items()}
            self.current = begin, GrowingMapping(cut, length, self.names_of)
        return self.current[1]


class CompiledScan(NamedTuple):
    """A row pattern on a table, prepared for the compiled scan."""

    machine: Machine
    rows: OrderedRows
    begins: Int64s
    """The first row of each row's partition."""
    walk: Walk | RegisterSearch
    slow: ByValue


class Result(NamedTuple):
    """A result: row numbers in the table, and measures as Arrow arrays."""

    rows: Int64s
    measures: list[Any]


def step_table_of(M: Machine) -> StepTable | str:
    """Return the states and steps for the compiled scan, or a text why it is not possible."""
    return step_table(M.automaton) or "the pattern has too many states"


def scan_of(M: Machine, steps: StepTable, binding: Binding, table: Any) -> CompiledScan:
    """Return the compiled scan of a row pattern on a table; raise `NotTaken`."""
    query = M.query
    try:
        R = ordered_rows(query, binding, table)
    except REFUSALS as error:
        raise NotTaken(f"Arrow cannot sort a key as SQL does ({error})") from None
    begins, slow = _begins(R), ByValue(R, M.names_of)
    variables = rp.variables(query.pattern)
    of_rows = [d for d in query.define if d.variable not in M.of_mapping]
    truths = {d.variable: _truths(d, begins, slow) for d in of_rows}
    rows = LetteredRows(variables, *_letters(variables, truths, len(R)), R.last)
    # live states need conditions on the row alone, while WITHIN depends on the match's start
    if M.of_mapping or query.within is not None:
        walk: Walk | RegisterSearch = _search(M, steps, R, rows)
    else:
        walk = Walk(LiveSets(steps), rows)
    return CompiledScan(M, R, begins, walk, slow)


class NotTaken(Exception):
    """Error: a row pattern on a table cannot be compiled, with the reason."""


def _search(M: Machine, steps: StepTable, R: OrderedRows, rows: LetteredRows) -> RegisterSearch:
    """Return the compiled search, which also supports conditions that read the match."""
    try:
        conditions = match_conditions(M, R)
        limit = window_ends(M.query, R)
    except REFUSALS:
        raise NotTaken("a condition on the match has no form over columns") from None
    return RegisterSearch(steps, rows, conditions, limit)


def _truths(definition: rp.Definition, begins: Int64s, slow: ByValue) -> NDArray[np.bool_]:
    """Return where the condition of a variable is TRUE, by row."""
    R = slow.rows
    try:
        truths = row_truths(definition.condition, R)
    except REFUSALS:
        slow.by_value.append(f"the condition of {definition.variable}")
        value = at_row(definition.condition, R.names)
        truths = np.zeros(len(R), np.bool_)
        # one partition at a time, because Python values need far more memory than columns
        for begin in np.unique(begins).tolist():
            mapping = slow.partition(begin)
            for i in range(mapping.rows):
                truths[begin + i] = value(mapping, i) is True
    return truths


def _begins(R: OrderedRows) -> Int64s:
    """Return the first row of the partition of each row."""
    starts = np.zeros(len(R), np.int64)
    if R.partition is not None:
        first = np.flatnonzero(R.last[:-1]) + 1
        starts[first] = first
        np.maximum.accumulate(starts, out=starts)
    return starts


def _letters(
    variables: Sequence[str], truths: Mapping[str, NDArray[np.bool_]], length: int
) -> tuple[list[Letter], Int32s]:
    """Return the distinct sets of variables that hold on rows, and each row's set by number."""
    always = frozenset(v for v in variables if v not in truths)
    code = np.zeros(length, np.int64)
    for k, holds in enumerate(truths.values()):
        code |= holds.astype(np.int64) << k
    # with at most 4,096 sets, counting is faster than sorting
    if len(truths) <= _SMALL:
        there = np.flatnonzero(np.bincount(code, minlength=1))
        number = np.zeros(1 << len(truths), np.int32)
        number[there] = np.arange(len(there))
        letter = number[code]
    else:
        there, inverse = np.unique(code, return_inverse=True)
        letter = inverse.astype(np.int32)
    names = list(truths)
    letters = [always.union(v for k, v in enumerate(names) if int(c) >> k & 1) for c in there]
    return letters, letter


def result_of_scan(W: CompiledScan) -> Result:
    """Return the result of a compiled scan.

    Raises `BadData` (`skip-absent`, `skip-first`).
    """
    query, R, begins = W.machine.query, W.rows, W.begins
    rows: list[Int64s] = [np.zeros(0, np.int64)]
    measures: list[list[Any]] = [[] for _ in query.measures]
    try:
        for M in W.walk.matches(scan_options(query)):
            result_rows = result_rows_of(query, M, begins)
            rows.append(result_rows.row if R.order is None else R.order[result_rows.row])
            for column, values in zip(
                measures, measures_of(query, M, result_rows, begins, W.slow), strict=True
            ):
                column.append(values)
    except Stuck as error:
        row = error.row if R.order is None else int(R.order[error.row])
        raise stuck(row, query.skip, absent=error.absent) from None
    return Result(np.concatenate(rows), [one_column(column) for column in measures])


def one_column(batches: list[Any]) -> Any:
    """Return several columns concatenated; as a list if one of them is a list."""
    if len(batches) == 1:
        return batches[0]
    if all(isinstance(batch, pa.Array) for batch in batches):
        return pa.concat_arrays(batches)
    return [v for batch in batches for v in _values(batch)]


def _values(batch: Any) -> Any:
    return batch.to_pylist() if isinstance(batch, pa.Array) else batch


def scan_options(query: rp.RowPattern) -> ScanOptions:
    """Return the options of a scan: where to continue, and whether unmatched rows are shown."""
    variables, skip = rp.variables(query.pattern), query.skip
    targets = frozenset[str]()
    if isinstance(skip, rp.ToFirst | rp.ToLast):
        targets = rp.members(query)[skip.name]
    kinds = {rp.PastLastRow: PAST_LAST, rp.ToNextRow: TO_NEXT, rp.ToFirst: TO_FIRST}
    return ScanOptions(
        kinds.get(type(skip), TO_LAST),
        np.array([v in targets for v in variables], np.uint8),
        int(query.rows is rp.RowsPerMatch.WITH_UNMATCHED),
    )


def result_rows_of(query: rp.RowPattern, M: Matches, begins: Int64s) -> ResultRows:
    """Return the rows of the result for a batch of matches."""
    count = len(M.start)
    if query.rows is rp.RowsPerMatch.ONE:
        # only partition keys are shown, which are equal in all rows of the partition
        first = begins[M.start] if count else M.start
        return ResultRows(np.arange(count), first, M.length)
    empties = int(query.rows is not rp.RowsPerMatch.OMIT_EMPTY)
    alone = (M.length < 0) | ((M.length == 0) & bool(empties))
    width = np.where(M.length > 0, M.length, alone)
    match = np.repeat(np.arange(count), width)
    j = np.arange(len(match)) - np.repeat(np.cumsum(width) - width, width)
    row = M.start[match] + j
    if (M.length > 0).all() and not M.is_excluded.any():
        return ResultRows(match, row, j + 1)
    is_mapped = M.length[match] > 0
    visible = np.where(is_mapped, j + 1, 0)
    keep = np.ones(len(match), np.bool_)
    keep[is_mapped] = M.is_excluded == 0
    return ResultRows(match[keep], row[keep], visible[keep])


def measures_of(
    query: rp.RowPattern, M: Matches, result_rows: ResultRows, begins: Int64s, slow: ByValue
) -> Iterator[Any]:
    """Yield the values of each measure in the rows of the result for a batch of matches."""
    R, variables = slow.rows, rp.variables(query.pattern)
    S = MeasureInput(R, M, result_rows, variables, rp.members(query), offsets_of(M))
    is_unmatched = M.length[result_rows.match] < 0
    for each in query.measures:
        try:
            values = measure(over_integers(each.expression, R), S)
            yield null_where(values, len(result_rows.row), is_unmatched)
        except REFUSALS:
            if (name := f"the measure {each.name}") not in slow.by_value:
                slow.by_value.append(name)
            yield list(_measured_by_value(slow, begins, each.expression, S))


def _measured_by_value(
    slow: ByValue, begins: Int64s, e: ex.Expression, S: MeasureInput
) -> Iterator[Any]:
    """Yield the values of a measure, one row of the result at a time."""
    M, value = S.M, of_mapping(e, slow.rows.names)
    current, mapping = -1, GrowingMapping({}, 0, {})
    for match, visible in zip(S.result.match.tolist(), S.result.visible.tolist(), strict=True):
        if M.length[match] < 0:
            yield None
            continue
        if match != current:
            current, begin = match, int(begins[M.start[match]])
            mapping = slow.partition(begin)
            mapping.begin(int(M.start[match]) - begin, int(M.number[match]))
            first = S.offsets[match]
            for k in range(first, first + M.length[match]):
                mapping.push(S.variables[M.variable[k]], bool(M.is_excluded[k]))
        mapping.visible = visible
        yield value(mapping)


def explanation_lines(W: CompiledScan) -> list[str]:
    """Return a description of the compiled scan as lines of text."""
    reading = W.machine.of_mapping
    conditions = [d.variable for d in W.machine.query.define if d.variable not in reading]
    words = f" of the conditions of {', '.join(conditions)}" if conditions else ""
    text = f"{len(W.walk.table.steps) - 1} states, {len(W.walk.letters)} outcomes{words}"
    lines = [f"the compiled scan: {text}"]
    if isinstance(W.walk, RegisterSearch):
        lines = [f"the compiled search: {text}", failures(W.machine)]
        if reading:
            lines.insert(1, f"by programs: the conditions of {', '.join(reading)}")
    if W.slow.by_value:
        return [*lines, f"by value: {', '.join(W.slow.by_value)}"]
    return [*lines, "by columns: every other condition and measure" if reading else _ALL]


_ALL = "by columns: every condition and measure"
