"""Files as Spark writes them: INT96, folders by day, decimals; tasks read them themselves."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cerlab
from cerlab.spark.first_pass import RowRanges, first_pass
from cerlab.spark.ranges import FileRanges
from cerlab.spark.request import request_of
from proofs_tests.spark.streams import Answers, triples

BY_RANGE = "SELECT * WHERE A AS a ; B AS b FILTER a[p > 3.1] AND b[q <= 500] WITHIN 5 HOURS"
BY_KEY = BY_RANGE.replace("WITHIN", "PARTITION BY [k] WITHIN")
BY_DAY = BY_RANGE.replace("a[p > 3.1]", "a[p + q / 2 > 99.25]").replace(
    "WITHIN", "PARTITION BY [day], [p] WITHIN"
)
LONG = BY_RANGE.replace("3.1", "900719925474.0")


def table(rng: Random, rows: int = 300) -> Any:
    start = datetime(2024, 2, 27, 20, tzinfo=UTC)
    minutes = sorted(rng.sample(range(20 * rows), rows))
    prices = [Decimal(rng.randrange(-999, 999)).scaleb(-2) for _ in range(rows)]
    moments = [start + timedelta(minutes=m, microseconds=rng.randrange(60)) for m in minutes]
    return pa.table(
        {
            "type": rng.choices("ABC", k=rows),
            "ts": pa.array(moments, pa.timestamp("us", "UTC")),
            "id": range(rows),
            "k": rng.choices("xyz", k=rows),
            "p": pa.array([None if rng.random() < 0.1 else p for p in prices], pa.decimal128(9, 2)),
            "q": pa.array([Decimal(rng.randrange(999)) for _ in range(rows)], pa.decimal128(18, 0)),
            "day": pa.array([each.date() for each in moments], pa.date32()),
        }
    )


def write(spark: Any, events: Any, place: str, rng: Random, kind: str, *, in_order: bool) -> Any:
    """Write events as Spark does by default, by folders of days, in order or among one another."""
    from pyspark.sql import functions as fn

    spark.conf.set("spark.sql.parquet.outputTimestampType", kind)
    frame = spark.createDataFrame(events)
    if in_order:
        frame = frame.coalesce(1).sortWithinPartitions("ts")
    else:
        frame = frame.repartition(rng.choice((2, 3)), fn.rand(rng.randrange(99)))
    frame.write.partitionBy("day").parquet(place)
    spark.conf.unset("spark.sql.parquet.outputTimestampType")
    return spark.read.parquet(place)


def here(query: str, events: Any) -> Answers:
    return triples(cerlab.evaluate(query, events, time="ts"))


@pytest.mark.parametrize("kind", ["INT96", "TIMESTAMP_MICROS", "TIMESTAMP_MILLIS"])
@pytest.mark.parametrize("in_order", [True, False])
def test_answers_are_those_of_one_machine(
    spark: Any, tmp_path: Path, kind: str, in_order: bool
) -> None:
    rng = Random(f"{kind} {in_order}")
    events = table(rng)
    if kind == "TIMESTAMP_MILLIS":
        whole = events.column("ts").cast(pa.timestamp("ms", "UTC"), safe=False)
        events = events.set_column(1, "ts", whole.cast(pa.timestamp("us", "UTC")))
    frame = write(spark, events, str(tmp_path / "lake"), rng, kind, in_order=in_order)
    found = 0
    for query in (BY_RANGE, BY_KEY, BY_DAY, LONG):
        expected = here(query, events)
        found += len(expected)
        for how in ({"order_by": "ts"}, {"order_by": "ts", "position": "id"}):
            for mode in (None, "keys") if "PARTITION" in query else (None,):
                for parts in (None, 3):
                    rows = cerlab.spark.match(
                        frame, query, time="ts", mode=mode, parts=parts, **how
                    )
                    assert triples(rows.collect()) == expected
    assert found
    request = request_of(frame, BY_RANGE, "ts", time="ts")
    ranges = first_pass(request)
    if in_order:
        assert isinstance(ranges, FileRanges)
    elif kind != "TIMESTAMP_MILLIS":
        assert isinstance(ranges, FileRanges) or ranges.files is not None


def test_a_filter_of_folders_leaves_their_files(spark: Any, tmp_path: Path) -> None:
    rng = Random(5)
    events = table(rng)
    frame = write(spark, events, str(tmp_path / "lake"), rng, "INT96", in_order=True)
    days = sorted(set(events.column("day").to_pylist()))
    some = frame.where(f"day >= DATE '{days[1]}'").where(f"day < DATE '{days[-1]}'")
    rows = [n for n, day in enumerate(events.column("day").to_pylist()) if days[0] < day < days[-1]]
    ranges = first_pass(request_of(some, BY_RANGE, "ts", time="ts"))
    assert isinstance(ranges, FileRanges)
    assert sum(ranges.assignment.rows) == len(rows)
    expected = here(BY_RANGE, events.take(rows))
    assert expected
    assert triples(cerlab.spark.match(some, BY_RANGE, "ts", time="ts").collect()) == expected
    relevant = frame.where("p IS NOT NULL")
    kept = events.filter(events.column("p").is_valid())
    answers = cerlab.spark.match(relevant, BY_RANGE, "ts", time="ts")
    assert triples(answers.collect()) == here(BY_RANGE, kept)


def test_the_days_of_folders_order_a_stream(spark: Any, tmp_path: Path) -> None:
    rng = Random(6)
    events = table(rng)
    frame = write(spark, events, str(tmp_path / "lake"), rng, "INT96", in_order=True)
    assert isinstance(first_pass(request_of(frame, BY_RANGE, ["day", "ts"], time="ts")), FileRanges)
    rows = cerlab.spark.match(frame, BY_RANGE, ["day", "ts"], time="ts")
    assert triples(rows.collect()) == here(BY_RANGE, events)


def test_moments_that_are_missing_or_go_back_are_named(spark: Any, tmp_path: Path) -> None:
    rng = Random(7)
    events = table(rng, 40)
    for name, wrong in (("null", None), ("back", datetime(2020, 1, 1, tzinfo=UTC))):
        moments = [wrong if n == 7 else t for n, t in enumerate(events.column("ts").to_pylist())]
        column = pa.array(moments, pa.timestamp("us", "UTC"))
        place = str(tmp_path / name)
        pq.write_table(
            events.set_column(1, "ts", column), place, use_deprecated_int96_timestamps=True
        )
        frame = spark.read.parquet(place)
        with pytest.raises(Exception) as caught:  # noqa: PT011  of Spark
            cerlab.spark.match(frame, BY_RANGE, position="id", time="ts").collect()
        error = cerlab.spark.error_of(caught.value)
        assert error.code == ("CER0712" if wrong is None else "CER0714")
        assert "2020-01-01T00:00:00Z" in str(error) or wrong is None


@pytest.mark.parametrize("zone", [None, "UTC"])
def test_moments_of_other_writers_have_the_type_that_spark_finds(
    spark: Any, tmp_path: Path, zone: str | None
) -> None:
    """INT96 has no zone, and Spark reads it as moments in UTC."""
    events = table(Random(9), 40)
    moments = events.column("ts").cast(pa.timestamp("us", zone))
    place = str(tmp_path / "rows.parquet")
    pq.write_table(
        events.set_column(1, "ts", moments).drop_columns("day"),
        place,
        use_deprecated_int96_timestamps=True,
        store_schema=False,
    )
    frame = cerlab.spark.read(spark, place)
    assert frame.schema == spark.read.parquet(place).schema
    assert isinstance(first_pass(request_of(frame, BY_RANGE, "ts", time="ts")), FileRanges)
    answers = cerlab.spark.match(frame, BY_RANGE, "ts", time="ts")
    assert triples(answers.collect()) == here(BY_RANGE, events)


def test_files_of_other_calendars_are_left_to_spark(spark: Any, tmp_path: Path) -> None:
    events = table(Random(8), 40)
    schema = events.schema.with_metadata({"org.apache.spark.legacyINT96": ""})
    place = str(tmp_path / "old.parquet")
    pq.write_table(events.cast(schema), place, use_deprecated_int96_timestamps=True)
    frame = spark.read.parquet(place)
    assert isinstance(first_pass(request_of(frame, BY_RANGE, "ts", time="ts")), RowRanges)
    assert triples(cerlab.spark.match(frame, BY_RANGE, "ts", time="ts").collect()) == here(
        BY_RANGE, events
    )
