"""Streams on Spark: CPU seconds of all processes for so many rows of so many keys.

    python -m cerlab.bench.spark_streams CORES KEYS KEYS ..

writes a JSON object for each number of keys. Files of `ROWS` rows arrive one in a micro-batch, in
disorder up to the lateness; answers go to Parquet files. A short stream runs first, so workers are
there and the JVM has compiled itself.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from cerlab.bench.spark import cpu_of_all

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS, FILES, WARM = 200_000, 5, 2
LATENESS = 100
QUERY = (
    "SELECT * WHERE SELL AS a ; BUY AS b ; BUY AS c "
    "FILTER a[price > 95] AND b[price > 95] AND c[price > 95] "
    "PARTITION BY [key] WITHIN {width} [t]"
)
EVENTS_OF_A_WINDOW = 100
"""So many events of its key are in a window on average."""


@dataclass(frozen=True, slots=True)
class StreamCost:
    """What a stream needed, without the start of Spark."""

    keys: int
    cores: int
    rows: int
    answers: int
    late: int
    cpu: float
    rows_per_cpu_second: float


def measure_streams(cores: int, numbers_of_keys: list[int]) -> Iterator[StreamCost]:
    """A stream for each number of keys, one after the other in one session."""
    from cerlab.spark.launch import session

    spark = session(f"local[{cores}]", {"spark.sql.shuffle.partitions": str(2 * cores)})
    try:
        with TemporaryDirectory(prefix="cerlab-bench-") as place:
            _through(spark, Path(place) / "warm", numbers_of_keys[0], WARM)
            for keys in numbers_of_keys:
                before = cpu_of_all()
                answers, late, writing = _through(spark, Path(place) / str(keys), keys, FILES)
                cpu, rows = cpu_of_all() - before - writing, ROWS * FILES
                yield StreamCost(keys, cores, rows, answers, late, cpu, rows / cpu)
    finally:
        spark.stop()


def _through(spark: SparkSession, place: Path, keys: int, files: int) -> tuple[int, int, float]:
    """Answers and late rows of a stream, and the CPU that writing its files took."""
    from cerlab.spark.stream.match import match_stream, write_stream

    before = cpu_of_all()
    _write(place / "in", keys, files)
    writing = cpu_of_all() - before
    columns = "type string, key string, price double, t bigint, id bigint"
    arriving = spark.readStream.schema(columns).option("maxFilesPerTrigger", 1)
    frame = arriving.parquet(str(place / "in"))
    query = QUERY.format(width=EVENTS_OF_A_WINDOW * keys)
    answers = match_stream(frame, query, position="id", lateness=LATENESS)
    result = write_stream(answers, str(place / "out"), str(place / "checkpoint"))
    return result.answers, result.late, writing


def _write(folder: Path, keys: int, files: int) -> None:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(parents=True)
    rng = np.random.default_rng(keys)
    names = np.array([f"key-{n}" for n in range(keys)])
    times = np.arange(ROWS * files)
    times = times[np.argsort(times + rng.random(len(times)) * LATENESS)]
    for n in range(files):
        t = times[n * ROWS : (n + 1) * ROWS]
        columns = {
            "type": np.array(["BUY", "SELL"])[rng.integers(0, 2, ROWS)],
            "key": names[rng.integers(0, keys, ROWS)],
            "price": rng.random(ROWS) * 100,
            "t": t,
            "id": t,
        }
        pq.write_table(pa.table(columns), folder / f"{n:03}.parquet")


if __name__ == "__main__":
    for cost in measure_streams(int(sys.argv[1]), list(map(int, sys.argv[2:]))):
        print(json.dumps(asdict(cost)), flush=True)
