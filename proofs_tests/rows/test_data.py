"""Tables, partitions, order, names of columns, rows of the result, by hand."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from cerlab.rows.recognise import RowEvaluator, match_recognize
from proofs_tests.rows.tables import EVALUATORS, case, letters, numbers, rows_of

G = [{"g": g, "x": x} for g, x in ((2, 1), (1, 5), (2, 0), (None, 7), (1, 4), (None, 8))]
"""Partitions 2, 1, NULL in order of first appearance."""

TIES = [{"k": k, "x": x} for k, x in ((1, "p"), (0, "q"), (None, "r"), (1, "s"), (0, "t"))]

ALL = "MEASURES COUNT(*) AS n ALL ROWS PER MATCH PATTERN (A+)"

DATA = [
    case("MEASURES COUNT(A.y) AS n PATTERN (A+)", [{"x": 1}, {"y": 2}], (1,), id="1.1-absent"),
    case(
        "PARTITION BY g MEASURES SUM(x) AS s PATTERN (A+)",
        G,
        (2, 1),
        (1, 9),
        (None, 15),
        id="1.2-partitions-in-order-of-first-appearance",
    ),
    case(
        "PARTITION BY g MEASURES FIRST(x) AS s PATTERN (A A)",
        G,
        (2, 1),
        (1, 5),
        (None, 7),
        id="D21-null-keys-are-one-partition",
    ),
    case("MEASURES COUNT(*) AS n PATTERN (A+)", G, (6,), id="1.2-without-the-clause-one-partition"),
    case(
        "PARTITION BY g, x MEASURES COUNT(*) AS n PATTERN (A+)",
        [{"g": 1, "x": 1}, {"g": 1, "x": 2}, {"g": 1, "x": 1}],
        (1, 1, 2),
        (1, 2, 1),
        id="1.2-two-keys",
    ),
    case(
        f"ORDER BY k {ALL}",
        TIES,
        (0, 1, "q"),
        (0, 2, "t"),
        (1, 3, "p"),
        (1, 4, "s"),
        (None, 5, "r"),
        id="1.3-stable-and-null-last",
    ),
    case(
        f"ORDER BY k DESC {ALL}",
        TIES,
        (1, 1, "p"),
        (1, 2, "s"),
        (0, 3, "q"),
        (0, 4, "t"),
        (None, 5, "r"),
        id="D15-null-last-with-desc-too",
    ),
    case(
        f"ORDER BY k NULLS FIRST {ALL}",
        TIES,
        (None, 1, "r"),
        (0, 2, "q"),
        (0, 3, "t"),
        (1, 4, "p"),
        (1, 5, "s"),
        id="1.3-nulls-first",
    ),
    case(
        f"ORDER BY k DESC NULLS LAST, x DESC {ALL}",
        TIES,
        (1, "s", 1),
        (1, "p", 2),
        (0, "t", 3),
        (0, "q", 4),
        (None, "r", 5),
        id="1.3-two-keys",
    ),
    case(ALL, TIES[:3], (1, 1, "p"), (2, 0, "q"), (3, None, "r"), id="D16-without-order-by"),
    case(
        "PARTITION BY g MEASURES MATCH_NUMBER() AS n PATTERN (A)",
        G[:3],
        (2, 1),
        (2, 2),
        (1, 1),
        id="1.4-numbers-restart-in-each-partition",
    ),
    case(
        "PARTITION BY g MEASURES FIRST(x) AS f PATTERN (^ A)",
        G,
        (2, 1),
        (1, 5),
        (None, 7),
        id="1.4-anchors-are-of-the-partition",
    ),
    case(
        "PARTITION BY g MEASURES PREV(x) AS f PATTERN (A A $)",
        G,
        (2, 1),
        (1, 5),
        (None, 7),
        id="1.4-steps-stay-in-the-partition",
    ),
]
NAMES = [
    case(
        'MEASURES "a".x AS y PATTERN (A "a") DEFINE "a" AS x = 2',
        numbers("1 2"),
        (2,),
        id="2.1-quoted-names-keep-their-case",
    ),
    case(
        "MEASURES b.x AS y PATTERN (a B) DEFINE B AS A.x = 1",
        numbers("1 2"),
        (2,),
        id="2.1-regular-names-do-not",
    ),
    case(
        """MEASURES FIRST(u.x) AS y AFTER MATCH SKIP TO b PATTERN (A B b) SUBSET u = (b)
        DEFINE b AS x < 9""",
        numbers("1 2 3"),
        (2,),
        id="2.1-nor-in-any-clause",
    ),
    case(
        'MEASURES CLASSIFIER() AS v PATTERN (abc "abc") DEFINE "abc" AS TRUE',
        numbers("1 2"),
        ("abc",),
        id="D12-classifier-of-a-quoted-name",
    ),
    case(
        "MEASURES CLASSIFIER() AS v PATTERN (abc)",
        numbers("1"),
        ("ABC",),
        id="D12-classifier-of-a-regular-name",
    ),
    case("MEASURES X AS y PATTERN (A)", numbers("1"), (1,), id="2.2-a-column-but-for-case"),
    case(
        "MEASURES X AS y, x AS z PATTERN (A)",
        [{"x": 1, "X": 2}],
        (2, 1),
        id="2.2-the-exact-name-first",
    ),
    case('MEASURES "X" AS y PATTERN (A)', numbers("1"), (1,), id="2.2-quoted-columns-alike"),
    case(
        "MEASURES U.x AS y, COUNT(U.x) AS n PATTERN (A B C) SUBSET U = (A, B)",
        numbers("1 2 3"),
        (2, 2),
        id="2.3-a-union-has-the-rows-of-its-variables",
    ),
    case(
        "MEASURES LAST(x) AS y PATTERN (A B) SUBSET U = (A, B), W = (B)",
        numbers("1 2"),
        (2,),
        id="2.3-two-unions",
    ),
    case(
        "MEASURES CLASSIFIER(U) AS y PATTERN (A B C) SUBSET U = (A, B)",
        numbers("1 2 3"),
        ("B",),
        id="2.3-the-label-is-of-the-primary-variable",
    ),
    pytest.param(
        "SELECT * FROM t AS a MATCH_RECOGNIZE (MEASURES a.x AS y PATTERN (A B))",
        numbers("1 2"),
        [(1,)],
        id="2.4-a-variable-before-the-input",
    ),
    pytest.param(
        "SELECT * FROM t AS s MATCH_RECOGNIZE (MEASURES t.x + s.x AS y PATTERN (A B))",
        numbers("1 2"),
        [(4,)],
        id="2.4-the-name-and-the-alias-of-the-input",
    ),
]
ROWS = [
    case("MEASURES COUNT(*) AS n PATTERN (A{2})", numbers("1 2 3 4"), (2,), (2,), id="8.1-one-row"),
    case(
        "MEASURES COUNT(*) AS n PATTERN (A*) DEFINE A AS x = 1",
        numbers("2 1"),
        (0,),
        (1,),
        id="8.1-empty-matches-too",
    ),
    case(
        "MEASURES CLASSIFIER() AS v ALL ROWS PER MATCH PATTERN (A {- B -} C)",
        numbers("7 8 9"),
        ("A", 0, 7),
        ("C", 2, 9),
        id="8.2-excluded-rows-are-not-shown",
    ),
    case(
        "MEASURES SUM(x) AS s ALL ROWS PER MATCH PATTERN (A {- B -} C)",
        numbers("7 8 9"),
        (7, 0, 7),
        (24, 2, 9),
        id="8.2-but-are-in-the-match",
    ),
    case(
        "MEASURES SUM(x) AS s ALL ROWS PER MATCH PATTERN ({- A {- B -} C -} D)",
        numbers("1 2 3 4"),
        (10, 3, 4),
        id="5.2e-nested-exclusions",
    ),
    case(
        "MEASURES SUM(x) AS s PATTERN (A {- B -} C)",
        numbers("7 8 9"),
        (24,),
        id="8.3-no-effect-under-one-row",
    ),
    case(
        "MEASURES x AS s PATTERN ({- A -} B) DEFINE B AS A.x = 7 AND COUNT(*) = 2",
        numbers("7 8"),
        (8,),
        id="5.1-conditions-see-excluded-rows",
    ),
    case(
        "MEASURES COUNT(*) AS s ALL ROWS PER MATCH PATTERN ({- A -})",
        numbers("7 8"),
        id="8.2-all-excluded",
    ),
    case(
        "MEASURES COUNT(*) AS n, LAST(x) AS l, CLASSIFIER() AS v ALL ROWS PER MATCH PATTERN (A*)"
        " DEFINE A AS x > 1",
        numbers("1 2"),
        (0, None, None, 0, 1),
        (1, 2, "A", 1, 2),
        id="8.2-an-empty-match-gives-one-row",
    ),
    case(
        "MEASURES MATCH_NUMBER() AS n ALL ROWS PER MATCH SHOW EMPTY MATCHES PATTERN (A*)"
        " DEFINE A AS x > 1",
        numbers("1 2"),
        (1, 0, 1),
        (2, 1, 2),
        id="3.2-show-empty-matches",
    ),
    case(
        "MEASURES MATCH_NUMBER() AS n ALL ROWS PER MATCH OMIT EMPTY MATCHES PATTERN (A*)"
        " DEFINE A AS x > 1",
        numbers("1 2"),
        (2, 1, 2),
        id="7.3-omitted-matches-take-numbers",
    ),
    case(
        "MEASURES MATCH_NUMBER() AS n, COUNT(*) AS c, 7 AS k ALL ROWS PER MATCH WITH UNMATCHED ROWS"
        " PATTERN (A) DEFINE A AS x > 1",
        numbers("1 2"),
        (None, None, None, 0, 1),
        (1, 1, 7, 1, 2),
        id="D19-an-unmatched-row-has-null-measures",
    ),
    case(
        "MEASURES COUNT(*) AS c ALL ROWS PER MATCH WITH UNMATCHED ROWS PATTERN (A*)"
        " DEFINE A AS x > 1",
        numbers("1 2"),
        (0, 0, 1),
        (1, 1, 2),
        id="8.3-with-unmatched-rows-shows-empty-matches",
    ),
    case(
        "MEASURES MATCH_NUMBER() AS n ALL ROWS PER MATCH WITH UNMATCHED ROWS"
        " AFTER MATCH SKIP TO NEXT ROW PATTERN (A B) DEFINE A AS x = 1, B AS x = 2",
        numbers("1 2 2"),
        (1, 0, 1),
        (1, 1, 2),
        (None, 2, 2),
        id="8.3-a-row-of-an-earlier-match-is-not-unmatched",
    ),
    case(
        "MEASURES MATCH_NUMBER() AS n ALL ROWS PER MATCH WITH UNMATCHED ROWS"
        " AFTER MATCH SKIP TO NEXT ROW PATTERN (A B) DEFINE A AS x < 9, B AS x > 1",
        numbers("1 2 3"),
        (1, 0, 1),
        (1, 1, 2),
        (2, 1, 2),
        (2, 2, 3),
        id="8.5-rows-of-overlapping-matches-one-after-the-other",
    ),
]
GK = [{"z": 0, "k": 2, "G": "p", "x": 1}, {"z": 1, "k": 1, "G": "p", "x": 2}]


@pytest.mark.parametrize("evaluator", EVALUATORS)
@pytest.mark.parametrize(("query", "table", "expected"), [*DATA, *NAMES, *ROWS])
def test_the_result_is(
    query: str, table: Any, expected: list[Any], evaluator: RowEvaluator
) -> None:
    assert rows_of(query, table, evaluator) == expected


COLUMNS = [
    pytest.param(
        "PARTITION BY g ORDER BY k MEASURES COUNT(*) AS n PATTERN (A)", ["G", "n"], id="8.4-one-row"
    ),
    pytest.param(
        "PARTITION BY g ORDER BY k MEASURES COUNT(*) AS n ALL ROWS PER MATCH PATTERN (A)",
        ["G", "k", "n", "z", "x"],
        id="D10-all-rows-has-the-order-of-the-standard",
    ),
    pytest.param(
        "PARTITION BY g ORDER BY G, k MEASURES COUNT(*) AS n ALL ROWS PER MATCH PATTERN (A)",
        ["G", "k", "n", "z", "x"],
        id="8.4-a-key-twice-appears-once",
    ),
    pytest.param("ALL ROWS PER MATCH PATTERN (A)", ["z", "k", "G", "x"], id="8.4-no-measures"),
    pytest.param(
        'MEASURES 1 AS "My n", 2 AS Two PATTERN (A)',
        ["My n", "Two"],
        id="2.2-measures-keep-their-spelling",
    ),
]


@pytest.mark.parametrize(("clauses", "expected"), COLUMNS)
def test_the_columns_are(clauses: str, expected: list[str]) -> None:
    assert match_recognize(f"MATCH_RECOGNIZE ({clauses})", GK).column_names == expected


SELECTS = [
    pytest.param("* FROM t", "", ["G", "k", "n", "z", "x"], id="3.6-star"),
    pytest.param("n, m.x AS y, g FROM t", "AS m", ["n", "y", "G"], id="3.6-items"),
    pytest.param("m.N FROM t AS s", "m", ["n"], id="3.6-aliases"),
]


def selecting(before: str, alias: str) -> str:
    """A query with what stands before the clause and after it; keys have the input's name."""
    query = f"""SELECT {before} MATCH_RECOGNIZE (PARTITION BY t.g ORDER BY k MEASURES t.x + A.x AS n
        ALL ROWS PER MATCH PATTERN (A)) {alias}"""
    return query.replace("t.g", "s.g") if " s " in query else query


@pytest.mark.parametrize(("before", "alias", "expected"), SELECTS)
def test_select_chooses_columns(before: str, alias: str, expected: list[str]) -> None:
    result = match_recognize(selecting(before, alias), GK)
    assert result.column_names == expected
    assert result.column("n").to_pylist() == [4, 2] if "n" in expected else True


def test_an_empty_table_has_no_partition() -> None:
    """1.2."""
    table = pa.table({"x": pa.array([], pa.int64())})
    result = match_recognize("MATCH_RECOGNIZE (MEASURES COUNT(*) AS n PATTERN (A*))", table)
    assert result.num_rows == 0
    assert result.column_names == ["n"]


@pytest.mark.parametrize("evaluator", [*EVALUATORS, "compiled"])
def test_the_only_row_of_a_table_has_none_beside_it(evaluator: RowEvaluator) -> None:
    table = pa.table({"k": [1], "x": [7]})
    measures = "PREV(FIRST(B.x)) AS p, NEXT(A.x) AS n"
    clause = f"PARTITION BY k MEASURES {measures} PATTERN (A B?) DEFINE A AS PREV(x) IS NULL"
    result = match_recognize(f"MATCH_RECOGNIZE ({clause})", table, evaluator=evaluator)
    assert result.to_pylist() == [{"k": 1, "p": None, "n": None}]


def test_letters_are_what_they_say() -> None:
    assert letters("ab .~c")[1] == {"i": 1, "a": False, "b": False, "c": None, "d": False}


@pytest.mark.parametrize("evaluator", ["reference", "search", "auto"])
@pytest.mark.parametrize(
    ("order", "rows"),
    [
        ("x NULLS LAST", (2, 0, 1)),
        ("x NULLS FIRST", (1, 2, 0)),
        ("x DESC NULLS LAST", (0, 2, 1)),
        ("x DESC NULLS FIRST", (1, 0, 2)),
    ],
)
def test_a_nan_comes_after_all_numbers_and_null_where_it_is_told(
    order: str, rows: tuple[int, ...], evaluator: RowEvaluator
) -> None:
    table = pa.table({"i": [0, 1, 2], "x": [float("nan"), None, 1.0]})
    measures = "FIRST(A.i) AS a, FIRST(A.i, 1) AS b, LAST(A.i) AS c"
    clause = f"MATCH_RECOGNIZE (ORDER BY {order} MEASURES {measures} PATTERN (A+))"
    result = match_recognize(clause, table, evaluator=evaluator).to_pylist()
    assert result == [dict(zip("abc", rows, strict=True))]
