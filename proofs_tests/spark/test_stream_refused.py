"""Refusals of a stream: another query's checkpoint, options without sense; and explain."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import cerlab
from cerlab.spark import write_stream
from cerlab.spark.stream.match import PROVIDER, with_restarts
from cerlab.spark.stream.state import CLAIM, claim
from proofs_tests.spark.streams import (
    ANOTHER,
    LATENESS,
    QUERY,
    arriving,
    events,
    in_sink,
    local,
    marker,
    markers,
    same,
    stream_result,
    triples,
    write_files,
)

pytestmark = pytest.mark.filterwarnings("default")  # those of PySpark are not ours


WINDOW = "SELECT * WHERE A ; B PARTITION BY [k] WITHIN 9 [t]"


def test_a_checkpoint_of_another_query_is_refused(spark: Any, tmp_path: Path) -> None:
    """At once where the checkpoint is named, else at the first row of a key with a state."""
    from pyspark.errors import StreamingQueryException

    def answers(query: str, **options: Any) -> Any:
        frame = arriving(spark, tmp_path / "in")
        return cerlab.spark.match_stream(frame, query, position="id", lateness=LATENESS, **options)

    rows, where = events(90), {"checkpoint": str(tmp_path / "checkpoint")}
    write_files(tmp_path / "in", rows)
    before = stream_result(spark, answers(QUERY, **where), tmp_path).answers
    assert before
    write_files(tmp_path / "in", [marker("x", 1)])
    with pytest.raises(cerlab.BadData) as caught:
        answers(ANOTHER, **where)
    assert caught.value.code == "CER0776"
    assert caught.value.hint
    with pytest.raises(StreamingQueryException, match="CER0773"):
        stream_result(spark, answers(ANOTHER), tmp_path)
    assert in_sink(spark, tmp_path) == (before, [])
    write_files(tmp_path / "in", markers("xyz")[1:])
    same(stream_result(spark, answers(QUERY, **where), tmp_path).answers, local(QUERY, rows))


def test_a_checkpoint_of_an_earlier_version_is_refused(spark: Any, tmp_path: Path) -> None:
    """It named its query without a version."""
    claim(spark, str(tmp_path / "new"), "0" * 64)
    claim(spark, str(tmp_path / "new"), "0" * 64)
    (before := tmp_path / "old" / CLAIM).mkdir(parents=True)
    (before / "part-0.txt").write_text("0" * 64 + "\n")
    with pytest.raises(cerlab.BadData, match=r"CER0772.*a state of version before 4"):
        claim(spark, str(tmp_path / "old"), "0" * 64)


def test_bad_rows_stop_a_stream_by_name_and_quarantine_gets_it_past_them(
    spark: Any, tmp_path: Path
) -> None:
    rows, checkpoint = events(90), str(tmp_path / "checkpoint")
    nameless = {**marker("x", 7, rows[50]["t"]), "type": None}
    twice = next(row for row in rows[80:] if row["k"] == "x")
    write_files(tmp_path / "in", rows[:45], [*rows[45:], twice, nameless], [marker("y", 1)])
    where: dict[str, Any] = {
        "checkpoint": checkpoint,
        "output": str(tmp_path / "out"),
        "buckets": 2,
    }

    def answers(**options: Any) -> Any:
        frame = arriving(spark, tmp_path / "in")
        return cerlab.spark.match_stream(frame, QUERY, position="id", lateness=LATENESS, **options)

    for _ in range(2):  # a restart stops there again
        with pytest.raises(Exception) as caught:  # noqa: PT011  of Spark
            stream_result(spark, answers(**where), tmp_path)
        error = cerlab.spark.error_of(caught.value)
        assert error.code in ("CER0782", "CER0701")
        assert "001.parquet" in str(error)
        assert "quarantine=True" in str(error.hint)
    out = {"path": where["output"], "checkpointLocation": checkpoint}
    writer = answers(**where, quarantine=True).writeStream.format("parquet").options(**out)

    def run() -> Any:
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
        return query

    query = with_restarts(run)
    every = [cerlab.spark.row_counts(progress) for progress in query.recentProgress]
    assert sum(counts["quarantine"] for counts in every) == 2
    assert every[-1]["waiting"] >= 1 <= every[-1]["waiting_keys"]
    assert max(counts["behind"] for counts in every) > LATENESS  # of the keys that are silent now
    merged = spark.read.option("mergeSchema", True)  # the first files have not the column
    written = merged.parquet(where["output"]).where("quarantine is not null").collect()
    bad = {row["quarantine"]["position"]: row["quarantine"] for row in written}
    assert set(bad) == {twice["id"], nameless["id"]}
    assert all("001.parquet" in each["file"] for each in bad.values())
    assert bad[twice["id"]]["why"].startswith("duplicate")
    write_files(tmp_path / "in", markers("xz"))
    done = write_stream(answers(**where, quarantine=True), where["output"], checkpoint)
    assert done.waiting
    found = spark.read.parquet(where["output"]).where("start is not null").collect()
    same(triples(found), local(QUERY, rows))
    with pytest.raises(cerlab.BadData, match="CER0778"):
        answers(**{**where, "output": str(tmp_path / "another")})


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"lateness": "soon"}, "CER0882"),
        ({"lateness": "10 seconds"}, "CER0882"),
        ({"lateness": -1}, "CER0882"),
        ({"lag": 1}, "CER0883"),
        ({"time": "at"}, "CER0884"),
        ({"time": "t", "query": "SELECT * WHERE A ; B WITHIN 9 SECONDS"}, "CER0803"),
        ({"position": "k"}, "CER0875"),
        ({"mode": "ranges"}, "CER0490"),
        ({"buckets": 0}, "CER0877"),
        ({"output": "out"}, "CER0820"),
        ({"mode": "keys", "query": "SELECT * WHERE A ; B WITHIN 9 [t]"}, "CER0490"),
        ({"partition": True, "query": "SELECT * WHERE A ; B WITHIN 9 [t]"}, "CER0876"),
        ({"time": "k", "query": "SELECT * WHERE A ; B PARTITION BY [k]"}, "CER0885"),
        ({"query": f"{WINDOW} CONSUME BY ANY THROTTLE 2 EVENTS"}, "CER0490"),
        ({"mode": "one", "query": f"{WINDOW} THROTTLE 2 EVENTS"}, "CER0490"),
        ({"query": f"{WINDOW} THROTTLE 2 [v]"}, "CER0884"),
    ],
)
def test_what_makes_no_sense_is_refused_at_once(
    spark: Any, tmp_path: Path, options: dict[str, Any], code: str
) -> None:
    defaults = {"position": "id", "lateness": LATENESS}
    arguments: dict[str, Any] = defaults | {"query": WINDOW} | options
    with pytest.raises(cerlab.CerlabError) as caught:
        cerlab.spark.match_stream(arriving(spark, tmp_path), **arguments)
    assert caught.value.code == code


def test_a_batch_and_another_state_store_are_refused(spark: Any, tmp_path: Path) -> None:
    frame = arriving(spark, tmp_path)
    batch = spark.createDataFrame([], frame.schema)
    with pytest.raises(cerlab.UsageError, match="CER0881"):
        cerlab.spark.match_stream(batch, "A ; B", position="id", lateness=0)
    before = spark.conf.get(PROVIDER, "")
    spark.conf.set(PROVIDER, "org.example.AnotherProvider")
    try:
        with pytest.raises(cerlab.UsageError, match="CER0880"):
            cerlab.spark.match_stream(frame, "A ; B", position="id", lateness=0)
    finally:
        if before:
            spark.conf.set(PROVIDER, before)
        else:
            spark.conf.unset(PROVIDER)


def test_explain_says_what_waits_what_is_late_and_what_is_kept(spark: Any, tmp_path: Path) -> None:
    frame = arriving(spark, tmp_path)
    query = "SELECT * WHERE A ; B PARTITION BY [k] WITHIN 9 [t]"
    text = cerlab.spark.explain_stream(frame, query, position="id", lateness=2, lag=30)
    assert "mode     keys" in text
    assert "order    t, id" in text
    assert "waits    a row, for one of its key that is more than 2 [t] after it, or" in text
    assert "more than 30 older than the newest of all keys" in text
    assert "kept     the state of a key, until one of any key is 39 [t] after its last row" in text
    text = cerlab.spark.explain_stream(frame, "A ; B", position="id", lateness=2)
    assert "not by   keys: there is no PARTITION BY" in text
    assert "kept     the state of each key, for ever" in text


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("(A WAIT 5 [t]) UNLESS B PARTITION BY [k]", "waits.*WITHIN"),
        ("(A WAIT 5 [t]) UNLESS B PARTITION BY [k] WITHIN 9 [t]", "waits.*give lag="),
        ("(A ; B WITHIN 5 SECONDS) PARTITION BY [k]", "windows in time inside.*WITHIN"),
        ("MAX(A+) ; B PARTITION BY [k] WITHIN 9 [t]", "strategies inside.*only batches"),
    ],
)
def test_queries_that_keep_more_than_one_window_are_refused_by_name(
    text: str, part: str, spark: Any, tmp_path: Path
) -> None:
    """On streams; the hint names a call of Spark that takes the query."""
    frame = arriving(spark, tmp_path)
    with pytest.raises(cerlab.Unsupported, match=f"CER0496.*{part}") as refused:
        cerlab.spark.match_stream(frame, f"SELECT * WHERE {text}", position="id", lateness=LATENESS)
    assert refused.value.hint.startswith("use cerlab.spark.match with PARTITION BY")


def test_a_watermark_beside_lag_is_refused_by_name(spark: Any, tmp_path: Path) -> None:
    from pyspark.sql import functions as fn

    frame, query = arriving(spark, tmp_path), "SELECT * WHERE A ; B PARTITION BY [k] WITHIN 9 [t]"
    marked = frame.withColumn("seen", fn.current_timestamp()).withWatermark("seen", "5 seconds")
    cerlab.spark.match_stream(marked, query, position="id", lateness=LATENESS)
    with pytest.raises(cerlab.UsageError, match="CER0893"):
        cerlab.spark.match_stream(marked, query, position="id", lateness=LATENESS, lag=90)
    text = "StreamingQueryException: Redefining watermark is disallowed. You can set"
    assert cerlab.spark.error_of(Exception(text)).code == "CER0893"  # over Spark Connect


def test_a_name_that_rows_of_a_stream_have_themselves_is_refused(
    spark: Any, tmp_path: Path
) -> None:
    frame = arriving(spark, tmp_path)
    for query, columns, name in (
        ("SELECT * WHERE A ; B PARTITION BY [late]", ["A.k"], "late"),
        ("SELECT * WHERE A ; B PARTITION BY [waits]", ["A.k"], "waits"),
        ("SELECT * WHERE A AS late ; B PARTITION BY [k]", ["late"], "late"),
    ):
        named = frame.withColumnRenamed("long", name)
        with pytest.raises(cerlab.UsageError, match=f"CER0862.*'{name}'"):
            cerlab.spark.match_stream(
                named, query, position="id", lateness=LATENESS, columns=columns
            )


@pytest.mark.parametrize("kind", ["timestamp", "timestamp_ntz", "date"])
def test_a_time_far_away_stops_a_stream_by_its_row(spark: Any, tmp_path: Path, kind: str) -> None:
    schema = f"id bigint, type string, ts {kind}"
    days = ["2006-01-02", "2006-01-02", "9999-12-31"]
    rows = spark.createDataFrame(
        [(n, "ABC"[n], d) for n, d in enumerate(days)], "id int, type string, d string"
    )
    rows.selectExpr("CAST(id AS bigint)", "type", f"CAST(d AS {kind}) AS ts").write.parquet(
        str(tmp_path / "in")
    )
    frame = spark.readStream.schema(schema).parquet(str(tmp_path / "in"))
    query = "SELECT * WHERE A ; B WITHIN 1 DAY"
    answers = cerlab.spark.match_stream(frame, query, position="id", lateness="1 day", mode="one")
    with pytest.raises(Exception) as caught:  # noqa: PT011  of Spark
        stream_result(spark, answers, tmp_path)
    error = cerlab.spark.error_of(caught.value)
    assert error.code == "CER0740"
    assert "position 2: " in str(error)
    assert "'ts' is 9999-12-31" in str(error)
