"""Measurements: medians and spreads by hand, rounds interleaved, memory that is really taken."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from cerlab.api import parse_query
from cerlab.bench import memory
from cerlab.bench.measure import count, measure, measure_count, measure_tecs
from cerlab.bench.memory import MemoryOf, measure_here, resident
from cerlab.bench.pairs import pair_runs
from cerlab.bench.queries import catalogue
from cerlab.bench.streams import from_file, synthetic
from cerlab.bench.timing import Timing, timing_of
from cerlab.errors import UsageError
from cerlab.evaluate import answers_of
from cerlab.io.synthetic import stocks
from cerlab.model.stream import Stream

pytestmark = pytest.mark.services

S3 = parse_query(catalogue("stocks")["S3"])


def test_medians_and_spreads_by_hand() -> None:
    timing = Timing.of([0.2, 0.1, 0.4, 0.3, 0.1], [5.0, 1.0, 3.0, 2.0, 4.0])
    assert timing == Timing(cpu=0.2, wall=3.0, cpu_spread=4.0, wall_spread=5.0)
    assert Timing.of([0.0], [0.0]).cpu > 0, "a ratio to it exists"


def test_a_run_warms_up_unless_it_is_warm() -> None:
    ran: list[int] = []
    timing_of(lambda: ran.append(1), 3)
    assert len(ran) == 4
    timing_of(lambda: ran.append(1), 3, warm=True)
    assert len(ran) == 7


def test_time_that_is_spent_is_measured() -> None:
    def spend() -> None:
        sum(range(200_000))

    once = timing_of(spend, 5)
    four_times = timing_of(lambda: [sum(range(200_000)) for _ in range(4)], 5)
    assert 0 < once.cpu < four_times.cpu
    assert once.cpu_spread >= 1
    assert once.wall_spread >= 1


def test_a_measurement_counts_what_every_evaluator_finds() -> None:
    stream = synthetic("stocks", 3_000)
    figures = measure("S3", S3, stream, 2)
    assert figures.events == 3_000
    assert figures.answers == len(list(answers_of(S3, stream, "tecs"))) > 100
    assert figures.events_per_second == 3_000 / figures.cpu
    assert figures.answers_per_second == figures.answers / figures.cpu
    assert figures.of_columns > 0
    assert figures.of_predicate_stage > 0
    counting = measure_count(S3, stream, figures)
    assert counting.count_of_run == pytest.approx(
        counting.count_events_per_second / figures.events_per_second
    )
    assert count(S3, stream) == figures.answers
    assert measure_tecs(S3, stream, 300).against_tecs > 0


def test_a_count_that_differs_from_the_listed_answers_stops_the_benchmark() -> None:
    """The figures of a wrong engine are worth nothing."""
    figures = measure("S3", S3, synthetic("stocks", 1_000), 1)
    with pytest.raises(AssertionError):
        measure_count(S3, synthetic("stocks", 3_000), figures)


def test_rounds_run_everything_once_and_turn_around() -> None:
    order: list[str] = []
    runs = {name: partial(order.append, name) for name in ("a", "b", "c")}
    pairs = pair_runs(runs, 3)
    assert "".join(order) == "abc" + "cba" + "abc" + "cba"
    assert [(pair.query, pair.against, pair.rounds) for pair in pairs] == [
        ("b", "a", 3),
        ("c", "a", 3),
    ]
    for pair in pairs:
        assert pair.cpu_low <= pair.cpu_ratio <= pair.cpu_high
        assert pair.wall_low <= pair.wall_ratio <= pair.wall_high


def test_a_ratio_above_one_is_faster_than_the_first() -> None:
    def spend(times: int) -> None:
        for _ in range(times):
            sum(range(100_000))

    (pair,) = pair_runs({"slow": partial(spend, 40), "fast": partial(spend, 1)}, 5)
    assert pair.cpu_ratio > 4
    assert pair.wall_ratio > 4


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
    with MemoryOf(synthetic("stocks", 10)) as process, pytest.raises(UsageError) as caught:
        process.measure("SELECT nonsense")
    assert caught.value.code == "CER0818"


TAKES = """
import sys
from cerlab.bench.memory import _forget_peak, resident
taken = bytearray(200_000_000)
del taken
_forget_peak()
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
    """What the child does, here: its file read, its query run."""
    with MemoryOf(synthetic("stocks", 2_000)) as process:
        figures = measure_here(str(process._file), S3.text)
    assert 10_000_000 < figures.memory_loaded <= figures.memory_peak <= resident()[1]


def test_without_proc_there_is_no_memory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(memory, "_STATUS", tmp_path / "status")
    with pytest.raises(UsageError) as caught:
        MemoryOf(synthetic("stocks", 10))
    assert caught.value.code == "CER0818"
