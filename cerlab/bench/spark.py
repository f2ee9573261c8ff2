"""The pipeline on Spark beside the local engine, on the same generated Parquet files, in one run.

    python -m cerlab.bench.spark FOLDER CORES < QUERY

writes what one Spark, on so many cores of this machine, found on the files of a folder as one JSON
object. The stages are measured as jobs that each do one thing more than the one before: read the
columns, hand them to Python, evaluate, write the answers. What Spark does to number and cut the
stream is the first pass.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from cerlab.io.synthetic import stock_batches
from cerlab.workbench import Query, parse_query

ROWS_OF_A_FILE = 1 << 20
POSITION = "id"
"""The column that orders the stream; it increases."""


@dataclass(frozen=True, slots=True)
class OnSpark:
    """Wall seconds of the stages, each without those before it, and the answers."""

    answers: int
    read_seconds: float
    transfer_seconds: float
    first_pass_seconds: float
    evaluate_seconds: float
    write_seconds: float

    @property
    def match_seconds(self) -> float:
        """What a user waits for, without writing: both passes, with what they read and move."""
        return self.first_pass_seconds + self.evaluate_seconds


@dataclass(frozen=True, slots=True)
class SparkRow:
    """A size and a number of cores; `times_local` is the local engine's seconds over Spark's.

    The local engine reads the same files, on one core. `of_core` is that for each core of Spark.
    """

    query: str
    events: int
    cores: int
    answers: int
    local_seconds: float
    local_engine_seconds: float
    first_pass_seconds: float
    evaluate_seconds: float
    read_seconds: float
    transfer_seconds: float
    write_seconds: float
    times_local: float
    of_core: float


def measure_spark(
    name: str, query: Query, sizes: tuple[int, ...], cores: tuple[int, ...]
) -> Iterator[SparkRow]:
    """Every size on every number of cores; raises ValueError if Spark finds other answers."""
    for events in sizes:
        with TemporaryDirectory(prefix="cerlab-bench-") as folder:
            write_stream(Path(folder), events)
            answers, local, engine = _local(query, Path(folder))
            for count in cores:
                made = _apart(query, folder, count)
                if made.answers != answers:
                    raise ValueError(
                        f"Spark finds {made.answers} answers of '{name}', the engine {answers}"
                    )
                times = local / made.match_seconds
                yield SparkRow(
                    name,
                    events,
                    count,
                    answers,
                    local,
                    engine,
                    made.first_pass_seconds,
                    made.evaluate_seconds,
                    made.read_seconds,
                    made.transfer_seconds,
                    made.write_seconds,
                    times,
                    times / count,
                )


def write_stream(folder: Path, events: int) -> None:
    """A generated stock stream as Parquet files of `ROWS_OF_A_FILE` events."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    for n, batch in enumerate(stock_batches(events, batch=ROWS_OF_A_FILE)):
        table = pa.Table.from_batches([batch])
        plain = {
            name: column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column
            for name, column in zip(table.column_names, table.columns, strict=True)
        }
        pq.write_table(pa.table(plain), folder / f"{n:05}.parquet")


def _local(query: Query, folder: Path) -> tuple[int, float, float]:
    """Answers, seconds with reading, and seconds of the engine alone, all on one core."""
    files = sorted(folder.iterdir())
    _read(query, files[:1])  # what is compiled and learnt once
    return _read(query, files)


def _read(query: Query, files: list[Path]) -> tuple[int, float, float]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from cerlab.engine.run import stream_run

    before, engine, answers = perf_counter(), 0.0, 0
    run = stream_run(query.plan, query.prepared)
    pa.set_cpu_count(1)
    for path in files:
        table = pq.read_table(
            path, use_threads=False, columns=_columns(query), read_dictionary=["type", "name"]
        )
        started = perf_counter()
        columns = dict(zip(table.column_names, table.columns, strict=True))
        answers += sum(map(len, run.push(columns, table.num_rows)))
        engine += perf_counter() - started
    answers += sum(map(len, run.finish()))
    return answers, perf_counter() - before, engine


def _columns(query: Query) -> list[str]:
    """What a query of this stream reads, with its window's time and the positions."""
    asked = (name for name in ("name", "volume", "price", "stock_time") if name in query.text)
    return ["type", POSITION, *asked]


def _apart(query: Query, folder: str, cores: int) -> OnSpark:
    """A Spark of its own for each measurement: a process has one session."""
    command = [sys.executable, "-m", "cerlab.bench.spark", folder, str(cores)]
    done = subprocess.run(command, input=query.text, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"Spark on {cores} cores: {done.stderr[-2000:]}")
    return OnSpark(**json.loads(done.stdout.splitlines()[-1]))


def on_spark(query: Query, folder: str, cores: int) -> OnSpark:
    """Measure in this process, after a small job that starts the workers."""
    from cerlab.spark.batch import answers, asked_of
    from cerlab.spark.first_pass import first_pass
    from cerlab.spark.session import session

    spark = session(f"local[{cores}]", {"spark.sql.shuffle.partitions": str(2 * cores)})
    try:
        df = spark.read.parquet(folder)
        read = df.select(*_columns(query))
        small = answers(asked_of(df.limit(20_000), query, POSITION))
        _seconds(lambda: _nowhere(small))
        reading = _seconds(lambda: _nowhere(read))
        moving = _seconds(lambda: _nowhere(read.mapInArrow(_as_they_are, read.schema)))
        asked = asked_of(df, query, POSITION)
        before = perf_counter()
        found = first_pass(asked)
        first = perf_counter() - before
        made = answers(asked, found)
        evaluating = _seconds(lambda: _nowhere(made))
        with TemporaryDirectory(prefix="cerlab-bench-") as out:
            writing = _seconds(lambda: made.write.mode("overwrite").parquet(out))
            count = spark.read.parquet(out).count()
        return OnSpark(
            count,
            reading,
            max(moving - reading, 0.0),
            first,
            evaluating,
            max(writing - evaluating, 0.0),
        )
    finally:
        spark.stop()


def _nowhere(frame: Any) -> None:
    frame.write.format("noop").mode("overwrite").save()


def _as_they_are(batches: Iterator[Any]) -> Iterator[Any]:
    return batches


def _seconds(job: Callable[[], object]) -> float:
    before = perf_counter()
    job()
    return perf_counter() - before


if __name__ == "__main__":
    measured = on_spark(parse_query(sys.stdin.read()), sys.argv[1], int(sys.argv[2]))
    print(json.dumps(asdict(measured)))
