"""All ways agree on fresh cases; one that is wrong is found, made small and kept as a file."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from proofs_tests.pairs.__main__ import main
from proofs_tests.pairs.report import holes, possible
from proofs_tests.pairs.search import Tally, search
from proofs_tests.pairs.ways import WAYS, Answers, Way
from proofs_tests.random_cases import Case
from proofs_tests.suite import Suite


def test_all_ways_agree(suite: Suite, tmp_path: Path) -> None:
    count = suite.profile.cases(2_000)
    tally = search("all ways", lambda n: n < count, tmp_path)
    assert not tally.failed
    assert 2 * tally.answered > tally.cases > 0.8 * count


def test_every_way_is_compared_with_another(tmp_path: Path) -> None:
    tally = search("each way", lambda n: n < 60, tmp_path)
    assert set(tally.ways) == set(WAYS)
    assert all(any(way in pair for pair in tally.pairs) for way in WAYS)


def _forgets(case: Case, rng: Random) -> Answers:
    found = WAYS["tecs"](case, rng)
    return (
        [answer for answer in found if len(answer.positions) < 2]
        if isinstance(found, list)
        else found
    )


def _fails(case: Case, rng: Random) -> Answers:
    return 1 // (len(case.stream) - len(case.stream))


def _miscounts(case: Case, rng: Random) -> Answers:
    return len(case.stream)


@pytest.mark.parametrize("wrong", [_forgets, _fails, _miscounts])
def test_a_wrong_way_is_kept_as_a_file(wrong: Way, tmp_path: Path) -> None:
    tally = search("wrong", lambda n: n < 20, tmp_path, {"tecs": WAYS["tecs"], "wrong": wrong})
    assert tally.failed
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(tally.failed)
    text = (tmp_path / tally.failed[0]).read_text()
    assert text.startswith("SELECT")
    assert "wrong" in tally.failed[0]


def test_the_report_shows_holes(tmp_path: Path) -> None:
    assert holes(Tally()) == possible()
    out = tmp_path / "report.txt"
    arguments = ["--cases", "3", "--seed", "s", "--failing", str(tmp_path), "-o", str(out)]
    assert main(arguments) == 0
    said = out.read_text()
    assert said.startswith("seed s, 60 minutes\n")
    assert "pairs of features that no case had:" in said
