"""The hand-computed tables of row patterns, as judges of wrong versions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from cerlab.errors import CerlabError
from proofs_tests.mutants.driver import (
    Judge,
    on_rows,
)
from proofs_tests.rows import test_data, test_expressions, test_patterns, test_scan
from proofs_tests.rows.tables import rows_of, scan_of


def pattern_row(row: Sequence[Any]) -> bool:
    pattern, text, clauses, expected = row
    try:
        return bool(scan_of(pattern, text, clauses) == expected)
    except CerlabError:
        return False


def value_row(row: Sequence[Any]) -> bool:
    clauses, table, expected = row
    try:
        return bool(test_expressions.values(clauses, table) == list(expected))
    except CerlabError:
        return False


def result_row(row: Sequence[Any]) -> bool:
    query, table, expected = row
    try:
        return bool(rows_of(query, table) == expected)
    except CerlabError:
        return False


def judge(is_right: Callable[[Any], bool], *tables: Sequence[Any]) -> Judge:
    return on_rows(is_right, [row.values for table in tables for row in table])


PATTERNS = judge(pattern_row, test_patterns.CASES)
SCAN = judge(pattern_row, test_scan.SCAN, test_scan.SKIP)
VALUES = judge(value_row, test_expressions.CASES)
RESULTS = judge(result_row, test_data.DATA, test_data.NAMES, test_data.ROWS)
CLAUSES = judge(result_row, test_scan.WITHIN, test_scan.ORDERS, test_scan.NUMBERS)
