"""Calls under a limit that they reach: none goes on far beyond it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import cerlab
from proofs_tests.limits import late

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
"""Times that a call is made until it ends in time: what is late of itself is late in each."""


def late_calls(request: pytest.FixtureRequest) -> list[str]:
    deep = request.config.getoption("--profile") == "deep"
    return [*late.calls()] if deep else [*QUICK]


@pytest.mark.skipif(sys.platform != "linux", reason="the peak of memory is read from /proc")
def test_no_call_takes_twice_its_limit(request: pytest.FixtureRequest) -> None:
    """Of CPU time, the least of a few: a busy machine only adds to it. Many deep ones end before.

    The first call compiles kernels and loads modules.
    """
    calls, stopped = late.calls(), 0
    names = late_calls(request)
    for name in names:
        for _ in range(TRIES):
            found = late.measured(calls[name], SECONDS, MEMORY)
            if found.cpu < 2 * SECONDS:
                break
        assert found.cpu < 2 * SECONDS, (name, found)
        assert found.bytes < 2 * MEMORY, (name, found)
        stopped += found.code in ("CER0620", "CER0621")
    assert stopped > len(names) // 2


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
