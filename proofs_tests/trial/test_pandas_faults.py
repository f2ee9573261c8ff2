"""The faults in the report on pandas-match-recognize: each is there, small, with its clause."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cerlab import parse_rows
from cerlab.rows import syntax as rp

FOLDER = Path(__file__).parents[2] / "examples" / "trial"
REPORT = FOLDER / "pandas-match-recognize" / "trial.json"
FAULTS = [
    ("6.4", "missing", "FIRST(A.x, 2)"),
    ("6.2", "missing", "MEASURES B.t AS m3 ALL ROWS PER MATCH PATTERN (A B)"),
    ("5.5", "missing", "PATTERN (A* B)"),  # once (A*? B) was asked
    ("1.2", "order", "PARTITION BY g PATTERN (A)"),
    ("4.3", "crash", "PATTERN (PERMUTE($, A))"),
    ("4.3", "crash", "PATTERN (PERMUTE(A, ()))"),
    ("6.5", "missing", "PREV(CLASSIFIER(A))"),
    ("6.5", "missing", "NEXT(CLASSIFIER(B))"),
    ("6.11", "missing", "DEFINE C AS x <> 0"),
    ("8.3", "missing", "PATTERN ({- C -})"),
    ("5.2d", "missing", "PATTERN (A | ())"),
]
"""A clause of the specification of row patterns, a verdict, and a part of the smallest case."""


@pytest.mark.parametrize(("clause", "verdict", "part"), FAULTS)
def test_a_fault_is_found_and_small(clause: str, verdict: str, part: str) -> None:
    """Two variables on two rows at most, and the page names the clause."""
    (engine,) = json.loads(REPORT.read_text())["engines"]
    of_it = [c for c in engine["causes"] if part in " ".join(c["query"].split())]
    assert {cause["verdict"] for cause in of_it} == {verdict}
    query, data = parse_rows(of_it[0]["query"]), of_it[0]["data"]
    assert len(rp.variables(query.pattern)) <= 2
    assert len(data) <= 2
    page = (FOLDER / "README.md").read_text().partition("pandas-match-recognize=env")[2]
    assert f"| {clause}" in page.partition("## ")[0]
