"""The worked examples of ISO/IEC 19075-5 with the tables that it prints (sections 4.3 to 7.2).

The days of the ticker are 8, 9, .. of June 2009; one partition, XYZ.
"""

from __future__ import annotations

from typing import Any

import pytest

from cerlab.rows.recognise import RowEvaluator
from proofs_tests.rows.tables import EVALUATORS, numbers, rows_of

PRICES = ((8, 50), (9, 60), (10, 49), (11, 40), (12, 35), (15, 45), (16, 45), (17, 45), (18, 43))
LATER = ((19, 47), (22, 52), (23, 70), (24, 60))
TICKER = [{"Symbol": "XYZ", "Day": day, "Price": price} for day, price in (*PRICES, *LATER)]
KEYS = "PARTITION BY Symbol ORDER BY Day"
V = """PATTERN (A B+ C+) SUBSET U = (A, B, C)
    DEFINE B AS B.Price < PREV(B.Price), C AS C.Price > PREV(C.Price)"""
RISES = "PATTERN (A*) DEFINE A AS A.Price > PREV(A.Price)"
OF_A_RISE = "MATCH_NUMBER() AS Matchno, CLASSIFIER() AS Classy"

FIRST_V = [(9, 60, "A"), (10, 49, "B"), (11, 40, "B"), (12, 35, "B"), (15, 45, "C")]
SECOND_V = [(17, 45, "A"), (18, 43, "B"), (19, 47, "C"), (22, 52, "C"), (23, 70, "C")]
OF_RISES = [
    *((1, 8, 50, None, None), (2, 9, 60, "A", 60), (3, 10, 49, None, None)),
    *((4, 11, 40, None, None), (5, 12, 35, None, None), (6, 15, 45, "A", 45)),
    *((7, 16, 45, None, None), (8, 17, 45, None, None), (9, 18, 43, None, None)),
    *((10, 19, 47, "A", 70), (10, 22, 52, "A", 70), (10, 23, 70, "A", 70)),
    (11, 24, 60, None, None),
]
"""Match number, day, price, label and last price of the match at each row (Table 7)."""


def select(items: str, clauses: str, table: str = "Ticker") -> str:
    return f"SELECT {items} FROM {table} MATCH_RECOGNIZE ({clauses}) AS M"


TABLES = [
    pytest.param(
        select(
            "M.Symbol, M.Matchno, M.Startp, M.Bottomp, M.Endp, M.Avgp",
            f"""{KEYS} MEASURES MATCH_NUMBER() AS Matchno, A.Price AS Startp,
            LAST(B.Price) AS Bottomp, LAST(C.Price) AS Endp, AVG(U.Price) AS Avgp
            ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW {V}""",
        ),
        [("XYZ", 1, 60, 35, 45, 45.8), ("XYZ", 2, 45, 43, 70, 51.4)],
        id="4.3-one-row-per-match",
    ),
    pytest.param(
        select(
            "M.Matchno, M.Day, M.Price, M.Classy, M.Startp, M.Bottomp, M.Endp, M.Avgp",
            f"""{KEYS} MEASURES MATCH_NUMBER() AS Matchno, CLASSIFIER() AS Classy,
            A.Price AS Startp, FINAL LAST(B.Price) AS Bottomp, FINAL LAST(C.Price) AS Endp,
            FINAL AVG(U.Price) AS Avgp ALL ROWS PER MATCH AFTER MATCH SKIP PAST LAST ROW {V}""",
        ),
        [
            *((1, *row, 60, 35, 45, 45.8) for row in FIRST_V),
            *((2, *row, 45, 43, 70, 51.4) for row in SECOND_V),
        ],
        id="4.4-all-rows-per-match",
    ),
    pytest.param(
        select(
            "Matchno, Day, Price, Classy, Lastp",
            f"{KEYS} MEASURES {OF_A_RISE}, FINAL LAST(A.Price) AS Lastp"
            f" ALL ROWS PER MATCH SHOW EMPTY MATCHES {RISES}",
        ),
        OF_RISES,
        id="4.12.2-show-empty-matches",
    ),
    pytest.param(
        select(
            "Matchno, Day, Price, Classy",
            f"{KEYS} MEASURES {OF_A_RISE} ALL ROWS PER MATCH OMIT EMPTY MATCHES {RISES}",
        ),
        [row[:4] for row in OF_RISES if row[3]],
        id="4.12.2-omit-empty-matches",
    ),
    pytest.param(
        select(
            "Matchno, Firstp, Lastp",
            f"""{KEYS} MEASURES MATCH_NUMBER() AS Matchno, FIRST(A.Price) AS Firstp,
            LAST(A.Price) AS Lastp ONE ROW PER MATCH {RISES}""",
        ),
        [
            *((n, None, None) for n in (1,)),
            (2, 60, 60),
            *((n, None, None) for n in (3, 4, 5)),
            (6, 45, 45),
            *((n, None, None) for n in (7, 8, 9)),
            (10, 47, 70),
            (11, None, None),
        ],
        id="4.12.2-empty-matches-of-one-row",
    ),
    pytest.param(
        select(
            "Matchno, Day, Price, Classy, Startp, Avgp",
            f"""{KEYS} MEASURES MATCH_NUMBER() AS Matchno, CLASSIFIER() AS Classy,
            A.Price AS Startp, FINAL AVG(U.Price) AS Avgp
            ALL ROWS PER MATCH WITH UNMATCHED ROWS {V}""",
        ),
        [
            (None, 8, 50, None, None, None),
            *((1, *row, 60, 45.8) for row in FIRST_V),
            (None, 16, 45, None, None, None),
            *((2, *row, 45, 51.4) for row in SECOND_V),
            (None, 24, 60, None, None, None),
        ],
        id="4.12.3-unmatched-rows",
    ),
]


@pytest.mark.parametrize("evaluator", EVALUATORS)
@pytest.mark.parametrize(("query", "expected"), TABLES)
def test_the_table_is_that_of_the_standard(
    query: str, expected: list[Any], evaluator: RowEvaluator
) -> None:
    assert rows_of(query, TICKER, evaluator) == expected


NAVIGATION = ", ".join(
    f"FINAL {edge}(A.x, {k}) AS {edge[0]}{k}" for edge in ("FIRST", "LAST") for k in range(4)
)


@pytest.mark.parametrize("evaluator", EVALUATORS)
def test_first_and_last_with_offsets(evaluator: RowEvaluator) -> None:
    """5.6.3: A is mapped to the rows 1, 3 and 5."""
    query = f"""MATCH_RECOGNIZE (ORDER BY i MEASURES {NAVIGATION} PATTERN (A B A C A)
        DEFINE A AS x IN (10, 30, 50), B AS x = 20, C AS x = 40)"""
    table = numbers("10 20 30 40 50")
    assert rows_of(query, table, evaluator) == [(10, 30, 50, None, 50, 30, 10, None)]


@pytest.mark.parametrize("evaluator", EVALUATORS)
def test_match_numbers_alternate(evaluator: RowEvaluator) -> None:
    """5.8: a condition that reads MATCH_NUMBER makes matches alternate between A+ and B+."""
    query = """SELECT i, n, v FROM t MATCH_RECOGNIZE (ORDER BY i
        MEASURES MATCH_NUMBER() AS n, CLASSIFIER() AS v ALL ROWS PER MATCH PATTERN ((A+ | B+))
        DEFINE A AS MOD(MATCH_NUMBER(), 2) = 1 AND A.x > PREV(A.x),
               B AS MOD(MATCH_NUMBER(), 2) = 0 AND B.x < PREV(B.x))"""
    expected = [(1, 1, "A"), (2, 2, "B"), (3, 2, "B"), (4, 3, "A"), (5, 3, "A")]
    assert rows_of(query, numbers("10 20 15 12 18 25"), evaluator) == expected


@pytest.mark.parametrize("evaluator", EVALUATORS)
def test_infinite_repetitions_of_empty_matches(evaluator: RowEvaluator) -> None:
    """7.2.8."""
    query = """MATCH_RECOGNIZE (MEASURES CLASSIFIER() AS v ALL ROWS PER MATCH PATTERN ((A??)* B)
        DEFINE A AS FALSE)"""
    assert [row[0] for row in rows_of(query, numbers("1 2 3"), evaluator)] == ["B"] * 3
