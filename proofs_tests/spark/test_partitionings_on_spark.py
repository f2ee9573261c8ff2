"""Random partitionings on Spark: rows over files, row groups, partitions and tasks."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cerlab
from cerlab.spark.plan import Mode, why_not
from proofs_tests.spark.cases import SparkCase
from proofs_tests.spark.layouts import random_files
from proofs_tests.spark.streams import triples
from proofs_tests.spark.test_any_split import case_for
from proofs_tests.suite import Suite

pytestmark = pytest.mark.filterwarnings("ignore")  # of one task, and of PySpark


def write(case: SparkCase, rng: Random, folder: Path) -> None:
    """Write the rows of a stream, with their numbers and positions, to files in any order."""
    rows = case.table.num_rows
    places = range(rows) if case.positions is None else case.positions
    numbers = {"n": pa.array(range(rows), pa.int64()), "id": pa.array(places, pa.int64())}
    whole = case.table
    for name, column in numbers.items():
        whole = whole.append_column(name, column)
    folder.mkdir()
    files = random_files(rng, rows, ordered=rng.random() < 0.5)
    for n, file in enumerate(rng.sample(files, len(files))):
        table = whole.take(pa.array(file, pa.int64()))
        pq.write_table(table, folder / f"{n}.parquet", row_group_size=rng.choice((2, 5, 100)))


def spread(frame: Any, rng: Random) -> Any:
    """Return the same rows in other partitions, or a DataFrame that is more than files."""
    match rng.choice(("files", "files", "repartition", "key", "coalesce", "union", "filter")):
        case "repartition":
            return frame.repartition(rng.choice((1, 2, 5)))
        case "key":
            return frame.repartition(3, "type")
        case "coalesce":
            return frame.coalesce(1)
        case "union":
            cut = rng.randrange(30)
            return frame.where(f"n < {cut}").union(frame.where(f"n >= {cut}"))
        case "filter":
            return frame.where("n >= 0")
        case _:
            return frame


def check_partitioning(spark: Any, rng: Random, folder: Path) -> bool:
    """Compare the answers of a random query on rows that lie anyhow with one machine."""
    mode = rng.choice(list(Mode))
    case = case_for(rng, mode)
    write(case, rng, folder)
    frame = spread(spark.read.parquet(str(folder)), rng)
    asked = mode.value if rng.random() < 0.7 and why_not(case.query.plan, mode) is None else None
    answers = cerlab.spark.match(
        frame,
        case.query,
        ["n"] if case.positions is None or rng.random() < 0.5 else (),
        None if case.positions is None else "id",
        time="t",
        unit="s",
        mode=asked,
        parts=rng.choice((None, 1, 2, 5)),
    )
    expected = triples(case.expected())
    assert triples(answers.collect()) == expected, f"{asked}\n{case.describe()}"
    return bool(expected)


def test_partitionings_have_the_answers_of_one_machine(
    spark: Any, suite: Suite, tmp_path: Path
) -> None:
    """One set of 3,000 takes an hour on two cores."""
    count = iter(range(1 << 30))
    suite.run(
        lambda rng: check_partitioning(spark, rng, tmp_path / str(next(count))), deep_count=3_000
    )
