"""Calls under a limit that they reach: none goes on far beyond it.

By day looks at the clock and allocations are counted; by night CPU time and memory are measured.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

import cerlab
from cerlab import budget
from proofs_tests.dials import Dial, counted_allocations
from proofs_tests.limits import late
from proofs_tests.limits.calls import calls_between

COUNTED = (
    "evaluate of dicts",
    "events of a table",
    "events of csv",
    "events of parquet",
    "evaluate of sorted.csv",
    "answers by automaton",
    "answers by tecs of a table",
    "answers by compiled",
    "answers of values",
    "table of answers",
    "sums by start and value",
    "sums by key",
    "row patterns",
    "push to a session of totals",
    "push of a table to a session of rows",
    "events pushed one by one",
    "equivalent",
    "timeline",
    "why none",
)
"""Calls that read or compute much, one for each place that looks at the limits."""

LOOKS = 100

MOST_CALLS = 60_000
"""Calls of Python or C between two looks: a few for each of 10,000 rows."""

SMALL = 15_000_000
"""The limit of memory where tables are a twentieth as long: the buffers for answers fit."""

SECONDS = 0.4

MEMORY = 300e6

TRIES = 4
"""Times that a call is made until it ends in time: a call that is always late is late in each."""


@pytest.fixture
def few_rows(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Make tables and files a hundredth as long."""
    made = (late.table, late.dicts, late.file, late.folder)
    for each in made:
        each.cache_clear()
    monkeypatch.setattr(late, "SHARE", 100)
    yield
    for each in made:
        each.cache_clear()


def until_limit(call: late.Call, seconds: float) -> str:
    """Return the code of the limit that a call reaches, an empty text if it reaches none."""
    late.prepare(call)
    try:
        with cerlab.limits(seconds=seconds):
            call()
    except cerlab.ResourceLimit as error:
        return error.code
    return ""


@pytest.mark.usefixtures("few_rows")
@pytest.mark.parametrize("name", COUNTED)
def test_every_call_looks_often_and_ends_when_it_sees_its_limit(name: str, clock: Dial) -> None:
    """Each look at the clock takes a second."""
    call = late.calls()[name]
    clock.step = 1
    until_limit(call, LOOKS)  # what is loaded and compiled at the first use is not counted
    looks = min(clock.readings, LOOKS)
    with calls_between(clock) as gaps:
        until_limit(call, LOOKS)
    assert gaps.most < MOST_CALLS
    before = clock.readings
    assert until_limit(call, looks // 2) == "CER0620"
    # the block looks once when it begins; what is cleaned up may look again
    assert clock.readings - before <= looks // 2 + 4


@pytest.mark.usefixtures("few_rows")
@pytest.mark.parametrize("name", ["frame of answers", "events of equal.parquet"])
def test_no_call_allocates_twice_its_memory(
    name: str, clock: Dial, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(late, "SHARE", 20)
    call = late.calls()[name]
    clock.step = 1
    until_limit(call, LOOKS)  # what is loaded at the first use is not counted
    late.prepare(call)
    with counted_allocations() as allocated:
        monkeypatch.setattr(budget, "resident_bytes", allocated)
        with pytest.raises(cerlab.ResourceLimit, match="CER0621"), cerlab.limits(memory=SMALL):
            call()
        assert allocated.most < 2 * SMALL


ROW = re.compile(r"^(.{52}) +[\d.]+ +([\d.]+) +([-\d.]+) (\S*)", re.MULTILINE)
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


night = pytest.mark.night
on_linux = pytest.mark.skipif(
    sys.platform != "linux", reason="the peak of memory is read from /proc"
)


@night
@on_linux
def test_no_call_takes_twice_its_limit() -> None:
    """CPU time, the least of a few: a busy machine only adds. Many calls end before it."""
    found = apart([])
    assert len(found) >= len(late.calls())
    for _ in range(TRIES):
        slow = [name for name, (cpu, size, _) in found.items() if cpu >= 2 or size >= 2]
        if slow:
            again = apart(slow)
            found |= {name: least(found[name], again[name]) for name in slow}
    assert not {name: row for name, row in found.items() if row[0] >= 2 or row[1] >= 2}
    stopped = sum(code in ("CER0620", "CER0621") for _, _, code in found.values())
    assert stopped > len(found) // 2


@night
@on_linux
@pytest.mark.parametrize("name", ["frame of answers", "events of equal.parquet"])
def test_no_call_takes_twice_its_memory(name: str) -> None:
    found = late.measured(late.calls()[name], 100, MEMORY)
    assert found.code == "CER0621"
    assert found.bytes < 2 * MEMORY, found


BOMBS: dict[str, tuple[int, int, dict[str, Any], str]] = {
    "one long text in all rows": (60, 8_000_000, {}, ""),
    "a long text in each row": (60, 5_000_000, {"use_dictionary": False}, "CER0621"),
    "pages of long texts": (2_000, 200_000, {"use_dictionary": False}, "CER0621"),
    "one text beyond the limit": (1, 400_000_000, {"use_dictionary": False}, "CER0621"),
}
"""Files of some kilobytes: rows, the length of a text, how it is written, the code of reading."""

ROOM = 150_000_000
"""Bytes in which a bomb is read."""


def write_bomb(path: Path, name: str, share: int = 1) -> None:
    """Write a bomb, or one whose texts are shorter by a factor."""
    rows, length, options, _ = BOMBS[name]
    texts = pa.array(["x" * (length // share)] * rows, pa.large_string())
    bomb = pa.table({"type": ["A"] * rows, "v": texts})
    parquet.write_table(bomb, path, compression="zstd", **options)
    assert path.stat().st_size < 1_000_000


def read_bomb(path: Path) -> object:
    return cerlab.count("A FILTER A[v != 'y']", path)


@pytest.mark.parametrize("name", BOMBS)
def test_what_a_small_file_unpacks_to_is_asked_for(
    name: str, clock: Dial, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, share, code = tmp_path / "small.parquet", 20, ""
    write_bomb(path, name, share)
    read_bomb(path)  # what is loaded at the first use is not counted
    clock.step = 1
    with counted_allocations() as allocated:
        monkeypatch.setattr(budget, "resident_bytes", allocated)
        try:
            with cerlab.limits(memory=ROOM // share):
                read_bomb(path)
        except cerlab.ResourceLimit as error:
            code = error.code
        assert allocated.most < 2 * ROOM // share
    assert code == BOMBS[name][-1]


@night
@on_linux
@pytest.mark.parametrize("name", BOMBS)
def test_what_a_small_file_unpacks_to_is_not_resident(name: str, tmp_path: Path) -> None:
    """A process makes the file, so that its memory is not taken for what reading takes."""
    path = tmp_path / "small.parquet"
    write = get_context("spawn").Process(target=write_bomb, args=(path, name))
    write.start()
    write.join()
    assert write.exitcode == 0
    found = late.measured(lambda: read_bomb(path), 20, ROOM)
    assert found.code == BOMBS[name][-1]
    assert found.bytes < 2 * ROOM, found
