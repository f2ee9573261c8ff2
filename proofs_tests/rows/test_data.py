"""Tables, partitions, order, names of columns, rows of the result, by hand."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from cerlab import match_recognize
from cerlab.rows.recognise import RowEvaluator
from proofs_tests.rows.tables import EVALUATORS, letters, results_of, rows_of

DATA, NAMES, ROWS = (results_of(section) for section in ("DATA", "NAMES", "ROWS"))
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
