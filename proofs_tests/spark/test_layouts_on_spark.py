"""Random layouts on Spark itself: tasks that read the files, and rows that Spark reads."""

from __future__ import annotations

import tempfile
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from cerlab.model.clauses import TimeWindow
from cerlab.spark.batch import answers
from cerlab.spark.first_pass import first_pass
from cerlab.spark.plan import Mode
from cerlab.spark.ranges import FileRanges
from cerlab.spark.request import request_of
from proofs_tests.spark.streams import triples
from proofs_tests.spark.test_any_split import case_for
from proofs_tests.spark.test_files import write
from proofs_tests.suite import Suite


def test_files_rows_and_the_local_engine_have_the_same_answers(
    spark: Any, suite: Suite, tmp_path: Path
) -> None:
    if not suite.deep:
        pytest.skip("with --profile deep only: each layout is two jobs of Spark")
    by_files = 0

    def case(rng: Random) -> bool:
        nonlocal by_files
        mode = rng.choice((Mode.RANGES, Mode.RANGES, Mode.KEYS, Mode.ONE))
        example = case_for(rng, mode)
        ids = pa.array(example.positions or range(example.table.num_rows), pa.int64())
        table = example.table.append_column("id", ids)
        frame = spark.read.parquet(*write(rng, table, Path(tempfile.mkdtemp(dir=tmp_path))))
        options: dict[str, Any] = {"parts": rng.choice((1, 2, 5)), "mode": mode.value}
        options["position" if example.positions is not None else "order_by"] = "id"
        if isinstance(example.query.plan.window, TimeWindow):
            options |= {"time": "t", "unit": "s"}
        expected = triples(example.expected())
        for rows in (frame, frame.where("id >= 0")):
            request = request_of(rows, example.query, **options)
            ranges = first_pass(request)
            by_files += isinstance(ranges, FileRanges)
            assert triples(answers(request, ranges).collect()) == expected
        return bool(expected)

    count = suite.run(case, deep_count=100)
    assert by_files > count / 4
