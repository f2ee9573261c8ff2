"""``python -m proofs_tests.where``: the tests that run a module or a name, from a recorded run."""

from __future__ import annotations

from pathlib import Path

import pytest
from coverage import CoverageData

from proofs_tests.where import ROOT, main, places_of

MODULE = ROOT / "cerlab" / "computed.py"


@pytest.fixture
def recorded(tmp_path: Path) -> list[str]:
    """A run in which one test ran a class of the module, and another one line of it."""
    ((_, lines),) = places_of("cached_property")
    data = CoverageData(str(tmp_path / "coverage"))
    for test, run in (("test_all[1]", lines), ("test_all[2]", lines), ("test_one", [lines[-1]])):
        data.set_context(f"proofs_tests/test_x.py::{test}|run")
        data.add_lines({str(MODULE): list(run)})
    data.write()
    return ["--coverage", str(tmp_path / "coverage")]


@pytest.mark.parametrize("word", ["cached_property", "cerlab.computed", "cerlab/computed.py"])
def test_tests_of_a_word(
    word: str, recorded: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([word, *recorded]) == 0
    first, *tests = capsys.readouterr().out.splitlines()
    assert first.startswith("cerlab/computed.py:")
    assert first.endswith(": 2 tests, 3 cases")
    assert [line.split("::")[1] for line in tests] == ["test_one", "test_all  (2 cases)"]


def test_what_no_test_runs(recorded: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["KeyCodes.code", *recorded]) == 1
    assert "0 tests" in capsys.readouterr().out


@pytest.mark.parametrize("words", [["NoSuchName"], ["computed", "--coverage", "not there"]])
def test_other_words_are_refused(words: list[str], recorded: list[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main([*recorded, *words])
    assert stop.value.code == 2
