"""Run by `test_clusters` in a separate process: the answers of a cluster, as JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import cerlab
from cerlab.spark import write_stream
from proofs_tests.spark.streams import LATENESS, QUERY, arriving, events, markers, write_files

BY_TIME = "SELECT * WHERE A AS a ; B AS b WITHIN 5 [t]"
COLUMNS = ["a.v", "b.double", "b.k"]


def results(master: str, place: Path) -> dict[str, Any]:
    """Files that tasks read, rows that are moved, by key, rows with names, and a stream."""
    write_files(place / "in", events(), markers("xyz"))
    settings = {"spark.sql.shuffle.partitions": "2", "spark.log.level": "ERROR"}
    spark = cerlab.spark.session(master, settings)
    frame = spark.read.parquet(str(place / "in"))
    shuffled_frame = frame.where("t >= 0")
    with_names = cerlab.spark.match(frame, BY_TIME, position="id", columns=COLUMNS)
    stream = cerlab.spark.match_stream(
        arriving(spark, place / "in"), QUERY, position="id", lateness=LATENESS, lag=40
    )
    write_stream(stream, str(place / "out"), str(place / "checkpoint"))
    sink = spark.read.parquet(str(place / "out")).where("late IS NULL")
    return {
        "files": answers(cerlab.spark.match(frame, BY_TIME, position="id")),
        "moved": answers(cerlab.spark.match(shuffled_frame, BY_TIME, position="id")),
        "keys": answers(cerlab.spark.match(shuffled_frame, QUERY, position="id")),
        "named": sorted(map(repr, with_names.toArrow().to_pylist())),
        "stream": answers(sink),
    }


def answers(frame: Any) -> list[Any]:
    return sorted((row["start"], row["end"], list(row["positions"])) for row in frame.collect())


if __name__ == "__main__":
    print(json.dumps(results(sys.argv[1], Path(sys.argv[2]))))
