"""Row patterns on tables in memory: the four first benchmarks of DuckDB's MATCH_RECOGNIZE.

Its authors give 0.146, 0.057, 0.072 and 0.055 seconds on 16 cores; here it is one core, from an
Arrow table to an Arrow table, which has the rows that they count.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from cerlab import explain_rows, match_recognize, parse_rows
from proofs_tests.benchmarks.peers import beside_flink, flink
from proofs_tests.benchmarks.timing import Row, medians, rounds


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
