"""The benchmarks of row patterns: what is measured, and their results."""

from __future__ import annotations

import json

import pytest

from cerlab.bench.row_patterns import BENCHMARKS, measure_row_patterns
from cerlab.cli import main


def test_the_result_is_as_large_as_arithmetic_says() -> None:
    runs = {run.benchmark: run for run in measure_row_patterns(1, share=0.001)}
    assert runs.keys() == BENCHMARKS.keys()
    assert runs["scan"].result == 2_000 // 5
    assert runs["partitions"].result == 2_000 // 5
    assert runs["quantifier"].result == 14 * (12 + 5 + 12) + (12 + 5 + 7)  # one every 34 rows
    assert all(run.cpu > 0 for run in runs.values())
    assert "compiled" in runs["scan"].machine
    assert "search" in runs["navigation"].machine


@pytest.mark.parametrize("option", ["--memory", "--count", "--decoy"])
def test_other_options_are_refused(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--queries", "rows", option]) == 2
    assert "--runs alone" in capsys.readouterr().err


@pytest.mark.services
def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--queries", "rows", "--runs", "1", "--format", "ndjson"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["result"] for row in rows][:2] == [400_000, 400_000]
