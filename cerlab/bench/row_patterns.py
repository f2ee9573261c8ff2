"""Row patterns on tables in memory: the four first benchmarks of DuckDB's MATCH_RECOGNIZE.

Its authors give 0.146, 0.057, 0.072 and 0.055 seconds on 16 cores; here it is one core, from an
Arrow table to an Arrow table, which has the rows that they count.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from cerlab.bench.flink import against, flink_figures
from cerlab.bench.timing import Against, timing_of
from cerlab.rows.recognise import explain_rows, match_recognize, parse_rows


class Benchmark(NamedTuple):
    """A clause, the size of its table, and where v comes from."""

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


@dataclass(frozen=True, slots=True)
class RowRun:
    """A benchmark on one core: CPU seconds, a median, and those on half of the rows."""

    benchmark: str
    rows: int
    result: int
    cpu: float
    cpu_spread: float
    cpu_of_half: float
    machine: str


def measure_row_patterns(runs: int, share: float = 1.0) -> Iterator[RowRun]:
    """Each benchmark on its table, or on a share of it, and on the first half of that."""
    for name, benchmark in BENCHMARKS.items():
        table = table_of(name, int(benchmark.rows * share))
        half = table.slice(0, table.num_rows // 2)
        query = parse_rows(clause_of(name))
        whole = timing_of(partial(match_recognize, query, table), runs)
        yield RowRun(
            name,
            table.num_rows,
            match_recognize(query, table).num_rows,
            whole.cpu,
            whole.cpu_spread,
            timing_of(partial(match_recognize, query, half), runs).cpu,
            str(explain_rows(query, table)).splitlines()[0],
        )


def clause_of(name: str, order: str = "i", skip: str = "") -> str:
    """The clause of a benchmark, by another column or with the skip clause if it is to be there."""
    keys = "PARTITION BY p " if name == "partitions" else ""
    before, pattern, after = BENCHMARKS[name].clauses.partition("PATTERN")
    clauses = f"{keys}ORDER BY {order} MEASURES i AS start_i {before}{skip}{pattern}{after}"
    return f"MATCH_RECOGNIZE ({clauses})"


def beside_flink(
    runs: int, python: str | None, share: float = 1.0
) -> Iterator[tuple[RowRun, Against]]:
    """Each benchmark by us, and by Flink in an interpreter that has it."""
    tables = {name: table_of(name, int(each.rows * share)) for name, each in BENCHMARKS.items()}
    skip = "AFTER MATCH SKIP PAST LAST ROW "  # Flink's own default is another
    clauses = {name: clause_of(name, "ts", skip) for name in BENCHMARKS}
    figures = flink_figures(clauses, tables, python)
    for run in measure_row_patterns(runs, share):
        yield run, against(figures[run.benchmark], run.cpu)


def table_of(name: str, rows: int) -> Any:
    """The table of a benchmark: i, v by arithmetic on i, and p, by hundreds."""
    benchmark, i = BENCHMARKS[name], np.arange(rows)
    v = i * benchmark.factor % benchmark.modulus
    columns = {"i": pa.array(i, pa.int32()), "v": pa.array(v, pa.int32())}
    return pa.table({"p": pa.array(i // 100, pa.int32()), **columns})
