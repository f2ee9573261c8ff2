"""Killed anywhere and started again, a stream has lost nothing and doubled nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from random import Random
from typing import Any

import pytest

from proofs_tests.command import Cli
from proofs_tests.spark.streams import (
    ANOTHER,
    LATENESS,
    QUERY,
    in_sink,
    late_of,
    local,
    with_late_rows,
    write_files,
)
from proofs_tests.suite import Suite

pytestmark = pytest.mark.filterwarnings("default")  # those of PySpark are not ours

PARTITIONS = 3


class Phase(Enum):
    """The progress of a micro-batch, by the files on disk."""

    OVER = "its commit is in the commit log"
    OFFSETS = "its offsets are in the log, no partition has its state"
    STATE = "some partitions have written their state, others have not"
    SINK = "all partitions have written their state, the sink does not know of their files"
    COMMIT = "its answers are in the sink, its commit is not in the commit log"


def phase(place: Path, batch: int) -> Phase | None:
    """That of a micro-batch, None before it begins.

    What is written later is looked at first: so this is never behind what was there when it began.
    """
    checkpoint = place / "checkpoint"
    if (checkpoint / "commits" / str(batch)).exists():
        return Phase.OVER
    if (place / "out" / "_spark_metadata" / str(batch)).exists():
        return Phase.COMMIT
    states = len(list((checkpoint / "state" / "0").glob(f"[0-9]*/{batch + 1}.zip")))
    if states == PARTITIONS:
        return Phase.SINK
    if states:
        return Phase.STATE
    return Phase.OFFSETS if (checkpoint / "offsets" / str(batch)).exists() else None


def batches_in(place: Path, log: str) -> int:
    """Return the number of micro-batches in a log: ``offsets`` begun, ``commits`` over."""
    folder = place / "checkpoint" / log
    return sum(path.name.isdigit() for path in folder.iterdir()) if folder.exists() else 0


def commits(place: Path) -> int:
    return batches_in(place, "commits")


def command(place: Path, query: str = QUERY) -> list[str]:
    options = ["--position", "id", "--lateness", str(LATENESS)]
    options += ["--files", "1", "--parts", str(PARTITIONS)]
    paths = ["--input", str(place / "in"), "--output", str(place / "out")]
    checkpoint = ["--checkpoint", str(place / "checkpoint")]
    return ["spark", query, "--stream", *options, *paths, *checkpoint]


def kill_command(place: Path, at: Callable[[], bool], query: str = QUERY) -> None:
    """Run the command in new processes, and kill all of them once `at` holds."""
    kill(["-m", "cerlab", *command(place, query), "--master", "local[1]"], place / "log", at)


def kill(words: list[str], log: Path, at: Callable[[], bool]) -> None:
    """Run Python in new processes, and kill all of them once `at` holds."""
    with log.open("w") as error_log:
        child = subprocess.Popen(
            [sys.executable, *words],
            start_new_session=True,
            env=os.environ | {"JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1"},  # it is short-lived
            stdout=subprocess.DEVNULL,
            stderr=error_log,
        )
    try:
        deadline = time.monotonic() + 900
        while not at():
            if child.poll() is not None:
                pytest.fail(f"it ended: {log.read_text()}")
            assert time.monotonic() < deadline
            time.sleep(0.001)
    finally:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()


@pytest.mark.parametrize("clause", ["", " THROTTLE 40 [t]"])
def test_killed_anywhere_nothing_is_lost_or_doubled(
    spark: Any, tmp_path: Path, cli: Cli, clause: str
) -> None:
    """During a state checkpoint, and between the sink's commit and the commit log.

    `test_page` kills in a batch.
    """
    query, another = QUERY + clause, ANOTHER + clause
    files = with_late_rows(100)
    write_files(tmp_path / "in", *files)
    late = late_of(files)
    assert len(late) > 5
    expected = local(query, [row for rows in files for row in rows if row["id"] not in late])
    assert expected

    kill_command(tmp_path, lambda: phase(tmp_path, 2) is Phase.STATE, query)
    assert (commits(tmp_path), phase(tmp_path, 2)) == (2, Phase.STATE)
    cli(*command(tmp_path, query))
    assert in_sink(spark, tmp_path) == (expected, late)

    last = commits(tmp_path) - 1
    uncommit(tmp_path, last)
    assert phase(tmp_path, last) is Phase.COMMIT
    cli(*command(tmp_path, query))
    assert phase(tmp_path, last) is Phase.OVER
    assert in_sink(spark, tmp_path) == (expected, late)

    assert "CER0776" in cli(*command(tmp_path, another), status=2).err
    assert in_sink(spark, tmp_path) == (expected, late)


def uncommit(place: Path, batch: int) -> None:
    """The checkpoint as a kill between the sink's commit and the commit log leaves it."""
    log = place / "checkpoint" / "commits"
    (log / str(batch)).unlink()
    (log / f".{batch}.crc").unlink(missing_ok=True)


KILLS = 30
"""In so many micro-batches the deep profile kills, each a new one."""

EACH = 5
"""Least number of kills in each phase."""


def test_killed_at_random_moments(spark: Any, tmp_path: Path, cli: Cli, suite: Suite) -> None:
    """In micro-batch after micro-batch, and in each phase, by what the kill has left on disk."""
    if not suite.deep:
        pytest.skip("with --profile deep only: each kill starts Spark anew")
    files = with_late_rows(6)
    write_files(tmp_path / "in", *files)
    late = late_of(files)
    rows_in_time = [row for rows in files for row in rows if row["id"] not in late]
    rng, hits = Random(8), Counter[Phase]()
    aims = (Phase.OFFSETS, Phase.STATE, Phase.COMMIT)
    while sum(hits.values()) < KILLS or min(hits[aim] for aim in aims) < EACH:
        least = min(hits[aim] for aim in aims)
        aim = rng.choice([each for each in aims if hits[each] == least])
        batch = batches_in(tmp_path, "offsets")  # not begun before
        assert batch < len(files) - 1, f"too few files for this many kills: {hits}"
        kill_command(tmp_path, moment(tmp_path, batch, aim, rng.choice((0, 0, 0.02, 0.2))))
        last = phase(tmp_path, batch)
        assert last is not None
        hits[last] += 1
    suite.request.node.user_properties.append(
        ("suite", ", ".join(f"{hits[each]} x {each.name}" for each in Phase))
    )
    cli(*command(tmp_path))
    assert commits(tmp_path) == len(files)
    assert late
    assert in_sink(spark, tmp_path) == (local(QUERY, rows_in_time), late)


def moment(place: Path, batch: int, aim: Phase, wait: float) -> Callable[[], bool]:
    """When a micro-batch comes to a phase, or past it; in a batch some time later."""
    order = [None, Phase.OFFSETS, Phase.STATE, Phase.SINK, Phase.COMMIT, Phase.OVER]

    def at() -> bool:
        if order.index(phase(place, batch)) < order.index(aim):
            return False
        if aim is Phase.OFFSETS:
            time.sleep(wait)
        return True

    return at
