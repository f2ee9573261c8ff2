"""Conditions of DEFINE on arriving rows, evaluated by columns, a batch at a time.

These are the conditions of DEFINE that read the row under test and rows before it. Their values are
kept beside the rows of a partition, where a search finds them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from cerlab.rows import expressions as ex
from cerlab.rows.columns import REFUSALS, OrderedRows
from cerlab.rows.compile import Machine, truths_of
from cerlab.rows.kinds import TIMES, Kind
from cerlab.rows.times import row_truths
from cerlab.rows.types import Binding, kinds_of

Columns = dict[Any, list[Any]]
"""The values of a partition by the names of columns, and by `truths_of` a variable."""

_TYPES = {
    Kind.BOOLEAN: pa.bool_(),
    Kind.INTEGER: pa.int64(),
    Kind.DOUBLE: pa.float64(),
    Kind.TEXT: pa.large_string(),
    Kind.MOMENT: pa.timestamp("ns"),
    Kind.DURATION: pa.duration("ns"),
}


class BatchConditions:
    """The conditions of DEFINE that can be evaluated by columns."""

    def __init__(self, M: Machine, binding: Binding, reach: int) -> None:
        """Select the conditions; `reach` is the largest number of rows that PREV steps back."""
        self._binding, self._reach = binding, reach
        self._kind_of = kinds_of(M.query, binding)
        self.conditions = {
            each.variable: each.condition
            for each in M.query.define
            if each.variable in M.at_row and not _looks_ahead(each.condition)
        }
        """By variable."""
        bodies = [part for e in self.conditions.values() for part in ex.subexpressions(e)]
        read = dict.fromkeys(part.name for part in bodies if isinstance(part, ex.Column))
        self.read = [*dict.fromkeys(binding.names[name] for name in read)]
        """The columns that they read."""

    def evaluate(self, parts: Sequence[tuple[Columns, int]]) -> None:
        """Store the truth of the conditions on new rows of partitions, where columns can decide."""
        if not self.conditions:
            return
        begins = [max(0, first - self._reach) for _, first in parts]
        names = self.read
        values: dict[str, list[Any]] = {name: [] for name in names}
        for (columns, _), begin in zip(parts, begins, strict=True):
            for name in names:
                values[name] += columns[name][begin:]
        lengths = [
            len(columns[names[0]]) - begin
            for (columns, _), begin in zip(parts, begins, strict=True)
        ]
        try:
            R = self.rows(values, np.repeat(np.arange(len(parts)), lengths))
        except (*REFUSALS, TypeError):
            return
        ends = [*pairwise(accumulate(lengths, initial=0))]
        for variable, condition in self.conditions.items():
            try:
                truths = row_truths(condition, R).tolist()
            except REFUSALS:
                continue
            key = truths_of(variable)
            for (columns, first), begin, (low, high) in zip(parts, begins, ends, strict=True):
                columns[key][first:] = truths[low + first - begin : high]

    def rows(self, values: Mapping[str, list[Any]], partition: Any) -> OrderedRows:
        """Return the values of rows, partition by partition."""
        last = np.ones(len(partition), np.uint8)
        last[:-1] = partition[1:] != partition[:-1]
        kinds = self._binding.kinds
        arrays = {name: array_of_kind(each, kinds[name]) for name, each in values.items()}
        names = {name: of for name, of in self._binding.names.items() if of in values}
        return OrderedRows(None, last, partition, pa.table(arrays), names, self._kind_of)


def _looks_ahead(condition: ex.Expression) -> bool:
    return any(isinstance(part, ex.Next) for part in ex.subexpressions(condition))


def array_of_kind(values: Iterable[Any], kind: Kind) -> Any:
    """Return values as an Arrow array; raise one of `REFUSALS`, or another error, if impossible."""
    if kind in TIMES:
        values = [None if each is None else each.nanoseconds for each in values]
    return pa.array(values, _TYPES.get(kind, pa.null()))
