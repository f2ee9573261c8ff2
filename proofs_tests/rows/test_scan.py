"""The scan, skip clauses, WITHIN and match numbers, by hand."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from cerlab.errors import BadData
from cerlab.rows.recognise import RowEvaluator
from proofs_tests.rows.tables import (
    EVALUATORS,
    case,
    letters,
    patterns_of,
    results_of,
    rows_of,
    scan_of,
)

SCAN, SKIP = patterns_of("SCAN"), patterns_of("SKIP")
ORDERS, NUMBERS = results_of("ORDERS"), results_of("NUMBERS")
WITHIN = [
    *results_of("WITHIN"),
    case(
        "ORDER BY x MEASURES COUNT(*) AS n PATTERN (A+) WITHIN INTERVAL '90' MINUTE",
        [{"x": datetime(2026, 1, 1, h, m)} for h, m in ((9, 0), (10, 0), (10, 30))],
        (2,),
        (1,),
        id="9.1-intervals",
    ),
    case(
        "ORDER BY x MEASURES COUNT(*) AS n PATTERN (A+) WITHIN INTERVAL '2' DAY",
        [{"x": datetime(2026, 1, d, h)} for d, h in ((1, 0), (2, 23), (3, 0), (9, 0))],
        (2,),
        (1,),
        (1,),
        id="9.1-days",
    ),
]


@pytest.mark.parametrize("evaluator", EVALUATORS)
@pytest.mark.parametrize(("pattern", "text", "clauses", "expected"), [*SCAN, *SKIP])
def test_the_scan_finds(
    pattern: str, text: str, clauses: str, expected: str, evaluator: RowEvaluator
) -> None:
    assert scan_of(pattern, text, clauses, evaluator) == expected


@pytest.mark.parametrize("evaluator", EVALUATORS)
@pytest.mark.parametrize(("query", "table", "expected"), [*WITHIN, *ORDERS, *NUMBERS])
def test_the_result_is(
    query: str, table: Any, expected: list[Any], evaluator: RowEvaluator
) -> None:
    assert rows_of(query, table, evaluator) == expected


STUCK = [
    pytest.param("A B?", "TO FIRST B", "a", "skip-absent", 1, id="7.2-no-row-of-the-variable"),
    pytest.param("A B?", "TO LAST B", "c a", "skip-absent", 2, id="7.2-nor-the-last"),
    pytest.param("A B", "TO FIRST A", "a b", "skip-first", 1, id="7.2-the-first-row"),
    pytest.param("A+", "TO LAST A", "a", "skip-first", 1, id="7.2-the-last-is-the-first"),
]


@pytest.mark.parametrize("evaluator", EVALUATORS)
@pytest.mark.parametrize(("pattern", "skip", "text", "name", "row"), STUCK)
def test_the_scan_stops(
    pattern: str, skip: str, text: str, name: str, row: int, evaluator: RowEvaluator
) -> None:
    variable = skip.split()[-1]
    with pytest.raises(BadData, match=rf"{name}: .* (of|to) {variable}\b") as caught:
        scan_of(pattern, text, f"AFTER MATCH SKIP {skip}", evaluator)
    assert caught.value.row == row
    assert ("NEXT ROW" in caught.value.hint) == (name == "skip-first")


def test_the_whole_query_has_no_result() -> None:
    """7.2: one partition cannot go on, so none has a result."""
    table = [{**row, "g": row["i"] // 2} for row in letters("a b a c")]
    query = """MATCH_RECOGNIZE (PARTITION BY g MEASURES 1 AS one AFTER MATCH SKIP TO LAST B
        PATTERN (A B?) DEFINE A AS A.a, B AS B.b)"""
    assert rows_of(query, table[:2]) == [(0, 1)]
    with pytest.raises(BadData, match="skip-absent"):
        rows_of(query, table)
