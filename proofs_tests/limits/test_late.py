"""Calls under a limit that they reach: none goes on far beyond it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import cerlab
from proofs_tests.limits import late

pytestmark = pytest.mark.night  # the verdicts are by CPU seconds and resident memory

QUICK = (
    "evaluate of dicts",
    "events of a table",
    "answers by automaton",
    "sums by start and value",
    "push to a session of totals",
    "push of a table to a session of rows",
    "events pushed one by one",
)
"""Calls that read much, one for each place that reads."""

SECONDS = 0.4

MEMORY = 300e6

TRIES = 4
"""Times that a call is made until it ends in time: a call that is always late is late in each."""

ROW = re.compile(r"^(.{52}) +[\d.]+ +([\d.]+) +([\d.]+) (\S*)", re.MULTILINE)
"""A line of `late`: a name, seconds by the clock, of CPU, memory, each over its limit, a code."""


def apart(names: list[str]) -> dict[str, tuple[float, float, str]]:
    """CPU and memory over their limits, and the code, of calls in another process.

    What other tests have left in this one would be in the way: to collect it takes long.
    """
    command = [sys.executable, "-m", "proofs_tests.limits.late", str(SECONDS), f"{MEMORY:.0f}"]
    done = subprocess.run([*command, *names], capture_output=True, text=True, check=True)
    rows = ROW.findall(done.stdout)
    return {name.strip(): (float(cpu), float(size), code) for name, cpu, size, code in rows}


def least(
    one: tuple[float, float, str], other: tuple[float, float, str]
) -> tuple[float, float, str]:
    """The less time, the less memory, and the code of the later call."""
    return min(one[0], other[0]), min(one[1], other[1]), other[2]


@pytest.mark.skipif(sys.platform != "linux", reason="the peak of memory is read from /proc")
def test_no_call_takes_twice_its_limit(request: pytest.FixtureRequest) -> None:
    """CPU time, the least of a few: a busy machine only adds. Many deep ones end before it."""
    deep = request.config.getoption("--profile") == "deep"
    found = apart([] if deep else [*QUICK])
    assert len(found) >= len(late.calls() if deep else QUICK)
    for _ in range(TRIES):
        slow = [name for name, (cpu, size, _) in found.items() if cpu >= 2 or size >= 2]
        if slow:
            again = apart(slow)
            found |= {name: least(found[name], again[name]) for name in slow}
    assert not {name: row for name, row in found.items() if row[0] >= 2 or row[1] >= 2}
    stopped = sum(code in ("CER0620", "CER0621") for _, _, code in found.values())
    assert stopped > len(found) // 2


@pytest.mark.skipif(sys.platform != "linux", reason="the peak of memory is read from /proc")
@pytest.mark.parametrize("name", ["frame of answers", "events of equal.parquet"])
def test_no_call_takes_twice_its_memory(name: str) -> None:
    found = late.measured(late.calls()[name], 100, MEMORY)
    assert found.code == "CER0621"
    assert found.bytes < 2 * MEMORY, found


BOMBS: dict[str, tuple[int, int, dict[str, Any]]] = {
    "one long text in all rows": (60, 8_000_000, {}),
    "a long text in each row": (60, 5_000_000, {"use_dictionary": False}),
    "pages of long texts": (2_000, 200_000, {"use_dictionary": False}),
    "one text beyond the limit": (1, 400_000_000, {"use_dictionary": False}),
}
"""Files of some kilobytes: their rows, the length of a text, and how it is written."""


@pytest.mark.skipif(sys.platform != "linux", reason="the peak of memory is read from /proc")
@pytest.mark.parametrize("name", BOMBS)
def test_what_a_small_file_unpacks_to_is_asked_for(name: str, tmp_path: Path) -> None:
    """A process makes the file, so that its memory is not taken for what reading takes."""
    rows, length, options = BOMBS[name]
    path = tmp_path / "small.parquet"
    write = (
        "import pyarrow as pa, pyarrow.parquet as pq\n"
        f"table = pa.table({{'type': ['A'] * {rows}, 'v': pa.array(['x' * {length}] * {rows},"
        " pa.large_string())})\n"
        f"pq.write_table(table, {str(path)!r}, compression='zstd', **{options})"
    )
    subprocess.run([sys.executable, "-c", write], check=True)
    assert path.stat().st_size < 1_000_000
    found = late.measured(lambda: cerlab.count("A FILTER A[v != 'y']", path), 20, 150e6)
    assert found.code in ("", "CER0621")  # one text for all rows is answered
    assert found.bytes < 2 * 150e6, found
