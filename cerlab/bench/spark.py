"""The pipeline on Spark beside the local engine, on the same generated Parquet files, in one run.

    python -m cerlab.bench.spark FOLDER CORES < QUERY

writes what one Spark, on so many cores of this machine, needs for the files of a folder, as one
JSON object. A design is a way from files to answers: the tasks read the files and write the answers
(``written``), they read the files and hand the answers to Spark (``handed over``), or Spark reads
the rows and hands relevant events to Python: of rows in order (``rows``), in no order
(``unsorted``), and by key, where the query has PARTITION BY (``by key``). Each is measured warm, in
the third run on the same rows in one session, since Java compiles its code during the first two.
CPU is that of all processes: Python's, the JVM's, the workers'.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Any

from cerlab.api import Query, parse_query
from cerlab.io.synthetic import stock_batches

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ROWS_OF_A_FILE = 1 << 20
POSITION = "id"
"""The column that orders the stream; it increases."""

_TEXT = ["type", "name"]
"""The columns of text."""

IN_ORDER, IN_NONE = "in order", "in none"
"""The folders with the stream, under that of `on_spark`."""

NO_ORDER = "unsorted"
"""The design whose rows lie in no order."""


@dataclass(frozen=True, slots=True)
class Cost:
    """The answers of a design, and what it needed, in seconds."""

    design: str
    answers: int
    cpu: float
    wall: float


@dataclass(frozen=True, slots=True)
class SparkRow:
    """A design on a size and a number of cores, beside the local engine on one core.

    The local engine reads the files in order; `share` is its CPU over that of all of Spark's
    processes. Of rows in no order `share_of_sorting` is that of the local engine after it has
    sorted the same files.
    """

    query: str
    events: int
    design: str
    cores: int
    answers: int
    local_cpu: float
    local_engine_cpu: float
    cpu: float
    wall: float
    share: float
    share_of_sorting: float | None


def measure_spark(
    name: str, query: Query, sizes: tuple[int, ...], cores: tuple[int, ...]
) -> Iterator[SparkRow]:
    """Every design on every size and number of cores; raises ValueError if answers differ."""
    for events in sizes:
        with TemporaryDirectory(prefix="cerlab-bench-") as folder:
            write_stream(Path(folder, IN_ORDER), events)
            write_shuffled(Path(folder, IN_ORDER), Path(folder, IN_NONE))
            answers, local, engine = _local(query, Path(folder, IN_ORDER))
            _, sorting = _local_sorting(query, Path(folder, IN_NONE))
            for count in cores:
                for cost in _apart(query, folder, count):
                    if cost.answers != answers:
                        raise ValueError(
                            f"Spark finds {cost.answers} answers of '{name}', the engine {answers}"
                        )
                    yield SparkRow(
                        query=name,
                        events=events,
                        design=cost.design,
                        cores=count,
                        answers=answers,
                        local_cpu=local,
                        local_engine_cpu=engine,
                        cpu=cost.cpu,
                        wall=cost.wall,
                        share=local / cost.cpu,
                        share_of_sorting=sorting / cost.cpu if cost.design == NO_ORDER else None,
                    )


def write_stream(folder: Path, events: int) -> None:
    """A generated stock stream as Parquet files of `ROWS_OF_A_FILE` events."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir()
    for n, batch in enumerate(stock_batches(events, batch=ROWS_OF_A_FILE)):
        table = pa.Table.from_batches([batch])
        pq.write_table(table.cast(_plain(table.schema)), folder / f"{n:05}.parquet")


def write_shuffled(folder: Path, other: Path, seed: int = 7) -> None:
    """The events of some files in no order at all: any of them in any of as many files."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    other.mkdir()
    parts = [pq.read_table(path, read_dictionary=_TEXT) for path in sorted(folder.iterdir())]
    whole = pa.concat_tables(parts).unify_dictionaries().combine_chunks()
    order = np.random.default_rng(seed).permutation(whole.num_rows)
    for n, start in enumerate(range(0, whole.num_rows, ROWS_OF_A_FILE)):
        rows = whole.take(pa.array(order[start : start + ROWS_OF_A_FILE]))
        pq.write_table(rows.cast(_plain(rows.schema)), other / f"{n:05}.parquet")


def _plain(schema: Any) -> Any:
    """A schema whose text has no codes."""
    import pyarrow as pa

    text = ((name, pa.string()) for name in _TEXT)
    return pa.schema(dict(zip(schema.names, schema.types, strict=True)) | dict(text))


def _local(query: Query, folder: Path) -> tuple[int, float, float]:
    """Answers, CPU seconds with reading, and those of the engine alone, all on one core."""
    files = sorted(folder.iterdir())
    _evaluate_files(query, files[:1])  # what is compiled and learnt once
    return _evaluate_files(query, files)


def _local_sorting(query: Query, folder: Path) -> tuple[int, float]:
    """The same of files in no order, whose rows are read and sorted first, but for the engine's."""
    import pyarrow as pa

    before = process_time()
    tables = [_table(query, path) for path in sorted(folder.iterdir())]
    whole = pa.concat_tables(tables).unify_dictionaries().combine_chunks()
    order = whole.column(POSITION).to_numpy().argsort()
    answers, _ = _evaluate(query, (whole.take(pa.array(order)),))
    return answers, process_time() - before


def _evaluate_files(query: Query, files: list[Path]) -> tuple[int, float, float]:
    before = process_time()
    answers, engine = _evaluate(query, (_table(query, path) for path in files))
    return answers, process_time() - before, engine


def _table(query: Query, path: Path) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pa.set_cpu_count(1)
    return pq.read_table(path, use_threads=False, columns=_columns(query), read_dictionary=_TEXT)


def _evaluate(query: Query, tables: Iterable[Any]) -> tuple[int, float]:
    """How many answers tables of a stream have, and the CPU seconds of the engine."""
    from cerlab.engine.whole_stream import stream_evaluation

    engine, answers = 0.0, 0
    run = stream_evaluation(query.plan, query.learned)
    for table in tables:
        start = process_time()
        columns = dict(zip(table.column_names, table.columns, strict=True))
        answers += sum(map(len, run.push(columns, table.num_rows)))
        engine += process_time() - start
    return answers + sum(map(len, run.finish())), engine


def _columns(query: Query) -> list[str]:
    """What a query of this stream reads, with its window's time and the positions."""
    attributes = (name for name in ("name", "volume", "price", "stock_time") if name in query.text)
    return ["type", POSITION, *attributes]


def _apart(query: Query, folder: str, cores: int) -> list[Cost]:
    """A Spark of its own for each number of cores: a process has one session."""
    command = [sys.executable, "-m", "cerlab.bench.spark", folder, str(cores)]
    process = subprocess.run(command, input=query.text, capture_output=True, text=True, check=False)
    if process.returncode:
        raise RuntimeError(f"Spark on {cores} cores: {process.stderr[-2000:]}")
    return [Cost(**cost) for cost in json.loads(process.stdout.splitlines()[-1])]


def on_spark(query: Query, folder: str, cores: int) -> list[Cost]:
    """Measure every design in this process; raises ValueError where the files are not read so."""
    from cerlab.spark.batch import answers
    from cerlab.spark.files import answers_in_files, file_ranges
    from cerlab.spark.first_pass import first_pass
    from cerlab.spark.launch import session
    from cerlab.spark.request import request_of

    spark = session(f"local[{cores}]", {"spark.sql.shuffle.partitions": str(2 * cores)})
    frame = spark.read.parquet(f"{folder}/{IN_ORDER}")
    in_none = spark.read.parquet(f"{folder}/{IN_NONE}")
    request = request_of(frame, query, POSITION)

    def write_files() -> int:
        with TemporaryDirectory(prefix="cerlab-bench-") as out:
            return answers_in_files(request, file_ranges(request)).write(f"{out}/answers", ())

    def hand_over() -> DataFrame:
        return answers_in_files(request, file_ranges(request)).frame

    def on_rows(frame: DataFrame, mode: str | None = None) -> Callable[[], DataFrame]:
        def answers_of_rows() -> DataFrame:
            rows = frame.where(f"{POSITION} >= 0")  # no bare scan any more
            each = request_of(rows, query, position=POSITION, mode=mode)
            return answers(each, first_pass(each))

        return answers_of_rows

    designs = {"handed over": hand_over, "rows": on_rows(frame), NO_ORDER: on_rows(in_none)}
    if query.plan.partition:
        designs["by key"] = on_rows(frame, "keys")
    try:
        costs = [_cost("written", write_files, write_files)]
        for name, make in designs.items():
            costs.append(_cost(name, partial(_count, make), partial(_nowhere, make)))
        return costs
    finally:
        spark.stop()


def _cost(design: str, count_answers: Callable[[], int], job: Callable[[], object]) -> Cost:
    """CPU of all processes and wall seconds of a job, in its third run in this session."""
    count = count_answers()
    job()
    cpu, wall = cpu_of_all(), perf_counter()
    job()
    return Cost(design, count, cpu_of_all() - cpu, perf_counter() - wall)


def _count(make: Callable[[], DataFrame]) -> int:
    answers: int = make().count()
    return answers


def _nowhere(make: Callable[[], DataFrame]) -> None:
    make().write.format("noop").mode("overwrite").save()


def cpu_of_all() -> float:
    """CPU seconds so far of this process and all that it has started, those that ended included."""
    import psutil

    here = psutil.Process()
    return sum(sum(each.cpu_times()[:4]) for each in (here, *here.children(recursive=True)))


if __name__ == "__main__":
    costs = on_spark(parse_query(sys.stdin.read()), sys.argv[1], int(sys.argv[2]))
    print(json.dumps(list(map(asdict, costs))))
