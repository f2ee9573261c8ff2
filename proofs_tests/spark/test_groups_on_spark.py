"""Queries without an automaton on Spark, by key: those that wait, look back, or count in groups."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import cerlab
from proofs_tests.spark.streams import triples

pytestmark = pytest.mark.filterwarnings("ignore:CER0915")  # answers wait for the clock


def table(rows: int = 120) -> Any:
    rng = Random(3)
    t = sorted(rng.sample(range(400), rows))
    start = datetime(2024, 3, 1, tzinfo=UTC)
    return pa.table(
        {
            "type": rng.choices("ABC", k=rows),
            "stream": rng.choices("ST", k=rows),
            "id": range(rows),
            "k": rng.choices(("x", "y", "z", None), k=rows),
            "v": rng.choices((1.0, 2.0, 3.0, 2.5), k=rows),
            "t": t,
            "d": pa.array(map(float, t), pa.float64()),
            "ts": pa.array([start + timedelta(seconds=n) for n in t], pa.timestamp("us", "UTC")),
        }
    )


BODIES = [
    "(A WAIT 20 [t]) UNLESS C",
    "(A WAIT 20 SECONDS) UNLESS C",
    "A WAIT 60.5 [d]",
    "B LOOKBACK 9 [t] UNLESS A",
    "A ; (B ; C WITHIN 9 SECONDS)",
    "MAX(A+) ; B",
    "A+ AS a FILTER COUNT(DISTINCT a.v) > 1",
    "(S>A AS a ; T>B AS b) FILTER a.v = b.v",
]


@pytest.mark.parametrize("body", BODIES)
def test_answers_by_key_are_those_of_one_machine(spark: Any, body: str) -> None:
    """The clock of a wait is the largest time of all keys, and of the streams in FROM alone."""
    frame = spark.createDataFrame(table()).repartition(3)
    found = 0
    for clauses in ("SELECT *", "SELECT * FROM S"):
        query = f"{clauses} WHERE {body} PARTITION BY [k] WITHIN 90 [t]"
        expected = triples(cerlab.evaluate(query, table(), time="ts"))
        rows = cerlab.spark.match(frame, query, position="id", time="ts").collect()
        assert triples(rows) == expected
        found += len(expected)
    assert found


def test_rows_with_names_of_waits(spark: Any) -> None:
    query = "SELECT * WHERE (A AS a WAIT 20 [t]) UNLESS C PARTITION BY [k]"
    rows = cerlab.spark.match(
        spark.createDataFrame(table()), query, position="id", columns=["a.v", "a.ts"]
    ).toArrow()
    expected = cerlab.parse_query(query).run(table()).table(["a.v", "a.ts"]).cast(rows.schema)
    assert sorted(map(repr, rows.to_pylist())) == sorted(map(repr, expected.to_pylist()))
    assert rows.num_rows


@pytest.mark.parametrize(
    ("query", "position", "reason"),
    [
        ("SELECT * WHERE A WAIT 5 [t]", "id", "there is no PARTITION BY"),
        ("SELECT * WHERE A WAIT 5 [t] PARTITION BY [k]", None, "positions are given"),
        (
            "SELECT * WHERE (A WAIT 5 [t]) OR (B WAIT 1 SECOND) PARTITION BY [k]",
            "id",
            "waits on two axes",
        ),
    ],
)
def test_refusals_name_what_spark_takes(
    spark: Any, query: str, position: str | None, reason: str
) -> None:
    frame = spark.createDataFrame(table())
    with pytest.raises(cerlab.Unsupported, match=f"CER0496.*{reason}") as refused:
        cerlab.spark.match(frame, query, "t", position, time="ts")
    assert refused.value.hint.startswith("use cerlab.spark.match with PARTITION BY")


def test_places_in_messages_are_moments(spark: Any) -> None:
    rows = table(4).to_pylist()
    frame = spark.createDataFrame(pa.Table.from_pylist(rows, table(4).schema))
    query = "SELECT * WHERE A ; B WITHIN 9 SECONDS"
    twice = frame.union(frame)
    with pytest.raises(cerlab.BadData, match=r"CER0781.*ts = 2024-03-01T\S+Z"):
        cerlab.spark.match(twice, query, "ts").collect()
    back = frame.selectExpr("*", "-id AS n")
    with pytest.raises(cerlab.BadData, match=r"CER0714.*: 2024-\S+Z, then 2024-\S+Z"):
        cerlab.spark.match(back, query, position="n").collect()
    with pytest.raises(cerlab.BadData, match=r"CER0714|CER0782"):
        cerlab.spark.match(back, query, "ts", "n").collect()
