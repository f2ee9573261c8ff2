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
    numbers,
    pattern_case,
    rows_of,
    scan_of,
)

SCAN = [
    pattern_case("A", "b a a", "1:A 2:A", id="7.1-an-unmatched-row-is-passed"),
    pattern_case("A B?", "a b a", "0:AB 2:A", id="7.1-after-a-match"),
    pattern_case("A?", "b a", "0: 1:A", id="7.1-an-empty-match-goes-on-at-the-next-row"),
    pattern_case("A B", "a b b a b", "0:AB 3:AB", id="7.1-numbers-count-matches"),
]
NEXT = "AFTER MATCH SKIP TO NEXT ROW"
SKIP = [
    pattern_case("A A", "a a a", "0:AA", id="3.3-past-last-row-is-the-default"),
    pattern_case(
        "A A", "a a a", "0:AA", id="7.2-past-last-row", clauses="AFTER MATCH SKIP PAST LAST ROW"
    ),
    pattern_case("A A", "a a a", "0:AA 1:AA", id="7.2-to-next-row", clauses=NEXT),
    pattern_case("A+", "a a", "0:AA 1:A", id="7.2-to-next-row-of-a-run", clauses=NEXT),
    pattern_case(
        "A B+ C", "a b ab c c", "0:ABBC", id="7.2-to-first", clauses="AFTER MATCH SKIP TO FIRST B"
    ),
    pattern_case(
        "A B+",
        "a ab ab",
        "0:ABB 1:AB",
        id="7.2-to-first-of-a-run",
        clauses="AFTER MATCH SKIP TO FIRST B",
    ),
    pattern_case(
        "A B+",
        "a ab ab b",
        "0:ABBB",
        id="7.2-to-last-of-a-run",
        clauses="AFTER MATCH SKIP TO LAST B",
    ),
    pattern_case(
        "A B+",
        "a ab ab",
        "0:ABB",
        id="3.3-to-without-a-word-is-to-last",
        clauses="AFTER MATCH SKIP TO B",
    ),
    pattern_case(
        "A B C",
        "a ab abc c",
        "0:ABC 1:ABC",
        id="D14-to-a-union",
        clauses="AFTER MATCH SKIP TO FIRST U SUBSET U = (B, C)",
    ),
    pattern_case("A B?", "b a", "1:A", id="D5-unmatched-rows-do-not-fail-to-skip", clauses=NEXT),
    pattern_case(
        "(A B)?",
        "c a b",
        "0: 1:AB 2:",
        id="D5-an-empty-match-goes-on-in-every-mode",
        clauses="AFTER MATCH SKIP TO LAST B",
    ),
]
WITHIN = [
    case(
        "ORDER BY x MEASURES COUNT(*) AS n PATTERN (A+) WITHIN 3",
        numbers("1 2 3 4 9"),
        (3,),
        (1,),
        (1,),
        id="9.1-strictly-less",
    ),
    case(
        "ORDER BY x MEASURES COUNT(*) AS n PATTERN (A B) WITHIN 3",
        numbers("1 4"),
        id="D13-not-equal",
    ),
    case(
        "ORDER BY x MEASURES COUNT(*) AS n PATTERN (A) WITHIN 0",
        numbers("1 4"),
        id="9.1-nothing-within-0",
    ),
    case(
        "ORDER BY x MEASURES COUNT(*) AS n PATTERN (A*) WITHIN 0",
        numbers("1"),
        (0,),
        id="9.1-but-no-rows",
    ),
    case(
        "ORDER BY x MEASURES COUNT(*) AS n PATTERN (A+) WITHIN 9",
        numbers("1 2 ."),
        (2,),
        id="9.1-null-admits-nothing",
    ),
    case(
        "ORDER BY x NULLS FIRST MEASURES COUNT(*) AS n PATTERN (A+) WITHIN 9",
        numbers("1 ."),
        (1,),
        id="9.1-null-at-the-start-neither",
    ),
    case(
        "ORDER BY x MEASURES CLASSIFIER() AS v PATTERN (A B | A) WITHIN 2",
        numbers("1 5"),
        ("A",),
        ("A",),
        id="9.1-it-steers-preferment",
    ),
    case(
        "ORDER BY x, i DESC MEASURES COUNT(*) AS n PATTERN (A+) WITHIN 1",
        numbers("1 1 2"),
        (2,),
        (1,),
        id="9.1-along-the-first-column",
    ),
    case(
        "ORDER BY x MEASURES COUNT(*) AS n PATTERN (A+) WITHIN 0.5",
        numbers("1 1.25 1.5"),
        (2,),
        (1,),
        id="9.1-fractions",
    ),
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
ORDERS = [
    case(
        "DEFINE A AS x = 1 SUBSET U = (A) PATTERN (A) AFTER MATCH SKIP TO NEXT ROW"
        " ONE ROW PER MATCH MEASURES COUNT(U.*) AS n ORDER BY x PARTITION BY i",
        numbers("1 2"),
        (0, 1),
        id="3.1-clauses-in-any-order",
    ),
    case(
        "measures /* what */ count(*) as n -- so\n pattern (a /* one */ b)",
        numbers("1 2"),
        (2,),
        id="3.1-comments-and-small-letters",
    ),
    case(
        "MEASURES LAST(pattern.x) AS define PATTERN (pattern measures) DEFINE measures AS x = 2",
        numbers("1 2"),
        (1,),
        id="3.1-key-words-are-not-reserved",
    ),
    case(
        "MEASURES COUNT(*) AS n ONE ROW PER MATCH PATTERN (A A)",
        numbers("1 2"),
        (2,),
        id="3.2-one-row-per-match",
    ),
    case("MEASURES COUNT(*) AS n PATTERN (A A)", numbers("1 2"), (2,), id="3.2-is-the-default"),
    case(
        "PARTITION BY i ORDER BY x MEASURES COUNT(*) AS n PATTERN (A A)",
        numbers("1 2"),
        id="3.5-keys-are-columns",
    ),
    case("MEASURES COUNT(*) AS n PATTERN (A A)", numbers("1 2"), (2,), id="3.4-no-definition"),
]
NUMBERS = [
    case(
        "MEASURES MATCH_NUMBER() AS n PATTERN (A*) DEFINE A AS x = 2",
        numbers("1 2 1"),
        (1,),
        (2,),
        (3,),
        id="7.3-empty-matches-take-numbers",
    ),
    case(
        "MEASURES MATCH_NUMBER() AS n, i AS l PATTERN (A) DEFINE A AS x >= MATCH_NUMBER()",
        numbers("1 1 2 2 3"),
        (1, 0),
        (2, 2),
        (3, 4),
        id="7.3-match-number-in-a-condition",
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
