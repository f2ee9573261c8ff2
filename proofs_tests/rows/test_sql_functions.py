"""SQL's functions of row patterns against DuckDB, on random columns."""

from __future__ import annotations

import contextlib
import math
import re
from datetime import datetime
from random import Random
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import cerlab
from cerlab import match_recognize
from cerlab.rows import calendar_forms as calendar
from cerlab.rows.recognise import RowEvaluator
from proofs_tests.suite import random_suite

SECOND = 10**6
MOMENTS = (
    *(0, -1, 1, 86_400 * SECOND, -86_400 * SECOND, 951_782_400 * SECOND, 1_709_164_800 * SECOND),
    *(1_704_067_199 * SECOND + 999_999, 1_704_067_200 * SECOND, 1_609_459_200 * SECOND),
)
"""Microseconds since 1970: the ends of days and years, and leap days."""
VALUES: dict[str, tuple[Any, ...]] = {
    "t": (
        *("", " ", "a", "ab", "aab", " ab ", "\ta\n", "\u00a0a\u3000", "xyaxy", "\u00e9a\u00e9"),
        *("\U0001f600a", "2.5", "-7.125", "1e2", "0.005", "12345.678", "-0", "99999.5", "1 2"),
    ),
    "u": ("a", "b", "ab", "x", "xy", "yx", " ", "\u00e9", "\U0001f600"),
    "i": (0, 1, -1, 2, 3, -2, 5, -7, 100, 2**31, -(2**31), 2**32),
    "x": (0, 1, -1, 2, 9, -8, 144, 10_000, -99_999, 2**53 + 1, 10**17),
    "y": (
        *(0.0, -0.0, 0.5, -0.5, 2.25, 1e-9, 1e300, -1e300, 5e-324, 1.005, 2.675, -1234.565, 99.995),
        *(1e6, 999.995, math.inf, -math.inf, math.nan),
    ),
}
TYPES = {"t": pa.string(), "u": pa.string(), "i": pa.int64(), "x": pa.int64(), "y": pa.float64()}

FUNCTIONS = [
    *("TRIM(t)", "LTRIM(t)", "RTRIM(t)", "TRIM(BOTH u FROM t)", "TRIM(LEADING 'xy' FROM t)"),
    *("TRIM(TRAILING FROM t)", "TRIM(t, 'a ')", "RTRIM(t, u)", "TRIM(t, u)"),
    *("SUBSTRING(t, 2)", "SUBSTRING(t, i)", "SUBSTRING(t, 2, 3)", "SUBSTRING(t, i, 3)"),
    *("SUBSTRING(t FROM 1 FOR 2)", "SUBSTRING(t FROM -2 FOR i)", "SUBSTRING(t, -3, -1)"),
    *("SUBSTRING(t, 0, 2)", "SUBSTR(t, i)", "POSITION('a' IN t)", "POSITION(u IN t)"),
    *("POSITION('' IN t)", "POSITION('\u00e9' IN t)", "LN(x)", "LN(y)", "SQRT(x)", "SQRT(y)"),
    *("POWER(x, 2)", "POWER(y, 2)", "POWER(2, i)", "POWER(y, i)", "POWER(y, x)", "POW(x, 0.5)"),
    *("POWER(y, -1)", "CAST(t AS VARCHAR(2))", "x::VARCHAR(30)"),
    *(f"CAST({c} AS DECIMAL({d}))" for c in "txy" for d in ("5, 2", "9, 4", "3", "15, 0", "15, 9")),
    *(f"EXTRACT({part} FROM ts)" for part in (*calendar.PARTS, "EPOCH", "JULIAN")),
    *(f"EXTRACT({part} FROM ts - since)" for part in (*calendar.OF_DURATIONS, "EPOCH")),
    *(f"DATE_TRUNC('{unit}', ts)" for unit in calendar.UNITS_OF_TRUNCATION),
    *("EXTRACT(YEARS FROM ts)", "EXTRACT(DAYOFYEAR FROM ts)", "DATE_TRUNC('weeks', ts)"),
]
LEAST = datetime(1677, 9, 22)
"""The day that nanoseconds of 64 bits begin with."""
EVALUATORS: tuple[RowEvaluator, ...] = ("reference", "search", "compiled")


def moment(rng: Random) -> int:
    """Microseconds since 1970, in the years of nanoseconds of 64 bits."""
    wide = rng.randrange(-9_200_000_000 * SECOND, 9_200_000_000 * SECOND)
    near = rng.choice(MOMENTS) + rng.randrange(-2, 3) * 86_400 * SECOND
    return rng.choice((wide, wide // SECOND * SECOND, near))


def random_columns(rng: Random) -> pa.Table:
    """A table of random columns of each type."""
    size = rng.choice((1, 5, 40))
    columns = {
        name: pa.array(
            [None if rng.random() < 0.1 else rng.choice(values) for _ in range(size)]
        ).cast(TYPES[name])
        for name, values in VALUES.items()
    }
    for name in ("ts", "since"):
        moments = [None if rng.random() < 0.1 else moment(rng) for _ in range(size)]
        columns[name] = pa.array(moments, pa.timestamp("us"))
    return pa.table({"row": pa.array(range(size)), **columns})


def by_duckdb(expression: str, table: pa.Table) -> list[Any]:
    """The values that DuckDB has, NULL for an error."""
    # between two columns, so that it is not computed from constants beforehand
    text = re.sub(r"CAST\((\w) AS DECIMAL", r"TRY_CAST(\1 AS DECIMAL", expression)
    text = text if "DECIMAL" in text else f"TRY({text})"
    connection = duckdb.connect()
    connection.register("columns", table)
    result = connection.sql(f'SELECT {text} AS m FROM columns ORDER BY "row"').to_arrow_table()
    values = result["m"]
    if pa.types.is_decimal(values.type):
        values = values.cast(pa.float64())
    return values.to_pylist()  # type: ignore[no-any-return]


def is_same(ours: Any, theirs: Any) -> bool:
    """Compare two values: of one type, doubles to the last places."""
    if isinstance(theirs, float) and isinstance(ours, float):
        if theirs == ours or (math.isnan(theirs) and math.isnan(ours)):
            return True
        return math.isclose(ours, theirs, rel_tol=1e-14)
    return type(ours) is type(theirs) and bool(ours == theirs)


@random_suite(2_000, needs_answers=0.7)
def test_functions_have_the_values_of_duckdb(rng: Random) -> bool:
    """Compare a function on random columns, by one evaluator."""
    expression, table = rng.choice(FUNCTIONS), random_columns(rng)
    theirs = by_duckdb(expression, table)
    evaluator = rng.choice(EVALUATORS)
    clause = f'MATCH_RECOGNIZE (ORDER BY "row" MEASURES {expression} AS m PATTERN (A))'
    result = match_recognize(clause, table, evaluator=evaluator)["m"]
    if pa.types.is_timestamp(result.type):
        result = result.cast(pa.timestamp("us"))
    for ours, their, row in zip(result.to_pylist(), theirs, table.to_pylist(), strict=True):
        if their is None and ours is None:
            continue
        if expression.startswith("DATE_TRUNC") and their is not None and their < LEAST:
            assert ours is None
            continue
        assert is_same(ours, their), f"{expression} {evaluator} {row}: {ours!r} {their!r}"
    return any(value is not None for value in theirs)


@random_suite(2_000, needs_answers=0.4)
def test_functions_by_every_evaluator(rng: Random) -> bool:
    """Compare a function in conditions and measures of a random row pattern by all evaluators."""
    first, second, table = rng.choice(FUNCTIONS), rng.choice(FUNCTIONS), random_columns(rng)
    side = rng.choice(("PREV", "FIRST", "LAST"))
    earlier = re.sub(r"\b(ts|since|[tuixy])\b(?! FROM ts)", rf"{side}(\1)", second)
    clause = f"""MATCH_RECOGNIZE (ORDER BY "row" MEASURES {first} AS m, {earlier} AS n
        ALL ROWS PER MATCH PATTERN (A B*) DEFINE B AS {second} >= {earlier} OR {first} IS NULL)"""
    results = [match_recognize(clause, table, evaluator="reference")]
    results.append(match_recognize(clause, table, evaluator="search"))
    with contextlib.suppress(cerlab.Unsupported):
        results.append(match_recognize(clause, table, evaluator="compiled"))
    texts = [repr([r.schema, r.to_pylist()]) for r in results]
    assert texts[1:] == texts[:1] * (len(texts) - 1), f"{clause} {table.to_pylist()}"
    return len(results) == 3


FAR = [-62_135_596_800, -59_011_459_201, -59_011_459_200, -30_610_224_000, 253_402_300_799]
"""Seconds since 1970, in years that nanoseconds do not reach: the first and the last."""


@pytest.mark.parametrize("evaluator", EVALUATORS)
@pytest.mark.parametrize("part", [*calendar.PARTS, "JULIAN"])
def test_parts_of_far_moments(part: str, evaluator: RowEvaluator) -> None:
    table = pa.table({"row": [*range(len(FAR))], "ts": pa.array(FAR, pa.timestamp("s"))})
    micros = table.set_column(1, "ts", table["ts"].cast(pa.timestamp("us")))
    expression = f"EXTRACT({part} FROM ts)"
    clause = f'MATCH_RECOGNIZE (ORDER BY "row" MEASURES {expression} AS m PATTERN (A))'
    ours = match_recognize(clause, table, evaluator=evaluator)["m"].to_pylist()
    assert ours == by_duckdb(expression, micros)


def test_a_unit_that_begins_beyond_64_bits_has_no_moment() -> None:
    table = pa.table({"ts": pa.array([-9_200_000_000], pa.timestamp("s"))})
    clause = "MATCH_RECOGNIZE (MEASURES DATE_TRUNC('millennium', ts) AS m PATTERN (A))"
    for evaluator in EVALUATORS:
        assert match_recognize(clause, table, evaluator=evaluator)["m"].to_pylist() == [None]


REFUSED = {
    "EXTRACT(TIMEZONE_HOUR FROM ts)": "moments have no zone",
    "EXTRACT(YAER FROM ts)": "did you mean 'YEAR'?",
    "DATE_TRUNC('dow', ts)": "known: CENTURY, DAY",
    "CAST(x AS DECIMAL(18, 2))": "at most 15",
    "CAST(x AS DECIMAL)": "at most 15",
    "CAST(CAST(x AS DECIMAL(5, 2)) AS VARCHAR)": "CAST(ROUND(x, 2) AS VARCHAR)",
    "SUBSTRNG(t, 1)": "the nearest are SUBSTRING, SUBSTR; a subquery can compute it",
    "REGEXP_EXTRACT(t, 'a')": "a subquery can compute it as a column: SELECT * FROM (SELECT *,",
}


@pytest.mark.parametrize("expression", REFUSED)
def test_what_is_not_there_is_refused_with_what_is(expression: str) -> None:
    with pytest.raises(cerlab.Unsupported) as error:
        cerlab.parse_rows(f"MATCH_RECOGNIZE (MEASURES {expression} AS m PATTERN (A))")
    assert REFUSED[expression] in error.value.hint


@pytest.mark.parametrize("text", ["TRIM(t", "SUBSTRING(t FROM 1", "POSITION('a', t)", "TRIM()"])
def test_words_between_arguments_are_checked(text: str) -> None:
    with pytest.raises(cerlab.CerlabError):
        cerlab.parse_rows(f"MATCH_RECOGNIZE (MEASURES {text} AS m PATTERN (A))")


def test_a_part_of_a_text_is_refused_with_the_cast() -> None:
    clause = "MATCH_RECOGNIZE (MEASURES EXTRACT(YEAR FROM t) AS m PATTERN (A))"
    with pytest.raises(cerlab.TypeMismatch) as error:
        match_recognize(clause, [{"t": "2024-01-31"}])
    assert error.value.hint == "write CAST(.. AS TIMESTAMP)"
