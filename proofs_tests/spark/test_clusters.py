"""Clusters of one machine: executors in other processes have the answers of local ones."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import cerlab
from cerlab import UsageError
from cerlab.spark import launch as java
from proofs_tests.spark.over_cluster import BY_TIME, COLUMNS
from proofs_tests.spark.streams import QUERY, events, local, markers, table_of
from proofs_tests.suite import Suite

ROOT = Path(__file__).parents[2]


def surroundings() -> dict[str, str]:
    """Return the environment of a cluster's processes: this Java, this Python, this machine."""
    pytest.importorskip("pyspark", reason="PySpark is in the extra 'spark'")
    try:
        home = str(java.find().home)
    except UsageError as error:
        pytest.skip(str(error))
    path = os.pathsep.join([str(ROOT), *(each for each in sys.path if each)])
    paths = {"JAVA_HOME": home, "SPARK_LOCAL_IP": "127.0.0.1", "PYTHONPATH": path}
    return {**os.environ, **paths, "PYSPARK_PYTHON": sys.executable, "SPARK_DAEMON_MEMORY": "256m"}


@contextmanager
def standalone(place: Path) -> Iterator[str]:
    """A master and a worker with two cores, in separate processes."""
    import pyspark

    start = [str(Path(pyspark.__file__).parent / "bin" / "spark-class")]
    of_master = ["org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", "0"]
    of_worker = ["org.apache.spark.deploy.worker.Worker", "-c", "2", "-m", "1g", "-d", str(place)]
    web = ["--webui-port", "0"]
    options: Any = {"stderr": subprocess.PIPE, "text": True, "env": surroundings()}
    with subprocess.Popen([*start, *of_master, *web], **options) as master:
        try:
            url = _address(master)
            with subprocess.Popen([*start, *of_worker, *web, url], **options) as worker:
                try:
                    yield url
                finally:
                    worker.terminate()
        finally:
            master.terminate()


def _address(master: subprocess.Popen[str]) -> str:
    assert master.stderr is not None
    for line in master.stderr:
        if (match := re.search(r"Starting Spark master at (spark://\S+)", line)) is not None:
            return match[1]
    pytest.fail("the master has not started")


def check(master: str, place: Path) -> None:
    """All that `over_cluster` runs."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "proofs_tests.spark.over_cluster", master, place],
        env=surroundings(),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    lines = [line for line in done.stderr.splitlines() if not line.startswith("\tat ")]
    assert done.returncode == 0, "\n".join(lines[-60:])
    result = json.loads(done.stdout.splitlines()[-1])
    rows = [*events(), *markers("xyz")]
    by_time, by_key = (json.loads(json.dumps(local(query, rows))) for query in (BY_TIME, QUERY))
    assert by_time
    assert by_key
    assert result["files"] == result["moved"] == by_time
    assert result["keys"] == result["stream"] == by_key
    in_order = sorted(rows, key=lambda row: (row["t"], row["id"]))
    by_name = cerlab.parse_query(BY_TIME).run(table_of(in_order)).table(COLUMNS).to_pylist()
    at = [row["id"] for row in in_order]
    by_name = [{**row, "start": at[row["start"]], "end": at[row["end"]]} for row in by_name]
    assert result["named"] == sorted(map(repr, by_name))


def _only_where_deep(suite: Suite) -> None:
    if not suite.deep:
        pytest.skip("with --profile deep only: a cluster takes minutes to start and to run")


@pytest.mark.services
def test_executors_in_processes_of_their_own(tmp_path: Path, suite: Suite) -> None:
    _only_where_deep(suite)
    check("local-cluster[2,1,1024]", tmp_path)


@pytest.mark.services
def test_a_standalone_master(tmp_path: Path, suite: Suite) -> None:
    _only_where_deep(suite)
    with standalone(tmp_path / "work") as url:
        check(url, tmp_path)
