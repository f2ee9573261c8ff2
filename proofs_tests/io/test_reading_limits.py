"""Readers look at the limits of time and memory while they read, whatever the format."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import cerlab
from cerlab.io import Stream, batches

ROWS = 60_000


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
    "batches": lambda path: list(batches(path)),
    "events": lambda path: Stream.read(path).events,
}


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("reader", READERS)
def test_a_limit_of_time_is_seen(name: str, reader: str, tmp_path: Path) -> None:
    FORMATS[name](tmp_path / name)
    READERS[reader](tmp_path / name)
    begin = time.monotonic()
    with pytest.raises(cerlab.ResourceLimit, match="CER0620"), cerlab.limits(seconds=1e-4):
        READERS[reader](tmp_path / name)
    assert time.monotonic() - begin < 5


@pytest.mark.parametrize("name", FORMATS)
def test_a_limit_of_memory_is_seen(name: str, tmp_path: Path) -> None:
    FORMATS[name](tmp_path / name)
    with pytest.raises(cerlab.ResourceLimit, match="CER0621"), cerlab.limits(memory=1000):
        Stream.read(tmp_path / name)
