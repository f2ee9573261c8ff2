"""A row pattern on a stream in a process of its own, which a test kills."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import cerlab
from cerlab.spark import write_stream
from proofs_tests.spark.streams import LATENESS, arriving

GAP = """MATCH_RECOGNIZE (PARTITION BY k ORDER BY t, id
    MEASURES MATCH_NUMBER() AS n, FIRST(id) AS first, LAST(id) AS last, COUNT(*) AS rows
    PATTERN (A B*) DEFINE B AS t - PREV(t) <= 3)"""


def result_stream(spark: Any, place: Path, clause: str = GAP, **options: Any) -> Any:
    """The result of a clause on the files of a folder."""
    frame = arriving(spark, place / "in")
    options = {"position": "id", "lateness": LATENESS, **options}
    return cerlab.spark.match_recognize_stream(frame, clause, **options)


def write(spark: Any, place: Path, clause: str = GAP, **options: Any) -> Any:
    """Write the result, from a checkpoint in the same place on."""
    stream = result_stream(spark, place, clause, **options)
    return write_stream(stream, str(place / "out"), str(place / "checkpoint"))


if __name__ == "__main__":
    session = cerlab.spark.session("local[1]", {"spark.sql.shuffle.partitions": "3"})
    write(session, Path(sys.argv[1]))
