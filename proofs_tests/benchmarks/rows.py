"""Row patterns on tables in memory: the four first benchmarks of DuckDB's MATCH_RECOGNIZE.

Its authors give 0.146, 0.057, 0.072 and 0.055 seconds on 16 cores; here it is one core, from an
Arrow table to an Arrow table, which has the rows that they count. A live log of users, whose
sessions end after 30 minutes without a row, is pushed in batches and piped to `cerlab run`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from cerlab import explain_rows, match_recognize, parse_rows, session
from proofs_tests.benchmarks.peers import beside_flink, flink
from proofs_tests.benchmarks.timing import Row, medians, once, rounds


class Benchmark(NamedTuple):
    """A clause, the size of its table, and the arithmetic of its column v."""

    clauses: str
    rows: int
    modulus: int
    factor: int = 1


BENCHMARKS: Mapping[str, Benchmark] = {
    "scan": Benchmark("PATTERN (A B) DEFINE A AS v = 0, B AS v = 1", 2_000_000, 5),
    "partitions": Benchmark("PATTERN (A B) DEFINE A AS v = 0, B AS v = 1", 2_000_000, 5),
    "quantifier": Benchmark(
        "ALL ROWS PER MATCH PATTERN (A+ B+ A+) DEFINE A AS v < 12, B AS v >= 12", 500_000, 17
    ),
    "navigation": Benchmark(
        "PATTERN (A B+) DEFINE A AS TRUE, B AS v > LAST(A.v)", 200_000, 1000, 2_654_435_761
    ),
}


def measure_rows(
    runs: int, *, against_flink: bool = False, python: str | None = None, share: float = 1.0
) -> Iterator[Row]:
    """Measure each benchmark on one core, on its table or a share of it, and on half of that.

    With Flink, by an interpreter that has it, each row has its figures, too.
    """
    tables = {name: table_of(name, int(each.rows * share)) for name, each in BENCHMARKS.items()}
    skip = "AFTER MATCH SKIP PAST LAST ROW "  # the default of Flink is another
    clauses = {name: clause_of(name, "ts", skip) for name in BENCHMARKS}
    replies = flink(clauses, tables, python) if against_flink else [None] * len(tables)
    for (name, table), reply in zip(tables.items(), replies, strict=True):
        query, half = parse_rows(clause_of(name)), table.slice(0, table.num_rows // 2)
        seconds = rounds(
            {
                "whole": partial(match_recognize, query, table),
                "half": partial(match_recognize, query, half),
            },
            runs,
        )
        whole = medians(seconds["whole"])
        row: Row = {
            "benchmark": name,
            "rows": table.num_rows,
            "result": match_recognize(query, table).num_rows,
            "cpu": whole["cpu"],
            "cpu_spread": whole["cpu_spread"],
            "cpu_of_half": medians(seconds["half"])["cpu"],
            "machine": str(explain_rows(query, table)).splitlines()[0],
        }
        yield row | (beside_flink(reply, row["cpu"]) if reply is not None else {})


def clause_of(name: str, order: str = "i", skip: str = "") -> str:
    """Return the clause of a benchmark, ordered by a column, with a skip clause if there is one."""
    keys = "PARTITION BY p " if name == "partitions" else ""
    before, pattern, after = BENCHMARKS[name].clauses.partition("PATTERN")
    clauses = f"{keys}ORDER BY {order} MEASURES i AS start_i {before}{skip}{pattern}{after}"
    return f"MATCH_RECOGNIZE ({clauses})"


def table_of(name: str, rows: int) -> Any:
    """Return the table of a benchmark: i, v by arithmetic on i, and p, by hundreds."""
    benchmark, i = BENCHMARKS[name], np.arange(rows)
    v = i * benchmark.factor % benchmark.modulus
    columns = {"i": pa.array(i, pa.int32()), "v": pa.array(v, pa.int32())}
    return pa.table({"p": pa.array(i // 100, pa.int32()), **columns})


LIVE = """MATCH_RECOGNIZE (PARTITION BY user ORDER BY ts
    MEASURES FIRST(A.ts) AS begins, LAST(ts) AS ends, COUNT(*) AS clicks, LAST(url) AS url
    PATTERN (A B*) DEFINE B AS B.ts - PREV(B.ts) <= 1800000)"""

KEYS = 100_000

SINGLE = 5_000
"""The rows that are pushed one by one, at most."""

READ = """from cerlab import io
for part in io.batches("-", type="row"): part.events"""
"""The program that only reads what `cerlab run` reads from a pipe."""


def measure_live(rows: int, runs: int, keys: int = KEYS) -> Iterator[Row]:
    """Measure a live log: rows per CPU second of pushes, and pipes beside reading them alone."""
    table = log_of(rows, keys)
    for size in (1, 1_000, 10_000):
        some = table.slice(0, SINGLE) if size == 1 else table
        seconds = [once(partial(pushed, some, size)).cpu for _ in range(runs)]
        yield {"path": f"push by {size:,}", "rows": len(some), "rate": len(some) / median(seconds)}
    with TemporaryDirectory() as folder:
        files = [Path(folder) / "log.ndjson", Path(folder) / "log.csv"]
        with files[0].open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in table.to_pylist())
        pa_csv.write_csv(table, files[1])
        for each in files:
            run = ["-m", "cerlab", "run", LIVE, "-", "--format", "ndjson"]
            pairs = [(piped(each, *run), piped(each, "-c", READ)) for _ in range(runs)]
            cpu, reading = (median(column) for column in zip(*pairs, strict=True))
            row: Row = {"path": f"pipe of {each.suffix[1:]}", "rows": rows, "rate": rows / cpu}
            yield row | {"reading": rows / reading, "of_reading": cpu / reading}


def log_of(rows: int, keys: int) -> Any:
    """Return a log of users by chance: a user comes back every 20 minutes on average.

    Times are in milliseconds.
    """
    rng = np.random.default_rng(1)
    pages = pa.array([f"/page/{n}" for n in range(100)])
    return pa.table(
        {
            "user": rng.integers(0, keys, rows),
            "ts": np.arange(rows) * 20 * 60 * 1_000 // keys,
            "url": pages.take(pa.array(rng.integers(0, 100, rows))),
        }
    )


def pushed(table: Any, size: int) -> int:
    """Push a log in batches; return the number of its sessions."""
    live: Any = session(LIVE)
    some = (live.push(table.slice(n, size)).num_rows for n in range(0, len(table), size))
    count: int = sum(some) + live.advance("end").num_rows
    return count


def piped(file: Path, *words: str) -> float:
    """Return the CPU seconds of a Python that reads a file by its standard input."""
    command = [sys.executable, *words]
    with (
        file.open("rb") as source,
        subprocess.Popen(command, stdin=source, stdout=subprocess.DEVNULL) as process,
    ):
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"python {words[0]} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime
