"""What `parse_query` takes beside CEQL, and what a query without an automaton has to show."""

from __future__ import annotations

import pytest

import cerlab
from cerlab import QuerySyntaxError, Unsupported

FORMULAS = ("A ; B", "A+ AS a FILTER a[v > 1]", "MAX(A+)", "(A ; B WITHIN 9 EVENTS)")


@pytest.mark.parametrize("text", FORMULAS)
def test_a_formula_alone_is_a_query(text: str) -> None:
    assert cerlab.parse_query(text).text == cerlab.parse_query(f"SELECT * WHERE {text}").text


@pytest.mark.parametrize(
    "text", ["SELCT * WHERE A", "A ;; B", "", "A ; B WITHIN 9 EVENTS PARTITION"]
)
def test_other_texts_are_refused_as_queries(text: str) -> None:
    with pytest.raises(QuerySyntaxError, match="SELECT"):
        cerlab.parse_query(text)


@pytest.mark.parametrize("part", ["vcea", "cea", "det"])
def test_the_hint_names_the_transducer(part: str) -> None:
    query = cerlab.parse_query("A AS a ; B AS b FILTER a.v < b.v")
    with pytest.raises(Unsupported, match=r"query\.srt"):
        getattr(query, part)
    assert query.srt.states


@pytest.mark.parametrize("package", ["testing", "flinkcep"])
def test_dir_has_public_names_alone(package: str) -> None:
    import cerlab.flinkcep
    import cerlab.testing

    module = getattr(cerlab, package)
    assert dir(module) == sorted(module.__all__)
