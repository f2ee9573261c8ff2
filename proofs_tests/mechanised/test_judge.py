"""The evaluator extracted from the proofs in Coq agrees with the reference."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from cerlab.fuzz import CEL, FEATURES, engine, fuzz
from cerlab.testing import ATTRIBUTES, SMALL, Shape
from proofs_tests.mechanised.build import build, needs_coq
from proofs_tests.suite import Suite

pytestmark = [needs_coq, pytest.mark.services]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Extract the judge, which needs no proof."""
    return build(tmp_path_factory.mktemp("judge"), "judge")


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
    with engine(f"{built}/{judge}", seconds=600) as child:
        summary = fuzz(child, cases=cases, seed=7, takes=frozenset(takes), shape=shape)
    assert summary.difference is None, summary.difference
    assert not summary.doubt, summary.doubt
