"""The patterns of SRT, the queries of FOUND and row patterns as benchmarks; counts are true."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest

import cerlab
from cerlab import Stream, parse_query, parse_sremo
from cerlab.compile.sremo_to_srt import register_plan
from cerlab.engine.registers.evaluation import RegisterEvaluation
from proofs_tests.benchmarks import registers
from proofs_tests.benchmarks.__main__ import main
from proofs_tests.benchmarks.foundations import (
    QUERIES,
    WEIGHTS,
    measure_consumption,
    process,
    random_stream,
)
from proofs_tests.benchmarks.memory import MemoryOf, measure_here
from proofs_tests.benchmarks.registers import OF_FIGURES, PAPER, PATTERNS, WINDOWS, ceql, sremo
from proofs_tests.benchmarks.rows import BENCHMARKS, log_of, measure_live, measure_rows, pushed
from proofs_tests.benchmarks.streams import from_file, synthetic
from proofs_tests.suite import random_suite

pytestmark = pytest.mark.night

SMALL = ["--queries", "registers", "--events", "900", "--runs", "1", "--prefix", "120"]


def rows_of(capsys: pytest.CaptureFixture[str], *options: str) -> list[dict[str, Any]]:
    assert main([*options, "--format", "ndjson"]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_rows_of_all_patterns_and_windows(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registers, "MOST_LISTED", 1_000)
    rows = rows_of(capsys, *SMALL)
    assert [(row["query"], row["window"]) for row in rows] == [
        (name, window) for name in PATTERNS for window in WINDOWS
    ]
    assert {row["listed"] for row in rows} == {True, False}
    stream = synthetic("stocks", 900)
    for row in rows:
        assert row["paper_percent"] == PAPER.get((row["query"], row["window"]))
        assert row["percent"] == pytest.approx(100 * row["answers"] / 900)
        for figure in ("events_per_second", "of_first_window", "against_algorithm_1", "visits"):
            assert row[figure] > 0
        if row["query"] == "reg_1":
            expression = sremo(PATTERNS["reg_1"], row["window"])
            assert row["answers"] == len(cerlab.evaluate(expression, stream))
    assert sum(row["answers"] > 0 for row in rows) > 20


def test_the_table_is_for_people(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registers, "WINDOWS", (500,))
    assert main(SMALL) == 0
    out = capsys.readouterr().out
    assert "against algorithm 1" in out
    assert all(name in out for name in PATTERNS)


@pytest.mark.parametrize("name", PATTERNS)
def test_both_forms_say_the_same(name: str) -> None:
    """On a stream of few events, where the patterns of one to three steps have answers."""
    stream = synthetic("stocks", 400)
    form = sremo(PATTERNS[name], 8_000)
    answers = cerlab.evaluate(form, stream, evaluator="compiled")
    assert cerlab.evaluate(ceql(PATTERNS[name], 8_000), stream, evaluator="registers") == answers


def test_nested_iterations_by_hand() -> None:
    """R Q Q R Q: three purchases after the first R, then pairs after both, then after the second.

    ``(R ; Q+)+`` chooses R and some of all three Q (7), or R, some of the first two Q, R and the
    last Q (3), or the second R and the last Q (1).
    """
    bought = [("BUY", name) for name in ("RIMM", "QQQ", "QQQ", "RIMM", "QQQ")]
    ticks = [("SELL", "INTC"), *bought, ("SELL", "MSFT"), ("SELL", "MSFT")]
    prices = [30.0, 1.0, 600.0, 2.0, 3.0, 4.0, 31.0, 29.0]
    stream = Stream.from_events(
        {"type": kind, "name": name, "price": price, "stock_time": 100 * t}
        for t, ((kind, name), price) in enumerate(zip(ticks, prices, strict=True))
    )
    pattern, ends = PATTERNS["kn_1"], {7: 11}
    for window, counts in ((701, ends), (700, {})):  # the first and the last are 700 apart
        for text in (sremo(pattern, window), ceql(pattern, window)):
            for evaluator in ("reference", "compiled" if text.startswith("(") else "registers"):
                answers = list(cerlab.evaluate(text, stream, evaluator=evaluator))
                assert Counter(answer.end for answer in answers) == counts, (evaluator, text)


def test_the_nested_iterations_that_the_paper_measured_are_other_ones(stock_file: Path) -> None:
    """Its 4.29 % of matches are those of one iteration without gaps, which may be empty."""
    sold = "<type = 'SELL' AND name = 'INTC'>^ -> r0"
    bought = "<type = 'BUY' AND name = 'RIMM' AND price < 500>^"
    last = "<type = 'SELL' AND name = 'MSFT' AND price < r0.price>^"
    text = f"({sold} . <TRUE>* . ({bought})* . <TRUE>* . {last})[within 499 stock_time]"
    stream = from_file(str(stock_file))
    count = sum(map(len, RegisterEvaluation(register_plan(parse_sremo(text)), stream).answers()))
    assert count == 9_630
    assert 100 * count / len(stream) == pytest.approx(PAPER["kn_1", 500], abs=0.005)
    plan = register_plan(parse_sremo(sremo(PATTERNS["kn_1"], 500)))
    assert RegisterEvaluation(plan, stream).count() == 763


def test_what_the_figures_draw_is_asked_with_its_memory(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if not Path("/proc/self/status").is_file():
        pytest.skip("there is no /proc to read the resident set from")
    monkeypatch.setattr(registers, "OF_FIGURES", {"reg_1": (30_000, 500)})
    options = ["--events", "900", "--runs", "1", "--prefix", "300", "--memory"]
    rows = rows_of(capsys, "--queries", "srt", *options)
    assert [(row["query"], row["window"]) for row in rows] == [("reg_1", 30_000), ("reg_1", 500)]
    for row in rows:
        assert 10_000_000 < row["memory_loaded"] <= row["memory_peak"]
    assert main(["--queries", "srt", *options]) == 0
    assert "memory peak MB" in capsys.readouterr().out


def test_the_process_for_memory_lists_or_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    if not Path("/proc/self/status").is_file():
        pytest.skip("there is no /proc to read the resident set from")
    done: list[str] = []

    def note(name: str) -> tuple[()]:
        done.append(name)
        return ()

    monkeypatch.setattr(RegisterEvaluation, "answers", lambda _: note("answers"))
    monkeypatch.setattr(RegisterEvaluation, "estimate", lambda _: note("estimate"))
    with MemoryOf(synthetic("stocks", 50)) as memory:
        for is_listed in (True, False):
            task = {"sremo": sremo(PATTERNS["reg_1"], 500), "is_listed": is_listed}
            measure_here(str(memory.file), task)
    assert done == ["answers", "answers", "estimate", "estimate"], "on a prefix, then on the whole"


def test_every_pattern_of_the_figures_is_known() -> None:
    assert OF_FIGURES.keys() == PATTERNS.keys()
    windows = {window for some in OF_FIGURES.values() for window in some}
    assert windows == set(WINDOWS)


def test_a_digest_is_of_the_set_of_answers() -> None:
    S = Stream.from_events([{"type": kind, "t": t} for t, kind in enumerate("ABABAB")])
    texts = ("A^ . _* . B^", "A^ . B^", "A^ . _* . B^ | A^ . B^", "A^ . _* . _ . B^")
    digests = []
    for text in texts:
        e = parse_sremo(
            text.replace("A", "<type = 'A'>").replace("B", "<type = 'B'>").replace("_", "<TRUE>")
        )
        digests.append(registers.digest(RegisterEvaluation(register_plan(e), S)))
    assert digests[0] == digests[2]
    assert len(set(digests)) == 3


WORDS = {"Q1": "ABC", "Q2": "ABCD", "Q3": "CD", "Q4": "AAB", "Q5": "AABBC", "Q6": "ABABC"}
"""Types in an order that each query finds."""

STRATEGIES = ("*", "LAST *", "MAX *", "NEXT *")


@random_suite(2_000)
def test_processing_reads_all_events_as_the_reference_does(rng: Random) -> bool:
    """The last event's answers, listed after all else was read without output (CORE Alg. 1)."""
    name, strategy = rng.choice(list(QUERIES)), rng.choice(STRATEGIES)
    kinds = rng.choices("ABCDE", rng.choice(list(WEIGHTS.values())), k=rng.randint(1, 5))
    if rng.random() < 0.8:
        first = WORDS[name][:-1]
        for at, kind in zip(sorted(rng.choices(range(6), k=len(first))), first, strict=True):
            kinds.insert(at, kind)
        kinds.append(WORDS[name][-1])
    stream = Stream.from_events([{"type": kind} for kind in kinds])
    text = f"SELECT {strategy} WHERE {QUERIES[name]}"
    last = len(kinds) - 1
    answers = cerlab.evaluate(text, stream, evaluator="reference")
    ending = sorted(answer.positions for answer in answers if answer.end == last)
    _, output = process(parse_query(text), stream, 1)
    assert sorted(output) == ending
    return bool(ending)


def test_nothing_is_listed_unless_asked_for() -> None:
    stream = random_stream("S1", 300)
    visits, output = process(parse_query(f"SELECT * WHERE {QUERIES['Q1']}"), stream)
    assert list(output) == []
    assert visits > 300


@pytest.mark.parametrize(
    ("name", "shares"),
    [("S1", [1 / 5] * 5), ("S2", [4 / 12, 3 / 12, 2 / 12, 1 / 12, 2 / 12])],
)
def test_types_occur_as_often_as_the_paper_says(name: str, shares: list[float]) -> None:
    events = 20_000
    counts = Counter(event.type for event in random_stream(name, events))
    assert [counts[kind] / events for kind in "ABCDE"] == pytest.approx(shares, rel=0.1)


@pytest.mark.parametrize("query", QUERIES)
def test_consumed_answers_are_those_of_the_reference(query: str) -> None:
    stream = random_stream("S1", 300)
    row = measure_consumption(query, stream, 1)
    text = f"SELECT * WHERE {QUERIES[query]} CONSUME BY ANY"
    answers = list(cerlab.evaluate(text, stream, evaluator="tecs"))
    assert row["answers"] == len(answers) > 0
    assert row["per_end"] == pytest.approx(row["answers"] / len({answer.end for answer in answers}))


def test_the_mean_that_is_known_is_found() -> None:
    """Before a D come 4 of A, B and C on average, if any does (Q3)."""
    row = measure_consumption("Q3", random_stream("S1", 20_000), 1)
    assert row["per_end"] == pytest.approx(4, rel=0.05) == row["paper_per_end"]


def test_rows_of_both_experiments_of_foundations(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--queries", "foundations", "--events", "200", "--runs", "1"]
    rows = rows_of(capsys, *options)
    of_processing = [row for row in rows if "strategy" in row]
    assert [(row["stream"], row["query"]) for row in of_processing[::4]] == [
        (stream, query) for stream in WEIGHTS for query in QUERIES
    ]
    assert all(row["events_per_second"] > 0 and row["visits"] > 0 for row in of_processing)
    assert [row["query"] for row in rows if "seconds" in row] == list(QUERIES)
    assert main(options) == 0
    out = capsys.readouterr().out
    assert all(word in out for word in ("S2", "NEXT", "visits", "paper per end", "2,064"))


def test_the_cost_of_an_event_does_not_grow_with_the_stream() -> None:
    """Visits for each event, on streams of which one is ten times as long (FOUND Thm. 5)."""
    for formula in QUERIES.values():
        for strategy in STRATEGIES:
            query = parse_query(f"SELECT {strategy} WHERE {formula}")
            short, long = (
                process(query, random_stream("S1", events))[0] / events
                for events in (2_000, 20_000)
            )
            assert long <= 1.1 * short


def test_row_patterns_have_as_many_rows_as_arithmetic_says() -> None:
    runs = {row["benchmark"]: row for row in measure_rows(1, share=0.001)}
    assert runs.keys() == BENCHMARKS.keys()
    assert runs["scan"]["result"] == 2_000 // 5
    assert runs["partitions"]["result"] == 2_000 // 5
    assert runs["quantifier"]["result"] == 14 * (12 + 5 + 12) + (12 + 5 + 7)  # one every 34 rows
    assert all(row["cpu"] > 0 for row in runs.values())
    assert "compiled" in runs["scan"]["machine"]
    assert "search" in runs["navigation"]["machine"]


def test_a_live_log_is_pushed_and_piped() -> None:
    rows = [*measure_live(2_000, 1, keys=50)]
    paths = ["push by 1", "push by 1,000", "push by 10,000", "pipe of ndjson", "pipe of csv"]
    assert [row["path"] for row in rows] == paths
    assert all(row["rate"] > 0 for row in rows)
    log = log_of(2_000, 50)
    assert pushed(log, 1) == pushed(log, 2_000) > 50


def test_row_patterns_on_whole_tables(capsys: pytest.CaptureFixture[str]) -> None:
    rows = rows_of(capsys, "--queries", "rows", "--runs", "1")
    assert [row["result"] for row in rows][:2] == [400_000, 400_000]
