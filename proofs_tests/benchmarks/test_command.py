"""`python -m proofs_tests.benchmarks`: rows with ratios; no seconds are asserted here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import cerlab
from proofs_tests.benchmarks.__main__ import main
from proofs_tests.benchmarks.queries import FAMILIES, QUICK, catalogue, of_figures
from proofs_tests.benchmarks.streams import synthetic, with_decoy
from proofs_tests.benchmarks.times import ABSENCE, SIDE_BY_SIDE, stream_of

pytestmark = pytest.mark.night

WAYS = ("auto", "tecs", "compiled")


def rows_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
    assert main(["--format", "ndjson", *arguments]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_rows_have_ratios_and_true_counts(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--events", "4000", "--runs", "1", "--count"]
    against = ["--against", "tecs", "--prefix", "500"]
    rows = rows_of(capsys, *options, *against, "--queries", "S3,S3' x2")
    assert [row["query"] for row in rows] == ["S3", "S3' x2"]
    for row in rows:
        assert (row["stream"], row["source"], row["events"]) == ("stocks", "synthetic", 4000)
        for figure in ("events_per_second", "of_predicate_stage", "of_columns", "against_tecs"):
            assert row[figure] > 0
        for figure in ("cpu", "wall", "count_events_per_second", "count_of_run"):
            assert row[figure] > 0
        assert row["cpu_spread"] >= 1
        assert row["wall_spread"] >= 1
    stream = synthetic("stocks", 4000)
    assert rows[0]["answers"] == cerlab.count(catalogue("stocks")["S3"], stream) > 0
    assert rows[1]["answers"] == 0, "its last event never occurs"


def test_every_stream_runs_its_own_queries(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--stream", "all", "--events", "300", "--runs", "1"]
    rows = rows_of(capsys, *options)
    assert [(row["stream"], row["query"]) for row in rows] == [
        (stream, name) for stream in FAMILIES for name in QUICK[stream]
    ]
    rows = rows_of(capsys, *options, "--queries", "T3, S3")
    assert [(row["stream"], row["query"]) for row in rows] == [("stocks", "S3"), ("taxi", "T3")]


def test_the_queries_of_the_figures_run(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--stream", "taxi", "--events", "50", "--runs", "1", "--queries", "figures"]
    assert [row["query"] for row in rows_of(capsys, *options)] == list(of_figures("taxi"))


def test_pairs_are_against_the_first(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--events", "300", "--pairs", "3", "--queries", "S3',S3' x4"]
    (row,) = rows_of(capsys, *options)
    assert (row["query"], row["against"], row["rounds"]) == ("S3' x4", "S3'", 3)
    assert row["cpu_low"] <= row["cpu_ratio"] <= row["cpu_high"]
    counts = rows_of(capsys, *options, "--count")
    assert [row["query"] for row in counts] == ["S3' x4", "count S3'", "count S3' x4"]
    assert main([*options]) == 0
    assert "cpu ratio" in capsys.readouterr().out


def test_the_halves_of_a_stream_are_read_by_one_run(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--queries", "S3,Q3", "--events", "20000", "--pairs", "2", "--halves"]
    stream = synthetic("stocks", 20_000)
    for row in rows_of(capsys, *words):
        answers = cerlab.count(catalogue("stocks")[row["query"]], stream)
        assert row["first_answers"] + row["second_answers"] == answers > 0
        assert 0 < row["cpu_low"] <= row["cpu_ratio"] <= row["cpu_high"]


def test_the_cores_of_each_query(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--events", "3000", "--pairs", "2", "--cores", "2"]
    rows = rows_of(capsys, "--queries", "S3,S6'", *words)
    assert [(row["query"], row["cores"]) for row in rows] == [("S3", 2), ("S6'", 2)]
    assert "CONSUME BY" in refusal(capsys, "--queries", "S3 ANY", *words)


@pytest.mark.parametrize("stream", FAMILIES)
def test_a_decoy_is_what_queries_without_output_wait_for(
    stream: str, capsys: pytest.CaptureFixture[str]
) -> None:
    family = FAMILIES[stream]
    plain, queries = synthetic(stream, 2_000), catalogue(stream)
    with_it = with_decoy(stream, plain)
    assert len(with_it) == 2_001
    assert list(with_it.events[1:]) == list(plain.events)
    waits = f"{family.never.type} AS NE FILTER NE[{family.never.condition}]"
    assert [a.positions for a in cerlab.evaluate(waits, with_it)] == [(0,)]
    assert cerlab.count(queries[f"{family.letter}3"], with_it) == cerlab.count(
        queries[f"{family.letter}3"], plain
    )
    options = ["--stream", stream, "--events", "2000", "--runs", "1", "--decoy"]
    (row,) = rows_of(capsys, *options, "--queries", f"{family.letter}3'")
    assert (row["answers"], row["events"], row["decoy"]) == (0, 2_001, True)


def test_memory_is_in_the_rows(capsys: pytest.CaptureFixture[str]) -> None:
    if not Path("/proc/self/status").is_file():
        pytest.skip("there is no /proc to read the resident set from")
    options = ["--events", "300", "--runs", "1", "--queries", "S3"]
    (row,) = rows_of(capsys, *options, "--memory")
    assert 10_000_000 < row["memory_loaded"] <= row["memory_peak"] < 10**9


def test_the_table(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    options = ["--events", "500", "--runs", "1", "--queries", "Q1,Q3"]
    assert main([*options]) == 0
    output = capsys.readouterr().out
    assert "Q1" in output
    assert "stocks stream, synthetic source, 500 events" in output
    assert "of predicate stage" in output
    assert "against tecs" not in output, "a column for what was not asked"
    assert main([*options, "-o", str(tmp_path / "table.txt")]) == 0
    assert "Q3" in (tmp_path / "table.txt").read_text()


def test_a_stream_from_a_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "two.stream"
    path.write_text(
        "SELL(id=1,name=INTC,volume=100,price=27.85,stock_time=1000)\n"
        "BUY(id=2,name=RIMM,volume=30,price=117.47,stock_time=2000)\n"
        "BUY(id=3,name=QQQ,volume=200,price=36.234,stock_time=11000)\n"
        "BUY(id=4,name=QQQ,volume=200,price=36.234,stock_time=11001)\n"
    )
    (row,) = rows_of(capsys, "--data", str(path), "--runs", "1", "--queries", "S3")
    assert (row["source"], row["events"]) == ("file", 4)
    assert row["answers"] == 1, "the last event is a millisecond too late"


def refusal(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """The message for options that are refused before anything is measured."""
    with pytest.raises(SystemExit) as caught:
        main([*words])
    output = capsys.readouterr()
    assert (caught.value.code, output.out) == (2, "")
    return output.err


REGISTERS, FOUNDATIONS, ROWS = (
    ["--queries", each] for each in ("registers", "foundations", "rows")
)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--queries", "S33"], "'S3'"),
        (["--queries", "H3"], "--stream homes"),
        (["--stream", "homes", "--data", "x.stream"], "--stream stocks"),
        (["--prefix", "10"], "--against tecs"),
        (["--pycer-python", "x"], "--against pycer"),
        (["--pairs", "3", "--memory"], "--memory has no effect on pairs"),
        (["--pairs", "3", "--runs", "3"], "--runs has no effect on pairs"),
        (["--pairs", "3", "--events", "10", "--queries", "S3"], "two queries"),
        (["--pairs", "1"], "2 is the least"),
        (["--runs", "0"], "1 is the least"),
        (["--events", "0"], "1 is the least"),
        (["--halves"], "--halves needs --pairs"),
        (["--halves", "--pairs", "2", "--count"], "--count has no effect on halves"),
        (["--halves", "--pairs", "2", "--cores", "2"], "--halves has no effect on cores"),
        (["--paths", "--count"], "--count has no effect on paths"),
        (["--paths", "--lengths"], "--lengths has no effect on paths"),
        (["--spark", "2", "--runs", "3"], "--runs has no effect on spark"),
        (["--spark", "2", "--decoy"], "--decoy has no effect on spark"),
        (["--spark", "2", "--stream", "homes"], "--stream has no effect on spark"),
        (["--keys", "3"], "--keys needs --spark"),
        (["--growth"], "--growth needs --spark"),
        (["--growth", "--spark", "2", "--queries", "S3"], "--queries has no effect on growth"),
        (["--spark", "1", "--keys", "x"], "as in --keys 10,1000"),
        *(([*REGISTERS, each], "registers") for each in ("--count", "--decoy", "--stream=taxi")),
        ([*REGISTERS, "--against=tecs"], "--against has no effect on registers"),
        *(([*FOUNDATIONS, each], "foundations") for each in ("--memory", "--prefix=9", "--data=x")),
        *(([*FOUNDATIONS, each], "foundations") for each in ("--decoy", "--stream=homes")),
        ([*FOUNDATIONS, "--spark=2"], "--spark has no effect on foundations"),
        *(([*ROWS, each], "no effect on rows") for each in ("--memory", "--count", "--decoy")),
        ([*ROWS, "--against", "pycer"], "--queries rows goes with --against flink alone"),
        (["--queries", "S3", "--against", "flink"], "--against flink needs --queries rows"),
        ([*ROWS, "--flink-python", "python3"], "--flink-python needs --against flink"),
    ],
    ids=lambda each: "" if isinstance(each, str) else " ".join(each),
)
def test_what_has_no_effect_is_an_error(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert message in refusal(capsys, *arguments)


def test_paths_are_beside_the_floor(capsys: pytest.CaptureFixture[str]) -> None:
    rows = rows_of(capsys, "--events", "300", "--paths", "--runs", "1", "--queries", "S3")
    paths = [row["path"] for row in rows]
    for kind in ("core", "csv", "ndjson", "parquet", "arrow"):
        assert {f"Stream.read: {kind}", f"run {kind} to ndjson"} <= set(paths)
    single = [row for row in rows if "p99" in row]
    assert {row["path"].split(" (")[0] for row in single} >= {"one event, fixed work"}
    assert all(0 < row["microseconds"] <= row["p99"] for row in single)
    others = [row for row in rows if "p99" not in row]
    assert {row["path"]: row["of_floor"] for row in others}["pyarrow: csv"] == 1
    assert all(row["cpu"] > 0 and row["of_floor"] > 0 for row in others)
    assert all("started" in row for row in others if "to ndjson" in row["path"])


def test_lengths_are_beside_the_best(capsys: pytest.CaptureFixture[str]) -> None:
    rows = rows_of(capsys, "--events", "300", "--lengths", "--runs", "1", "--queries", "S3")
    assert [row["events"] for row in rows if row["form"] == "dicts"] == [10, 30, 100, 200]
    for row in rows:
        assert row["auto_of_best"] == row["auto"] / min(filter(None, map(row.get, WAYS)))


def test_waits_arithmetic_and_counts_are_measured(capsys: pytest.CaptureFixture[str]) -> None:
    rows = rows_of(capsys, "--queries", "time", "--events", "5000", "--runs", "1")
    absence, *others = (row for row in rows if row["benchmark"] != "bursts")
    for row in rows:
        if row["benchmark"] == "bursts":
            assert row["all_per_second"] > 0 < row["throttled_per_second"]
    assert (absence["benchmark"], absence["events"], absence["keys"]) == ("absence", 5000, 50)
    assert absence["answers"] == cerlab.count(ABSENCE, stream_of(5000)) > 0
    for figure in ("counted_per_second", "listed_per_second", "pushed_per_second", "peak_mb"):
        assert absence[figure] > 0
    assert [row["benchmark"] for row in others] == [*SIDE_BY_SIDE]
    for row in others:
        assert [row["against"], row["query"]] == [*SIDE_BY_SIDE[row["benchmark"]]]
        assert row["cpu_ratio"] > 0
