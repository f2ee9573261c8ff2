"""Readers look at the limits of time and memory while they read, whatever the format."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import cerlab
from cerlab import Stream
from cerlab.io import arrow, batches, text_reader
from proofs_tests.dials import Dial

ROWS = 12_000


def csv(path: Path) -> None:
    path.write_text("type,t,n\n" + "".join(f"A,{n},text {n}\n" for n in range(ROWS)))


def quoted_csv(path: Path) -> None:
    """Read line by line: quotes inside of quotes."""
    path.write_text("type,t,n\n" + "".join(f'A,{n},"a ""b"" {n}"\n' for n in range(ROWS)))


def core(path: Path) -> None:
    path.write_text("".join(f"A(t={n},n='text {n}')\n" for n in range(ROWS)))


def ndjson(path: Path) -> None:
    path.write_text("".join(f'{{"type": "A", "t": {n}, "n": "x{n}"}}\n' for n in range(ROWS)))


def array(path: Path) -> None:
    path.write_text(json.dumps([{"type": "A", "t": n} for n in range(ROWS)]))


def table(path: Path) -> None:
    parquet.write_table(pa.table({"type": ["A"] * ROWS, "t": range(ROWS)}), path)


FORMATS: dict[str, Callable[[Path], None]] = {
    "e.csv": csv,
    "quoted.csv": quoted_csv,
    "e.core": core,
    "e.ndjson": ndjson,
    "e.json": array,
    "e.parquet": table,
}
READERS: dict[str, Callable[[Path], object]] = {
    "read": Stream.read,
    "sorted": lambda path: Stream.read(path, time="t", unit="s", sort=True),
    "batches": lambda path: list(batches(path, size=1 << 10)),
    "events": lambda path: Stream.read(path).events,
}


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let readers take a little at a time, so that short files are read as long ones are."""
    monkeypatch.setattr(text_reader, "BLOCK", 1 << 14)
    monkeypatch.setattr(arrow, "_ROWS", 1 << 10)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("reader", READERS)
def test_a_limit_of_time_is_seen(name: str, reader: str, tmp_path: Path, clock: Dial) -> None:
    """Readers look at the clock once in 1,200 rows at least, and none goes on after its limit."""
    FORMATS[name](tmp_path / name)
    clock.step = 1
    with cerlab.limits(seconds=1e9):
        READERS[reader](tmp_path / name)
    looks = clock.readings
    assert looks > ROWS // 1_200
    for last in (2, looks // 2, looks):
        clock.value = clock.readings = 0
        # the block itself takes the first reading
        seconds = last - 1.5
        with pytest.raises(cerlab.ResourceLimit, match="CER0620"), cerlab.limits(seconds=seconds):
            READERS[reader](tmp_path / name)
        assert clock.readings == last


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("name", FORMATS)
def test_a_limit_of_memory_is_seen(name: str, tmp_path: Path, gauge: Dial) -> None:
    """The process grows by a thousand bytes between two looks."""
    FORMATS[name](tmp_path / name)
    gauge.step = 1_000
    with pytest.raises(cerlab.ResourceLimit, match="CER0621"), cerlab.limits(memory=5_000):
        Stream.read(tmp_path / name)
    assert gauge.readings <= 7
