"""Streams on Spark: in any order up to the lateness, the answers of the local engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import cerlab
from cerlab.spark.stream.step import BUCKETS
from proofs_tests.spark.streams import (
    END,
    LATENESS,
    QUERY,
    StreamResult,
    arriving,
    events,
    late_of,
    local,
    marker,
    markers,
    out_of_order,
    same,
    split,
    stream_result,
    table_of,
    with_late_rows,
    write_files,
)

pytestmark = pytest.mark.filterwarnings("default")  # those of PySpark are not ours


def test_rows_in_any_order_have_the_answers_of_rows_in_order(spark: Any, tmp_path: Path) -> None:
    """And when all keys have passed their window, none has a state or a timer."""
    query = "SELECT * WHERE A ; B PARTITION BY [double], [decimal], [long] WITHIN 40 [t]"
    rows = events()
    end = [marker("end", 1, END - 99)], [marker("end", 2)]
    write_files(tmp_path / "in", *split(out_of_order(rows, LATENESS), 120), *end)
    answers = cerlab.spark.match_stream(
        arriving(spark, tmp_path / "in"), query, position="id", lateness=LATENESS, lag=40
    )
    result = stream_result(spark, answers, tmp_path)
    assert result.late == []
    same(result.answers, local(query, rows))
    assert (result.done.answers, result.done.events) == (len(result.answers), len(rows) + 2)
    states, timers = states_and_timers(spark, tmp_path, batchId=1)
    assert 1 < states == timers <= BUCKETS
    assert states_and_timers(spark, tmp_path) == (1, 1), "those of the bucket of the last row"
    assert result.done.buckets == 1


@pytest.mark.parametrize("columns", [None, ["A.id", "A.v"]])
def test_waits_end_by_the_watermark(spark: Any, tmp_path: Path, columns: list[str] | None) -> None:
    """By moments: each A with no B of its key in 9 seconds, also of a key that is silent then."""
    query = "SELECT * WHERE (A WAIT 9 SECONDS) UNLESS B PARTITION BY [k] WITHIN 20 SECONDS"
    rows = events(150)
    end = [marker("end", 1, END - 99)], [marker("end", 2)]
    write_files(tmp_path / "in", *split(out_of_order(rows, LATENESS), 50), *end)
    answers = cerlab.spark.match_stream(
        arriving(spark, tmp_path / "in"),
        query,
        position="id",
        lateness=f"{LATENESS} seconds",
        lag="40 seconds",
        time="at",
        columns=columns,
        partition=columns is None,
    )
    cerlab.spark.write_stream(answers, str(tmp_path / "out"), str(tmp_path / "checkpoint"))
    written = spark.read.parquet(str(tmp_path / "out")).collect()
    assert all(row["late"] is None for row in written)
    expected = cerlab.evaluate(query, table_of(rows), time="at", until="end")
    ids = [row["id"] for row in rows]
    found = sorted((row["start"], row["end"]) for row in written)
    assert found == sorted((ids[m.start], ids[m.end]) for m in expected)
    assert len(found) > 5
    key = {row["id"]: row["k"] for row in rows}
    for row in written:
        assert (row["k"] if columns else row["partition"]["k"]) == key[row["end"]]
        assert columns is None or row["A.id"] == row["start"]


def states_and_timers(spark: Any, place: Path, **batch: int) -> tuple[int, int]:
    """Return the numbers of states and timers in the store, after a micro-batch or the last one."""

    def entries(**which: Any) -> int:
        reader = spark.read.format("statestore")
        return int(reader.load(str(place / "checkpoint"), **which, **batch).count())

    return entries(stateVarName="cerlab"), entries(readRegisteredTimers=True)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT NEXT * WHERE A ; B ; C WITHIN 9 SECONDS",
        "SELECT * WHERE A ; B ; C PARTITION BY [k] WITHIN 9 EVENTS CONSUME BY ANY",
        "SELECT * WHERE A AS a ; B ; C AS c FILTER a.v < 2 * c.v WITHIN 9 SECONDS",
        "SELECT * WHERE (A LOOKBACK 3 SECONDS) UNLESS B WITHIN 9 SECONDS THROTTLE 5 SECONDS",
    ],
)
def test_one_task_for_what_is_not_exact_by_key(spark: Any, tmp_path: Path, query: str) -> None:
    """By moments, with the lateness as a length of time, and the key of each answer."""
    rows = events(150)
    first, second = split(out_of_order(rows, LATENESS), 75)
    write_files(tmp_path / "in", first, [*second, marker("end", 1)])
    partition = "PARTITION" in query
    with pytest.warns(cerlab.CerlabWarning, match="CER0950"):
        answers = arriving(spark, tmp_path / "in").transform(
            cerlab.spark.matching_stream(
                query, position="id", time="at", lateness=f"{LATENESS} seconds", partition=partition
            )
        )
    result = stream_result(spark, answers, tmp_path)
    assert result.late == []
    assert result.done.events == len(rows) + 1
    assert result.done.answers == len(result.answers)
    same(result.answers, local(query, rows, time="at"))
    if partition:
        rows_written = spark.read.parquet(str(tmp_path / "out")).collect()
        keys = {row["id"]: row["k"] for row in rows}
        assert all(row["partition"]["k"] == keys[row["end"]] for row in rows_written)


def test_rows_wait_until_they_are_released_and_not_longer(spark: Any, tmp_path: Path) -> None:
    """A run ends with rows that wait; the next one, and rows that come, release them."""
    query = "SELECT * WHERE A ; B PARTITION BY [k] WITHIN 30 [t]"
    rows = events(120)

    def run() -> StreamResult:
        frame = arriving(spark, tmp_path / "in")
        options: dict[str, Any] = {"position": "id", "lateness": "6", "partition": True}
        return stream_result(spark, cerlab.spark.match_stream(frame, query, **options), tmp_path)

    write_files(tmp_path / "in", rows)
    newest = {row["k"]: row["t"] for row in rows}
    waiting = {row["id"] for row in rows if newest[row["k"]] - row["t"] <= LATENESS}
    expected = local(query, rows)
    same(run().answers, [answer for answer in expected if answer[1] not in waiting])
    write_files(tmp_path / "in", markers("xyz"))
    same(run().answers, expected)


def test_late_rows_leave_tagged_and_are_counted(spark: Any, tmp_path: Path) -> None:
    files = with_late_rows(100)
    write_files(tmp_path / "in", *files)
    late = late_of(files)
    assert len(late) > 5
    frame = arriving(spark, tmp_path / "in")
    options: dict[str, Any] = {"position": "id", "lateness": LATENESS, "partition": True}
    result = stream_result(spark, cerlab.spark.match_stream(frame, QUERY, **options), tmp_path)
    assert (result.late, result.done.late) == (late, len(late))
    keys = {row["id"]: row["k"] for rows in files for row in rows}
    late_rows = spark.read.parquet(str(tmp_path / "out")).where("late IS NOT NULL").collect()
    assert all(row["partition"]["k"] == keys[row["late"]] for row in late_rows)
    same(result.answers, local(QUERY, [r for f in files for r in f if r["id"] not in late]))


def test_a_key_behind_the_others_by_more_than_the_lag_is_late(spark: Any, tmp_path: Path) -> None:
    """Its rows are in order among themselves."""
    rows = [row for row in events(160) if row["k"] in ("x", "y")]
    x, y = ([row for row in rows if row["k"] == key] for key in "xy")
    query = "SELECT * WHERE A ; B PARTITION BY [k] WITHIN 9 [t]"
    write_files(tmp_path / "in", x, [*y, *markers("xy")])
    frame = arriving(spark, tmp_path / "in")
    answers = cerlab.spark.match_stream(frame, query, position="id", lateness=LATENESS, lag=20)
    result = stream_result(spark, answers, tmp_path)
    assert result.late == [row["id"] for row in y if row["t"] < x[-1]["t"] - 20]
    assert result.late
    same(result.answers, local(query, [row for row in rows if row["id"] not in result.late]))


def test_what_is_no_event_stops_the_query(spark: Any, tmp_path: Path) -> None:
    from pyspark.errors import StreamingQueryException

    rows = [
        {"type": "A", "k": "x", "t": 1, "id": 5},
        {"type": None, "k": "x", "t": 2, "id": 6},
    ]
    folder = tmp_path / "in"
    folder.mkdir()
    parquet.write_table(pa.Table.from_pylist(rows), folder / "rows.parquet")
    query = "SELECT * WHERE A ; B PARTITION BY [k] WITHIN 9 [t]"
    frame = arriving(spark, folder)
    answers = cerlab.spark.match_stream(frame, query, position="id", lateness=0)
    with pytest.raises(StreamingQueryException, match="CER0701"):
        stream_result(spark, answers, tmp_path)
