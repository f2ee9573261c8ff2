"""The register patterns as a benchmark: true counts beside the paper's; no seconds are asserted."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

import cerlab
from cerlab.bench import register_patterns, registers
from cerlab.bench.memory import MemoryOf
from cerlab.bench.register_memory import PROGRAM, measure_text, run_text
from cerlab.bench.register_patterns import PAPER, PATTERNS, WINDOWS, ceql, sremo
from cerlab.bench.streams import from_file, synthetic
from cerlab.cli import main
from cerlab.compile.sremo_to_srt import register_plan
from cerlab.engine.registers.evaluation import RegisterEvaluation
from cerlab.io import Stream
from cerlab.logic.sremo.parser import parse_sremo

pytestmark = pytest.mark.services

SMALL = ["bench", "--queries", "registers", "--events", "900", "--runs", "1", "--prefix", "120"]


def test_rows_of_all_patterns_and_windows(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registers, "MOST_LISTED", 1_000)
    assert main([*SMALL, "--format", "ndjson"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
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
    assert "times Algorithm 1" in out
    assert all(name in out for name in PATTERNS)


@pytest.mark.parametrize("option", ["--count", "--decoy", "--stream=taxi", "--against=tecs"])
def test_options_without_effect_are_errors(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SMALL, option]) == 2
    assert "CER0820" in capsys.readouterr().err


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
    monkeypatch.setattr(register_patterns, "OF_FIGURES", {"reg_1": (30_000, 500)})
    options = ["--events", "900", "--runs", "1", "--prefix", "300", "--memory"]
    assert main(["bench", "--queries", "srt", *options, "--format", "ndjson"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(row["query"], row["window"]) for row in rows] == [("reg_1", 30_000), ("reg_1", 500)]
    for row in rows:
        assert 10_000_000 < row["memory_loaded"] <= row["memory_peak"]
    assert main(["bench", "--queries", "srt", *options]) == 0
    assert "MB at peak" in capsys.readouterr().out


def test_the_process_for_memory_lists_or_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    if not Path("/proc/self/status").is_file():
        pytest.skip("there is no /proc to read the resident set from")
    done: list[str] = []

    def note(name: str) -> tuple[()]:
        done.append(name)
        return ()

    monkeypatch.setattr(RegisterEvaluation, "answers", lambda _: note("answers"))
    monkeypatch.setattr(RegisterEvaluation, "estimate", lambda _: note("estimate"))
    with MemoryOf(synthetic("stocks", 50), PROGRAM) as memory:
        for is_listed in (True, False):
            text = run_text(sremo(PATTERNS["reg_1"], 500), is_listed=is_listed)
            measure_text(str(memory._file), text)
    assert done == ["answers", "answers", "estimate", "estimate"], "on a prefix, then on the whole"


def test_every_pattern_of_the_figures_is_known() -> None:
    assert register_patterns.OF_FIGURES.keys() == PATTERNS.keys()
    windows = {window for some in register_patterns.OF_FIGURES.values() for window in some}
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
