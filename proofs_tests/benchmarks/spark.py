"""Spark beside the local engine on the same generated Parquet files, as users run it.

    python -m proofs_tests.benchmarks.spark FOLDER CORES < QUERY

writes the warm costs of one session as a list of JSON objects. Rows lie in order or in none, their
order is given by ``order_by`` or by ``position``, and they are spread by the mode that is chosen,
and by key where the query has PARTITION BY. Each is measured cold, as the whole command ``cerlab
spark`` less the same on a thousand events, and warm, as the third run of `cerlab.spark.match` in a
session, since Java compiles its code during the first two. Beside it is ``cerlab run`` on the same
rows in one file, in the same way, with ``--sort`` where they lie in no order; and by key plain
Spark (`proofs_tests.benchmarks.plain_spark`), also as a whole process. CPU is that of all
processes: Python's, the JVM's, the workers'.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from cerlab import Query, parse_query
from cerlab.testing import stock_batches
from proofs_tests.benchmarks.timing import Row

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS_OF_A_FILE = 1 << 20
TINY = 1_000
"""Events of the command that is subtracted: what remains is without the start of Spark."""

SORTED, UNSORTED = "sorted", "unsorted"
POSITION, ORDER_BY = "id", "stock_time,id"

PRICES = """SELECT * WHERE SELL AS a ; BUY AS b ; SELL AS c
FILTER a[price > 100] AND b[price > 100] AND c[price > 110]
PARTITION BY [name] WITHIN 1000 [stock_time]"""
"""The query that is measured where none is named: one event in forty matters."""


class Way(NamedTuple):
    """One way to ask: how rows lie, the column or columns that order them, and the mode or None."""

    rows: str
    given: str
    mode: str | None

    @property
    def order(self) -> dict[str, str]:
        """The option that gives the order, with its columns."""
        return {self.given: ORDER_BY if self.given == "order_by" else POSITION}


def ways(query: Query) -> list[Way]:
    """Return all ways to ask a query."""
    modes = [None, *(["keys"] if query.plan.partition else [])]
    return [
        Way(rows, given, mode)
        for rows in (SORTED, UNSORTED)
        for given in ("order_by", "position")
        for mode in modes
    ]


def measure_spark(
    name: str, query: Query, sizes: Iterable[int], cores: Iterable[int]
) -> Iterator[Row]:
    """Measure every way on every size and number of cores; raises ValueError if answers differ.

    `share` is the CPU of ``cerlab run`` on rows in order over that of all of Spark's processes; of
    rows in none `share_of_sorting` is that of ``cerlab run --sort``.
    """
    with TemporaryDirectory(prefix="cerlab-bench-") as temporary:
        tiny = ordered_streams(Path(temporary, "tiny"), TINY)
        for events in sizes:
            folder = ordered_streams(Path(temporary, str(events)), events)
            start, _ = run_command(query, SORTED, tiny)
            in_order, answers = run_command(query, SORTED, folder)
            sorting, _ = run_command(query, UNSORTED, folder)
            for count in cores:
                warm = _in_a_session(query, folder, count)
                for way, (found, cpu, wall) in zip(ways(query), warm, strict=True):
                    cold, written = command(query, way, folder, count)
                    of_spark, _ = command(query, way, tiny, count)
                    plain, by_plain = None, answers
                    if way == Way(UNSORTED, "order_by", "keys"):
                        plain, by_plain = plain_command(query, folder, count)
                        plain -= plain_command(query, tiny, count)[0]
                    if {found, written, by_plain} != {answers}:
                        what = f"Spark finds {found}, {written}; plain {by_plain}; local {answers}"
                        raise ValueError(what)
                    yield {
                        "query": name,
                        "events": events,
                        **way._asdict(),
                        "cores": count,
                        "answers": found,
                        "local_cpu": in_order - start,
                        "sorting_cpu": sorting - start if way.rows == UNSORTED else None,
                        "start_cpu": of_spark,
                        "cold_cpu": cold - of_spark,
                        "cold_share": _share(in_order - start, cold - of_spark),
                        "cpu": cpu,
                        "wall": wall,
                        "share": _share(in_order - start, cpu),
                        "share_of_sorting": _share(sorting - start, cold - of_spark)
                        if way.rows == UNSORTED
                        else None,
                        "plain_cpu": plain,
                    }


def _share(local: float, spark: float) -> float | None:
    return local / spark if spark > 0 else None


def ordered_streams(folder: Path, events: int) -> Path:
    """Write a generated stream twice, in order, and each event in any of as many files; and each of
    both as one file beside its folder."""
    (folder / UNSORTED).mkdir(parents=True)
    (folder / SORTED).mkdir()
    batches = stock_batches(events, batch=ROWS_OF_A_FILE)
    whole = pa.Table.from_batches([*batches]).unify_dictionaries().combine_chunks()
    order = np.random.default_rng(7).permutation(whole.num_rows)
    for rows, table in ((SORTED, whole), (UNSORTED, whole.take(pa.array(order)))):
        for n, start in enumerate(range(0, table.num_rows, ROWS_OF_A_FILE)):
            part = table.slice(start, ROWS_OF_A_FILE)
            _write(part, folder / rows / f"{n:05}.parquet")
        _write(table, folder / f"{rows}.parquet")
    return folder


def _write(table: Any, path: Path) -> None:
    for name in ("type", "name"):
        place = table.schema.get_field_index(name)
        table = table.set_column(place, name, table[name].cast(pa.string()))
    pq.write_table(table, path, row_group_size=ROWS_OF_A_FILE)


def run_command(query: Query, rows: str, folder: Path) -> tuple[float, int]:
    """Run ``cerlab run`` on one core: its CPU seconds, and rows of its output."""
    with TemporaryDirectory(prefix="cerlab-bench-") as out:
        words = [sys.executable, "-m", "cerlab", "run", query.text, str(folder / f"{rows}.parquet")]
        words += ["--quiet", "--format", "parquet", "--output", f"{out}/answers.parquet"]
        if rows == UNSORTED:
            words += ["--sort", "--time", "stock_time:ms"]
        return cpu_of_tree(words), pq.read_metadata(f"{out}/answers.parquet").num_rows


def command(query: Query, way: Way, folder: Path, cores: int) -> tuple[float, int]:
    """Run ``cerlab spark``: CPU seconds of its process and all below it, and rows of its output."""
    with TemporaryDirectory(prefix="cerlab-bench-") as out:
        words = [sys.executable, "-m", "cerlab", "spark", query.text, "--quiet"]
        words += ["--input", str(folder / way.rows), "--output", f"{out}/answers"]
        words += ["--master", f"local[{cores}]", *(["--mode", way.mode] if way.mode else [])]
        for option, columns in way.order.items():
            words += [f"--{option.replace('_', '-')}", columns]
        cpu = cpu_of_tree(words)
        return cpu, ds.dataset(f"{out}/answers", format="parquet").count_rows()


def plain_command(query: Query, folder: Path, cores: int) -> tuple[float, int]:
    """Run plain Spark on rows in no order: CPU seconds, and rows of its output."""
    with TemporaryDirectory(prefix="cerlab-bench-") as out:
        words = [sys.executable, "-m", "proofs_tests.benchmarks.plain_spark", query.text]
        words += [str(folder / UNSORTED), f"{out}/answers", str(cores)]
        cpu = cpu_of_tree(words)
        return cpu, ds.dataset(f"{out}/answers", format="parquet").count_rows()


_TREE = """
import ctypes, subprocess, sys, time
import psutil
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # orphans, as the JVM of a Python that has ended, are ours
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
here, used, peaks = psutil.Process(), {}, {}
while below := here.children(recursive=True):
    for each in below:
        try:
            used[each] = sum(each.cpu_times()[:2])
            if each.name().startswith("python") and each.pid != process.pid:
                if peak := open(f"/proc/{each.pid}/status").read().partition("VmHWM:")[2]:
                    peaks[each] = int(peak.split()[0])
            if each.status() == psutil.STATUS_ZOMBIE and each.ppid() == here.pid:
                process.poll() if each.pid == process.pid else each.wait()
        except (psutil.Error, OSError):
            pass
    time.sleep(0.1)
print(sum(used.values()), max(peaks.values(), default=0) / 1e3)
sys.exit(process.wait())
"""
"""Python's daemon in Spark ignores the end of its workers, whose CPU is then in no parent: so each
process is looked at while it runs."""


class Cost(NamedTuple):
    """CPU seconds of a command and all processes below it, and its largest Python worker in MB."""

    cpu: float
    memory: float


def cost_of_tree(words: list[str]) -> Cost:
    """Return the cost of a command and all processes below it, orphans included."""
    process = subprocess.run([sys.executable, "-c", _TREE, *words], capture_output=True, text=True)
    if process.returncode:
        raise RuntimeError(f"{' '.join(words)}: {process.stderr[-2000:]}")
    return Cost(*map(float, process.stdout.split()))


def cpu_of_tree(words: list[str]) -> float:
    """Return the CPU seconds of a command and all processes below it, orphans included."""
    return cost_of_tree(words).cpu


def _in_a_session(query: Query, folder: Path, cores: int) -> list[list[Any]]:
    """Measure all ways in a fresh process, which has one session."""
    words = [sys.executable, "-m", __name__, str(folder), str(cores)]
    process = subprocess.run(words, input=query.text, capture_output=True, text=True, check=False)
    if process.returncode:
        raise RuntimeError(f"Spark on {cores} cores: {process.stderr[-2000:]}")
    costs: list[list[Any]] = json.loads(process.stdout.splitlines()[-1])
    return costs


def warm_costs(query: Query, folder: str, cores: int) -> list[tuple[int, float, float]]:
    """Return answers, CPU and wall seconds of the third run of each way, in this process."""
    spark = _session(cores)
    try:
        frames = {rows: spark.read.parquet(f"{folder}/{rows}") for rows in (SORTED, UNSORTED)}
        return [_third_run(partial(_answers, frames[way.rows], query, way)) for way in ways(query)]
    finally:
        spark.stop()


def _session(cores: int) -> SparkSession:
    from cerlab.spark import session

    return session(f"local[{cores}]", {"spark.sql.shuffle.partitions": str(2 * cores)})


def _answers(frame: DataFrame, query: Query, way: Way) -> DataFrame:
    from cerlab.spark import match

    ((option, columns),) = way.order.items()
    order: Any = {option: columns.split(",") if option == "order_by" else columns}
    return match(frame, query, **order, mode=way.mode)


def _third_run(make: partial[DataFrame]) -> tuple[int, float, float]:
    count = make().count()
    for _ in range(2):
        cpu, wall = cpu_of_all(), perf_counter()
        make().write.format("noop").mode("overwrite").save()
        cpu, wall = cpu_of_all() - cpu, perf_counter() - wall
    return count, cpu, wall


def cpu_of_all() -> float:
    """Return CPU seconds so far of this process and all below it, ended ones included."""
    here = psutil.Process()
    return sum(sum(each.cpu_times()[:4]) for each in (here, *here.children(recursive=True)))


ROWS, FILES, WARM = 200_000, 5, 2
LATENESS = 100
STREAM_QUERY = (
    "SELECT * WHERE SELL AS a ; BUY AS b ; BUY AS c "
    "FILTER a[price > 95] AND b[price > 95] AND c[price > 95] "
    "PARTITION BY [key] WITHIN {width} [t]"
)
EVENTS_OF_A_WINDOW = 100
"""Events of a key in one window, on average."""


def measure_streams(cores: int, numbers_of_keys: list[int]) -> Iterator[Row]:
    """Measure streams of some keys, one after the other in one session, without the start of Spark.

    Files of `ROWS` rows arrive one in a micro-batch, in disorder up to the lateness; answers go to
    Parquet files. A short stream runs first: workers exist then, and the JVM has compiled itself.
    """
    spark = _session(cores)
    try:
        with TemporaryDirectory(prefix="cerlab-bench-") as place:
            _through(spark, Path(place) / "warm", numbers_of_keys[0], WARM)
            for keys in numbers_of_keys:
                answers, late, cpu = _through(spark, Path(place) / str(keys), keys, FILES)
                row = {"keys": keys, "cores": cores, "rows": ROWS * FILES, "answers": answers}
                yield row | {"late": late, "cpu": cpu, "rows_per_cpu_second": ROWS * FILES / cpu}
    finally:
        spark.stop()


def _through(spark: SparkSession, place: Path, keys: int, files: int) -> tuple[int, int, float]:
    """Run a stream: its answers, late rows and CPU seconds."""
    from cerlab.spark import match_stream, write_stream

    _write_keys(place / "in", keys, files)
    before = cpu_of_all()
    columns = "type string, key string, price double, t bigint, id bigint"
    arriving = spark.readStream.schema(columns).option("maxFilesPerTrigger", 1)
    frame = arriving.parquet(str(place / "in"))
    query = STREAM_QUERY.format(width=EVENTS_OF_A_WINDOW * keys)
    answers = match_stream(frame, query, position="id", lateness=LATENESS)
    result = write_stream(answers, str(place / "out"), str(place / "checkpoint"))
    return result.answers, result.late, cpu_of_all() - before


def _write_keys(folder: Path, keys: int, files: int) -> None:
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
    print(json.dumps(warm_costs(parse_query(sys.stdin.read()), sys.argv[1], int(sys.argv[2]))))
