"""SQL's aggregates of row patterns against DuckDB, and by every evaluator."""

from __future__ import annotations

import contextlib
import math
from random import Random
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import cerlab
from cerlab import match_recognize
from cerlab.rows.recognise import RowEvaluator
from proofs_tests.rows.test_sql_functions import EVALUATORS
from proofs_tests.suite import random_suite

VALUES: dict[str, tuple[Any, ...]] = {
    "x": (0, 1, 1, 2, -3, 100, 10**6, 2**53 + 1),
    "y": (0.0, -0.0, 0.5, 0.5, 2.25, -1e9, 1e9 + 0.125, 1e-9, 1e160, math.inf),
    "t": ("", "a", "a", "b", "ab", "\u00e9", "\U0001f600"),
    "ts": (0, 1, 10**6, 86_400 * 10**6, 1_700_000_000 * 10**6),
}
TYPES = {"x": pa.int64(), "y": pa.float64(), "t": pa.string(), "ts": pa.timestamp("us")}
AGGREGATES = [
    *(f"COUNT(DISTINCT {c})" for c in VALUES),
    *(f"ARRAY_AGG({c})" for c in VALUES),
    *("LISTAGG(t, ', ')", "STRING_AGG(t)", "LISTAGG(t, '')", "LISTAGG(CAST(x AS VARCHAR), ';')"),
    *(f"{f}({c})" for f in ("STDDEV", "STDDEV_SAMP", "STDDEV_POP", "VARIANCE") for c in "xy"),
    *(f"{f}({c})" for f in ("VAR_SAMP", "VAR_POP") for c in "xy"),
    *(f"{f}({c}, {k})" for f in ("MAX_BY", "MIN_BY") for c in VALUES for k in VALUES),
]


def random_table(rng: Random) -> pa.Table:
    """A table of columns, few of their values each."""
    size = rng.choice((1, 4, 12))
    columns = {"row": pa.array(range(size))}
    for name, every in VALUES.items():
        some = rng.sample(every, 4)
        values = [None if rng.random() < 0.15 else rng.choice(some) for _ in range(size)]
        columns[name] = pa.array(values, TYPES[name])
    return pa.table(columns)


def is_same(ours: Any, theirs: Any) -> bool:
    """Compare two values, doubles to 1e-12."""
    if isinstance(ours, float) and isinstance(theirs, float):
        if math.isnan(ours) or math.isnan(theirs):
            return math.isnan(ours) and math.isnan(theirs)
        return ours == theirs or math.isclose(ours, theirs, rel_tol=1e-12)
    return type(ours) is type(theirs) and bool(ours == theirs)


@random_suite(2_000)
def test_aggregates_have_the_values_of_duckdb(rng: Random) -> bool:
    """Compare an aggregate of all rows, or of those so far, with DuckDB's."""
    e, table = rng.choice(AGGREGATES), random_table(rng)
    evaluator, running = rng.choice(EVALUATORS), rng.random() < 0.5
    rows = "ALL ROWS PER MATCH" if running else "ONE ROW PER MATCH"
    clause = f'MATCH_RECOGNIZE (ORDER BY "row" MEASURES {e} AS m {rows} PATTERN (A+))'
    ours = match_recognize(clause, table, evaluator=evaluator)["m"].to_pylist()
    connection = duckdb.connect()
    connection.register("rows", table)
    so_far = range(table.num_rows) if running else [table.num_rows]
    for k, our in zip(so_far, ours, strict=True):
        source = f'(SELECT * FROM rows WHERE "row" <= {k} ORDER BY "row")'
        their = connection.sql(f"SELECT {e} FROM {source}").fetchall()[0][0]
        assert is_same(our, their), f"{e} {evaluator} {k} {table.to_pylist()}: {our} {their}"
    return True


@random_suite(2_000, needs_answers=0.5)
def test_aggregates_by_every_evaluator(rng: Random) -> bool:
    """Compare aggregates in measures, and in conditions, of random row patterns."""
    table = random_table(rng)
    if rng.random() < 0.3:
        nan = [math.nan if v == 0.5 else v for v in table["y"].to_pylist()]
        table = table.set_column(2, "y", pa.array(nan, pa.float64()))
    measures = []
    for i in range(3):
        e, qualifier = rng.choice(AGGREGATES), rng.choice(("", "A.", "B.", "U."))
        for c in VALUES:
            e = e.replace(f"({c}", f"({qualifier}{c}").replace(f" {c})", f" {qualifier}{c})")
        measures.append(f"{rng.choice(('', 'FINAL ', 'RUNNING '))}{e} AS m{i}")
    of_row, of_match = (
        ("TRUE", "x > 0", "t > PREV(t)"),
        (
            *("COUNT(DISTINCT t) < 3", "STDDEV(x) IS NULL", "MAX_BY(t, x) = 'a'"),
            *("LISTAGG(A.t, '') <> 'aa'", "ARRAY_AGG(x) IS NOT NULL"),
        ),
    )
    condition = rng.choice(of_row if rng.random() < 0.75 else of_match)
    rows = rng.choice(("ONE ROW PER MATCH", "ALL ROWS PER MATCH"))
    pattern = rng.choice(("A B*", "(A | B)+", "A+? B", "A* B?", "{- A -} B+"))
    clause = f"""MATCH_RECOGNIZE (ORDER BY "row" MEASURES {", ".join(measures)} {rows}
        PATTERN ({pattern}) SUBSET U = (A, B) DEFINE B AS {condition})"""
    results = [match_recognize(clause, table, evaluator=each) for each in EVALUATORS[:2]]
    with contextlib.suppress(cerlab.Unsupported):
        results.append(match_recognize(clause, table, evaluator="compiled"))
    texts = [repr([result.schema, result.to_pylist()]) for result in results]
    assert texts[1:] == texts[:1] * (len(texts) - 1), f"{clause} {table.to_pylist()}"
    return len(texts) == 3


RESULT_TYPES = {
    "COUNT(DISTINCT t)": pa.int64(),
    "ARRAY_AGG(t)": pa.list_(pa.string()),
    "ARRAY_AGG(ts)": pa.list_(pa.timestamp("us")),
    "ARRAY_AGG(x + 0.5)": pa.list_(pa.float64()),
    "LISTAGG(t)": pa.string(),
    "STDDEV(x)": pa.float64(),
    "MAX_BY(ts, x)": pa.timestamp("us"),
}


@pytest.mark.parametrize("evaluator", EVALUATORS)
@pytest.mark.parametrize("expression", RESULT_TYPES)
def test_types_of_results(expression: str, evaluator: RowEvaluator) -> None:
    table = random_table(Random(1))
    for pattern in ("A", "A A"):  # with and without rows
        clause = f"MATCH_RECOGNIZE (MEASURES {expression} AS m PATTERN ({pattern}))"
        result = match_recognize(clause, table, evaluator=evaluator)
        assert result.schema.field("m").type == RESULT_TYPES[expression]


REFUSED = {
    "SUM(DISTINCT x)": "CER0450",
    "COUNT(DISTINCT x, y)": "CER0450",
    "COUNT(DISTINCT *)": "CER0450",
    "ARRAY_AGG(x ORDER BY y)": "CER0450",
    "LISTAGG(t, ',') WITHIN GROUP (ORDER BY t)": "CER0450",
    "LISTAGG(t, t)": "CER0258",
    "MAX_BY(x)": "CER0258",
    "MAX_BY(A.x, B.y)": "CER0255",
    "MAX_BY(x, FIRST(y))": "CER0256",
    "ARRAY_AGG(x) = ARRAY_AGG(x)": "CER0350",
    "COALESCE(ARRAY_AGG(x), NULL)": "CER0350",
    "LISTAGG(x)": "CER0350",
    "STDDEV(t)": "CER0350",
}


@pytest.mark.parametrize("expression", REFUSED)
def test_what_is_refused(expression: str) -> None:
    clause = f"MATCH_RECOGNIZE (MEASURES {expression} AS m PATTERN (A B))"
    with pytest.raises(cerlab.CerlabError) as error:
        match_recognize(clause, random_table(Random(1)))
    assert error.value.code == REFUSED[expression]


def test_lists_of_a_long_match_take_linear_time() -> None:
    table = pa.table({"t": ["ab"] * 20_000})
    e = "LISTAGG(t, '')", "ARRAY_AGG(t)", "COUNT(DISTINCT t)"
    measures = ", ".join(f"{each} AS m{i}" for i, each in enumerate(e))
    for evaluator in ("search", "compiled"):
        clause = f"MATCH_RECOGNIZE (MEASURES {measures} PATTERN (A+))"
        (row,) = match_recognize(clause, table, evaluator=evaluator).to_pylist()
        assert [len(row["m0"]), len(row["m1"]), row["m2"]] == [40_000, 20_000, 1]
