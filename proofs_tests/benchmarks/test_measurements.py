"""Measurements: medians and spreads by hand, rounds interleaved, memory that is really taken."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import cerlab
from cerlab import parse_query
from cerlab.evaluate import answers_of
from cerlab.model.stream import Stream
from cerlab.testing import stocks
from proofs_tests.benchmarks import growth, memory, spark
from proofs_tests.benchmarks.engine import against_tecs, cores, count, counting, throughput
from proofs_tests.benchmarks.memory import MemoryOf, measure_here, resident
from proofs_tests.benchmarks.queries import catalogue
from proofs_tests.benchmarks.streams import from_file, synthetic
from proofs_tests.benchmarks.timing import Seconds, medians, once, pairs, rounds

pytestmark = pytest.mark.night

S3 = parse_query(catalogue("stocks")["S3"])


def test_medians_and_spreads_by_hand() -> None:
    cpu, wall = (0.2, 0.1, 0.4, 0.3, 0.1), (5.0, 1.0, 3.0, 2.0, 4.0)
    figures = medians([Seconds(*each) for each in zip(cpu, wall, strict=True)])
    assert figures == {"cpu": 0.2, "wall": 3.0, "cpu_spread": 4.0, "wall_spread": 5.0}
    assert once(lambda: None).cpu > 0, "a ratio to it exists"


def test_a_run_warms_up_unless_it_is_warm() -> None:
    ran: list[int] = []
    rounds({"": partial(ran.append, 1)}, 3)
    assert len(ran) == 4
    rounds({"": partial(ran.append, 1)}, 3, warm=True)
    assert len(ran) == 7


def test_time_that_is_spent_is_measured() -> None:
    def spend(times: int) -> None:
        for _ in range(times):
            sum(range(200_000))

    seconds = rounds({"one": partial(spend, 1), "four": partial(spend, 4)}, 5)
    one, four = medians(seconds["one"]), medians(seconds["four"])
    assert 0 < one["cpu"] < four["cpu"]
    assert one["cpu_spread"] >= 1 <= one["wall_spread"]


def test_a_measurement_counts_what_every_evaluator_finds() -> None:
    stream = synthetic("stocks", 3_000)
    row = throughput("S3", S3, stream, 2)
    assert row["events"] == 3_000
    assert row["answers"] == len(list(answers_of(S3, stream, "tecs"))) > 100
    assert row["events_per_second"] == 3_000 / row["cpu"]
    assert row["answers_per_second"] == row["answers"] / row["cpu"]
    assert row["of_columns"] > 0
    assert row["of_predicate_stage"] > 0
    figures = counting(S3, stream, row)
    ratio = figures["count_events_per_second"] / row["events_per_second"]
    assert figures["count_of_run"] == pytest.approx(ratio)
    assert count(S3, stream) == row["answers"]
    assert against_tecs(S3, stream, 300)["against_tecs"] > 0


def test_a_count_that_differs_from_the_listed_answers_stops_the_benchmark() -> None:
    """The figures of a wrong engine are worth nothing."""
    row = throughput("S3", S3, synthetic("stocks", 1_000), 1)
    with pytest.raises(AssertionError):
        counting(S3, synthetic("stocks", 3_000), row)


def test_threads_and_processes_are_measured_in_the_same_rounds() -> None:
    stream = synthetic("stocks", 5_000)
    row = cores("S3", S3, stream, 2, 2)
    assert row["answers"] == cerlab.count(S3, stream) > 0
    assert row["threads"] > 0
    assert row["processes"] > 0


def test_rounds_run_everything_once_and_turn_around() -> None:
    order: list[str] = []
    runs = {name: partial(order.append, name) for name in ("a", "b", "c")}
    rows = pairs(runs, 3)
    assert "".join(order) == "abc" + "cba" + "abc" + "cba"
    assert [(row["query"], row["against"], row["rounds"]) for row in rows] == [
        ("b", "a", 3),
        ("c", "a", 3),
    ]
    for row in rows:
        assert row["cpu_low"] <= row["cpu_ratio"] <= row["cpu_high"]
        assert row["wall_low"] <= row["wall_ratio"] <= row["wall_high"]


def test_a_ratio_above_one_is_faster_than_the_first() -> None:
    def spend(times: int) -> None:
        for _ in range(times):
            sum(range(100_000))

    (row,) = pairs({"slow": partial(spend, 40), "fast": partial(spend, 1)}, 5)
    assert row["cpu_ratio"] > 4
    assert row["wall_ratio"] > 4


def test_a_file_of_stocks_is_the_stream_that_was_written(tmp_path: Path) -> None:
    data = list(stocks(300))
    lines = [
        f"{e.type}({','.join(f'{name}={value}' for name, value in e.attributes.items())})\n"
        for e in data
    ]
    (tmp_path / "some.stream").write_text("".join(lines))
    back = from_file(str(tmp_path / "some.stream"))
    assert list(back.events) == data
    assert "stream" not in back.columns
    assert list(answers_of(S3, back, "compiled")) == list(answers_of(S3, Stream(data), "compiled"))


@pytest.fixture
def linux() -> None:
    if not Path("/proc/self/status").is_file():
        pytest.skip("there is no /proc to read the resident set from")


@pytest.mark.usefixtures("linux")
def test_what_its_process_says_is_in_the_error() -> None:
    with (
        MemoryOf(synthetic("stocks", 10)) as process,
        pytest.raises(OSError, match="cannot measure"),
    ):
        process.measure(query="SELECT nonsense")


TAKES = """
import sys
from proofs_tests.benchmarks.memory import reset_peak, resident
taken = bytearray(200_000_000)
del taken
reset_peak()
low = resident()
kept = bytearray(b"x") * 64_000_000
print(low[0], low[1], *resident())
"""


@pytest.mark.usefixtures("linux")
def test_memory_that_is_taken_is_seen_and_what_was_before_is_not() -> None:
    done = subprocess.run([sys.executable, "-c", TAKES], capture_output=True, check=True, text=True)
    if done.stderr:
        pytest.skip("the peak cannot be reset here")
    before, peak_before, now, peak = map(int, done.stdout.split())
    assert peak_before - before < 10e6
    assert 60e6 < now - before < 80e6
    assert 60e6 < peak - before < 80e6


@pytest.mark.usefixtures("linux")
def test_the_child_measures_what_it_is_given(tmp_path: Path) -> None:
    """Run the child's work in this process: read its file, run its query."""
    with MemoryOf(synthetic("stocks", 2_000)) as process:
        row = measure_here(str(process.file), {"query": S3.text})
    assert 10_000_000 < row["memory_loaded"] <= row["memory_peak"] <= resident()[1]


def test_without_proc_there_is_no_memory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(memory, "_STATUS", tmp_path / "status")
    with pytest.raises(OSError, match="/proc"):
        MemoryOf(synthetic("stocks", 10))


@pytest.mark.usefixtures("linux")
def test_the_local_side_reads_the_files_that_spark_reads(tmp_path: Path) -> None:
    folder = spark.ordered_streams(tmp_path / "files", 30_000)
    answers = cerlab.count(S3, synthetic("stocks", 30_000))
    assert spark.run_command(S3, spark.SORTED, folder)[1] == answers > 0
    assert spark.run_command(S3, spark.UNSORTED, folder)[1] > 0


def test_plain_spark_has_the_answers_of_the_local_engine(tmp_path: Path) -> None:
    folder, query = spark.ordered_streams(tmp_path / "files", 30_000), parse_query(spark.PRICES)
    found = cerlab.count(query, synthetic("stocks", 30_000))
    assert spark.plain_command(query, folder, 1)[1] == found > 0


def test_layouts_have_the_rows_of_the_sorted_files(tmp_path: Path) -> None:
    folder = spark.ordered_streams(tmp_path / "files", 4_100)
    tables = {}
    for layout in growth.LAYOUTS:
        growth.write_layout(folder, layout)
        tables[layout] = pq.read_table(folder / layout)
        assert tables[layout]["id"].equals(pq.read_table(folder / spark.SORTED)["id"])
    files = {layout: len(list((folder / layout).iterdir())) for layout in growth.LAYOUTS}
    assert 1_000 < files["files"] == files["lake"] <= growth.FILES
    assert tables["wide"].num_columns == growth.COLUMNS
    counts = pc.value_counts(tables["skewed"]["name"]).field("counts")
    assert pc.max(counts).as_py() >= tables["skewed"].num_rows // 2
    assert str(tables["lake"].schema.field("stock_time").type).startswith("timestamp")


@pytest.mark.usefixtures("linux")
def test_memory_is_that_of_the_largest_worker() -> None:
    """The command itself is not a worker."""
    wait = "import time; time.sleep(1)"
    small, large = (f"block = bytearray({size} << 20); {wait}" for size in (90, 300))
    worker = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {small!r}])"
    cost = spark.cost_of_tree([sys.executable, "-c", f"{worker}; {large}"])
    assert 90 < cost.memory < 300


def test_processes_that_outlive_their_parents_are_counted() -> None:
    """A command leaves a process behind, as Python leaves a JVM."""
    if sys.platform != "linux":
        pytest.skip("orphans are adopted by prctl, which Linux has")
    burn = "import time\nwhile time.process_time() < 0.5: pass"
    command = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {burn!r}])"
    assert spark.cpu_of_tree([sys.executable, "-c", command]) > 0.5


def test_processes_whose_end_their_parent_ignores_are_counted() -> None:
    """No parent has their CPU: so Spark's daemon treats its workers."""
    burn = "import time\nwhile time.process_time() < 1: pass"
    ignore = "from signal import *; import subprocess, sys, time; signal(SIGCHLD, SIG_IGN)"
    command = f"{ignore}; subprocess.Popen([sys.executable, '-c', {burn!r}]); time.sleep(2)"
    if sys.platform != "linux":
        pytest.skip("orphans are adopted by prctl, which Linux has")
    assert spark.cpu_of_tree([sys.executable, "-c", command]) > 0.8
