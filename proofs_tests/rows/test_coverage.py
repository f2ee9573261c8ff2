"""Every numbered clause and every decision has rows in the tables, named by it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from proofs_tests.rows import test_data, test_errors, test_expressions, test_patterns, test_scan

TABLES: tuple[Iterable[Any], ...] = (
    *(test_patterns.CASES, test_expressions.CASES),
    *(test_data.DATA, test_data.NAMES, test_data.ROWS, test_data.COLUMNS, test_data.SELECTS),
    *(test_scan.SCAN, test_scan.SKIP, test_scan.WITHIN, test_scan.ORDERS),
    *(test_scan.NUMBERS, test_scan.STUCK),
    *(test_errors.ILL_FORMED, test_errors.OF_COLUMNS, test_errors.OF_TYPES),
)
CLAUSES = {
    *("1.1", "1.2", "1.3", "1.4", "2.1", "2.2", "2.3", "2.4"),
    *("3.1", "3.2", "3.3", "3.4", "3.5", "3.6", "4.1", "4.2", "4.3", "4.4"),
    *("5.1", "5.2a", "5.2b", "5.2c", "5.2d", "5.2e", "5.2f", "5.3", "5.4", "5.5", "5.6"),
    *(f"6.{n}" for n in range(12)),
    *("7.1", "7.2", "7.3", "8.1", "8.2", "8.3", "8.4", "8.5", "9.1", "10.1"),
}
"""Clauses with a test here; 5.7 belongs to the search, 8.6, 10.2, 10.3 and 12 have other tests."""

DECISIONS = {f"D{n}" for n in range(1, 22)}


def test_every_clause_and_decision_has_a_row() -> None:
    names = {row.id.split("-")[0] for table in TABLES for row in table}
    assert names - CLAUSES - DECISIONS == set()
    assert (CLAUSES | DECISIONS) - names == set()
