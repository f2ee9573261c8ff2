"""A Python worker that is killed: no answer is lost or doubled, or the command says that it failed.

Where a task may fail some times, as on a cluster, Spark runs it again; where it may not, the next
run has all answers.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from proofs_tests.spark.over_cluster import BY_TIME
from proofs_tests.spark.streams import QUERY, Row, late_of, local, with_late_rows, write_files
from proofs_tests.spark.test_clusters import ROOT, surroundings
from proofs_tests.spark.test_stream_killed import command
from proofs_tests.suite import Suite

pytestmark = pytest.mark.services


def run_all(
    master: str, place: Path, runs: list[tuple[list[str], list[int]]]
) -> list[dict[str, Any]]:
    """Return the outcome of commands, each with the calls at which a worker dies."""
    deaths = place / "deaths"
    deaths.mkdir()
    lines = (json.dumps({"command": command, "at": at}) + "\n" for command, at in runs)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "proofs_tests.spark.over_deaths", master, deaths],
        input="".join(lines),
        env=surroundings(),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def batch(place: Path, query: str, output: str) -> list[str]:
    paths = ["--input", str(place / "in"), "--output", str(place / output)]
    return ["spark", query, *paths, "--position", "id", "--parts", "3", "-q"]


def expected_of(files: list[list[Row]]) -> dict[str, Any]:
    """The answers of each output: by ranges of files, by key through Spark, and of a stream."""
    rows, late = [row for each in files for row in each], late_of(files)
    timely = [row for row in rows if row["id"] not in late]
    answers = {"by_time": local(BY_TIME, rows), "by_key": local(QUERY, rows)}
    assert all(answers.values())
    plain: dict[str, Any] = json.loads(json.dumps({**answers, "out": (local(QUERY, timely), late)}))
    return plain


def commands(place: Path) -> dict[str, list[str]]:
    """Return the command that writes each output."""
    by_time, by_key = (batch(place, q, o) for q, o in ((BY_TIME, "by_time"), (QUERY, "by_key")))
    return {"by_time": by_time, "by_key": by_key, "out": [*command(place), "-q"]}


def test_where_a_task_is_run_again_all_answers_are_there(tmp_path: Path, suite: Suite) -> None:
    if not suite.deep:
        pytest.skip("with --profile deep only: the other one kills workers as well")
    files = with_late_rows(100)
    write_files(tmp_path / "in", *files)
    runs = commands(tmp_path)
    at = {"by_time": [2], "by_key": [1], "out": [2, 6, 9]}
    results = run_all("local[1,4]", tmp_path, [(runs[name], at[name]) for name in runs])
    assert [each["died"] for each in results] == [len(at[name]) for name in runs]
    assert [each["status"] for each in results] == [0, 0, 0], results
    assert [each["answers"] for each in results] == list(expected_of(files).values())


def test_where_a_task_is_not_run_again_the_next_run_has_all_answers(
    tmp_path: Path, suite: Suite
) -> None:
    """A folder of answers is not there before; a stream has those of the micro-batches before."""
    files = with_late_rows(100)
    write_files(tmp_path / "in", *files)
    runs, expected = commands(tmp_path), expected_of(files)
    if not suite.deep:
        del runs["by_key"]  # each run takes seconds, and what it writes is as atomic as by_time's
    deaths = [("by_time", 2), ("by_key", 1), ("out", 2), ("out", 5)]
    steps = [(name, [at]) for name, at in deaths if name in runs]
    results = run_all(
        "local[1,1]", tmp_path, [(runs[n], at) for n, at in (*steps, *((n, []) for n in runs))]
    )
    first, whole = results[: len(steps)], results[len(steps) :]
    assert [each["died"] for each in first] == [1] * len(steps), first
    assert [each["status"] for each in first] == [2] * len(steps), first
    said = [each["said"] for each in first]
    assert all("CER0622" in text and "Traceback" not in text for text in said), "\n".join(said)
    assert not any(each["there"] for each, (n, _) in zip(first, steps, strict=True) if n != "out")
    assert [each["status"] for each in whole] == [0] * len(runs), whole
    assert [each["answers"] for each in whole] == [expected[name] for name in runs]
