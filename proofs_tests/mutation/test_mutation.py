"""Mutants drawn by machine differ from the module in one place, and a seed draws the same ones."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from coverage import CoverageData

from proofs_tests.mutation.__main__ import (
    ROOT,
    draw,
    draw_each,
    main,
    modules_of,
    parts,
    read,
    report,
)
from proofs_tests.mutation.covering import Covering
from proofs_tests.mutation.judging import Judge, judge
from proofs_tests.mutation.mutants import Mutant, mutants

MODULE = '''"""A module."""

from typing import TypeVar

T = TypeVar("T", covariant=True)
MAX_DEPTH = 3
Number = int | float
LIMIT = 7


def inside(a: int, b: int = 3) -> bool:
    """Whether it is."""
    if not a < b:
        raise ValueError(f"{a + b}")
    return (
        a + b <= LIMIT
        and "é" in ("é",)
    ) and isinstance(list(zip("a", "b", strict=True)), list)
'''

TEST = """
from cerlab.part import LIMIT, inside


def test_inside():
    assert inside(1)


def test_never():
    assert not inside(1)


def test_limit():
    assert LIMIT == 7
"""


CPU_SECONDS = 600
"""A bound that the test of a mutant here never reaches, so that no verdict depends on it."""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A package with one module and one test."""
    (tmp_path / "cerlab").mkdir()
    (tmp_path / "cerlab" / "__init__.py").touch()
    (tmp_path / "cerlab" / "part.py").write_text(MODULE, encoding="utf-8")
    (tmp_path / "test_part.py").write_text(TEST, encoding="utf-8")
    return tmp_path


@pytest.fixture
def by_text(repository: Path) -> dict[str, Mutant]:
    """All mutants of the module by what stood there."""
    all_mutants = mutants(repository / "cerlab" / "part.py")
    return {m.before: replace(m, path=m.path.relative_to(repository)) for m in all_mutants}


def test_each_place_is_mistaken_once_and_texts_and_errors_stay(repository: Path) -> None:
    last = "isinstance(list(zip('a', 'b', strict=True)), list)"
    part_mutants = mutants(repository / "cerlab" / "part.py")
    assert [(m.line, m.before, m.after) for m in part_mutants] == [
        (8, "7", "(8)"),
        (11, "3", "(4)"),
        (13, "not a < b", "(a < b)"),
        (13, "a < b", "(a <= b)"),
        (
            15,
            '( a + b <= LIMIT and "é" in ("é",) ) and ' + last.replace("'", '"'),
            f"(a + b <= LIMIT and 'é' in ('é',) or {last})",
        ),
        (16, 'a + b <= LIMIT and "é" in ("é",)', "(a + b <= LIMIT or 'é' in ('é',))"),
        (16, "a + b <= LIMIT", "(a + b < LIMIT)"),
        (16, "a + b", "(a - b)"),
        (17, '"é" in ("é",)', "('é' not in ('é',))"),
    ]
    for mutant in part_mutants:
        assert ast.dump(ast.parse(mutant.source)) != ast.dump(ast.parse(MODULE))
        assert len(mutant.source.splitlines()) == len(MODULE.splitlines())


@pytest.mark.long
def test_the_seed_decides() -> None:
    first, again, other = (draw(ROOT, ["logic/cel"], 10, 4, seed) for seed in (1, 1, 2))
    assert first == again != other
    assert len({mutant.path for mutant in first}) == 3


@pytest.mark.long
def test_each_folder_has_its_mutants_and_its_score() -> None:
    folders = ["logic/gcq", "decisions"]
    sample = draw_each(ROOT, folders, 3, 0)
    folder = [m.path.relative_to(ROOT / "cerlab").parts[0] for m in sample]
    assert folder == ["logic"] * 3 + ["decisions"] * 3
    verdicts = ("killed", "survived", "timeout", "killed", "killed", "killed")
    rows = [
        {"mutant": str(replace(m, path=m.path.relative_to(ROOT))), "verdict": verdict}
        for m, verdict in zip(sample, verdicts, strict=True)
    ]
    text = report(rows, folders, 0)
    assert "seed 0, 6 mutants drawn" in text
    assert "logic/gcq    66.7%  2 of 3" in text
    assert "decisions   100.0%  3 of 3" in text
    assert text.endswith(f"survivors\n  survived: {rows[1]['mutant']}\n")


def test_the_parts_are_the_whole_package_and_a_module_is_one() -> None:
    modules = [path for part in parts(ROOT) for path in modules_of(ROOT, part)]
    assert sorted(modules) == sorted((ROOT / "cerlab").rglob("*.py"))
    assert modules_of(ROOT, "rows/syntax.py") == [ROOT / "cerlab/rows/syntax.py"]
    rows = [{"mutant": "cerlab/budget.py:6:12: a  ->  b", "verdict": "killed"}]
    assert "budget.py   100.0%  1 of 1" in report(rows, ["budget.py"], 0)


def test_the_exit_status_is_that_of_the_share_of_detected_mutants(
    repository: Path, by_text: dict[str, Mutant]
) -> None:
    """All verdicts are in the output already, so that no test runs."""
    output = repository / "all.ndjson"
    survivor, *killed = by_text.values()
    verdicts = {str(survivor): "survived", **{str(mutant): "killed" for mutant in killed}}
    rows = [{"mutant": mutant, "verdict": verdict} for mutant, verdict in verdicts.items()]
    output.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    command = ["--root", str(repository), "-o", str(output)]
    assert len(rows) == 9
    assert main(command) == 1
    assert main([*command, "--least", "0.89"]) == 1
    assert main([*command, "--least", "0.88"]) == 0


@pytest.mark.services  # a process for each
def test_a_mutant_is_judged_by_its_tests(repository: Path, by_text: dict[str, Mutant]) -> None:
    tests = ["test_part.py::test_inside"]
    verdict, test = judge(by_text["not a < b"], repository, tests, CPU_SECONDS)
    assert verdict == "killed"
    assert "test_inside" in test
    assert judge(by_text["a < b"], repository, tests, CPU_SECONDS) == ("survived", "")
    assert judge(by_text["a < b"], repository, [], CPU_SECONDS) == ("uncovered", "")
    assert (repository / "cerlab/part.py").read_text(encoding="utf-8") == MODULE


@pytest.mark.services  # a process for each
def test_a_session_judges_functions_in_forks(repository: Path, by_text: dict[str, Mutant]) -> None:
    """Code outside functions is judged in a new process; a test that never passes has no say."""
    session = Judge(repository)
    inside, never, limit = (f"test_part.py::test_{name}" for name in ("inside", "never", "limit"))
    verdict, test = session(by_text["not a < b"], [inside], CPU_SECONDS, False)
    assert verdict == "killed"
    assert f"FAILED {inside} - ValueError" in test
    assert session(by_text["a < b"], [inside], CPU_SECONDS, False) == ("survived", "")
    assert session(by_text["a < b"], [never, inside], CPU_SECONDS, False) == ("survived", "")
    assert session(by_text["a < b"], [], CPU_SECONDS, False) == ("uncovered", "")
    assert session(by_text["7"], [inside], CPU_SECONDS, True) == ("survived", "")
    assert session(by_text["7"], [limit], CPU_SECONDS, True)[0] == "killed"
    assert (repository / "cerlab/part.py").read_text(encoding="utf-8") == MODULE
    session.close()


KERNELS = """
import os


def twice(n):
    return n * 2


without_jit = os.environ.get("NUMBA_DISABLE_JIT") == "1"
called = twice if without_jit else lambda n: 2 * n
"""
"""A kernel, which is machine code unless Numba is off."""


@pytest.mark.services  # a process for each
def test_kernels_are_judged_by_themselves_and_as_they_stand_there(repository: Path) -> None:
    (repository / "cerlab" / "kernels.py").write_text(KERNELS, encoding="utf-8")
    test = "from cerlab.kernels import called\n\n\ndef test_called():\n    assert called(3) == 6\n"
    (repository / "test_part.py").write_text(test, encoding="utf-8")
    option = "def pytest_addoption(parser):\n    parser.addoption('--profile')\n"
    (repository / "conftest.py").write_text(option, encoding="utf-8")
    options = ("--root", repository, "--folders", "", "--tests", "test_part.py", "--count", "99")
    verdicts: dict[str, dict[str, str]] = {}
    for name, more in (("all", ()), ("kernels", ("--kernels",))):
        output = repository / f"{name}.ndjson"
        command = [sys.executable, "-m", "proofs_tests.mutation", *map(str, options), *more]
        subprocess.run([*command, "-o", output], cwd=ROOT, capture_output=True, check=False)
        verdicts[name] = {row["mutant"]: row["verdict"] for row in read(output)}
    assert {mutant.partition(":")[0] for mutant in verdicts["all"]} == {"cerlab/part.py"}
    assert {mutant.partition(":")[0] for mutant in verdicts["kernels"]} == {"cerlab/kernels.py"}
    assert verdicts["kernels"]["cerlab/kernels.py:6:12: n * 2  ->  (n + 2)"] == "killed"


def test_two_edits_of_one_line_are_two(tmp_path: Path) -> None:
    (tmp_path / "part.py").write_text("PAIR = (0, 0)\n", encoding="utf-8")
    assert len({str(mutant) for mutant in mutants(tmp_path / "part.py")}) == 2


def test_a_coverage_without_tests_is_refused(tmp_path: Path) -> None:
    """Else every mutant would be one that no test runs."""
    data = CoverageData(str(tmp_path / ".coverage"))
    data.add_lines({str(tmp_path / "cerlab" / "part.py"): [1, 3]})
    data.write()
    with pytest.raises(SystemExit, match="names no test"):
        Covering(tmp_path / ".coverage", tmp_path)
