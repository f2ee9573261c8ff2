"""The compiled search: programs over columns, what fails is kept, and its cost.

That it agrees with the search and the reference is in `test_walk`, which has all conditions.
"""

from __future__ import annotations

import math
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from cerlab import ResourceLimit, explain_rows
from cerlab.rows import columns as row_order
from cerlab.rows import engine as register_search
from cerlab.rows import machine as row_search
from cerlab.rows import scan as rows_to_walk
from cerlab.rows import stack_compiler as row_programs
from cerlab.rows import value_kernels as row_values
from cerlab.rows.column_forms import NotColumnar
from cerlab.rows.columns import limbs_of_doubles
from cerlab.rows.engine import RegisterSearch
from cerlab.rows.parser import parse_rows
from cerlab.rows.recognise import recognise
from proofs_tests.mutants.driver import Judge, kills, mutant, on_rows, on_seeds
from proofs_tests.rows.tables import rows_of
from proofs_tests.rows.test_walk import agree, walk_of
from proofs_tests.suite import random_suite

NUMBERS = [2, 5, None, 1, 7, 0, -3, 4]
DOUBLES = [0.5, 2.0, None, float("inf"), -1.5, 0.0, 1e308, 2.25]
CENTS = [0.1, 0.2, None, 0.3, 2.0**53, -0.1, 1.0, 1.0, -(2.0**53), 2.5, -0.0, 1e-3]
TEXTS = ["b", "a", None, "", "\U0001f600", "\uffff", "ab", "b"]
BIG = [2**53 + 1, 2**53, 2**63 - 1, None, -(2**63), 2**53 + 2, 0, 1]
CONDITIONS: list[tuple[str, list[Any]]] = [
    ("x > LAST(A.x)", NUMBERS),
    ("x > A.x OR A.x IS NULL", NUMBERS),
    ("x BETWEEN FIRST(x) AND LAST(A.x) + 5", NUMBERS),
    ("x IN (FIRST(A.x) - 1, LAST(x, 1) + 3, 7)", NUMBERS),
    ("NOT (LAST(B.x, 1) IS NULL) OR PREV(A.x) < 9", NUMBERS),
    ("NEXT(FIRST(x), 2) IS NULL OR -x < PREV(LAST(A.x), 1)", NUMBERS),
    ("x / LAST(A.x) > 0.5 AND x % NEXT(A.x) <> 1", NUMBERS),
    ("MOD(x, FIRST(A.x)) = ABS(LAST(A.x) - x) % 2", NUMBERS),
    ("(x > LAST(A.x)) IS NOT TRUE", NUMBERS),
    ("(x > LAST(C.x)) IS FALSE OR (x > LAST(A.x)) IS NULL", NUMBERS),
    ("COALESCE(LAST(B.x, 1), A.x, 0) < 3 AND NULLIF(x, A.x) IS NOT NULL", NUMBERS),
    ("NULLIF(x, A.x) IS NULL", [2, 2, 5, None, 5, 2, 2]),
    ("CASE WHEN A.x > x THEN A.x WHEN x > 4 THEN x * 2 END > 4", NUMBERS),
    ("CASE LAST(A.x) WHEN 2 THEN TRUE WHEN x THEN FALSE ELSE x > 0 END", NUMBERS),
    ("x * LAST(A.x) < 1.5 AND x <= LAST(x, 1)", DOUBLES),
    ("x - LAST(A.x) = x - LAST(A.x)", DOUBLES),
    ("x % LAST(A.x) >= 0 OR A.x % x > 1", DOUBLES),
    ("A.x + NULL IS NULL AND x <> NULL IS NULL", DOUBLES),
    ("x < LAST(A.x) OR FIRST(x) BETWEEN '' AND x", TEXTS),
    ("x IN (LAST(A.x), 'ab') OR LAST(A.x) = 'b'", TEXTS),
    ("LENGTH(x) >= LENGTH(LAST(A.x)) OR LENGTH(FIRST(x)) = 0", TEXTS),
    ("LENGTH(LAST(A.x)) * 2 > LENGTH(x || 'a') OR LENGTH(NEXT(A.x)) IS NULL", TEXTS),
    ("SUM(LENGTH(A.x) + 2) < 7 AND LENGTH(A.x) IS NOT NULL", TEXTS),
    ("x > LAST(A.x)", BIG),
    ("x - 1 < LAST(A.x)", BIG),
    ("x IN (FIRST(x), LAST(A.x, 0)) OR A.x IS NOT NULL", BIG),
    ("x = LAST(A.x) AND NOT A.x", [True, None, False, False, True, True]),
    ("COUNT(*) < 4 AND COUNT(A.*) + COUNT(B.*) <> 3", NUMBERS),
    ("COUNT(x) < 4 AND MATCH_NUMBER() < 3", NUMBERS),
    ("SUM(x) > 2 * AVG(B.x) OR SUM(A.x) IS NULL", NUMBERS),
    ("MIN(x) < x AND MAX(A.x) <= MAX(x)", NUMBERS),
    ("MIN(x) <= MAX(A.x) AND COUNT(x) > 1", DOUBLES),
    ("FIRST(x, 9223372036854775806) IS NULL AND LAST(x, 99) IS NULL", NUMBERS),
    ("SUM(A.x) < 3", CENTS),
    ("SUM(x) <> 0.6 AND SUM(B.x) IS NULL OR SUM(x) > AVG(A.x)", CENTS),
    ("AVG(x) * COUNT(x) >= SUM(x)", CENTS),
    ("SUM(x * 3.0) - SUM(A.x + A.x) <> 0.1", CENTS),
    ("SUM(x) > 0", BIG),
    ("SUM(x) > AVG(A.x)", DOUBLES),
]
LABELS: list[tuple[str, list[Any]]] = [
    ("CLASSIFIER() = 'B' AND (CLASSIFIER(C) IS NULL OR x < 3)", NUMBERS),
    ("CLASSIFIER(A) IN ('A', 'Z') AND LAST(CLASSIFIER(), 1) <> 'B'", NUMBERS),
    ("PREV(CLASSIFIER()) = 'C' OR FIRST(CLASSIFIER(), 1) = 'A'", NUMBERS),
    ("NEXT(CLASSIFIER()) IS NULL AND PREV(CLASSIFIER(), 3) IS NOT NULL", NUMBERS),
    ("NEXT(FIRST(CLASSIFIER()), 2) = 'B' OR NEXT(FIRST(CLASSIFIER()), 2) IS NULL", NUMBERS),
    ("LAST(CLASSIFIER(), 2) < LAST(CLASSIFIER(), 1) OR COUNT(*) < 4", NUMBERS),
    ("PREV(LAST(CLASSIFIER(C)), 1) BETWEEN 'A' AND 'B' OR x > 4", NUMBERS),
    ("CASE LAST(CLASSIFIER(), 1) WHEN 'A' THEN x > 1 WHEN 'C' THEN x < 3 END", NUMBERS),
    ("LENGTH(LAST(CLASSIFIER(), 1)) = 1 AND LENGTH(CLASSIFIER(A)) < x", NUMBERS),
    ("COUNT(CLASSIFIER(B)) < 3 AND LAST(CLASSIFIER(), 99) IS NULL", NUMBERS),
    ("x >= LAST(CLASSIFIER(), 1) OR x = CLASSIFIER(A)", [*TEXTS, "A"]),
    ("PREV(CLASSIFIER(), 9223372036854775807) IS NULL", NUMBERS),
]
"""Labels of the match, which are texts over the variables."""


def each_alike(row: tuple[str, list[Any]], *, by: Any = "compiled") -> bool:
    condition, values = row
    measures = "MEASURES MATCH_NUMBER() AS n, CLASSIFIER() AS v, COUNT(*) AS c"
    table = pa.table({"x": values * 2, "t": range(2 * len(values))})
    clause = f"""MATCH_RECOGNIZE (ORDER BY t {measures} ALL ROWS PER MATCH WITH UNMATCHED ROWS
        PATTERN (A{{1,2}} (B | C)* A?) DEFINE B AS {condition}, C AS x > 3)"""
    if isinstance(values[0], str):
        clause = clause.replace(", C AS x > 3", ", C AS x > 'a'")
    elif isinstance(values[0], bool):
        clause = clause.replace(", C AS x > 3", ", C AS x")
    return bool(repr(rows_of(clause, table, by)) == repr(rows_of(clause, table)))


@pytest.mark.parametrize("row", CONDITIONS, ids=[f"{c} of {v[0]}" for c, v in CONDITIONS])
def test_conditions_that_read_the_match(row: tuple[str, list[Any]]) -> None:
    """Three-valued, exact, and the same without a program."""
    assert each_alike(row, by="auto")


def doubles_of(rng: Random) -> list[float]:
    """Doubles whose sum is often rounded, or half way between two."""
    if rng.random() < 0.2:  # just above or below the half
        return [1.0, 2.0**-53, rng.choice((-1, 1)) * 2.0 ** -rng.randint(54, 120)]
    spread = rng.choice((0, 3, 40, 120))
    return [
        rng.choice(
            (
                math.ldexp(rng.randint(-(2**53), 2**53), rng.randint(-spread, spread) - 53),
                math.ldexp(rng.choice((-1.0, 1.0)), rng.randint(-54, 1)),
                round(rng.uniform(-99, 99), 2),
                -0.0,
            )
        )
        for _ in range(rng.randint(1, 9))
    ]


@random_suite(20_000)
def test_sums_of_doubles_are_exact_and_rounded_once(rng: Random) -> bool:
    values = doubles_of(rng)
    limbs, exponent = limbs_of_doubles(pa.array(values))
    total, work = np.empty(1), np.zeros(len(limbs) + 2, np.int64)
    row_values.rounded_sums(limbs.sum(axis=1, keepdims=True), exponent, work, total)
    assert total[0] == math.fsum(values), values
    return True


@random_suite(5_000)
def test_the_sums_of_matches(rng: Random) -> bool:
    """By the search, by columns, and by the reference."""
    values = [rng.choice((v, v, None)) for v in doubles_of(rng)]
    at_most = rng.choice(values) or 0.5
    clause = f"""MATCH_RECOGNIZE (ORDER BY t MEASURES SUM(x) AS s, AVG(A.x) AS m, SUM(B.x) AS b
            {rng.choice(("ALL ROWS", "ONE ROW"))} PER MATCH
            PATTERN (A+ B?) DEFINE A AS SUM(A.x) <= {at_most!r} OR AVG(x) > 1.5)"""
    table = pa.table({"x": pa.array(values, pa.float64()), "t": range(len(values))})
    expected = repr(rows_of(clause, table))
    assert repr(rows_of(clause, table, "compiled")) == expected, (clause, values)
    return expected != "[]"


@pytest.mark.parametrize(
    "values", [[1.0, math.nan], [1.0, -math.inf], [1e300, 1e-300], [1.7e308, 1.7e308]]
)
def test_sums_that_are_left_to_the_interpreter(values: list[float]) -> None:
    with pytest.raises(NotColumnar):
        limbs_of_doubles(pa.array(values))
    assert each_alike(("SUM(x) > 0", [0.5, *values]), by="auto")


@pytest.mark.parametrize("row", LABELS, ids=[c for c, _ in LABELS])
def test_conditions_that_read_labels(row: tuple[str, list[Any]]) -> None:
    assert each_alike(row)


WITHINS = [
    ("PATTERN (A+) WITHIN 3", [0, 1, 1, 4, 6, 6, 7, None]),
    ("PATTERN (A+) WITHIN 0", [0, 1, 1]),
    ("PATTERN (A B*) WITHIN 2.5 DEFINE B AS x > LAST(A.x)", [0, 1, 2, 3, 4, 7]),
    ("PATTERN (A+? B) WITHIN 3 DEFINE B AS x <> FIRST(A.x)", [0.5, 1.0, 3.25, 3.5, None]),
]


@pytest.mark.parametrize(("clauses", "times"), WITHINS)
@pytest.mark.parametrize("nulls", ["", "NULLS FIRST"])
def test_within_bounds_the_rows_of_a_match(clauses: str, times: list[Any], nulls: str) -> None:
    rows = [{"t": t, "p": p, "x": k % 3} for k, t in enumerate(times) for p in "ab"]
    clause = f"""MATCH_RECOGNIZE (PARTITION BY p ORDER BY t {nulls} MEASURES COUNT(*) AS n
        AFTER MATCH SKIP TO NEXT ROW {clauses})"""
    assert rows_of(clause, pa.table(columns_of(rows)), "compiled") == rows_of(clause, rows)


@pytest.mark.parametrize("apart", [2**63 - 1, 2**63])
def test_times_as_far_apart_as_whole_numbers_are(apart: int) -> None:
    table = pa.table({"t": [-(2**62), apart - 2**62]})
    clause = "MATCH_RECOGNIZE (ORDER BY t MEASURES COUNT(*) AS n PATTERN (A+) WITHIN 1)"
    assert rows_of(clause, table, "auto") == [(1,), (1,)]


def columns_of(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in rows[0]}


def test_moments_within_an_interval() -> None:
    seconds = [0, 1, 2, 10, 11, 12, 13]
    table = pa.table({"t": pa.array(seconds, pa.timestamp("s")), "x": range(7)})
    clause = """MATCH_RECOGNIZE (ORDER BY t MEASURES COUNT(*) AS n
        PATTERN (A B*) WITHIN INTERVAL '3' SECOND DEFINE B AS t > LAST(A.t))"""
    assert rows_of(clause, table, "compiled") == [(3,), (3,), (1,)] == rows_of(clause, table)


HARD = [
    "PATTERN ((A | B)* C) DEFINE A AS x >= LAST(x, 1) OR x < 9, C AS LAST(x, 1) > 99",
    "PATTERN (A B+) DEFINE B AS x > LAST(A.x)",
    "PATTERN (A+ B* C) DEFINE B AS x > PREV(x), C AS x > PREV(LAST(x)) + 99",
    "PATTERN (A (A | B)* C) WITHIN 12 DEFINE C AS x > FIRST(x) + 99",
]


@pytest.mark.parametrize("clauses", HARD)
def test_it_is_linear_in_the_rows(clauses: str) -> None:
    """If registers move with the row, twice the rows are at most twice the steps."""
    query = f"ORDER BY t MEASURES COUNT(*) AS n {clauses}"
    attempts = []
    for n in (400, 800, 1600):
        walk = walk_of(query, pa.table({"t": range(n), "x": [i % 5 for i in range(n)]}))
        assert isinstance(walk, RegisterSearch)
        attempts.append(walk.attempts)
    assert attempts[2] <= 2.1 * attempts[1] + 9
    assert attempts[1] <= 2.1 * attempts[0] + 9


def test_failures_of_earlier_matches_are_given_up() -> None:
    """WITHIN and MATCH_NUMBER: what failed holds for one match, and the table stays small."""
    table = pa.table({"t": range(3_000), "x": [i % 5 for i in range(3_000)]})
    walk = walk_of(f"ORDER BY t MEASURES 1 AS m {HARD[3]}", table)
    assert isinstance(walk, RegisterSearch)
    assert len(walk._search.failures.key) == 1 << 10
    walk = walk_of(f"ORDER BY t MEASURES 1 AS m {HARD[0]}", table)
    assert isinstance(walk, RegisterSearch)
    assert len(walk._search.failures.key) > 1 << 12


@pytest.mark.parametrize("register", ["FIRST(x)", "FIRST(A.x)", "LAST(A.x)"])
def test_failures_are_bounded(register: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows before a match are never read again, so what failed with them makes room."""
    clause = f"MEASURES COUNT(*) AS n PATTERN ((A | B)+ C) DEFINE C AS {register} < 0"
    table = pa.table({"x": [i % 5 for i in range(300)]})
    walk = walk_of(clause.replace("(A | B)", "A"), table)
    assert isinstance(walk, RegisterSearch)
    assert len(walk._search.failures.key) <= 1 << 11
    monkeypatch.setattr(register_search, "MOST_KEPT", 1 << 12)
    walk = walk_of(clause, table.slice(0, 40))
    assert isinstance(walk, RegisterSearch)
    assert walk._search.failures.key.size <= 1 << 12
    rows = [{"x": i % 4} for i in range(24)]
    query = f"MATCH_RECOGNIZE ({clause.replace('< 0', '= 3 AND C.x = 0')})"
    monkeypatch.setattr(register_search, "MOST_KEPT", 1)
    assert rows_of(query, rows, "compiled") == rows_of(query, rows, "search")


def test_it_looks_at_the_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(register_search, "BETWEEN_POLLS", 5)
    clause = "MATCH_RECOGNIZE (MEASURES COUNT(*) AS n PATTERN (A (B | C)*) DEFINE B AS x > A.x)"
    rows = [{"x": i % 7} for i in range(90)]
    assert rows_of(clause, rows, "compiled") == rows_of(clause, rows, "search")
    monkeypatch.setattr(register_search, "MAX_STEPS", 1_000)
    clause = "MATCH_RECOGNIZE (MEASURES 1 AS m PATTERN ((A | B)* C) DEFINE C AS SUM(x) > 99)"
    with pytest.raises(ResourceLimit, match="CER0693"):
        rows_of(clause, [{"x": 1}] * 20, "compiled")
    assert row_search.MAX_STEPS > 1_000


def test_the_explanation_says_what_runs() -> None:
    clause = """MATCH_RECOGNIZE (ORDER BY x MEASURES COUNT(*) AS n PATTERN (A B+ C)
        DEFINE A AS x > 0, B AS x > LAST(A.x), C AS {})"""
    text = str(explain_rows(clause.format("SUM(x) > 3"), [{"x": 1}]))
    assert "the compiled search: 4 states, 1 outcomes of the conditions of A\n" in text
    lines = text.splitlines()
    assert lines[1] == "by programs: the conditions of B, C"
    assert lines[2].startswith("it backtracks")
    text = str(explain_rows(clause.format("x = 9"), [{"x": 1}]))
    assert "with the same registers" in text
    within = "MATCH_RECOGNIZE (ORDER BY x MEASURES 1 AS m PATTERN (A+) WITHIN 3)"
    assert "in the search of one match" in str(explain_rows(within, [{"x": 1}]))
    text = str(explain_rows(clause.format("CLASSIFIER(A) = 'A'"), [{"x": 1}]))
    assert "by programs: the conditions of B, C\n" in text
    text = str(explain_rows(clause.format("LOWER(CLASSIFIER(A)) = 'a'"), [{"x": 1}] * 200))
    assert "by programs: the conditions of B, C\n" in text
    for condition in ("CLASSIFIER(A) || CLASSIFIER() = 'AC'", "LAST(x, 99) > 3"):
        text = str(explain_rows(clause.format(condition), [{"x": 1}] * 200))
        assert "has no form over columns" in text


# -- wrong versions ------------------------------------------------------------------------------

WINDOW_ENDS = row_order.window_ends
LANDING, FAILURE_REGISTERS = row_programs.Compiler._landing, row_programs._failure_registers
MATCH_CONDITIONS = row_programs.match_conditions


def first_is_last(self: Any, e: Any) -> Any:
    from cerlab.rows import expressions as ex

    return LANDING(self, ex.Last(e.body, e.offset))


def offsets_dropped(self: Any, e: Any) -> Any:
    return LANDING(self, replace(e, offset=0))


def no_registers(C: Any, M: Any) -> Any:
    return FAILURE_REGISTERS(C, M)[:0]


def no_registers_of_labels(C: Any, M: Any) -> Any:
    registers = FAILURE_REGISTERS(C, M)
    return registers[registers[:, 0] < row_values.FIRST_LABEL]


def failures_where_none_hold(M: Any, R: Any) -> Any:
    conditions = MATCH_CONDITIONS(M, R)
    if conditions.registers is not None:
        return conditions
    return conditions._replace(registers=np.zeros((0, 3), np.int32))


def within_admits_equality(query: Any, R: Any) -> Any:
    within = query.within
    return WINDOW_ENDS(query if within is None else replace(query, within=within + 0.25), R)


def ranked_apart(*columns: Any) -> Any:
    return [RANKS(column)[0] for column in columns]


def labels_in_another_order(*columns: Any) -> Any:
    places = RANKS(*columns)
    return [p[::-1] if isinstance(p, pa.Array) and len(p) == len("ABC") else p for p in places]


RANKS = row_order.ranks
OTHER_END = dict(zip(row_programs._LABEL, reversed(row_programs._LABEL.values()), strict=True))
AGREEMENT: Judge = on_seeds(agree, 3_000)
FAILURES = [
    ("((A | B)+ C)", "C AS SUM(A.x) = 1", [1, 1, 1, 1], "ABBC"),
    ("((A | B)+ C)", "C AS x > LAST(A.x)", [1, 3, 2], "ABC"),
    ("((A | B)+ C)", "C AS FIRST(CLASSIFIER()) = 'B'", [1, 3, 2], "BAC"),
]
"""Causes of a failure: the best label fails first, and the match is the next."""


def fails_right(row: tuple[str, str, list[int], str]) -> bool:
    pattern, define, values, expected = row
    clause = f"""MATCH_RECOGNIZE (MEASURES CLASSIFIER() AS v ALL ROWS PER MATCH
        PATTERN {pattern} DEFINE {define})"""
    rows = rows_of(clause, [{"x": x} for x in values], "compiled")
    return "".join(str(v) for v, _ in rows) == expected


def test_failures_are_of_what_conditions_read() -> None:
    assert all(fails_right(row) for row in FAILURES)


BY_MERGING: Judge = on_rows(fails_right, FAILURES)
BY_MERGING_ROWS: Judge = on_rows(fails_right, FAILURES[:2])
BY_HAND: Judge = on_rows(each_alike, [row for row in CONDITIONS if row[1] is not BIG][:-1])
BY_LABELS: Judge = on_rows(each_alike, LABELS)
TEXT_ROWS: Judge = on_rows(each_alike, [row for row in CONDITIONS if row[1] is TEXTS])
MUTANTS = [
    mutant(BY_HAND, row_programs.Compiler, "_landing", first_is_last),
    mutant(BY_HAND, row_programs.Compiler, "_landing", offsets_dropped),
    mutant(BY_MERGING_ROWS, row_programs, "_failure_registers", no_registers),
    mutant(BY_MERGING, row_programs, "_failure_registers", no_registers_of_labels),
    mutant(BY_MERGING, rows_to_walk, "match_conditions", failures_where_none_hold),
    mutant(AGREEMENT, rows_to_walk, "window_ends", within_admits_equality),
    mutant(TEXT_ROWS, row_programs, "ranks", ranked_apart),
    mutant(BY_LABELS, row_programs, "_LABEL", OTHER_END, id="labels_of_the_other_end"),
    mutant(BY_LABELS, row_programs, "ranks", labels_in_another_order),
]


test_the_others_kill = kills(MUTANTS)


@pytest.mark.parametrize("key", ["k", "k, l"])
def test_both_zeros_are_one_partition(key: str) -> None:
    keys = [0.0, -0.0, None, 1.0, -0.0, 0.0]
    rows = pa.table({"k": pa.array(keys, pa.float64()), "l": [1] * 6, "x": [*range(6)]})
    clause = f"PARTITION BY {key} ORDER BY x MEASURES COUNT(*) AS n PATTERN (A+)"
    query = parse_rows(f"MATCH_RECOGNIZE ({clause})")
    by_columns = recognise(query, rows, compiled=True)
    assert by_columns.column("n").to_pylist() == [4, 1, 1]
    assert by_columns.equals(recognise(query, rows, compiled=False))
