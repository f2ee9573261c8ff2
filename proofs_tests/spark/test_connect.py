"""Spark Connect: the same answers, in a batch, on a stream and by the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import cerlab
from cerlab.spark import session
from cerlab.spark.frame import spark_frame
from proofs_tests.spark.over_connect import BATCH
from proofs_tests.spark.over_row_stream import GAP
from proofs_tests.spark.streams import QUERY, events, local, markers
from proofs_tests.spark.test_row_streams import certain, in_order
from proofs_tests.suite import Suite


@pytest.mark.services
def test_the_answers_over_connect_are_those_of_the_local_engine(
    tmp_path: Path, suite: Suite
) -> None:
    if not suite.deep:
        pytest.skip("with --profile deep only: a server of Spark Connect takes a minute")
    pytest.importorskip("pyspark", reason="PySpark is in the extra 'spark'")
    for package in ("grpc", "grpc_status", "zstandard"):
        pytest.importorskip(package, reason="Spark Connect needs pyspark[connect]")
    surroundings = {
        **os.environ,
        "SPARK_REMOTE": "local[2]",
        "SPARK_TESTING": "1",  # a port that is free, not the same for all
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
    }
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "proofs_tests.spark.over_connect", str(tmp_path)],
        env=surroundings,
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    lines = [line for line in done.stderr.splitlines() if not line.startswith("\tat ")]
    assert done.returncode == 0, "\n".join(lines[-60:])
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert result["session"] == "pyspark.sql.connect.session"

    rows = [*events(), *markers("xyz")]
    at = {n: row["id"] for n, row in enumerate(rows)}
    back = {place: n for n, place in at.items()}
    for query in BATCH:
        expected = plain(local(query, rows))
        assert expected
        assert result["batch"][query] == [
            [back[start], back[end], [back[place] for place in positions]]
            for start, end, positions in expected
        ]
    expected = plain(local(QUERY, rows))
    assert result["stream"] == [expected, [], len(expected), len(rows)]
    read = [row for row in in_order(events()) if row["k"] is not None]
    assert result["bursts"] == sorted(
        [row["k"], row["n"], row["rows"]] for row in certain(GAP, read).to_pylist()
    )
    assert result["refused"] == "CER0776"
    assert result["command"] == [0, expected]
    assert result["error"] == [2, "CER0701"]


def plain(answers: Any) -> Any:
    """As JSON gives it back."""
    return json.loads(json.dumps(answers))


def test_a_data_frame_of_connect_is_one_of_spark() -> None:
    """Each attribute that it lacks is a column, without a look at the names of its columns."""

    class Frame:
        def __getattr__(self, name: str) -> str:
            return name

    frame: Any = Frame()
    assert spark_frame(frame) is frame


def test_what_connect_needs_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyspark", reason="PySpark is in the extra 'spark'")
    monkeypatch.setitem(sys.modules, "pyspark.sql.connect.session", None)
    monkeypatch.delenv("SPARK_REMOTE", raising=False)
    with pytest.raises(cerlab.UsageError, match=r"CER0887.*Connect") as caught:
        session("sc://localhost")
    assert "pyspark[connect]" in (caught.value.hint or "")
    monkeypatch.setenv("SPARK_REMOTE", "sc://there")
    with pytest.raises(cerlab.UsageError, match=r"CER0888.*sc://there.*sc://localhost"):
        session("sc://localhost")
