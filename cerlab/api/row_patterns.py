"""Row patterns as users call them: text or value, any table in, Arrow out (rows.md 12)."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, get_args

from cerlab.compile.rows_to_search import failures, machine
from cerlab.engine.explanation import Explanation
from cerlab.errors import UsageError, nearest
from cerlab.evaluate import rows as by_rows
from cerlab.io.tables import as_table, column_kinds, result_table, value_rows
from cerlab.logic.rows.syntax import RowPattern
from cerlab.logic.rows.types import bind
from cerlab.logic.rows.semantics import result_rows

__all__ = ["RowEvaluator", "RowPattern", "explain_rows", "match_recognize", "parse_rows"]

RowEvaluator: TypeAlias = Literal["auto", "compiled", "search", "reference"]
"""``"search"`` tries the steps of a prioritised automaton. ``"compiled"`` knows which of them lead
to a match, where conditions read the row under test and its neighbours, and else tries them over
columns; ``"auto"`` takes it for long tables. ``"reference"`` is for small ones."""


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
    pattern = parse_rows(query) if isinstance(query, str) else query
    rows = as_table(table)
    if evaluator == "reference":
        binding = bind(pattern, column_kinds(rows))
        result = result_rows(pattern, binding, value_rows(rows, binding.names.values()))
        measures = [[row.measures[i] for row in result] for i in range(len(pattern.measures))]
        return result_table(rows, binding, [row.row for row in result], measures)
    if evaluator not in get_args(RowEvaluator):
        hint = nearest(evaluator, get_args(RowEvaluator))
        raise UsageError("CER0805", f"unknown evaluator '{evaluator}'", hint=hint)
    is_compiled = None if evaluator == "auto" else evaluator == "compiled"
    return by_rows.recognise(pattern, rows, compiled=is_compiled)


def explain_rows(query: str | RowPattern, table: Any) -> Explanation:
    """Which machine answers a row pattern on a table, and why; raises as `match_recognize`.

    >>> rows = [{"x": 3}, {"x": 4}]
    >>> explain_rows("MATCH_RECOGNIZE (MEASURES 1 AS m PATTERN (A+) DEFINE A AS x > PREV(x))", rows)
    the compiled scan: 2 states, 2 outcomes of the conditions of A
    by columns: every condition and measure
    the search, on tables of fewer than 1,000 rows
    """
    pattern = parse_rows(query) if isinstance(query, str) else query
    rows = as_table(table)
    binding = bind(pattern, column_kinds(rows))
    M = machine(pattern, binding)
    scan = by_rows.compiled_scan(M, binding, rows)
    if isinstance(scan, str):
        return Explanation((f"the search, as {scan}", failures(M)))
    from cerlab.compile.rows_to_walk import explanation_lines

    short = f"the search, on tables of fewer than {by_rows.SHORT:,} rows"
    return Explanation((*explanation_lines(scan[0]), *([short] if by_rows.SHORT else ())))
