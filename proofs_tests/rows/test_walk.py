"""The compiled scan against the search and the reference, and its cost."""

from __future__ import annotations

import re
from dataclasses import replace
from random import Random
from typing import Any, get_args

import pyarrow as pa
import pytest

from cerlab import RowPattern, Unsupported, explain_rows, match_recognize, parse_rows
from cerlab.rows import columns as row_order
from cerlab.rows import machine as live
from cerlab.rows import measures as row_measures
from cerlab.rows import scan as rows_to_walk
from cerlab.rows.compile import machine
from cerlab.rows.engine import RegisterSearch, Walk
from cerlab.rows.recognise import as_table, column_kinds
from cerlab.rows.types import bind
from cerlab.testing import random_row_pattern, random_row_table
from cerlab.testing.rows import Reach
from proofs_tests.mutants.driver import Judge, kills, mutant, on_seeds
from proofs_tests.rows.tables import EVALUATORS, rows_of, typed_table
from proofs_tests.rows.test_search import TOO_MANY, outcome
from proofs_tests.suite import Suite, random_suite

NOT_TAKEN = "CER0452"


def agree(rng: Random) -> bool:
    """Whether there was something to agree on: rows of a result."""
    query = random_row_pattern(rng, rng.choice(get_args(Reach)))
    table = typed_table(random_row_table(rng))
    ours = outcome(query, table, "compiled")
    expected = outcome(query, table, "search" if rng.random() < 0.8 else "reference")
    if expected[0] == TOO_MANY or ours[0] == NOT_TAKEN:
        return bool(expected[1] != "[]")
    assert ours == expected, f"{query}\n{table.to_pylist()}"
    return expected[1] != "[]" and not isinstance(expected[0], str)


def test_the_compiled_scan_agrees_with_the_others(suite: Suite) -> None:
    suite.run(agree, deep_count=20_000)


@random_suite(2_000)
def test_lengths_of_texts_are_numbers(rng: Random) -> bool:
    """A text as long as a number in its place: the lengths are the numbers."""
    query = random_row_pattern(rng, rng.choice(get_args(Reach)))
    rows = [
        {**row, "w": None if row["x"] is None else "\U0001f600" * row["x"]}
        for row in random_row_table(rng)
    ]
    table = pa.table(typed_table(rows)).append_column(
        "w", pa.array([row["w"] for row in rows], pa.string())
    )
    text = re.sub(r"\b([A-Z]\.)?x\b", r"CHAR_LENGTH(\1w)", str(query))
    evaluator = rng.choice(EVALUATORS)
    ours = outcome(parse_rows(text), table, evaluator)
    expected = outcome(query, table, "reference")
    if TOO_MANY in (ours[0], expected[0]) or ours[0] == NOT_TAKEN:
        return bool(expected[1] != "[]")
    assert ours == expected, f"{evaluator} {text}\n{table.to_pylist()}"
    return expected[1] != "[]" and not isinstance(expected[0], str)


def walk_of(clause: str, table: Any) -> Walk | RegisterSearch:
    """The scan, done."""
    query, rows = parse_rows(f"MATCH_RECOGNIZE ({clause})"), as_table(table)
    binding = bind(query, column_kinds(rows))
    M = machine(query, binding)
    steps = rows_to_walk.step_table_of(M)
    assert not isinstance(steps, str)
    scan = rows_to_walk.scan_of(M, steps, binding, rows)
    rows_to_walk.result_of_scan(scan)
    return scan.walk


def cells_of(walk: Walk | RegisterSearch) -> int:
    """Return the number of determinised cells."""
    assert isinstance(walk, Walk)
    return walk.cells


HARD = ["(A | B)* C", "(A* B*)* C", "A* A* B* C", "(A | A B | B)*? C", "A+ B+ A+", "^ (A | B)* $"]


@pytest.mark.parametrize("pattern", HARD)
def test_it_is_linear_in_the_rows(pattern: str) -> None:
    """Twice the rows, at most twice the steps; cells are as many as the pattern has."""
    define = "DEFINE A AS x < 3, B AS x > PREV(x) OR x < 3" + ", C AS x > 99" * ("C" in pattern)
    clause = f"MEASURES COUNT(*) AS n PATTERN ({pattern}) {define}"
    walks = [walk_of(clause, pa.table({"x": [i % 5 for i in range(n)]})) for n in (400, 800, 1600)]
    attempts, cells = [walk.attempts for walk in walks], [cells_of(walk) for walk in walks]
    assert attempts[2] <= 2.1 * attempts[1] + 9
    assert attempts[1] <= 2.1 * attempts[0] + 9
    assert cells[2] == cells[0] < 60


def test_what_decides_may_be_far_ahead() -> None:
    """Whether A or B comes first is known 5,000 rows on, and nothing is tried twice."""
    table = pa.table({"x": [0] * 5_000 + [1]})
    clause = "MEASURES LAST(B.x) AS b PATTERN (A+ C | B+ D) DEFINE C AS x = 2, D AS x = 1"
    walk = walk_of(clause, table)
    assert walk.attempts < 4 * 5_001
    assert rows_of(f"MATCH_RECOGNIZE ({clause})", table, "compiled") == [(0,)]


COLUMNS: list[tuple[str, list[Any]]] = [
    ("x < 1.5", [1, None, 3, 1]),
    ("x / 0 IS NULL AND x <= PREV(x, 2)", [5, 4, 3, None, 1]),
    ("x % -3 = 1 OR ABS(x) = 2", [-4, 4, -2, 2**62, 7]),
    ("x + 1 > 0", [2**63 - 1, -(2**63), 0]),
    ("x * 2.0 = 4", [2, 2**60, None]),
    ("x < 9007199254740993.0", [2**53 + 1, 2**53, 1]),
    ("x > 0", [float("nan"), float("inf"), -1.0]),
    ("x - x = 0", [float("inf"), 1.0]),
    ("LOWER(x) = 'a' OR x || 'b' > 'a'", ["A", "\u00df", "\U0001f600", None]),
    ("LENGTH(x) = 1 OR CHAR_LENGTH(PREV(x)) > LENGTH(x)", ["A", "\u00df", "\U0001f600e", None, ""]),
    ("CASE x WHEN 1 THEN TRUE WHEN 2 THEN NULL ELSE x > 3 END", [1, 2, 3, 4, None]),
    ("CASE WHEN x > 1 THEN 1.5 ELSE 2 END = 2", [1, 2, None]),
    ("CASE WHEN x > 1 THEN x ELSE 0.5 END = 9007199254740993", [2**53 + 1, 2**53, 1]),
    ("CASE WHEN x > 1 THEN x ELSE 0.5 END = 9007199254740992.0", [2**53 + 1, 2**53, 1]),
    ("CASE WHEN x > 1 THEN x < 3 END", [1, 2, 3, None]),
    ("COALESCE(x, 1) = 1 AND NULLIF(x, 3) IS NULL", [1, None, 3]),
    ("x BETWEEN 2 AND NULL OR NOT x IN (1, NULL)", [1, 2, 3, None]),
    ("(x IS TRUE) = (NEXT(x) IS NOT FALSE)", [True, False, None, True]),
    ("-x < 0 AND NULL IS NULL", [3, -(2**63), None]),
]


@pytest.mark.parametrize(("condition", "values"), COLUMNS)
def test_conditions_over_columns(condition: str, values: list[Any]) -> None:
    """Three-valued, exact, and the same where Arrow has no form of them."""
    measures = "MEASURES x AS y, PREV(x) AS p, MIN(x) AS l, MAX(A.x) AS h, COUNT(B.x) AS c"
    clause = f"""MATCH_RECOGNIZE ({measures}, CLASSIFIER() AS v, LAST(CLASSIFIER(), 1) AS w
        ALL ROWS PER MATCH PATTERN (A | B) DEFINE A AS {condition})"""
    table = pa.table({"x": values})
    assert repr(rows_of(clause, table, "compiled")) == repr(rows_of(clause, table))


def test_the_explanation_says_what_has_a_form_over_columns() -> None:
    clause = """MATCH_RECOGNIZE (MEASURES CASE WHEN x > 1 THEN 2 ELSE x END AS m
        PATTERN (A) DEFINE A AS CASE WHEN x > 1 THEN {} ELSE x END > 0)"""
    texts = [str(explain_rows(clause.format(value), [{"x": 1}])) for value in ("2", "2.5")]
    assert "by columns: every condition and measure" in texts[0]
    assert "by columns" not in texts[1]


def test_batches_of_matches_make_one_column() -> None:
    """Joins Arrow's arrays into an array, and values and arrays into values."""
    for count in (1, 2, 3):
        arrays = [pa.array([n, None]) for n in range(count)]
        flat = [value for n in range(count) for value in (n, None)]
        assert rows_to_walk.one_column(arrays).to_pylist() == flat
        assert rows_to_walk.one_column([*arrays, [7]]) == [*flat, 7]


def test_sums_and_means() -> None:
    for values in ([1, 2, None, 4], [2**62, 2**62, -(2**62)], [0.1] * 10, [None, None]):
        table = pa.table({"x": pa.array(values, pa.float64() if 0.1 in values else pa.int64())})
        clause = """MATCH_RECOGNIZE (MEASURES AVG(x) AS a, FINAL MAX(x) AS m, COUNT(*) AS n
            ALL ROWS PER MATCH PATTERN (A+ B?))"""
        assert rows_of(clause, table, "compiled") == rows_of(clause, table)


def test_partitions_and_orders_of_every_kind() -> None:
    table = pa.table(
        {
            "g": ["b", None, "a", "b", None, "a", "b"],
            "h": [1, 2, 1, 1, 2, 1, None],
            "t": pa.array([3, None, 1, 3, 5, 0, 2], pa.timestamp("s")),
            "f": [0.5, -1.0, None, 0.5, 2.0, 1.0, 7.0],
            "n": range(7),
        }
    )
    for order in ("t DESC NULLS FIRST, n", "f, n DESC", "f DESC", "g DESC NULLS FIRST, t", "g, h"):
        for keys in ("PARTITION BY g", "PARTITION BY h, g", ""):
            clause = f"""MATCH_RECOGNIZE ({keys} ORDER BY {order}
                MEASURES MATCH_NUMBER() AS k, PREV(n) AS p, NEXT(t) AS u
                ALL ROWS PER MATCH AFTER MATCH SKIP TO NEXT ROW PATTERN (A B*))"""
            assert rows_of(clause, table, "compiled") == rows_of(clause, table), (keys, order)


def test_long_results_come_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    from cerlab.rows import engine as row_walk

    monkeypatch.setattr(row_walk, "BATCH", 7)
    table = pa.table({"x": [i % 4 for i in range(300)], "s": [f"t{i}" for i in range(300)]})
    clause = """MATCH_RECOGNIZE (MEASURES MATCH_NUMBER() AS n, AVG(x + 0.5) AS a, LAST(s) AS t,
        COUNT(*) AS c ALL ROWS PER MATCH AFTER MATCH SKIP TO NEXT ROW
        PATTERN (A+ B) DEFINE A AS x < 3)"""
    assert rows_of(clause, table, "compiled") == rows_of(clause, table, "search")


def test_what_it_does_not_take_is_refused_by_name() -> None:
    wide = "{".join(["A", "400}"])
    for clauses, why in (
        ("PATTERN (A B) DEFINE B AS CLASSIFIER(A) || CLASSIFIER() = 'AB'", "no form over columns"),
        (f"PATTERN ({wide} {wide} {wide})", "too many states"),
    ):
        query = f"MATCH_RECOGNIZE (MEASURES 1 AS m {clauses})"
        with pytest.raises(Unsupported, match=why):
            match_recognize(query, [{"x": 1}], evaluator="compiled")
        assert "search" in str(explain_rows(query, [{"x": 1}]))


def test_the_explanation_says_what_runs() -> None:
    table = pa.table({"x": [1.0, 2.0, float("nan")], "s": ["a", "b", "c"]})
    clause = "MATCH_RECOGNIZE (MEASURES SUM(x) AS t PATTERN (A+ B) DEFINE A AS {})"
    columns = str(explain_rows(clause.format("s < 'c'"), table))
    assert "compiled scan" in columns
    assert "3 states" in columns
    assert "by value: the measure t" in columns
    assert "by value: the measure t" in str(explain_rows(clause.format("x < 3"), table))
    of_moments = "CAST(s AS DATE) IS NULL"
    assert "by value: the condition of A" in str(explain_rows(clause.format(of_moments), table))
    for condition, text in (
        ("FIRST(A.x) > 1", "registers"),
        ("PREV(CLASSIFIER()) = 'A'", "backtracks"),
        ("x > MATCH_NUMBER()", "in the search of one match"),
    ):
        assert text in str(explain_rows(clause.format(condition), table))


# -- wrong versions ------------------------------------------------------------------------------

LEADS = live.leads
RESULT_ROWS, GOING, KEYS = (
    rows_to_walk.result_rows_of,
    rows_to_walk.scan_options,
    row_order.sort_keys,
)


def nothing_ends_at_the_last_row(steps: Any) -> bool:
    return False


def only_the_best_step_leads(steps: Any, following: int, letter: Any) -> bool:
    return LEADS(steps[:1], following, letter)


def excluded_rows_shown(query: Any, M: Any, begins: Any) -> Any:
    return RESULT_ROWS(query, M._replace(is_excluded=M.is_excluded * 0), begins)


def always_past_the_last_row(query: RowPattern) -> Any:
    return GOING(query)._replace(skip=0)


def never_nulls_first(item: Any, R: Any) -> Any:
    from dataclasses import replace

    return KEYS(replace(item, nulls_first=False), R)


def partitions_flow_together(values: Any, distance: int, R: Any) -> Any:
    return AT_DISTANCE(values, distance, replace(R, partition=None))


def running_is_final(self: Any, x: Any, *, final: bool = False) -> Any:
    return ROWS(self, x, final=True)


AT_DISTANCE = row_order._at_distance
ROWS = row_measures.MeasureInput.rows
AGREEMENT: Judge = on_seeds(agree, 3_000)

MUTANTS = [
    mutant(AGREEMENT, live, "_accepts", nothing_ends_at_the_last_row),
    mutant(AGREEMENT, live, "leads", only_the_best_step_leads),
    mutant(AGREEMENT, rows_to_walk, "result_rows_of", excluded_rows_shown),
    mutant(AGREEMENT, rows_to_walk, "scan_options", always_past_the_last_row),
    mutant(AGREEMENT, row_order, "sort_keys", never_nulls_first),
    mutant(AGREEMENT, row_order, "_at_distance", partitions_flow_together),
    mutant(AGREEMENT, row_measures.MeasureInput, "rows", running_is_final),
]


test_the_search_kills = kills(MUTANTS)
