"""Whole jobs on Spark against the local engine: its columns, its shuffles and its sorts."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cerlab
import cerlab.spark
from cerlab import Stream
from cerlab.model.clauses import TimeWindow
from cerlab.spark.batch import answers
from cerlab.spark.first_pass import RowRanges, first_pass
from cerlab.spark.plan import Mode, why_not
from cerlab.spark.request import request_of
from cerlab.testing import Shape
from proofs_tests.spark.cases import typed_case
from proofs_tests.spark.streams import Answers, same, triples

pytestmark = pytest.mark.filterwarnings("default")  # those of PySpark are not ours


def local(query: Any, table: Any, **options: Any) -> Answers:
    stream = Stream.from_arrow(table, **options)
    return triples(cerlab.evaluate(query, stream, evaluator="compiled"))


def shuffled_frame(spark: Any, table: Any, seed: int = 1) -> Any:
    order = list(range(table.num_rows))
    Random(seed).shuffle(order)
    return spark.createDataFrame(table.take(order)).repartition(3)


def exact_modes(query: cerlab.Query) -> list[str]:
    return [mode.value for mode in Mode if why_not(query.plan, mode) is None]


@pytest.mark.parametrize(
    "seed", [0, 1, 2, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(3, 10))]
)
def test_random_queries_have_the_answers_of_the_local_engine(spark: Any, seed: int) -> None:
    rng = Random(1_000 + seed)
    while True:
        case = typed_case(rng, Shape(depth=2, events=60))
        modes = exact_modes(case.query)
        expected = case.expected()
        if len(modes) > 1 and 0 < len(expected) < 10_000:
            break
    table = case.table.append_column("id", pa.array(case.positions or range(case.table.num_rows)))
    lies_in_order = rng.random() < 0.5
    frame = spark.createDataFrame(table) if lies_in_order else shuffled_frame(spark, table)
    order: dict[str, Any] = {"order_by": ["t", "id"]}
    if case.positions is not None:
        order = rng.choice(({"position": "id"}, {"order_by": "t", "position": "id"}))
    has_time = isinstance(case.query.plan.window, TimeWindow)
    time: dict[str, Any] = {"time": "t", "unit": "s"} if has_time else {}
    for mode in modes[:2]:
        parts = rng.choice((1, 2, 3, 5))
        request = request_of(frame, case.query, mode=mode, parts=parts, **order, **time)
        ranges = first_pass(request)
        assert isinstance(ranges, RowRanges)
        assert ranges.in_order or not lies_in_order
        same(triples(answers(request, ranges).collect()), triples(expected))


def stream(rows: int = 600, seed: int = 3) -> Any:
    """Ties in time, two streams, and keys of every type that Spark has."""
    rng = Random(seed)
    numbers = [rng.choice((None, 0, 1, 2, 2**53, 2**53 + 1)) for _ in range(rows)]
    floats = [rng.choice((None, 0.0, -0.0, 1.0, float("nan"), 1e300)) for _ in range(rows)]
    decimals = [
        rng.choice((None, Decimal("0"), Decimal("1.10"), Decimal("1.1000000000000003")))
        for _ in range(rows)
    ]
    ticks = np.cumsum([rng.choice((0, 0, 1, 3)) for _ in range(rows)])
    moments = [1_600_000_000_000_000 + 1_000_000 * int(t) for t in ticks]
    return pa.table(
        {
            "type": rng.choices("ABC", k=rows),
            "stream": rng.choices(("S", "T", None), k=rows),
            "v": rng.choices((0, 1, 2, None), k=rows),
            "long": pa.array(numbers, pa.int64()),
            "double": pa.array(floats, pa.float64()),
            "decimal": pa.array(decimals, pa.decimal128(38, 19)),
            "flag": rng.choices((True, False, None), k=rows),
            "name": rng.choices(("x", "y", "X", None), k=rows),
            "moment": pa.array(moments, pa.timestamp("us", "UTC")),
            "day": pa.array([1 + int(t) // 100 for t in ticks], pa.int32()).cast(pa.date32()),
            "t": ticks,
            "id": range(rows),
        }
    )


@pytest.mark.parametrize("keys", ["long", "double", "decimal", "flag, name", "day", "nowhere"])
def test_keys_of_every_type_are_those_of_the_local_engine(spark: Any, keys: str) -> None:
    table = stream()
    query = f"SELECT * WHERE A ; B : C PARTITION BY [{keys}] WITHIN 20 EVENTS"
    expected = local(query, table)
    assert bool(expected) == (keys != "nowhere")
    frame = cerlab.spark.match(shuffled_frame(spark, table), query, position="id", parts=3)
    assert triples(frame.collect()) == expected


@pytest.mark.parametrize("query", ["WITHIN 4 [t]", "WITHIN 4 SECONDS", "WITHIN 9 EVENTS", ""])
def test_positions_made_and_given_are_the_same(spark: Any, query: str) -> None:
    """From one stream of two, by moments with ties and a tie-break."""
    table = stream()
    text = f"SELECT * FROM S WHERE A : B ; C {query} LIMIT 100000"
    # the only column of moments is found where there is one
    table, frame = table.drop(["day"]), shuffled_frame(spark, table.drop(["day"]))
    expected = local(text, table)
    assert expected
    by_order = cerlab.spark.match(frame, text, ["moment", "id"], parts=3)
    same(triples(by_order.collect()), expected)
    by_position = cerlab.spark.match(frame, text, position="id", parts=3)
    same(triples(by_position.collect()), expected)


def test_one_task_says_why(spark: Any) -> None:
    frame = shuffled_frame(spark, stream(30))
    with pytest.warns(cerlab.CerlabWarning, match="CER0950.*no PARTITION BY.*without WITHIN"):
        cerlab.spark.match(frame, "A ; B", position="id")


def test_it_is_a_transformation_and_carries_keys(spark: Any) -> None:
    table = stream(200)
    text = "SELECT * WHERE A ; B PARTITION BY [name] WITHIN 5 [t]"
    names = table.column("name").to_pylist()
    frame = shuffled_frame(spark, table)
    for mode in ("keys", "ranges"):
        frame_of_answers = frame.transform(
            cerlab.spark.matching(text, position="id", mode=mode, parts=2, partition=True)
        )
        assert frame_of_answers.schema.simpleString() == (
            "struct<start:bigint,end:bigint,positions:array<bigint>,partition:struct<name:string>>"
        )
        rows = frame_of_answers.collect()
        assert {row["partition"]["name"] for row in rows} == {"x", "y", "X"}
        assert all(row["partition"]["name"] == names[row["end"]] for row in rows)
        same(triples(frame_of_answers.collect()), local(text, table))


def test_columns_may_have_any_name(spark: Any) -> None:
    table = stream(100)
    columns = table.select(["type", "v", "t", "id"]).rename_columns(["type", "V", "a.b c`d", "V2"])
    columns = columns.append_column("v", table.column("v"))
    text = "SELECT * WHERE A ; B FILTER A[v = 1] WITHIN 5 EVENTS"
    frame = spark.createDataFrame(columns)
    frame_of_answers = cerlab.spark.match(frame, text, order_by=["a.b c`d", "V2"], parts=2)
    same(triples(frame_of_answers.collect()), local(text, table))


def test_one_type_for_all_rows_and_no_rows_at_all(spark: Any) -> None:
    table = pa.table({"t": range(9), "v": [0, 1, 2] * 3})
    text = "SELECT * WHERE E AS a : E AS b FILTER a[v = 1] WITHIN 3 [t]"
    expected = local(text, table, type="E")
    assert len(expected) == 3
    frame = spark.createDataFrame(table)
    same(triples(cerlab.spark.match(frame, text, "t", type="E", parts=2).collect()), expected)
    nothing = frame.where("t < 0")
    assert triples(cerlab.spark.match(nothing, text, "t", type="E", parts=2).collect()) == []


def test_moments_are_those_of_no_zone(spark: Any) -> None:
    """Whatever the session's zone: an hour that Berlin has twice, as both types of Spark."""
    begins = 1_729_987_200  # 2024-10-27 00:00 UTC
    seconds = [begins + 60 * n for n in range(180)]
    types = ["A", "B"] * 90
    at = pa.array([10**6 * n for n in seconds]).cast(pa.timestamp("us"))
    text = "SELECT * WHERE A ; B WITHIN 3 MINUTES"
    expected = local(text, pa.table({"type": types, "at": at}))
    rows = spark.createDataFrame(pa.table({"type": types, "n": seconds}))
    spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    try:
        epoch = "TIMESTAMP_NTZ'1970-01-01 00:00:00'"
        for moment, kind in (
            ("timestamp_seconds(n)", "timestamp"),
            (f"timestampadd(SECOND, n, {epoch})", "timestamp_ntz"),
        ):
            frame = rows.selectExpr("type", f"{moment} AS at")
            assert frame.schema["at"].dataType.simpleString() == kind
            same(triples(cerlab.spark.match(frame, text, "at", parts=4).collect()), expected)
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({}, "CER0871"),
        ({"order_by": "t"}, "CER0781"),
        ({"order_by": "v", "position": "id"}, "CER0780"),
        ({"order_by": "nowhere"}, "CER0874"),
        ({"position": "type"}, "CER0875"),
        ({"position": "t"}, "CER0782"),
        ({"position": "id", "parts": 0}, "CER0877"),
        ({"position": "id", "partition": True}, "CER0876"),
        ({"position": "id", "mode": "keys"}, "CER0490"),
        ({"position": "back"}, "CER0714"),
    ],
)
def test_what_is_no_stream_is_refused_at_once(
    spark: Any, options: dict[str, Any], code: str
) -> None:
    table = stream(50)
    table = table.append_column("back", pa.array([*range(25), *range(49, 24, -1)]))
    frame = spark.createDataFrame(table)
    with pytest.raises(cerlab.CerlabError) as caught:
        cerlab.spark.match(frame, "SELECT * WHERE A ; B WITHIN 4 [t]", **options)
    assert caught.value.code == code
    assert caught.value.hint or code in ("CER0877", "CER0876")


@pytest.mark.parametrize(
    ("columns", "code"),
    [
        ({"t": ["1", "2"]}, "CER0712"),
        ({"t": pa.array([1, None])}, "CER0712"),
        ({"t": [1.0, float("inf")]}, "CER0712"),
        ({"t": pa.array([1, 2], pa.timestamp("us", "UTC"))}, "CER0711"),
        ({"type": ["A", None]}, "CER0701"),
        ({"type": ["A", ""]}, "CER0701"),
        ({"type": [1, 2]}, "CER0701"),
        ({"v": [[1], [2]]}, "CER0741"),
    ],
)
def test_what_are_no_events_is_refused_at_once(
    spark: Any, columns: dict[str, Any], code: str
) -> None:
    table = {"type": ["A", "B"], "t": [1, 2], "v": [1, 2], "id": [0, 1]} | columns
    text = "SELECT * WHERE A ; B FILTER A[v = 1] WITHIN 4 [t]"
    with pytest.raises(cerlab.CerlabError) as caught:
        cerlab.spark.match(spark.createDataFrame(pa.table(table)), text, position="id")
    assert caught.value.code == code


@pytest.mark.parametrize("kind", ["timestamp_ntz", "timestamp", "date"])
@pytest.mark.parametrize("options", [{"position": "id"}, {"order_by": "id", "parts": 3}])
def test_a_moment_far_away_is_refused_by_its_row(
    spark: Any, kind: str, options: dict[str, Any], tmp_path: Path
) -> None:
    """Of a DataFrame, of files, of some rows of files; also at an event that no query reads."""
    days = [date(2006, 1, 2)] * 20 + [date(9999, 12, 31)]
    rows = spark.createDataFrame(
        [(n, "AB"[n % 2] if n < 20 else "C", day) for n, day in enumerate(days)],
        "id bigint, type string, day date",
    ).selectExpr("id", "type", f"CAST(day AS {kind}) AS ts")
    rows.coalesce(1).write.parquet(str(tmp_path / "in"))
    files = spark.read.parquet(str(tmp_path / "in"))
    for frame in (rows, files, files.where("id > -1")):
        for text in (
            "SELECT * WHERE A ; B WITHIN 1 DAY",
            "SELECT * WHERE A ; B PARTITION BY [type] WITHIN 1 DAY",
        ):
            with pytest.raises(
                cerlab.BadData, match=r"position 20: .*'ts' is 9999-12-31"
            ) as caught:
                cerlab.spark.match(frame, text, time="ts", **options)
            assert caught.value.code == "CER0740"
    same(
        triples(cerlab.spark.match(files, "SELECT * WHERE A ; C", time="ts", **options).collect()),
        [(n, 20, (n, 20)) for n in range(0, 20, 2)],
    )


def test_another_number_of_rows_the_second_time_is_seen(spark: Any) -> None:
    from pyspark.errors import PySparkException
    from pyspark.sql import functions as fn

    calls = spark.range(1_000).select(fn.col("id"), fn.lit("A").alias("type"), fn.rand().alias("r"))
    coin = fn.udf(lambda: datetime.now(UTC).microsecond % 2 == 0, "boolean").asNondeterministic()
    unstable = calls.where(coin())
    with pytest.raises(PySparkException, match="CER0783"):
        triples(
            cerlab.spark.match(
                unstable, "SELECT * WHERE A : A WITHIN 2 EVENTS", position="id"
            ).collect()
        )


ROWS = 40_000

LONG = {
    "SELECT * WHERE A ; B : C WITHIN 2 [t]": "position",
    "SELECT * FROM S WHERE A ; B : C WITHIN 2 [t]": "counted",
    "SELECT * FROM S WHERE A ; B : C WITHIN 3 EVENTS": "counted",
    "SELECT MAX * WHERE A : B+ : C WITHIN 9 EVENTS": "counted",
    "SELECT * FROM T WHERE A ; B : C PARTITION BY [name] WITHIN 9 EVENTS": "counted",
}


@pytest.mark.parametrize("text", LONG)
def test_files_in_order_are_neither_sorted_nor_read_as_one(
    spark: Any, tmp_path: Path, text: str
) -> None:
    """Four files whose names are in another order, and several runs in each."""
    table = stream(ROWS)
    for name, start in zip("cadb", range(0, ROWS, ROWS // 4), strict=True):
        rows = table.slice(start, ROWS // 4)
        pq.write_table(rows, tmp_path / f"{name}.parquet", row_group_size=1_000)
    spark.conf.set("spark.sql.files.maxPartitionBytes", "100000")  # several tasks
    try:
        frame = spark.read.parquet(str(tmp_path)).where("id >= 0")  # tasks cannot read the files
        order = {"position": "id"} if LONG[text] == "position" else {"order_by": ["moment", "id"]}
        request = request_of(frame, text, parts=5, **order)
        ranges = first_pass(request)
        assert isinstance(ranges, RowRanges)
        assert ranges.in_order
        assert len(ranges.assignment.rows) >= 8
        assert ranges.mode is not Mode.RANGES or ranges.assignment.parts == 5
        same(triples(answers(request, ranges).collect()), local(text, table.drop(["day"])))
    finally:
        spark.conf.unset("spark.sql.files.maxPartitionBytes")


def test_explain_says_that_rows_lie_in_order(spark: Any) -> None:
    frame = spark.createDataFrame(stream(ROWS))
    text = "SELECT * WHERE A ; B WITHIN 5 EVENTS"
    explanation = cerlab.spark.explain(frame, text, position="id", parts=4)
    assert f"stream   {ROWS:,} events, by id" in explanation
    assert re.search(r"rows     in order, in \d+ runs", explanation)
    assert len(re.findall("^cut ", explanation, re.MULTILINE)) == 3


def test_explain_says_mode_cuts_and_overlap(spark: Any) -> None:
    frame = shuffled_frame(spark, stream(200))
    text = "SELECT * WHERE A ; B WITHIN 5 EVENTS"
    lines = cerlab.spark.explain(frame, text, position="id", parts=4).splitlines()
    by_title: dict[str, list[str]] = {}
    for line in lines:
        by_title.setdefault(line[:8].strip(), []).append(line[9:])
    assert by_title["mode"] == ["ranges"]
    assert by_title["not by"] == ["keys: there is no PARTITION BY"]
    assert by_title["stream"] == ["200 events, by id"]
    assert by_title["rows"] == ["not in order: tasks sort what they read, for 64 runs"]
    assert by_title["events"] == ["all: WITHIN n EVENTS counts all events"]
    assert len(by_title["cut"]) == 3
    assert re.match(r"about \d+ rows are read again", by_title["overlap"][0])
