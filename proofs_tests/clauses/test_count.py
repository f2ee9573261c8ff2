"""Counts phi{n}, phi{n,}, phi{n,m}, contiguous phi:{n} ..: so many times, labels united."""

from __future__ import annotations

import pytest

import cerlab
from cerlab import ComplexEvent, IllFormed, budget
from proofs_tests.clauses.tables import (
    word,
)
from proofs_tests.limits.calls import at_most_calls


@pytest.mark.parametrize("count", ["{1}", "{2}", "{1,}", "{1,3}"])
def test_in_fo_cel_a_count_binds_nothing_outside(count: str) -> None:
    with pytest.raises(IllFormed, match="CER0230"):
        cerlab.evaluate(f"(A AS x){count} FILTER x[v = 1]", word("AA", v="11"), logic="fo")


def test_contiguous_counts_are_not_in_fo_cel() -> None:
    with pytest.raises(cerlab.Unsupported, match=r":\{2\}"):
        cerlab.evaluate("A:{2}", word("AA"), logic="fo")


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("A{0}", r"write \{1,\}, and OR for without, as in B OR \(A\{1,\} ; B\)"),
        ("A{0,}", r"write \{1,\}, and OR"),
        ("A{0,3}", r"write \{1,3\}, and OR for without, as in B OR \(A\{1,3\} ; B\)"),
        ("A{,3}", r"write \{1,3\}, and OR"),
        ("A:{,3}", r"write :\{1,3\}, and OR"),
        ("A:{0}", r"write :\{1,\}, and OR"),
        ("A{3,2}", r"the smaller number comes first: \{2,3\}"),
        ("A:{5,1}", r"the smaller number comes first: :\{1,5\}"),
        ("A{2}{0}", r"write \{1,\}"),
    ],
)
def test_counts_begin_at_one_and_the_smaller_number_comes_first(text: str, hint: str) -> None:
    with pytest.raises(IllFormed, match="CER0212") as error:
        cerlab.parse_formula(text)
    assert error.match(hint)


@pytest.mark.parametrize("text", ["A{2..3}", "A{2", "A{1.5}", "A{1 2}", "A{1,2,3}"])
def test_other_bounds_are_told_how_counts_are_written(text: str) -> None:
    with pytest.raises(cerlab.QuerySyntaxError, match=r"A\{2\}, A\{2,\} or A\{2,5\}"):
        cerlab.parse_formula(text)


@pytest.mark.parametrize(
    "text",
    ["A{1000000000000}", "A{1000}{1000}", "((A OR B){99}{99} ; C){99,}", "A{5,100000000}"],
)
def test_more_copies_than_the_budget_are_refused_at_once(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(budget, "STEPS", 20_000)
    with at_most_calls(50 * 20_000), pytest.raises(cerlab.ResourceLimit, match="CER0605"):
        cerlab.evaluate(text, word("AB"), evaluator="automaton")
    assert cerlab.evaluate(text, word("AB"), evaluator="reference") == []


def test_braces_stand_where_they_stood() -> None:
    """Declarations and sets of values have braces, too."""
    text = """CREATE STREAM S { EVENT A { v:int }, EVENT B { v:int } }
        SELECT * WHERE A{2} FILTER A[v IN {1..3}] AND A[v IN {2, 3}] ; B:{2,} WITHIN 9 EVENTS"""
    query = cerlab.parse_query(text)
    events = word("AABB", v="2300")
    assert cerlab.evaluate(query, events) == [ComplexEvent(0, 3, (0, 1, 2, 3))]
    assert cerlab.parse_query(str(query.ast)).ast == query.ast
