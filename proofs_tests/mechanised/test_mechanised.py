"""Proofs in Coq are checked and assume nothing; the evaluator extracted from them is compared."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from cerlab.fuzz import CEL, FEATURES, engine, fuzz
from cerlab.testing import ATTRIBUTES, SMALL, Shape
from proofs_tests.suite import Suite

HERE = Path(__file__).parent
MISSING = [tool for tool in ("coqc", "ocamlfind", "make") if shutil.which(tool) is None]
needs_coq = pytest.mark.skipif(
    bool(MISSING), reason=f"not installed: {', '.join(MISSING)} (Debian: apt-get install coq)"
)


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
    assert sum(text.count("\n") for text in definitions) < 400
    assert statements.count("\n") < 100
    for text in [*definitions, statements]:
        assert not re.search(r"^ *(Theorem|Lemma|Proof)", text, flags=re.M)


def test_every_statement_has_a_theorem_whose_assumptions_are_printed() -> None:
    statements = (HERE / "theorems" / "Statements.v").read_text()
    theorems = (HERE / "theorems" / "Theorems.v").read_text()
    stated = re.findall(r"^Definition (\w+) : Prop", statements, flags=re.M)
    proved = re.findall(r"^Theorem (\w+) : (\w+)\.", theorems, flags=re.M)
    assert [statement for _, statement in proved] == stated
    assert re.findall(r"^Print Assumptions (\w+)\.", theorems, flags=re.M) == [n for n, _ in proved]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder, built by `make` from its sources alone."""
    folder = tmp_path_factory.mktemp("mechanised") / "mechanised"
    shutil.copytree(HERE, folder, ignore=shutil.ignore_patterns(*IGNORED))
    made = subprocess.run(["make", "-C", folder], capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    return folder


IGNORED = [line for line in (HERE / ".gitignore").read_text().split() if "/" not in line]


@needs_coq
@pytest.mark.services
def test_the_theorems_assume_nothing(built: Path) -> None:
    theorems = (HERE / "theorems" / "Theorems.v").read_text().count("Print Assumptions")
    printed = (built / "assumptions.txt").read_text().splitlines()
    assert printed == ["Closed under the global context"] * theorems


class Wrong(NamedTuple):
    """A definition with a wrong clause, and the lemma whose proof breaks."""

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


LONG = ("proofs/CompileProofs.v", "proofs/CeaProofs.v")
"""Proofs that Coq checks for half a minute."""


@needs_coq
@pytest.mark.services
@pytest.mark.parametrize("wrong", wrong_definitions(), ids=lambda w: w.name)
def test_a_wrong_definition_breaks_a_proof(
    wrong: Wrong, built: Path, tmp_path: Path, suite: Suite
) -> None:
    if wrong.breaks in LONG and not suite.deep:
        pytest.skip("checking these proofs takes half a minute: left to --profile deep")
    folder = tmp_path / "mechanised"
    shutil.copytree(built, folder)
    path = folder / wrong.file
    text = path.read_text()
    assert text.count(wrong.old) == 1
    path.write_text(text.replace(wrong.old, wrong.new))
    command = ["make", "-C", str(folder), f"{wrong.breaks}o"]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    assert made.returncode
    found = re.search(r'File "\./(.*?)", line (\d+),[^\n]*\nError', made.stderr)
    assert found, made.stderr
    before = (folder / found[1]).read_text().splitlines()[: int(found[2])]
    broken = re.findall(r"^ *(?:Theorem|Lemma|Definition) (\w+)", "\n".join(before), flags=re.M)[-1]
    assert (found[1], broken) == (wrong.breaks, wrong.lemma), made.stderr


@needs_coq
@pytest.mark.services
@pytest.mark.parametrize(
    ("query", "word"),
    [
        ("SELECT * WHERE A WAIT 5 SECONDS", "WAIT"),
        ("SELECT * WHERE (A WITHIN 5 SECONDS) ; B", "WITHIN"),
        ("SELECT * WHERE A{2}", "{"),
        ("SELECT * WHERE A FILTER A[t > 5 SECONDS]", "SECONDS"),
        ("SELECT * WHERE A LIMIT 1", "LIMIT"),
        ("SELECT * WHERE A AS a ; B AS b FILTER 2 * a.v < b.v", "a number"),
    ],
)
def test_what_the_judge_does_not_read_is_refused_by_name(
    query: str, word: str, built: Path
) -> None:
    question = json.dumps({"query": query, "events": [{"type": "A", "t": 1}]}) + "\n"
    judge = [f"{built}/judge"]
    said = subprocess.run(judge, input=question, capture_output=True, text=True, check=True)
    assert json.loads(said.stdout)["refused"].startswith(f"{word} ")


TAKING = (";", ":", "+", ":+", "OR", "AND", "AS", "FILTER", "RENAME", ">")
"""Operators whose answers take their first and their last event."""


@needs_coq
@pytest.mark.services
@pytest.mark.parametrize(
    ("judge", "takes", "shape"),
    [
        ("judge", FEATURES, SMALL),
        ("judge", FEATURES, ATTRIBUTES),
        ("judge tecs", (*CEL, "SELECT"), SMALL),
        ("judge strategies", (*TAKING, "STRICT", "NEXT", "LAST", "MAX"), SMALL),
    ],
    ids=["few values", "all values", "tecs", "strategies"],
)
def test_the_extracted_judge_agrees_with_the_reference(
    judge: str, takes: tuple[str, ...], shape: Shape, built: Path, suite: Suite
) -> None:
    cases = max(200, suite.profile.cases(50_000))  # the first ones show what the judge refuses
    with engine(f"{built}/{judge}", seconds=60) as child:
        summary = fuzz(child, cases=cases, seed=7, takes=frozenset(takes), shape=shape)
    assert summary.difference is None, summary.difference
    assert not summary.doubt, summary.doubt
