"""The pipeline on Spark beside the local engine, on the same generated Parquet files, in one run.

    python -m cerlab.bench.spark FOLDER CORES < QUERY

writes what one Spark, on so many cores of this machine, found on the files of a folder as one JSON
object. The first pass, which finds the order of the stream and cuts it, is one job. The stages of
the second are measured as jobs that each do one thing more than the one before: read the columns,
hand them to Python and take them back in packs, move the packs to the tasks of their parts, run the
engine there (by key also deal the rows out again), write the answers. Each runs twice, and the
faster counts: a difference of two jobs should not be what the JVM learnt in between.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from cerlab.api import Query, parse_query
from cerlab.io.synthetic import stock_batches

ROWS_OF_A_FILE = 1 << 20
POSITION = "id"
"""The column that orders the stream; it increases."""


@dataclass(frozen=True, slots=True)
class OnSpark:
    """Wall seconds of the stages, each without those before it, and the answers."""

    answers: int
    first_pass_seconds: float
    read_seconds: float
    transfer_seconds: float
    shuffle_seconds: float
    engine_seconds: float
    write_seconds: float

    @property
    def evaluate_seconds(self) -> float:
        """The second pass, without writing."""
        stages = self.read_seconds, self.transfer_seconds, self.shuffle_seconds
        return sum(stages) + self.engine_seconds

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
    shuffle_seconds: float
    engine_seconds: float
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
                    made.shuffle_seconds,
                    made.engine_seconds,
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

    from cerlab.engine.whole_stream import stream_evaluation

    before, engine, answers = perf_counter(), 0.0, 0
    run = stream_evaluation(query.plan, query.learned)
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
    from cerlab.spark.batch.by_shuffle_units import packs_by_part, packs_where_they_lie
    from cerlab.spark.batch.first_pass import first_pass
    from cerlab.spark.batch.match import answers, asked_of
    from cerlab.spark.launch.session import session
    from cerlab.spark.plan.assignment import Dealing

    spark = session(f"local[{cores}]", {"spark.sql.shuffle.partitions": str(2 * cores)})
    try:
        df = spark.read.parquet(folder)
        small = answers(asked_of(df.limit(20_000), query, POSITION))
        _seconds(lambda: _nowhere(small))
        asked = asked_of(df, query, POSITION)
        before = perf_counter()
        found = first_pass(asked)
        first = perf_counter() - before
        if not isinstance(found, Dealing):
            raise ValueError(f"the rows of {folder} do not lie in order")
        arrived = packs_by_part(asked, found).mapInArrow(_taken, "bytes bigint")
        made = answers(asked, found)
        with TemporaryDirectory(prefix="cerlab-bench-") as out:
            jobs: list[Callable[[], object]] = [
                lambda: _nowhere(df.select(*_columns(query))),
                lambda: _nowhere(packs_where_they_lie(asked, found)),
                lambda: _nowhere(arrived),
                lambda: _nowhere(made),
                lambda: made.write.mode("overwrite").parquet(out),
            ]
            reached = [min(_seconds(job) for _ in range(2)) for job in jobs]
            count = spark.read.parquet(out).count()
        stages = [max(after - least, 0.0) for least, after in pairwise((0.0, *reached))]
        return OnSpark(count, first, *stages)
    finally:
        spark.stop()


def _nowhere(frame: Any) -> None:
    frame.write.format("noop").mode("overwrite").save()


def _taken(batches: Iterator[Any]) -> Iterator[Any]:
    """Read all and give next to nothing."""
    import pyarrow as pa

    yield pa.RecordBatch.from_pydict({"bytes": [sum(batch.nbytes for batch in batches)]})


def _seconds(job: Callable[[], object]) -> float:
    before = perf_counter()
    job()
    return perf_counter() - before


if __name__ == "__main__":
    measured = on_spark(parse_query(sys.stdin.read()), sys.argv[1], int(sys.argv[2]))
    print(json.dumps(asdict(measured)))
