"""Sessions, and random conditions of moments and durations, by every evaluator."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import cerlab
from cerlab import match_recognize, parse_rows
from proofs_tests.rows.tables import EVALUATORS
from proofs_tests.suite import random_suite

SESSIONS = """MATCH_RECOGNIZE (
    PARTITION BY user ORDER BY ts
    MEASURES FIRST(ts) AS begins, LAST(ts) - FIRST(ts) AS length, COUNT(*) AS events
    PATTERN (A B*) DEFINE B AS ts <= PREV(ts) + INTERVAL '30' MINUTE)"""


def log(rng: np.random.Generator, rows: int) -> pa.Table:
    """A log of a few users: gaps of some minutes, now and then of hours."""
    gaps = rng.integers(0, 20 * 60 * 10**6, rows)
    gaps[rng.random(rows) < 0.1] += 30 * 60 * 10**6
    gaps[rng.random(rows) < 0.05] = 30 * 60 * 10**6
    times = 1_700_000_000_000_000 + np.cumsum(gaps)
    users = rng.integers(0, 5, rows)
    return pa.table({"user": users, "ts": pa.array(times).cast(pa.timestamp("us"))})


def sessions_by_windows(table: pa.Table) -> list[tuple[int, int, int, int]]:
    """Sessions by LAG, a flag where the gap is longer and a running sum, as window functions do."""
    users, times = (table.column(n).to_numpy() for n in ("user", "ts"))
    times = times.astype(np.int64)
    order = np.lexsort((times, users))
    users, times = users[order], times[order]
    begins = np.ones(len(users), bool)
    begins[1:] = (users[1:] != users[:-1]) | (times[1:] - times[:-1] > 30 * 60 * 10**6)
    first = np.flatnonzero(begins)
    last = np.append(first[1:], len(users)) - 1
    return sorted(
        zip(
            users[first].tolist(),
            times[first].tolist(),
            (times[last] - times[first]).tolist(),
            (last - first + 1).tolist(),
            strict=True,
        )
    )


@pytest.mark.parametrize("evaluator", [*EVALUATORS, "compiled"])
def test_sessions_of_a_log(evaluator: Any) -> None:
    table = log(np.random.default_rng(7), 300 if evaluator == "reference" else 20_000)
    result = match_recognize(SESSIONS, table, evaluator=evaluator)
    assert pa.types.is_duration(result.schema.field("length").type)
    columns = [
        result.column("user").to_pylist(),
        result.column("begins").cast(pa.int64()).to_pylist(),
        result.column("length").cast(pa.int64()).to_numpy() // 1000,
        result.column("events").to_pylist(),
    ]
    found = sorted(zip(*([int(v) for v in column] for column in columns), strict=True))
    assert found == sessions_by_windows(table)


SESSIONS_IN_SQL = """
    SELECT "user", min(ts) AS begins, max(ts) - min(ts) AS length, count(*) AS events FROM (
        SELECT *, sum(CASE WHEN ts <= before + INTERVAL 30 MINUTE THEN 0 ELSE 1 END)
                  OVER (PARTITION BY "user" ORDER BY ts ROWS UNBOUNDED PRECEDING) AS n FROM (
            SELECT *, lag(ts) OVER (PARTITION BY "user" ORDER BY ts) AS before FROM log))
    GROUP BY "user", n"""
"""Sessions as a flag and its running sum."""


def test_sessions_are_those_of_window_functions_of_duckdb() -> None:
    """Equal once on 1,000,000 rows of 500 users, with 1,478 gaps of exactly 30 minutes, too."""
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
    table = log(np.random.default_rng(8), 20_000)
    ours = match_recognize(SESSIONS, table)
    connection = duckdb.connect()
    connection.register("log", table)
    rows = connection.execute(SESSIONS_IN_SQL).fetchall()
    assert sorted(tuple(row.values()) for row in ours.to_pylist()) == sorted(rows)
    assert 100 < len(rows) < 20_000


# -- random conditions and measures ------------------------------------------------------------

LEAVES = {
    "m": ("ts", "u", "PREV(ts)", "NEXT(u)", "FIRST(ts)", "LAST(A.ts)", "MAX(ts)", "MIN(A.u)"),
    "d": ("d", "PREV(d)", "FIRST(d)", "SUM(d)", "MIN(A.d)", "AVG(d)", "2 SECONDS"),
    "n": ("x", "y", "2", "PREV(x)", "0.5"),
}
WAYS = {
    "m": ("m + d", "d + m", "m - d"),
    "d": ("m - m", "d + d", "d - d", "-d", "n * d", "d * n", "d / n", "COALESCE(d, d)"),
    "n": ("d / d", "n + n", "n * n", "EXTRACT(EPOCH FROM d)", "ROUND(n, 1)", "CAST(n AS BIGINT)"),
}
LITERALS = {
    "m": ("TIMESTAMP '1970-01-01 00:00:02'", "DATE '1970-01-01'"),
    "d": ("INTERVAL '3' SECOND", "INTERVAL '-1.5' MILLISECOND", "INTERVAL '0' DAY"),
    "n": ("3", "-1"),
}


def random_term(rng: Random, kind: str, depth: int, *, row: bool) -> str:
    """A term of a kind; of the row alone, or of the match, too."""
    if depth == 0 or rng.random() < 0.4:
        own = ("ts", "u", "d", "x", "y", "PREV", "NEXT")
        leaves = [e for e in LEAVES[kind] if not row or e.partition("(")[0] in own]
        return rng.choice((*leaves, *leaves, *LITERALS[kind]))
    way = rng.choice(WAYS[kind])
    return re.sub(r"\b[mdn]\b", lambda m: f"({random_term(rng, m[0], depth - 1, row=row)})", way)


def random_condition(rng: Random) -> str:
    row = rng.random() < 0.4
    kind = rng.choice("mmdddn")
    sides = [random_term(rng, kind, rng.choice((1, 2)), row=row) for _ in range(2)]
    return f"{sides[0]} {rng.choice(('<', '<=', '>', '>=', '=', '<>'))} {sides[1]}"


def random_table(rng: Random) -> pa.Table:
    size = rng.randrange(1, 7)
    unit, scale = rng.choice((("ns", 1), ("us", 10**3), ("ms", 10**6), ("s", 10**9)))
    base = rng.choice((0, 0, 1_700_000_000 * 10**9, 2**63 - 10 * 10**9)) // scale
    wide = rng.choice((3, 5, 5 * 10**9 // scale))

    def some(low: int, high: int) -> list[int | None]:
        return [None if rng.random() < 0.1 else rng.randint(low, high) for _ in range(size)]

    moments = [
        pa.array([None if n is None else base + n for n in some(0, wide)], pa.int64()).cast(
            pa.timestamp(unit, rng.choice((None, "UTC")))
        )
        for _ in "ab"
    ]
    lengths = pa.array(some(-wide, wide), pa.int64()).cast(pa.duration(unit))
    return pa.table(
        {
            "i": range(size),
            "ts": moments[0],
            "u": moments[1],
            "d": lengths,
            "x": pa.array(some(-2, 3), pa.int64()),
            "y": pa.array(
                [rng.choice((0.5, -1.0, 3.0, 1e-9, None)) for _ in range(size)], pa.float64()
            ),
        }
    )


@random_suite(20_000)
def test_random_conditions_by_every_evaluator(rng: Random) -> bool:
    kind = rng.choice("mddn")
    query = parse_rows(
        f"""MATCH_RECOGNIZE (ORDER BY i MEASURES {random_term(rng, kind, 2, row=False)} AS m,
        COUNT(*) AS n, CLASSIFIER() AS v {rng.choice(("", "ALL ROWS PER MATCH"))}
        PATTERN (A B* C?) DEFINE B AS {random_condition(rng)}, C AS {random_condition(rng)})"""
    )
    assert parse_rows(str(query)) == query
    table = random_table(rng)
    try:
        expected = match_recognize(query, table, evaluator="reference")
    except cerlab.BadData:  # a sum beyond 64 bits
        return False
    for evaluator in ("search", "compiled"):
        try:
            result = match_recognize(query, table, evaluator=evaluator)
        except cerlab.Unsupported:
            continue
        assert result.schema == expected.schema, (query, evaluator)
        for name in expected.column_names:
            ours, theirs = result.column(name).to_pylist(), expected.column(name).to_pylist()
            assert ours == theirs, (query, table.to_pylist(), evaluator)
    return len(set(expected.column("n").to_pylist())) > 1 or expected.num_rows < table.num_rows


def test_times_of_python_and_zones() -> None:
    moment = datetime(2024, 1, 31, 10, tzinfo=UTC)
    rows = [{"ts": moment + timedelta(minutes=m), "d": timedelta(minutes=m)} for m in (0, 1)]
    query = "MATCH_RECOGNIZE (MEASURES LAST(ts) - FIRST(ts) AS l, SUM(d) AS s PATTERN (A+))"
    assert match_recognize(query, rows).to_pylist() == [
        {"l": timedelta(minutes=1), "s": timedelta(minutes=1)}
    ]


def test_deciders_know_durations_of_given_rows_and_refuse_all_rows_by_name() -> None:
    query = """MATCH_RECOGNIZE (MEASURES 1 AS m PATTERN (A B)
        DEFINE A AS d < 5 SECONDS, B AS d > PREV(d) + INTERVAL '1' SECOND)"""
    assert "not a comparison" in str(cerlab.satisfiable(query))
    simple = query.replace("PREV(d) + ", "")
    assert "column d is compared with moments or durations" in str(cerlab.satisfiable(simple))
    short, long = ({"d": timedelta(seconds=n)} for n in (1, 6))
    assert cerlab.satisfiable(query, rows=[short, long]).holds
    assert not cerlab.satisfiable(query, rows=[short]).holds
