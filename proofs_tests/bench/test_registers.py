"""The register patterns as a benchmark: true counts beside the paper's; no seconds are asserted."""

from __future__ import annotations

import json

import pytest

import cerlab
from cerlab.bench import registers
from cerlab.bench.register_patterns import PAPER, PATTERNS, WINDOWS, ceql, sremo
from cerlab.bench.streams import synthetic
from cerlab.cli import main
from cerlab.compile.register_plan import register_plan
from cerlab.engine.registers.run import RegisterRun
from cerlab.logic.sremo.parser import parse_sremo
from cerlab.model.stream import Stream

SMALL = ["bench", "--queries", "registers", "--events", "900", "--runs", "1", "--prefix", "300"]


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


@pytest.mark.parametrize("option", ["--count", "--memory", "--decoy", "--stream=taxi"])
def test_options_without_effect_are_errors(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SMALL, option]) == 2
    assert "CER0820" in capsys.readouterr().err


@pytest.mark.parametrize("name", PATTERNS)
def test_both_forms_say_the_same(name: str) -> None:
    """On a stream of few events, where the patterns of one to three steps have answers."""
    stream = synthetic("stocks", 400)
    form = sremo(PATTERNS[name], 8_000)
    found = cerlab.evaluate(form, stream, evaluator="compiled")
    assert cerlab.evaluate(ceql(PATTERNS[name], 8_000), stream, evaluator="registers") == found


def test_a_digest_is_of_the_set_of_answers() -> None:
    S = Stream.from_events([{"type": kind, "t": t} for t, kind in enumerate("ABABAB")])
    texts = ("A^ . _* . B^", "A^ . B^", "A^ . _* . B^ | A^ . B^", "A^ . _* . _ . B^")
    digests = []
    for text in texts:
        e = parse_sremo(
            text.replace("A", "<type = 'A'>").replace("B", "<type = 'B'>").replace("_", "<TRUE>")
        )
        digests.append(registers.digest(RegisterRun(register_plan(e), S)))
    assert digests[0] == digests[2]
    assert len(set(digests)) == 3
