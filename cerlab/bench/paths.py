"""What a user gets: whole processes and public calls, beside the floor that no way can beat.

The floor is pyarrow reading the CSV of the same events and adding up its columns of numbers.
Everything is measured in turn, round by round, so that a busy machine slows all of it alike.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from cerlab.api import Query, evaluate
from cerlab.bench.timing import SHORTEST, once
from cerlab.io import core_text, read
from cerlab.model.stream import Stream

FORMATS = ("core", "csv", "ndjson", "parquet", "arrow")

PUSHED = 10_000
"""So many events are pushed to a session, one by one and in batches."""

FLOOR = "pyarrow: csv, sums"


def measure_paths(name: str, query: Query, stream: Stream, runs: int) -> Iterator[dict[str, Any]]:
    """A row for each path: median CPU seconds of `runs` rounds, and how many floors they are.

    The first of the calls of a process, which loads and compiles, is not counted; a process is
    counted whole, start included.
    """
    with TemporaryDirectory() as folder:
        files = {kind: Path(folder) / f"events.{kind}" for kind in FORMATS}
        write_events(stream, files)
        measured = {**_calls(query, stream, files), **_processes(query, files)}
        seconds: dict[str, list[float]] = {path: [] for path in measured}
        for path, cpu in measured.items():
            if path.startswith("run "):
                continue
            cpu()
        for _ in range(runs):
            for path, cpu in measured.items():
                seconds[path].append(cpu())
    floor = max(median(seconds[FLOOR]), SHORTEST)
    for path, each in seconds.items():
        yield {"query": name, "path": path, "cpu": median(each), "of_floor": median(each) / floor}


def write_events(stream: Stream, files: dict[str, Path]) -> None:
    """The events of a stream as a file of each format."""
    import pyarrow.csv as csv
    import pyarrow.feather as feather
    import pyarrow.parquet as parquet

    table = _plain(stream)
    csv.write_csv(table, files["csv"], csv.WriteOptions(quoting_style="none"))
    parquet.write_table(table, files["parquet"])
    feather.write_feather(table, files["arrow"])
    with files["core"].open("w", encoding="utf-8") as file:
        file.writelines(core_text.format_event(event) + "\n" for event in stream)
    with files["ndjson"].open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in table.to_pylist())


def _plain(stream: Stream) -> Any:
    """The events as a table without dictionaries, and without a stream that none of them has."""
    import pyarrow as pa

    from cerlab.model.columns import decoded

    columns = {}
    for name, column in stream.columns.items():
        coded = pa.types.is_dictionary(column.type)
        columns[name] = decoded(column) if coded else column
    made = pa.table(columns)
    empty = "stream" in columns and columns["stream"].null_count == len(stream)
    return made.drop_columns("stream") if empty else made


def _calls(query: Query, stream: Stream, files: dict[str, Path]) -> dict[str, Callable[[], float]]:
    """CPU seconds of calls in this process."""
    table = _plain(stream)
    calls: dict[str, Callable[[], Any]] = {FLOOR: lambda: _floor(files["csv"])}
    for kind in FORMATS:
        calls[f"Stream.read: {kind}"] = lambda kind=kind: read(files[kind])  # type: ignore[misc]  # mypy cannot type a default argument of a lambda
    calls["evaluate(stream)"] = lambda: evaluate(query, stream)
    calls["run(stream).to_arrow()"] = lambda: query.run(stream).to_arrow()
    calls["run(table).to_arrow()"] = lambda: query.run(table).to_arrow()
    rows = table.slice(0, PUSHED).to_pylist()
    for size in (1, 100, PUSHED):
        calls[f"push {PUSHED:,} events by {size:,}"] = lambda size=size: _push(query, rows, size)  # type: ignore[misc]
    return {path: lambda call=call: once(call)[0] for path, call in calls.items()}  # type: ignore[misc]


def _push(query: Query, rows: list[dict[str, Any]], size: int) -> None:
    session = query.open()
    for start in range(0, len(rows), size):
        session.push(rows[start : start + size])


def _floor(file: Path) -> None:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.csv as csv

    table = csv.read_csv(file)
    for column in table.columns:
        if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
            pc.sum(column)


def _processes(query: Query, files: dict[str, Path]) -> dict[str, Callable[[], float]]:
    """CPU seconds of whole processes."""
    return {
        f"run {kind} to ndjson": lambda file=file: _process(["run", str(query), str(file)])  # type: ignore[misc]
        for kind, file in files.items()
    }


def _process(arguments: list[str]) -> float:
    command = [sys.executable, "-m", "cerlab", *arguments]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as started:
        _, status, used = os.wait4(started.pid, 0)
        started.returncode = os.waitstatus_to_exitcode(status)
    if started.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {started.returncode}")
    return used.ru_utime + used.ru_stime
