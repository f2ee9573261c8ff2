"""Citations and the ledger agree: each cited place is listed, each one called done is there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from cerlab.papers import CITATION, PAPERS, citations

ROOT = Path(__file__).parents[1]


class Row(NamedTuple):
    """A row of a table of the ledger."""

    key: str
    statement: str
    status: str
    code: str
    test: str
    judged: str
    note: str


def rows() -> list[Row]:
    all_rows = []
    for line in (ROOT / "proofs_tests" / "THEOREMS.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
        if len(cells) == len(Row._fields) and CITATION.fullmatch(cells[0]):
            all_rows.append(Row(*cells))
    return all_rows


ROWS = rows()
KEYS = {row.key for row in ROWS}


def places_of_citations() -> dict[str, list[str]]:
    places: dict[str, list[str]] = {}
    for folder in ("cerlab", "proofs_tests"):
        for path in (ROOT / folder).rglob("*.py"):
            for key in citations(path.read_text()):
                places.setdefault(key, []).append(str(path.relative_to(ROOT)))
    return places


def test_the_ledger_lists_all_papers() -> None:
    assert len(ROWS) > 200
    assert {key.split()[0] for key in KEYS} == set(PAPERS)
    assert {row.status for row in ROWS} <= {"done", "open", "none"}


def test_every_citation_is_in_the_ledger() -> None:
    unknown = {key: places for key, places in places_of_citations().items() if key not in KEYS}
    assert not unknown


def test_what_is_done_is_cited_somewhere() -> None:
    places = places_of_citations()
    assert not {row.key for row in ROWS if row.status == "done"} - set(places)


@pytest.mark.parametrize("row", [r for r in ROWS if r.status == "done"], ids=lambda r: r.key)
def test_what_is_done_names_code_and_test_that_are_there(row: Row) -> None:
    (code,) = re.findall(r"`([^`]+)`", row.code)
    (test,) = re.findall(r"`([^`]+)`", row.test)
    assert (ROOT / "cerlab" / code).exists()
    assert (ROOT / "proofs_tests" / test).exists()


JUDGEMENTS = {"random", "all", "hand", "counted", "definition"}


def test_every_row_says_what_its_test_would_go_red_by() -> None:
    """A proof by random cases has a random suite, or draws them by seeds."""
    for row in ROWS:
        assert row.judged in (JUDGEMENTS if row.status == "done" else {"-"}), row
        if row.judged == "random":
            text = (ROOT / "proofs_tests" / row.test.strip("`")).read_text()
            assert re.search(r"suite\.run\(|@random_suite|for seed in|Random\(", text), row
    assert sum(row.judged == "definition" for row in ROWS) <= 12


def test_what_no_test_can_show_has_a_reason() -> None:
    assert all(len(row.note) > 3 for row in ROWS if row.status == "none")
