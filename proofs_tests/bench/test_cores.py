"""Several cores against one, beside processes that share nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import cerlab
from cerlab.api import parse_query
from cerlab.bench.cores import measure_cores
from cerlab.bench.queries import catalogue
from cerlab.bench.streams import synthetic
from cerlab.cli import main

pytestmark = pytest.mark.services


def test_threads_and_processes_are_measured_in_the_same_rounds() -> None:
    query = parse_query(catalogue("stocks")["S3"])
    stream = synthetic("stocks", 5_000)
    rates = measure_cores("S3", query, stream, 2, 2)
    assert rates.answers == cerlab.count(query, stream) > 0
    assert rates.threads > 0
    assert rates.processes > 0


def test_the_command_writes_a_row_for_each_query(tmp_path: Path) -> None:
    out = tmp_path / "rows.ndjson"
    options = ["--queries", "S3,S6'", "--events", "3000", "--pairs", "2", "--cores", "2"]
    assert main(["bench", *options, "--format", "ndjson", "-o", str(out)]) == 0
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [(row["query"], row["cores"]) for row in rows] == [("S3", 2), ("S6'", 2)]


def test_queries_that_cannot_be_cut_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--queries", "S3 ANY", "--events", "100", "--pairs", "2", "--cores", "2"]
    assert main(["bench", *options]) == 2
    assert "CONSUME BY" in capsys.readouterr().err
