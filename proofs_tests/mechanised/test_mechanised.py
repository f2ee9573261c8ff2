"""Proofs in Coq are checked, and assume nothing."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from cerlab.conformance import cases
from cerlab.conformance.run import FEATURES, ON_DEMAND, Mark, judge_engine
from proofs_tests.mechanised.build import HERE, build, needs_coq
from proofs_tests.mechanised.judge import Judge


def sources(folder: str = "*") -> list[Path]:
    return sorted(HERE.glob(f"{folder}/*.v"))


def without_comments(text: str) -> str:
    return re.sub(r"\(\*.*?\*\)", "", text, flags=re.S)


def test_no_claim_is_assumed() -> None:
    words = r"\b(Admitted|admit|Axiom|Axioms|Parameter|Parameters|Conjecture|give_up|Abort)\b"
    assert not {p.name for p in sources() if re.search(words, without_comments(p.read_text()))}


def test_definitions_and_statements_are_short_and_apart_from_proofs() -> None:
    """A reader has to agree with definitions; constructions are proved right."""
    definitions = [p.read_text() for p in sources("definitions")]
    statements = (HERE / "theorems" / "Statements.v").read_text()
    assert sum(text.count("\n") for text in definitions) < 600
    assert statements.count("\n") < 200
    for text in [*definitions, statements]:
        assert not re.search(r"^ *(Theorem|Lemma|Proof)", text, flags=re.M)


def test_every_statement_has_a_theorem_whose_assumptions_are_printed() -> None:
    statements = (HERE / "theorems" / "Statements.v").read_text()
    theorems = (HERE / "theorems" / "Theorems.v").read_text()
    stated = re.findall(r"^Definition (\w+) : Prop", statements, flags=re.M)
    proved = re.findall(r"^Theorem (\w+) : (\w+)\.", theorems, flags=re.M)
    assert [statement for _, statement in proved] == stated
    assert re.findall(r"^Print Assumptions (\w+)\.", theorems, flags=re.M) == [n for n, _ in proved]


def test_the_project_lists_each_file_once() -> None:
    listed = re.findall(r"^\S+\.v$", (HERE / "_CoqProject").read_text(), flags=re.M)
    folders = ("definitions", "constructions", "proofs", "theorems")
    there = [str(path.relative_to(HERE)) for folder in folders for path in sources(folder)]
    assert sorted(listed) == sorted(there)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Check all proofs."""
    return build(tmp_path_factory.mktemp("proofs"), "assumptions.txt")


@needs_coq
@pytest.mark.services
def test_the_theorems_assume_nothing(built: Path) -> None:
    theorems = (HERE / "theorems" / "Theorems.v").read_text().count("Print Assumptions")
    printed = (built / "assumptions.txt").read_text().splitlines()
    assert printed == ["Closed under the global context"] * theorems


class Wrong(NamedTuple):
    """A definition with a wrong clause, and the lemma whose proof breaks, or the judge."""

    name: str
    file: str
    old: str
    new: str
    breaks: str
    lemma: str


def theorem_of_row(line: str) -> str | None:
    """The theorem that a row of the ledger's table of proofs names."""
    row = re.fullmatch(r"\| [^|]+ \| `(\w+)` \| [^|]+ \|", line)
    return row and row[1]


def test_the_ledger_names_every_theorem() -> None:
    text = (HERE.parent / "THEOREMS.md").read_text().split("## Proved in Coq")[1]
    theorems = (HERE / "theorems" / "Theorems.v").read_text()
    named = {name for line in text.splitlines() if (name := theorem_of_row(line))}
    assert named == set(re.findall(r"^Theorem (\w+)", theorems, flags=re.M))


def wrong_definitions() -> Iterator[Wrong]:
    text = (HERE / "wrong_definitions.txt").read_text()
    for block in text.split("== ")[1:]:
        name, file, old, new, where = block.strip("\n").split("\n")
        yield Wrong(name, file, old, new, *where.split(": "))


LONG = ("proofs/CompileProofs.v", "proofs/CeaProofs.v", "proofs/SelectedProofs.v", "judge")
"""Proofs that Coq checks for half a minute, and the judge, which answers the whole suite."""


def wrong_cases(folder: Path) -> list[str]:
    """Return the cases of the conformance suite that the judge in a folder answers wrongly."""
    subprocess.run(["make", "-C", str(folder), "judge"], capture_output=True, check=True)
    judge = Judge(folder / "judge")
    takes = frozenset(FEATURES) - set(ON_DEMAND)
    try:
        judged = judge_engine(list(cases()), judge, takes, frozenset(("cel", "ceql")))
        return [each.case.id for each in judged if each.mark is Mark.WRONG]
    finally:
        judge.stop()


@needs_coq
@pytest.mark.services
@pytest.mark.filterwarnings("ignore::cerlab.errors.CerlabWarning")  # of the suite's queries
@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(each, id=each.name, marks=[pytest.mark.long] if each.breaks in LONG else [])
        for each in wrong_definitions()
    ],
)
def test_a_wrong_definition_breaks_a_proof(wrong: Wrong, built: Path, tmp_path: Path) -> None:
    folder = tmp_path / "mechanised"
    shutil.copytree(built, folder)
    path = folder / wrong.file
    text = path.read_text()
    assert text.count(wrong.old) == 1
    path.write_text(text.replace(wrong.old, wrong.new))
    if wrong.breaks == "judge":
        assert wrong_cases(folder)
        return
    command = ["make", "-C", str(folder), f"{wrong.breaks}o"]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    assert made.returncode
    found = re.search(r'File "\./(.*?)", line (\d+),[^\n]*\nError', made.stderr)
    assert found, made.stderr
    before = (folder / found[1]).read_text().splitlines()[: int(found[2])]
    broken = re.findall(r"^ *(?:Theorem|Lemma|Definition) (\w+)", "\n".join(before), flags=re.M)[-1]
    assert (found[1], broken) == (wrong.breaks, wrong.lemma), made.stderr
