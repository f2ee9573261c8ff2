"""Row patterns as users call them: text or value, any table in, Arrow out (rows.md 12)."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, get_args

from cerlab.compile.rows_to_search import machine, result_positions
from cerlab.errors import UsageError, nearest
from cerlab.io.tables import as_table, column_kinds, result_table, value_columns, value_rows
from cerlab.logic.rows import RowPattern, bound, result_rows

__all__ = ["RowEvaluator", "RowPattern", "match_recognize", "parse_rows"]

RowEvaluator: TypeAlias = Literal["auto", "search", "reference"]
"""``"auto"`` is ``"search"``, by a prioritised automaton; ``"reference"`` is for small tables."""


def parse_rows(text: str) -> RowPattern:
    """Read a MATCH_RECOGNIZE clause, or the SELECT around it (`cerlab.logic.rows.parser`)."""
    from cerlab.logic.rows import parser  # loads sqlglot

    return parser.parse_rows(text)


def match_recognize(
    query: str | RowPattern, table: Any, *, evaluator: RowEvaluator = "auto"
) -> Any:
    """The result of a MATCH_RECOGNIZE clause on a table, as a pyarrow Table (rows.md 12.2).

    `table` is a pyarrow Table, a pandas or polars data frame, a list of dicts, a `Stream`, or the
    path of a CSV, NDJSON, Parquet or Arrow file. Raises as `parse_rows`, and `IllFormed`,
    `TypeMismatch` for columns that the table does not have so, `BadData` where the skip clause
    cannot go on, `ResourceLimit` where the search is too long.

    >>> clause = '''MATCH_RECOGNIZE (
    ...     MEASURES FIRST(UP.x) AS low, LAST(TOP.x) AS high
    ...     PATTERN (UP+ TOP)
    ...     DEFINE UP AS x < NEXT(x))'''
    >>> match_recognize(clause, [{"x": 3}, {"x": 4}, {"x": 6}, {"x": 5}, {"x": 7}]).to_pylist()
    [{'low': 3, 'high': 6}, {'low': 5, 'high': 7}]
    """
    parsed = parse_rows(query) if isinstance(query, str) else query
    rows = as_table(table)
    binding = bound(parsed, column_kinds(rows))
    used = binding.names.values()
    if evaluator == "reference":
        result = result_rows(parsed, binding, value_rows(rows, used))
        measures = [[row.measures[i] for row in result] for i in range(len(parsed.measures))]
        return result_table(rows, binding, [row.row for row in result], measures)
    if evaluator not in get_args(RowEvaluator):
        hint = nearest(evaluator, get_args(RowEvaluator))
        raise UsageError("CER0805", f"unknown evaluator '{evaluator}'", hint=hint)
    columns = value_columns(rows, used)
    positions, values = result_positions(machine(parsed, binding), columns, rows.num_rows)
    return result_table(rows, binding, positions, values)
