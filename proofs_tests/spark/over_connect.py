"""Run by `test_connect` in a separate process: the answers of Spark Connect, as JSON.

A process has either a session of its own or one of Spark Connect, so this cannot be in the test.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
from pathlib import Path
from typing import Any

import cerlab
from cerlab.cli import main
from cerlab.spark import write_stream
from proofs_tests.spark import over_row_stream
from proofs_tests.spark.streams import (
    ANOTHER,
    LATENESS,
    QUERY,
    arriving,
    events,
    markers,
    stream_result,
    write_files,
)

BATCH = (QUERY, "SELECT * WHERE A ; B WITHIN 5 [t]")
"""By key and by ranges."""


def results(place: Path) -> dict[str, Any]:
    """Return the results of a batch, a stream, refusals, and the command line."""
    write_files(place / "in", events(), markers("xyz"))
    spark = cerlab.spark.session(config={"spark.sql.shuffle.partitions": "2"})
    frame = spark.read.parquet(str(place / "in"))
    batch = {query: answers(cerlab.spark.match(frame, query, ["t", "id"])) for query in BATCH}
    options: dict[str, Any] = {"position": "id", "lateness": LATENESS, "lag": 40}
    options["checkpoint"] = str(place / "checkpoint")
    stream = cerlab.spark.match_stream(arriving(spark, place / "in"), QUERY, **options)
    sink = stream_result(spark, stream, place)
    bursts = over_row_stream.result_stream(spark, place)
    write_stream(bursts, str(place / "bursts"), str(place / "bursts-checkpoint"))
    refusal = ""
    try:
        cerlab.spark.match_stream(arriving(spark, place / "in"), ANOTHER, **options)
    except cerlab.CerlabError as error:
        refusal = error.code
    return {
        "session": type(spark).__module__,
        "batch": batch,
        "stream": [
            sink.answers,
            sink.late,
            sink.done.answers,
            sink.done.events,
        ],
        "bursts": sorted(
            [row["k"], row["n"], row["rows"]]
            for row in spark.read.parquet(str(place / "bursts")).collect()
            if row["k"] is not None
        ),
        "refused": refusal,
        "command": command(spark, place),
        "error": command_on_no_event(place),
    }


def answers(frame: Any) -> list[Any]:
    return sorted((row["start"], row["end"], list(row["positions"])) for row in frame.collect())


def command(spark: Any, place: Path) -> list[Any]:
    """The answers of the command line, by the address of the server."""
    del os.environ["SPARK_REMOTE"]
    paths = ["--input", str(place / "in"), "--output", str(place / "answers")]
    status = main(["spark", QUERY, *paths, "--position", "id", "--master", "sc://localhost"])
    return [status, answers(spark.read.parquet(str(place / "answers")))]


def command_on_no_event(place: Path) -> list[Any]:
    """Return the error of an event without a type, which a task finds."""
    write_files(place / "bad", [{"type": None, "k": "x", "t": 1, "id": 5}])
    paths = ["--input", str(place / "bad"), "--output", str(place / "none")]
    errors = io.StringIO()
    with contextlib.redirect_stderr(errors):
        options = ["--position", "id", "--lateness", "0", "--master", "sc://localhost"]
        status = main(["spark", QUERY, "--stream", *paths, *options])
    return [status, errors.getvalue().partition(":")[0]]


if __name__ == "__main__":
    print(json.dumps(results(Path(sys.argv[1]))))
