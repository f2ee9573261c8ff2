"""The search of the manual: American spellings find the pages, which have British ones."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"

BRITISH = {
    "determinization": "determinisation",
    "labeled": "labelled",
    "labeling": "labelling",
    "behavior": "behaviour",
    "color": "colour",
    "optimized": "optimised",
    "catalog": "catalogue",
    "center": "centre",
    "analyze": "analyse",
}


@pytest.mark.parametrize("american", BRITISH)
def test_a_british_word_is_in_the_index_by_its_american_spelling(
    american: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(DOCS))
    split = import_module("extensions.spelling").split
    from sphinx.search.en import SearchEnglish

    assert split(SearchEnglish({}), BRITISH[american]) == [BRITISH[american], american]
    assert re.search(r"^SearchEnglish.split = split\b", (DOCS / "conf.py").read_text(), re.M)


@pytest.mark.filterwarnings("ignore::cerlab.CerlabWarning")
def test_the_symbols_of_the_papers_are_texts_that_parse() -> None:
    import cerlab

    table = (DOCS / "reference" / "glossary.md").read_text("utf-8").partition("as text")[2]
    formulas = [
        cell
        for row in table.splitlines()
        if row.startswith("| `")
        for cell in re.findall(r"`([^`]*)`", row.split(" | ")[1])
        if re.match(r"[A-Z(]\w*", cell) and not re.match(r"(AND|OR|NOT|IN)\b|SELECT x", cell)
    ]
    assert len(formulas) > 10
    for text in formulas:
        cerlab.parse_query(text)
