"""The benchmarks of row patterns: what is measured, and their results."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from cerlab.bench.flink import against
from cerlab.bench.row_patterns import BENCHMARKS, beside_flink, measure_row_patterns
from cerlab.bench.timing import Against
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
    assert "--queries rows goes with --runs" in capsys.readouterr().err


WRONG = [
    (["--queries", "rows", "--against", "pycer"], "--queries rows goes with --runs"),
    (["--queries", "S3", "--against", "flink"], "--against flink needs --queries rows"),
    (["--queries", "rows", "--flink-python", "python3"], "--flink-python needs --against flink"),
]


@pytest.mark.parametrize(("options", "message"), WRONG)
def test_flink_is_asked_of_row_patterns(
    options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", *options]) == 2
    assert message in capsys.readouterr().err


FLINK = """#!{python}
import csv, json, sys
said = []
for asked in json.load(sys.stdin):
    with open(sys.argv[2] + "/" + asked["file"]) as file:
        rows = sum(len(row) == len(asked["columns"]) == 3 for row in csv.reader(file))
    assert "ORDER BY ts" in asked["clause"] and "SKIP PAST LAST ROW PATTERN" in asked["clause"]
    said.append({{"result": rows, "cpu": 3, "wall": 4, "reading": 1}})
said[-1] = {{"error": "no"}}
print(json.dumps(said))
"""


def test_what_flink_is_asked_and_says(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text(FLINK.format(python=sys.executable))
    python.chmod(0o755)
    *runs, (_, last) = beside_flink(1, str(python), share=0.001)
    assert [flink.result for _, flink in runs] == [2_000, 2_000, 500]
    assert last == Against(error="no")
    assert against({"cpu": 3, "wall": 4, "reading": 1, "result": 5}, 0.5).times == 4


@pytest.mark.parametrize(
    ("python", "why"), [("/no/such/python", "there is no"), (sys.executable, "pyflink")]
)
def test_without_flink_the_reason_is_said(python: str, why: str) -> None:
    for run, flink in beside_flink(1, python, share=0.001):
        assert run.cpu > 0
        assert flink.cpu is None
        assert why in str(flink.error)


@pytest.mark.services
def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--queries", "rows", "--runs", "1", "--format", "ndjson"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["result"] for row in rows][:2] == [400_000, 400_000]
