"""Mutants drawn by machine differ from the module in one place, and a seed draws the same ones."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path

import pytest
from coverage import CoverageData

from proofs_tests.mutation.__main__ import ROOT, draw, draw_each, report
from proofs_tests.mutation.covering import Covering
from proofs_tests.mutation.judging import judge
from proofs_tests.mutation.mutants import mutants

MODULE = '''"""A module."""

LIMIT = 7


def inside(a: int, b: int = 3) -> bool:
    """Whether it is."""
    if not a < b:
        raise ValueError(f"{a + b}")
    return a + b <= LIMIT and "é" in ("é",)
'''

TEST = """
from cerlab.part import inside


def test_inside():
    assert inside(1)
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A package with one module and one test."""
    (tmp_path / "cerlab").mkdir()
    (tmp_path / "cerlab" / "__init__.py").touch()
    (tmp_path / "cerlab" / "part.py").write_text(MODULE, encoding="utf-8")
    (tmp_path / "test_part.py").write_text(TEST, encoding="utf-8")
    return tmp_path


def test_each_place_is_mistaken_once_and_texts_and_errors_stay(repository: Path) -> None:
    drawn = mutants(repository / "cerlab" / "part.py")
    assert [(m.line, m.before, m.after) for m in drawn] == [
        (3, "7", "(8)"),
        (6, "3", "(4)"),
        (8, "not a < b", "(a < b)"),
        (8, "a < b", "(a <= b)"),
        (10, 'a + b <= LIMIT and "é" in ("é",)', "(a + b <= LIMIT or 'é' in ('é',))"),
        (10, '"é" in ("é",)', "('é' not in ('é',))"),
        (10, "a + b <= LIMIT", "(a + b < LIMIT)"),
        (10, "a + b", "(a - b)"),
    ]
    for mutant in drawn:
        assert ast.dump(ast.parse(mutant.source)) != ast.dump(ast.parse(MODULE))
        assert len(mutant.source.splitlines()) == len(MODULE.splitlines())


def test_the_seed_decides() -> None:
    first, again, other = (draw(ROOT, ["logic/cel"], 10, 4, seed) for seed in (1, 1, 2))
    assert first == again != other
    assert len({mutant.path for mutant in first}) == 4


def test_each_folder_has_its_mutants_and_its_score() -> None:
    folders = ["logic/gcq", "decisions"]
    drawn = draw_each(ROOT, folders, 3, 0)
    folder = [m.path.relative_to(ROOT / "cerlab").parts[0] for m in drawn]
    assert folder == ["logic"] * 3 + ["decisions"] * 3
    verdicts = ("killed", "survived", "timeout", "killed", "killed", "killed")
    rows = [
        {"mutant": str(replace(m, path=m.path.relative_to(ROOT))), "verdict": verdict}
        for m, verdict in zip(drawn, verdicts, strict=True)
    ]
    said = report(rows, folders, 0)
    assert "seed 0, 6 mutants drawn" in said
    assert "logic/gcq    66.7%  2 of 3" in said
    assert "decisions   100.0%  3 of 3" in said
    assert said.endswith(f"survivors\n  survived: {rows[1]['mutant']}\n")


@pytest.mark.services  # a process for each
def test_a_mutant_is_judged_by_its_tests(repository: Path) -> None:
    path = Path("cerlab/part.py")
    drawn = {mutant.before: replace(mutant, path=path) for mutant in mutants(repository / path)}
    tests = ["test_part.py::test_inside"]
    verdict, test = judge(drawn["not a < b"], repository, tests, 60)
    assert verdict == "killed"
    assert "test_inside" in test
    assert judge(drawn["a < b"], repository, tests, 60) == ("survived", "")
    assert judge(drawn["a < b"], repository, [], 60) == ("uncovered", "")
    assert (repository / path).read_text(encoding="utf-8") == MODULE


def test_a_coverage_without_tests_is_refused(tmp_path: Path) -> None:
    """Else every mutant would be one that no test runs."""
    data = CoverageData(str(tmp_path / ".coverage"))
    data.add_lines({str(tmp_path / "cerlab" / "part.py"): [1, 3]})
    data.write()
    with pytest.raises(SystemExit, match="names no test"):
        Covering(tmp_path / ".coverage", tmp_path)
