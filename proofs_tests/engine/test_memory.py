"""Memory is bounded by the window, whatever the length of the stream."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from proofs_tests.suite import Suite

needs_proc = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="no /proc to read the resident set from"
)
NAMES = ("S3", "S3 STRICT", "Q3", "keys")
FEW, QUICK, DEEP = 500_000, 5_000_000, 100_000_000


def long_run(name: str, events: int) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "proofs_tests.engine.long_run", name, str(events)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    report: dict[str, Any] = json.loads(done.stdout)
    return report


@pytest.mark.night
@needs_proc
@pytest.mark.parametrize("name", NAMES)
def test_the_resident_set_stops_growing(name: str, suite: Suite) -> None:
    """After the first tenth, many windows long, nothing is added but the allocator's noise."""
    report = long_run(name, DEEP if suite.deep else QUICK)
    assert report["answers"] > 0 or name == "keys"
    first, sizes = report["resident"][0], report["resident"]
    assert max(sizes) <= 1.1 * first + 40_000, report
    middle = len(sizes) // 2
    assert max(sizes[middle:]) <= max(sizes[:middle]) * 1.05 + 8_000, report


@pytest.mark.services
@pytest.mark.parametrize("name", NAMES)
def test_what_the_engine_holds_stops_growing(name: str) -> None:
    """Bytes of its arrays and containers are counted, whatever the allocator keeps."""
    sizes = long_run(name, FEW)["held"]
    middle = len(sizes) // 2
    assert max(sizes[middle:]) <= max(sizes[:middle]) * 1.02, sizes


@pytest.mark.services
def test_the_steps_of_a_tenth_follow_its_answers(suite: Suite) -> None:
    report = long_run("S3", DEEP // 5 if suite.deep else FEW)
    steps = report["steps"]
    assert max(steps) <= 1.2 * min(steps), "a stream of one habit, each tenth like the others"
