"""Rows with names on Spark: files, moved rows and keys have those of `Matches.table`."""

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
from cerlab.spark import write_stream
from proofs_tests.spark.streams import (
    LATENESS,
    arriving,
    events,
    markers,
    out_of_order,
    split,
    table_of,
    write_files,
)

COLUMNS = ["a.v", "b", "b.at", "first(b.name)", "last(b.v)", "count(b.price)", "c.price", "c"]
PATTERN = "SELECT * WHERE A AS a ; B+ AS b ; (C AS c OR A)"
BY_TIME = f"{PATTERN} WITHIN 6 [t]"
BY_KEY = f"{PATTERN} PARTITION BY [name] WITHIN 12 [t]"


def table(rows: int = 150) -> Any:
    rng = Random(2)
    day = datetime.datetime(2024, 3, 1, tzinfo=datetime.UTC)
    return pa.table(
        {
            "type": rng.choices("ABCD", k=rows),
            "t": range(rows),
            "v": pa.array([rng.choice((1, 2**60 + 1, None)) for _ in range(rows)], pa.int64()),
            "price": [rng.choice((1.5, -0.0, float("nan"), None)) for _ in range(rows)],
            "name": rng.choices(("x", "y", "\u00e9", None), k=rows),
            "at": pa.array(
                [day + datetime.timedelta(seconds=n) if n % 3 else None for n in range(rows)],
                pa.timestamp("us", "UTC"),
            ),
        }
    )


def local(query: str, columns: list[str] | None) -> Any:
    return cerlab.parse_query(query).run(table()).table(columns)


def same(frame_rows: Any, expected: Any) -> None:
    """The same rows in any order; moments are microseconds on Spark, nanoseconds here."""
    assert frame_rows.column_names == expected.column_names
    assert frame_rows.num_rows
    rows = expected.cast(frame_rows.schema).to_pylist()
    assert sorted(map(repr, frame_rows.to_pylist())) == sorted(map(repr, rows))


@pytest.mark.parametrize("query", [BY_TIME, BY_KEY, f"{PATTERN} WITHIN 5 EVENTS"])
@pytest.mark.parametrize(
    ("files", "columns"),
    [
        (True, COLUMNS),
        (True, None),
        (False, COLUMNS),
        pytest.param(False, None, marks=pytest.mark.long),
    ],
)
def test_rows_with_names(
    spark: Any, tmp_path: Path, query: str, columns: list[str] | None, files: bool
) -> None:
    place = str(tmp_path / "events.parquet")
    pq.write_table(table(), place, row_group_size=20)
    frame = spark.read.parquet(place)
    frame = frame if files else frame.where("t >= 0").repartition(3)
    rows = cerlab.spark.match(frame, query, "t", columns=columns or "*").toArrow()
    same(rows, local(query, columns))


def test_the_command_writes_them(spark: Any, tmp_path: Path) -> None:
    place, output = str(tmp_path / "events.parquet"), tmp_path / "rows"
    pq.write_table(table(), place, row_group_size=20)
    command = ["spark", BY_TIME, "--input", place, "--output", str(output), "--position", "t"]
    assert main([*command, "--columns", ", ".join(COLUMNS)]) == 0
    same(pq.read_table(output), local(BY_TIME, COLUMNS))


@pytest.mark.parametrize("columns", [None, ["a.v", "b.at", "b.name"]])
def test_labels_are_compared_by_key(spark: Any, columns: list[str] | None) -> None:
    query = "SELECT * WHERE (A AS a ; B AS b) FILTER a.v = b.v PARTITION BY [name] WITHIN 40 [t]"
    frame = spark.createDataFrame(table()).repartition(3)
    rows = cerlab.spark.match(frame, query, position="t", columns=columns).toArrow()
    matches = cerlab.parse_query(query).run(table())
    same(rows, matches.to_arrow() if columns is None else matches.table(columns))
    for options in ({"order_by": "t"}, {"position": "t", "mode": "ranges"}):
        with pytest.raises(cerlab.Unsupported, match="CER0496"):
            cerlab.spark.match(frame, query, **options)
    with pytest.raises(cerlab.Unsupported, match="CER0496"):
        cerlab.spark.explain(frame, query, position="t")


@pytest.mark.parametrize(
    "condition", ["a.v <= c.v", pytest.param("a[v >= 0]", marks=pytest.mark.long)]
)
def test_a_stream_has_them_with_every_value(condition: str, spark: Any, tmp_path: Path) -> None:
    """NaN beside NULL, moments, decimals, lists; late rows have their key."""
    query = (
        f"SELECT * WHERE A AS a ; B+ AS b ; C AS c FILTER {condition} PARTITION BY [k] WITHIN 9 [t]"
    )
    columns = ["a.double", "b.double", "b.at", "last(b.decimal)", "count(b.double)", "c.long"]
    columns += ["a.flag", "b.k", "c.at"]
    rows = events(200)
    late = {**rows[0], "k": "x", "type": "A", "id": 1}
    write_files(tmp_path / "in", *split(out_of_order(rows, LATENESS), 90), [*markers("xyz"), late])
    answers = cerlab.spark.match_stream(
        arriving(spark, tmp_path / "in"), query, position="id", lateness=LATENESS, columns=columns
    )
    write_stream(answers, str(tmp_path / "out"), str(tmp_path / "checkpoint"))
    output = spark.read.parquet(str(tmp_path / "out"))
    in_order = sorted(rows, key=lambda row: (row["t"], row["id"]))
    reference = cerlab.parse_query(query).run(table_of(in_order)).table(columns)
    for name in ("start", "end"):
        at = pa.array([in_order[n]["id"] for n in reference.column(name).to_pylist()])
        reference = reference.set_column(reference.column_names.index(name), name, at)
    same(output.where("late IS NULL").drop("late").toArrow(), reference)
    (row,) = output.where("late >= 0").collect()
    assert (row["k"], row["start"], row["a.flag"], row["late"]) == ("x", None, None, 1)


def test_columns_that_are_not_there_are_named(spark: Any) -> None:
    frame = spark.createDataFrame([("A", 1)], "type string, t bigint")
    for columns, code in ((["x.v"], "CER0863"), (["a.prise"], "CER0864"), (["a b"], "CER0862")):
        with pytest.raises(cerlab.UsageError, match=code):
            cerlab.spark.match(frame, "SELECT * WHERE A AS a WITHIN 1 [t]", "t", columns=columns)
    with pytest.raises(cerlab.UsageError, match="CER0897"):
        cerlab.spark.match(
            frame,
            "SELECT * WHERE A AS a PARTITION BY [t]",
            "t",
            columns=["a.t"],
            partition=True,
        )
