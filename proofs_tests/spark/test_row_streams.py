"""Row patterns on streams of Spark: the certain part of the result of `cerlab.match_recognize`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pytest

import cerlab
from cerlab.spark import row_counts
from proofs_tests.rows.test_sessions import by_partition
from proofs_tests.spark.over_row_stream import GAP, result_stream, write
from proofs_tests.spark.streams import (
    END,
    LATENESS,
    Row,
    arriving,
    events,
    late_of,
    marker,
    out_of_order,
    split,
    table_of,
    with_late_rows,
    write_files,
)
from proofs_tests.spark.test_stream_killed import (
    Phase,
    commits,
    kill,
    phase,
    uncommit,
)

pytestmark = pytest.mark.filterwarnings("default")  # those of PySpark are not ours

UNMATCHED = """MATCH_RECOGNIZE (PARTITION BY k ORDER BY t
    MEASURES CLASSIFIER() AS c, COUNT(B.v) AS n ALL ROWS PER MATCH WITH UNMATCHED ROWS
    AFTER MATCH SKIP TO NEXT ROW PATTERN (A{2} B) WITHIN 9
    DEFINE A AS type = 'A', B AS type <> 'A' AND v >= 0)"""

TYPES = """MATCH_RECOGNIZE (PARTITION BY double, decimal, long, flag ORDER BY at
    MEASURES LAST(at) - FIRST(at) AS length, DATE_TRUNC('hour', LAST(at)) AS hour,
        ARRAY_AGG(A.double) AS doubles, ARRAY_AGG(at) AS times, LISTAGG(type, '-') AS types,
        AVG(v) AS mean, LAST(decimal) AS price, LAST(flag) AS flag_after, LAST(long) AS number
    PATTERN (A+ B) DEFINE A AS type = 'A')"""


def certain(clause: str, rows: Sequence[Row]) -> Any:
    """Return the result that a session gives before the end of rows in order."""
    session: Any = cerlab.session(clause)
    return session.push(table_of(in_order(rows)))


def in_order(rows: Sequence[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: (row["t"], row["id"]))


def is_read(rows: Sequence[Row], keys: Sequence[str]) -> list[Row]:
    """Return the rows that a later row of their key releases."""
    newest: dict[str, int] = {}
    # the two zeros are one key
    of_rows = [repr([row[name] for name in keys]).replace("-0.0", "0.0") for row in rows]
    for key, row in zip(of_rows, rows, strict=True):
        newest[key] = max(newest.get(key, 0), row["t"])
    return [
        row for key, row in zip(of_rows, rows, strict=True) if newest[key] - row["t"] > LATENESS
    ]


def in_sink(spark: Any, place: Path) -> tuple[Any, list[int]]:
    """Return the table of the result and the late rows that a sink has."""
    rows = spark.read.parquet(str(place / "out"))
    late = [row["late"] for row in rows.where("late IS NOT NULL").collect()]
    return rows.where("late IS NULL").drop("late").toArrow(), sorted(late)


def same(found: Any, expected: Any) -> None:
    """Compare two tables of rows in any order, in the time zone and the units of Spark."""
    assert expected.num_rows
    tables = (found, expected.cast(found.schema))
    # the two zeros are one key, which is shown as in some row of the partition
    counts = [Counter(repr(row).replace("-0.0", "0.0") for row in t.to_pylist()) for t in tables]
    assert counts[0] == counts[1]


def released(rows: Sequence[Row]) -> list[Row]:
    """Return rows, and behind those of each key two that release them all."""
    ends = [marker(key, 2 * n, END) for n, key in enumerate(("x", "y", "z", None))]
    again = [marker(key, 2 * n + 1, 2 * END) for n, key in enumerate(("x", "y", "z", None))]
    return [*rows, *ends, *again]


@pytest.mark.parametrize("clause", [GAP, UNMATCHED])
def test_rows_in_any_order_have_the_result_of_rows_in_order(
    spark: Any, tmp_path: Path, clause: str
) -> None:
    """NULL is a key; with a row more in each partition, all matches before it are certain."""
    rows = released(events())
    write_files(tmp_path / "in", *split(out_of_order(rows, LATENESS), 60))
    done = write(spark, tmp_path, clause)
    found, late = in_sink(spark, tmp_path)
    assert late == []
    expected = certain(clause, is_read(rows, ["k"]))
    same(found, expected)
    assert (done.answers, done.events) == (found.num_rows, len(rows))
    whole = cerlab.match_recognize(clause, table_of(in_order(rows)))
    assert found.num_rows <= whole.num_rows <= found.num_rows + 8, "the ends of four partitions"
    query = cerlab.parse_rows(clause)
    parts = by_partition(query, whole.cast(found.schema).to_pylist())
    for key, mine in by_partition(query, found.to_pylist()).items():
        assert Counter(parts[key][: len(mine)]) == Counter(mine)


def test_keys_and_measures_of_every_type(spark: Any, tmp_path: Path) -> None:
    rows = events(400)
    write_files(tmp_path / "in", *split(out_of_order(rows, LATENESS), 130))
    stream = result_stream(spark, tmp_path, TYPES, lateness=f"{LATENESS} seconds")
    batch = cerlab.spark.match_recognize(spark.read.parquet(str(tmp_path / "in")), TYPES)
    assert stream.drop("late").schema.simpleString() == batch.schema.simpleString()
    write(spark, tmp_path, TYPES, lateness=f"{LATENESS} seconds")
    found, _ = in_sink(spark, tmp_path)
    expected = certain(TYPES, is_read(rows, ["double", "decimal", "long", "flag"]))
    assert expected.num_rows > 10
    same(found, expected)


def test_late_rows_leave_with_their_key(spark: Any, tmp_path: Path) -> None:
    files = with_late_rows(100)
    write_files(tmp_path / "in", *files)
    late = late_of(files)
    assert len(late) > 5
    done = write(spark, tmp_path)
    rows = [row for file in files for row in file]
    on_time = [row for row in rows if row["k"] is not None and row["id"] not in late]
    found, late_found = in_sink(spark, tmp_path)
    of_null = {row["id"] for row in rows if row["k"] is None}
    assert [position for position in late_found if position not in of_null] == late
    same(found.filter(pc.is_valid(found["k"])), certain(GAP, is_read(on_time, ["k"])))
    assert done.late == len(late_found)
    keys = {row["id"]: row["k"] for row in rows}
    late_rows = spark.read.parquet(str(tmp_path / "out")).where("late IS NOT NULL").collect()
    assert all(row["k"] == keys[row["late"]] and row["rows"] is None for row in late_rows)


def test_with_a_lag_other_partitions_release_rows(spark: Any, tmp_path: Path) -> None:
    """A row that waits is read when all partitions have passed it."""
    rows = [row for row in events(160) if row["k"] in ("x", "y")]
    write_files(tmp_path / "in", rows, [marker("x", 0)], [marker("x", 1, 2 * END)])
    write(spark, tmp_path, lag=20)
    found, late = in_sink(spark, tmp_path)
    assert late == []
    y = [row for row in rows if row["k"] == "y"]
    same(found.filter(pc.equal(found["k"], "y")), certain(GAP, y))


def test_what_stops_a_stream_of_rows(spark: Any, tmp_path: Path) -> None:
    """Errors by name at the call; a checkpoint of another clause; quarantine of bad rows."""
    rows = events(60)
    nameless: Row = {**marker("x", 7, rows[50]["t"]), "id": None}
    write_files(tmp_path / "in", rows, [nameless, marker("x", 1)])
    refused: list[tuple[str, str, dict[str, Any]]] = [
        ("CER0494", GAP.replace("PARTITION BY k", ""), {}),
        ("CER0494", GAP.replace("ORDER BY t, id", ""), {}),
        ("CER0494", GAP.replace("t, id", "t DESC"), {}),
        ("CER0494", GAP.replace("t, id", "t, v"), {}),
        ("CER0885", GAP.replace("t, id", "type"), {}),
        ("CER0862", GAP.replace("AS first", "AS late"), {}),
        ("CER0877", GAP, {"buckets": 0}),
        ("CER0883", GAP, {"lag": 1}),
        ("CER0875", GAP, {"position": "k"}),
    ]
    for code, clause, options in refused:
        with pytest.raises(cerlab.CerlabError, match=code) as caught:
            result_stream(spark, tmp_path, clause, **options)
        assert caught.value.hint
    frame = arriving(spark, tmp_path / "in").selectExpr("*", "cast(1 as decimal(16, 0)) AS d")
    clause = GAP.replace("BY k", "BY d")
    with pytest.raises(cerlab.BadData, match=r"CER0741.*15 digits"):
        cerlab.spark.match_recognize_stream(frame, clause, position="id", lateness=0)
    batch = spark.read.parquet(str(tmp_path / "in"))
    with pytest.raises(cerlab.UsageError, match="CER0881"):
        cerlab.spark.match_recognize_stream(batch, GAP, position="id", lateness=0)
    where: dict[str, Any] = {"checkpoint": str(tmp_path / "checkpoint")}
    with pytest.raises(Exception, match="CER0780"):
        write(spark, tmp_path, **where)
    write(spark, tmp_path, **where, quarantine=True)
    # files of the query before have no such column
    merged = spark.read.option("mergeSchema", "true").parquet(str(tmp_path / "out"))
    (bad,) = merged.where("quarantine IS NOT NULL").collect()
    assert bad["quarantine"]["why"] == "'id' is missing"
    with pytest.raises(cerlab.BadData, match="CER0776"):
        result_stream(spark, tmp_path, GAP.replace("<= 3", "<= 4"), **where)


def test_explain_names_the_columns_the_state_and_what_waits(spark: Any, tmp_path: Path) -> None:
    write_files(tmp_path / "in", events(9))
    frame = arriving(spark, tmp_path / "in")
    options: dict[str, Any] = {"position": "id", "lateness": 2}
    text = cerlab.spark.explain_stream(frame, GAP, **options, lag=30, buckets=4)
    assert "query    MATCH_RECOGNIZE (" in text
    assert "plan     row pattern: a match is given when no later row can change it" in text
    assert "order    t, id" in text
    assert "waits    a row, for one of its key that is more than 2 [t] after it, or" in text
    assert "more than 30 older than the newest of all keys" in text
    kept = "kept     the rows of each key from its oldest open match on, for ever, and 1 before"
    assert kept in text
    assert "stage    read k, t, id\n" in text
    assert (
        "stage    in 4 buckets by a hash of the key; each key put in order, then the search" in text
    )
    clause = cerlab.parse_rows(GAP.replace("t - PREV(t) <= 3", "t < 5"))
    assert "open match on, for ever\n" in cerlab.spark.explain_stream(frame, clause, **options)
    with pytest.raises(cerlab.UsageError, match="columns"):
        cerlab.spark.explain_stream(frame, GAP, **options, columns=["A.t"])
    with pytest.raises(cerlab.Unsupported, match="CER0494"):
        cerlab.spark.explain_stream(frame, GAP.replace("BY t,", "BY t DESC,"), **options)


def test_killed_anywhere_nothing_is_lost_or_doubled(spark: Any, tmp_path: Path) -> None:
    """During a state checkpoint, and between the sink's commit and the commit log."""
    rows = released(events(300))
    write_files(tmp_path / "in", *split(out_of_order(rows, LATENESS), 80))
    expected = certain(GAP, is_read(rows, ["k"]))
    words = ["-m", "proofs_tests.spark.over_row_stream", str(tmp_path)]
    kill(words, tmp_path / "log", lambda: phase(tmp_path, 2) is Phase.STATE)
    assert (commits(tmp_path), phase(tmp_path, 2)) == (2, Phase.STATE)
    write(spark, tmp_path)
    same(in_sink(spark, tmp_path)[0], expected)
    last = commits(tmp_path) - 1
    uncommit(tmp_path, last)
    assert phase(tmp_path, last) is Phase.COMMIT
    write(spark, tmp_path)
    assert phase(tmp_path, last) is Phase.OVER
    same(in_sink(spark, tmp_path)[0], expected)


def test_the_counts_of_a_stream_of_rows(spark: Any, tmp_path: Path) -> None:
    rows = events(90)
    write_files(tmp_path / "in", rows)
    query = (
        result_stream(spark, tmp_path)
        .writeStream.format("memory")
        .queryName("counts")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    counts = row_counts(query.recentProgress[0])
    read = is_read(rows, ["k"])
    assert counts["answers"] == certain(GAP, read).num_rows
    assert counts["waiting"] == len(rows) - len(read)
