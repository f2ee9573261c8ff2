"""All ways agree on fresh cases; one that is wrong is found, made small and kept as a file."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

import cerlab
from cerlab.budget import poll
from proofs_tests.pairs import ways
from proofs_tests.pairs.__main__ import main
from proofs_tests.pairs.report import Totals, holes, lines, possible
from proofs_tests.pairs.search import STREAMS, Tally, search
from proofs_tests.pairs.ways import WAYS, Answers, Way
from proofs_tests.random_cases import Case
from proofs_tests.suite import Suite


@pytest.fixture(autouse=True)
def no_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each way take its time: which cases are compared does not depend on the machine."""
    monkeypatch.setattr(ways, "SECONDS", math.inf)


FEWEST = 12
"""Among so many queries are some that each way takes."""


def test_all_ways_agree(suite: Suite, tmp_path: Path) -> None:
    queries = max(FEWEST, suite.profile.cases(2_000) // STREAMS)
    tally = search("each way", range(queries), tmp_path)
    assert not tally.failed
    assert 2 * tally.answered > tally.cases > 0.8 * STREAMS * tally.queries
    assert set(WAYS) == {way for pair in tally.ways for way in pair if len(set(pair)) == 2}


def _forgets(case: Case, rng: Random) -> Answers:
    answers = WAYS["tecs"](case, rng)
    return (
        [answer for answer in answers if len(answer.positions) < 2]
        if isinstance(answers, list)
        else answers
    )


def _fails(case: Case, rng: Random) -> Answers:
    return 1 // (len(case.stream) - len(case.stream))


def _miscounts(case: Case, rng: Random) -> Answers:
    return len(case.stream)


@pytest.mark.parametrize("wrong", [_forgets, _fails, _miscounts])
def test_a_wrong_way_is_kept_as_a_file(wrong: Way, tmp_path: Path) -> None:
    tally = search("wrong", range(3), tmp_path, {"tecs": WAYS["tecs"], "wrong": wrong})
    assert tally.failed
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(tally.failed)
    text = (tmp_path / tally.failed[0]).read_text()
    assert text.startswith("SELECT")
    assert "wrong" in tally.failed[0]


def _endless(case: Case, rng: Random) -> Answers:
    with cerlab.limits(seconds=1) as limits:
        limits.end()
        poll()
    raise AssertionError("the limit was not seen")


def test_a_way_that_runs_out_of_time_is_counted_and_not_compared(tmp_path: Path) -> None:
    tally = search("slow", range(1), tmp_path, {"tecs": WAYS["tecs"], "endless": _endless})
    assert not tally.failed
    assert tally.slow["endless"] == tally.timed == tally.cases > 0
    assert not any("endless" in pair for pair in tally.ways)
    twice = 2 * tally.cases
    text = list(lines(Totals(tally=tally + tally)))
    assert f"ways that ran out of 5 seconds, of {twice} cases: endless {twice}" in text


def test_the_report_adds_fresh_seeds_and_shows_holes(tmp_path: Path) -> None:
    assert holes(Tally()) == possible()
    out = tmp_path / "report.txt"
    arguments = ["--queries", "1", "--failing", str(tmp_path), "-o", str(out), "--seed"]
    assert main([*arguments, "s"]) == main([*arguments, "t"]) == 0
    text = out.read_text()
    assert text.startswith("16 cases of 2 queries, ")
    assert "ways that ran out of 5 seconds, of 16 cases: " in text
    assert "seeds: s (8), t (8)\n" in text
    assert "pairs of features that no case had:" in text
    with pytest.raises(SystemExit, match="2"):
        main([*arguments, "s"])
    totals = Totals.read(out.with_suffix(".json"))
    assert totals.tally == search("s", range(1), tmp_path) + search("t", range(1), tmp_path)


@pytest.mark.services
def test_the_command_compares_in_processes_of_its_own(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "proofs_tests.pairs", "--workers", "2", "--queries", "1"]
    options = ["--seed", "s", "--failing", str(tmp_path)]
    output = subprocess.run([*command, *options], capture_output=True, text=True, check=True).stdout
    assert output.startswith("8 cases of 1 queries, ")
    assert output.splitlines()[0].endswith(" 0 that differ")
