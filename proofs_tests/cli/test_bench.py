"""`cerlab bench`: measured rows with ratios; no seconds are asserted here."""

from __future__ import annotations

import json

import pytest

import cerlab
from cerlab.bench.queries import LENGTHS, QUICK, catalogue
from cerlab.cli import main
from cerlab.logic.cel.syntax import Atom, subformulas


def test_rows_have_ratios_and_true_counts(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--events", "4000", "--runs", "1", "--format", "ndjson", "--queries", "S3,S3' x2"]
    assert main(["bench", *arguments, "--against", "tecs", "--prefix", "500"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["query"] for row in rows] == ["S3", "S3' x2"]
    for row in rows:
        assert row["events"] == 4000
        assert row["events_per_second"] > 0
        assert row["of_predicate_stage"] > 0
        assert row["against_tecs"] > 0
    stream = cerlab.Stream(cerlab.io.synthetic.stocks(4000))
    assert rows[0]["answers"] == cerlab.count(catalogue()["S3"], stream)
    assert rows[1]["answers"] == 0, "its last event never occurs"


def test_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--events", "500", "--runs", "1", "--queries", "Q1"]) == 0
    assert "Q1" in capsys.readouterr().out


def test_the_catalogue_is_that_of_the_paper() -> None:
    """Appendices D and G (CORE App. D; CORE App. G)."""
    known = catalogue()
    assert set(QUICK) <= set(known)
    for n in LENGTHS:
        for name, steps in ((f"S{n}", n), (f"S{n}'", n + 1)):
            phi = cerlab.parse_query(known[name]).formula
            assert sum(isinstance(psi, Atom) for psi in subformulas(phi)) == steps
    for n in range(1, 8):
        query = cerlab.parse_query(known[f"Q{n}"])
        assert bool(query.ast.partition) is (n in (3, 6))


def test_an_unknown_query_has_a_hint(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--queries", "S33"]) == 2
    assert "CER0816" in capsys.readouterr().err
