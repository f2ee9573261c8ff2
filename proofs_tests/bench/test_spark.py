"""The files of `cerlab bench --spark`, and what is refused; Spark itself is measured by hand."""

from __future__ import annotations

import io
from dataclasses import asdict
from pathlib import Path

import pytest

import cerlab
from cerlab.api import parse_query
from cerlab.bench.queries import catalogue
from cerlab.bench.spark import (
    POSITION,
    SparkRow,
    _columns,
    _local,
    _local_sorting,
    write_shuffled,
    write_stream,
)
from cerlab.bench.table import write_table
from cerlab.cli import main
from cerlab.io.synthetic import stock_batches

pytestmark = pytest.mark.services


def test_the_local_side_reads_the_files_that_spark_reads(tmp_path: Path) -> None:
    write_stream(tmp_path / "in order", 30_000)
    query = parse_query(catalogue("stocks")["S3"])
    answers, seconds, engine = _local(query, tmp_path / "in order")
    assert answers == query.run(list_of(30_000)).count() > 0
    assert 0 < engine < seconds
    assert _columns(query) == ["type", POSITION, "name", "stock_time"]
    write_shuffled(tmp_path / "in order", tmp_path / "in none")
    assert _local_sorting(query, tmp_path / "in none")[0] == answers


def list_of(events: int) -> cerlab.Stream:
    import pyarrow as pa

    return cerlab.Stream.from_arrow(pa.Table.from_batches(list(stock_batches(events))))


@pytest.mark.parametrize("option", [["--runs", "3"], ["--decoy"], ["--stream", "homes"]])
def test_options_without_effect_are_refused(
    option: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "--spark", "2", *option]) == 2
    assert "--spark goes with" in capsys.readouterr().err


def test_the_table_says_what_each_design_needs() -> None:
    row = SparkRow("S3", 10, "unsorted", 1, 3, 1.0, 0.5, 2.0, 1.5, 0.5, 0.75)
    file = io.StringIO()
    write_table([{"stream": "stocks"} | asdict(row)], file)
    for text in ("design", "unsorted", "local / Spark", "0.500", "that sorts", "0.750"):
        assert text in file.getvalue()
