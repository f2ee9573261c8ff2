"""Aggregates on Spark: files, moved rows and keys have those of `Matches.aggregate`."""

from __future__ import annotations

import datetime
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cerlab
from cerlab.cli import main
from proofs_tests.command import Cli
from proofs_tests.spark.test_aggregates import rows_of

PATTERN = "WHERE A AS a ; B AS b"
MEASURES = "COUNT(*), SUM(b.v), SUM(a.d), AVG(b.d), MIN(b.at), MAX(a.name), MAX(b.day)"


def table(rows: int = 200) -> Any:
    rng = Random(3)
    day = datetime.datetime(2024, 3, 1, tzinfo=datetime.UTC)
    names = rng.choices(("x", "y", "\u00e9", None), k=rows)
    return pa.table(
        {
            "type": rng.choices("ABC", k=rows),
            "t": range(rows),
            "v": pa.array([rng.choice((1, 2**50 + 1, -7, None)) for _ in range(rows)], pa.int64()),
            "d": [rng.choice((0.1, 1e16, -1e16, 5e-324, float("nan"), None)) for _ in range(rows)],
            "name": names,
            "at": pa.array(
                [day + datetime.timedelta(seconds=n) if n % 3 else None for n in range(rows)],
                pa.timestamp("us", "UTC"),
            ),
            "day": pa.array([(day + datetime.timedelta(days=n)).date() for n in range(rows)]),
        }
    )


QUERIES = [
    f"SELECT {MEASURES} {PATTERN} WITHIN 12 [t]",
    f"SELECT {MEASURES} {PATTERN} WITHIN 12 [t] GROUP BY a.name, b.at",
    f"SELECT {MEASURES} {PATTERN} WITHIN 9 EVENTS GROUP BY end",
    f"SELECT {MEASURES} {PATTERN} PARTITION BY [name] GROUP BY name",
    f"SELECT {MEASURES} {PATTERN} FILTER a[v > 1000000000000000] WITHIN 12 [t] GROUP BY start",
    f"SELECT SUM(a.v) {PATTERN} FILTER a[v = 5]",
    f"SELECT {MEASURES} {PATTERN} WITHIN 12 [t] GROUP BY a.d",  # NaN is one group, NULL another
]


def same(frame_rows: Any, query: str) -> None:
    """The same rows as of one machine, in any order; moments are microseconds on Spark."""
    expected = cerlab.parse_query(query).run(table()).aggregate()
    assert frame_rows.column_names == expected.column_names
    assert frame_rows.num_rows
    plain = expected.cast(frame_rows.schema).to_batches()
    assert rows_of(frame_rows.to_batches()) == rows_of(plain)


@pytest.mark.filterwarnings("ignore::cerlab.CerlabWarning")
@pytest.mark.parametrize("query", QUERIES)
def test_aggregates(spark: Any, tmp_path: Path, query: str) -> None:
    place = str(tmp_path / "events.parquet")
    pq.write_table(table(), place, row_group_size=20)
    frame = spark.read.parquet(place)
    for each in (frame, frame.where("t >= 0").repartition(2)):
        same(cerlab.spark.match(each, query, "t", parts=2).toArrow(), query)


def test_the_command_writes_them(spark: Any, tmp_path: Path, cli: Cli) -> None:
    place = str(tmp_path / "events.parquet")
    pq.write_table(table(), place, row_group_size=20)
    for query in QUERIES[1:3]:
        output = str(tmp_path / f"rows {len(query)}")
        command = ["spark", query, "--input", place, "--position", "t", "--output", output]
        assert main(command) == 0
        same(pq.read_table(output), query)
    assert "no answer is listed: a row for each end" in cli(*command[:-2], "--explain").out


def test_what_has_no_aggregates_says_so(spark: Any) -> None:
    frame = spark.createDataFrame(table())
    count_query = "SELECT COUNT(*) WHERE A AS a WITHIN 3 [t]"
    refusals: list[tuple[str, dict[str, Any], str]] = [
        ("SELECT SUM(a.name) WHERE A AS a WITHIN 3 [t]", {}, "CER0306"),
        ("SELECT SUM(a.prise) WHERE A AS a WITHIN 3 [t]", {}, "CER0864"),
        (f"{count_query} LIMIT 3", {}, "CER0420"),
        ("SELECT COUNT(*) WHERE A AS a ; B AS b FILTER a.v < b.v", {}, "CER0496"),
        (count_query, {"columns": "*"}, "CER0865"),
        (count_query, {"partition": True}, "CER0865"),
    ]
    for query, options, code in refusals:
        with pytest.raises(cerlab.CerlabError, match=code):
            cerlab.spark.match(frame, query, position="t", **options)
    beyond = "SELECT COUNT(*) WHERE (A OR B OR C)+ WITHIN 90 EVENTS"
    with pytest.raises(Exception, match="'count' needs more than the 64 bits of a bigint"):
        cerlab.spark.match(frame, beyond, position="t").collect()
    arriving = spark.readStream.format("rate").load().selectExpr("'A' type", "value n")
    with pytest.raises(cerlab.Unsupported, match="CER0493"):
        cerlab.spark.match_stream(
            arriving, "SELECT COUNT(*) WHERE A WITHIN 3 [n]", position="n", lateness=0
        )
