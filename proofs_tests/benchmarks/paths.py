"""Whole processes and public calls, each beside a floor that no reader can beat.

The floor of a reader is pyarrow reading the same file and adding up its numbers; that of all other
paths is the one of the CSV. A process that reads a whole file is measured without its start, too.
Everything is measured in turn, round by round, so that a busy machine slows all of it alike; single
events are set beside a fixed piece of work, which has as long a tail there.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import polars
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.feather as feather
import pyarrow.json as pa_json
import pyarrow.parquet as parquet

from cerlab import Query, evaluate
from cerlab.io import read
from cerlab.io.read import events_table
from cerlab.model.stream import Stream
from proofs_tests.benchmarks.streams import FORMATS, plain, write_events
from proofs_tests.benchmarks.timing import SHORTEST, Row, once

EVENTS = 10_000
"""Events that are pushed to a session, one by one and in batches."""

SIZES = {1: EVENTS, 100: EVENTS, EVENTS: 20 * EVENTS}
"""Events in a push, and in all pushes of that size."""

FLOOR = "pyarrow: csv"
START = "start: run of a small csv"
START_COMPILED = "start: compiled run of a small csv"


@dataclass(frozen=True)
class PathRun:
    """A path: CPU seconds of one run, and the paths that it is set beside."""

    seconds: Callable[[], float]
    floor: str = FLOOR
    without: str | None = None
    """Path whose seconds are subtracted first: the start of a process."""


def measure_paths(name: str, query: Query, stream: Stream, runs: int) -> Iterator[Row]:
    """Yield a row for each path: median CPU seconds of `runs` rounds, and how many floors they are.

    The first run of each, which loads and compiles, is not counted; a process is counted whole,
    start included, and ``started`` without it. Rows of pushes have microseconds.
    """
    with TemporaryDirectory() as folder:
        files = write_events(stream, Path(folder))
        small = Path(folder) / "small.csv"
        with files["csv"].open(encoding="utf-8") as lines:
            small.write_text("".join(islice(lines, 1 + 100)), encoding="utf-8")
        environment = _with_bytecode(Path(folder) / "bytecode")
        paths = {
            **_calls(query, stream, files),
            **_processes(query, files, small, environment),
        }
        seconds: dict[str, list[float]] = {path: [] for path in paths}
        for path in paths.values():
            path.seconds()
        for _ in range(runs):
            for each, path in paths.items():
                seconds[each].append(path.seconds())
    cpu = {each: median(samples) for each, samples in seconds.items()}
    for each, path in paths.items():
        least = max(cpu[path.floor], SHORTEST)
        row = {"query": name, "path": each, "cpu": cpu[each], "floor": path.floor}
        row["of_floor"] = cpu[each] / least
        if path.without is not None:
            row["started"] = (cpu[each] - cpu[path.without]) / least
        yield row
    for kind, times in (_single_pushes(query, stream) | _pushes(query, stream)).items():
        yield {"query": name, "path": kind, **times}


def _with_bytecode(folder: Path) -> dict[str, str]:
    """Return the environment of users' processes, where Python keeps the bytecode of modules."""
    rest = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    return {**rest, "PYTHONPYCACHEPREFIX": str(folder)}


def _calls(query: Query, stream: Stream, files: dict[str, Path]) -> dict[str, PathRun]:
    """Return calls in this process, measured by CPU seconds."""
    calls: dict[str, PathRun] = {}

    def add(path: str, call: Callable[..., Any], *arguments: Any, floor: str = FLOOR) -> None:
        calls[path] = PathRun(partial(_cpu, partial(call, *arguments)), floor)

    floors = {kind: f"pyarrow: {kind}" for kind in FORMATS if kind != "core"}
    for kind, of_kind in floors.items():
        add(of_kind, floor, files[kind], floor=of_kind)
    for kind in FORMATS:
        add(f"Stream.read: {kind}", read, files[kind], floor=floors.get(kind, FLOOR))
    add("evaluate(stream)", evaluate, query, stream)
    add("evaluate(stream from text)", evaluate, query, read(files["core"]))
    add("run(stream).to_arrow()", _arrow, query, stream)
    table = plain(stream)
    frames = {
        "table": table,
        "table, text in dictionaries": events_table(stream),
        "pandas": table.to_pandas(),
        "polars": polars.from_arrow(table),
    }
    for kind, data in frames.items():
        add(f"run({kind}).to_arrow()", _arrow, query, data)
    rows = table.slice(0, EVENTS).to_pylist()
    for size in SIZES:
        add(f"push {len(rows):,} events by {size:,}", _push, query, rows, size)
    return calls


def floor(file: Path) -> None:
    """Read a file by pyarrow, and add up its columns of numbers."""
    readers = {
        ".csv": pa_csv.read_csv,
        ".ndjson": pa_json.read_json,
        ".parquet": parquet.read_table,
        ".arrow": feather.read_table,
    }
    table = readers[file.suffix](file)
    for column in table.columns:
        if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
            pc.sum(column)


def _cpu(call: Callable[[], Any]) -> float:
    return once(call).cpu


def _arrow(query: Query, events: Any) -> None:
    query.run(events).to_arrow()


def _push(query: Query, rows: list[dict[str, Any]], size: int) -> None:
    session = query.open()
    for start in range(0, len(rows), size):
        session.push(rows[start : start + size])


def _single_pushes(query: Query, stream: Stream) -> dict[str, dict[str, float]]:
    """Return microseconds of pushes of one event, and of fixed work that takes as long."""
    rows = plain(stream).slice(0, EVENTS).to_pylist()
    session = query.open()
    pushes: dict[str, list[float]] = {"without answers": [], "with answers": [], "fixed work": []}
    _push(query, rows, 1)
    for row in rows:
        one = [row]
        before = time.thread_time_ns()
        answers = session.push(one)
        between = time.thread_time_ns()
        _fixed_work()
        after = time.thread_time_ns()
        kind = "with answers" if answers else "without answers"
        pushes[kind].append((between - before) / 1e3)
        pushes["fixed work"].append((after - between) / 1e3)
    return {
        f"one event, {kind} ({len(each):,})": _quantiles(sorted(each))
        for kind, each in pushes.items()
        if each
    }


def _pushes(query: Query, stream: Stream) -> dict[str, dict[str, float]]:
    """Return microseconds of an event, in pushes of each size."""
    quantiles = {}
    for size, events in SIZES.items():
        rows = plain(stream).slice(0, events).to_pylist()
        session, times = query.open(), []
        for start in range(0, len(rows), size):
            some = rows[start : start + size]
            before = time.thread_time_ns()
            session.push(some)
            times.append((time.thread_time_ns() - before) / 1e3 / len(some))
        quantiles[f"an event, pushed by {size:,}"] = _quantiles(sorted(times))
    return quantiles


def _fixed_work() -> None:
    sum(k * k for k in range(200))


def _quantiles(times: list[float]) -> dict[str, float]:
    return {"microseconds": median(times), "p99": times[99 * len(times) // 100]}


def _processes(
    query: Query, files: dict[str, Path], small: Path, environment: dict[str, str]
) -> dict[str, PathRun]:
    """Return whole processes, measured by CPU seconds."""
    text = str(query)
    commands: dict[str, tuple[list[str], str | None]] = {
        "cerlab --version": (["--version"], None),
        "cerlab check": (["check", text], None),
        START: (["run", text, str(small)], None),
        START_COMPILED: (["run", text, str(small), "--evaluator", "compiled"], None),
    }
    for kind, file in files.items():
        commands[f"run {kind} to ndjson"] = (["run", text, str(file)], START_COMPILED)
    return {
        path: PathRun(partial(_process, arguments, environment), FLOOR, without)
        for path, (arguments, without) in commands.items()
    }


def _process(arguments: list[str], environment: dict[str, str]) -> float:
    command = [sys.executable, "-m", "cerlab", *arguments]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime
