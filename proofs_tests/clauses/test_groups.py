"""Conditions on groups: how their texts are read, what is an error, and what gets a warning.

Hand-computed answers are in ``cerlab/conformance/cases/groups.json``.
"""

from __future__ import annotations

from typing import Any

import pytest

import cerlab

READ = [
    ("A FILTER COUNT(A) > 1", "A FILTER count ( A ) > 1"),
    ("A FILTER 1 < count(DISTINCT A.v)", "A FILTER 1 < COUNT(distinct A.v)"),
    ("A FILTER (COUNT(A) > 1)", "A FILTER COUNT(A) > 1"),
    ("A FILTER (SUM(A.v) + 1) > 1", "A FILTER SUM(A.v) + 1 > 1"),
    ("A FILTER A.v > 5+ COUNT(A)", "A FILTER (A.v > 5 + COUNT(A))"),
    ("A FILTER A.v > 5+ max(A.v)", "A FILTER (A.v > 5 + MAX(A.v))"),
    ("A FILTER A.v > 5+ ; B", "(A FILTER A[v > 5])+ ; B"),
    ("A FILTER A.v > 5+ AND (B)", "(A FILTER A[v > 5])+ AND B"),
    ("A FILTER COUNT(A) > 5+ ; B", "(A FILTER COUNT(A) > 5)+ ; B"),
    ("A FILTER A[p > 1] AND MAX(B)", "(A FILTER A[p > 1]) AND MAX(B)"),
    ("A FILTER A[p > 1] AND LAST(B ; C)", "(A FILTER A[p > 1]) AND LAST(B ; C)"),
    ("A FILTER A[p > 1] OR MAX(S>R)", "(A FILTER A[p > 1]) OR MAX(S>R)"),
    ("A FILTER A[p > 1] AND MAX(A.p) > 2", "A FILTER (A[p > 1] AND MAX(A.p) > 2)"),
    ("A FILTER A[p > 1] OR (LAST(A.p) > 2)", "A FILTER (A[p > 1] OR LAST(A.p) > 2)"),
    ("A FILTER A[p > 1] AND COUNT(A) = 1", "A FILTER (A[p > 1] AND COUNT(A) = 1)"),
    ("A FILTER COUNT(distinct) > 1", "A FILTER COUNT(`distinct`) > 1"),
    ("A FILTER COUNT(DISTINCT distinct.v) > 1", "A FILTER COUNT(DISTINCT`distinct`.v) > 1"),
    ("COUNT AS sum ; PREV FILTER avg.first > 1", "(COUNT AS sum ; PREV) FILTER avg[first > 1]"),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:CER090")
@pytest.mark.parametrize(("text", "other"), READ)
def test_how_texts_are_read(text: str, other: str) -> None:
    assert cerlab.parse_formula(text) == cerlab.parse_formula(other)


def test_a_call_that_nothing_compares_is_a_user_predicate() -> None:
    @cerlab.predicate
    def count(events: list[object]) -> bool:
        return len(events) == 2

    events = [{"type": "A"}] * 2
    for text in (
        "count(a)",
        "(count(a))",
        "count(a) AND COUNT(a) = 2",
        "COUNT(a) = 2 AND count(a)",
    ):
        answers = cerlab.evaluate(f"A+ AS a FILTER {text}", events, evaluator="reference")
        assert [answer.positions for answer in answers] == [(0, 1)]


ERRORS = [
    ("COUNT(*) > 3", "CER0244", "write COUNT(x)"),
    ("COUNT(a.v) > 3", "CER0244", "write COUNT(a), or COUNT(DISTINCT a.v)"),
    ("COUNT(DISTINCT a) > 3", "CER0244", "or COUNT(DISTINCT a.price) of a label a"),
    ("SUM(DISTINCT a.v) > 3", "CER0244", "write SUM(a.v)"),
    ("SUM(a) > 3", "CER0244", "write SUM(a.price)"),
    ("PREV(a) > 3", "CER0244", "write PREV(a.price)"),
    ("MAX(a.v, 3) > 3", "CER0244", "write MAX(a.v)"),
    ("FIRST(3) > 3", "CER0244", "write FIRST(x.price)"),
    ("COUNT(DISTINCT a.v)", "CER0244", "write COUNT(DISTINCT a.v) >= 3"),
    ("SUM(a.v)", "CER0244", "write SUM(a.v) >= 3"),
    ("smooth(a.v) > 3", "CER0244", "known: COUNT, SUM, AVG, MIN, MAX, FIRST, LAST, PREV"),
    ("datediff(a.v, a.w) > 3", "CER0244", "times are compared"),
    ("SUM(MAX(a.v)) > 3", "CER0101", "functions cannot be nested"),
    ("COUNT(SUM(a.v)) > 3", "CER0101", "functions cannot be nested"),
    ("a[COUNT(a) > 3]", "CER0101", "write FILTER COUNT(a) > 3"),
    ("a[v > MAX(a.v)]", "CER0101", "write FILTER MAX(a.price) > 3"),
    ("(COUNT(a)) > 3", "CER0101", ""),
    ("3 > 2", "CER0243", "COUNT(a) >= 3"),
]


@pytest.mark.parametrize(("condition", "code", "hint"), ERRORS)
def test_errors(condition: str, code: str, hint: str) -> None:
    with pytest.raises(cerlab.CerlabError, match=code) as caught:
        cerlab.parse_formula(f"A+ AS a FILTER {condition}")
    assert hint in (caught.value.hint or "")


def test_one_event_that_is_not_has_no_group() -> None:
    with pytest.raises(cerlab.IllFormed, match="CER0244") as caught:
        cerlab.parse_formula("NOT(A FILTER A[v > 1] AND COUNT(A) = 1)")
    assert "NOT(A FILTER A[price > 3])" in (caught.value.hint or "")


WARNED = [
    ("COUNT(b) = 0", "COUNT(b) is 0; known: a"),
    ("COUNT(DISTINCT b.v) = 0", "COUNT(DISTINCT b.v) is 0; known: a"),
    ("SUM(b.v) > 0", "SUM(b.v) is nothing, with which nothing compares; known: a"),
    ("FIRST(b.v) > COUNT(b)", "COUNT(b) is 0 and FIRST(b.v) is nothing, with"),
    ("b.v > MIN(b.v)", "this filter always holds"),
    ("PREV(b.v) > 3", "this filter always holds"),
]  # fmt: skip


@pytest.mark.parametrize(("condition", "text"), WARNED)
def test_a_label_that_nothing_sets_gets_a_warning(condition: str, text: str) -> None:
    with pytest.warns(cerlab.CerlabWarning, match="CER0901") as said:
        cerlab.parse_query(f"SELECT * WHERE A AS a FILTER {condition}")
    assert f"nothing sets label 'b', so {text}" in str(said[0].message)


SCHEMA = """CREATE STREAM S {
    EVENT A { name:string, price:double, at:timestamp, long:duration }, EVENT B { name:int } }"""

BY_TYPE = [
    ("SUM(a.price) > 3", None),
    ("SUM(a.long) > 3 SECONDS", None),
    ("SUM(a.name) > 3", "SUM(a.name) has no value: name is text"),
    ("AVG(a.at) > TIMESTAMP '2024-01-31'", "AVG(a.at) has no value: at is timestamp"),
    ("SUM(x.name) > 3", None),
    ("COUNT(DISTINCT a.name) > 3", None),
    ("COUNT(a) > 'three'", "COUNT(a) > 'three' can never hold: it compares number with text"),
    ("MIN(a.name) > 3", "MIN(a.name) > 3 can never hold: it compares text with number"),
    ("a.price > PREV(a.name)", "a.price > PREV(a.name) can never hold: it compares number with"),
    ("SUM(a.long) > 3", "SUM(a.long) > 3 can never hold: it compares duration with number"),
    ("FIRST(a.colour) = 1", "unknown attribute 'colour'"),
]


@pytest.mark.parametrize(("condition", "message"), BY_TYPE)
def test_types_of_a_schema(condition: str, message: str | None) -> None:
    text = f"SELECT * WHERE (A+ AS a OR B) AS x FILTER {condition}"
    if message is None:
        cerlab.parse_query(text, SCHEMA)
        return
    with pytest.raises(cerlab.TypeMismatch) as caught:
        cerlab.parse_query(text, SCHEMA)
    assert message in caught.value.message


@pytest.mark.parametrize("operand", ["COUNT(x)", "SUM(x.v)", "PREV(x.v)", "LAST(x.v)"])
@pytest.mark.parametrize("evaluator", ["auto", "reference", "registers"])
def test_first_order_logic_has_no_groups(operand: str, evaluator: Any) -> None:
    with pytest.raises(cerlab.Unsupported) as caught:
        cerlab.evaluate(
            f"A AS x FILTER {operand} > 1", [{"type": "A"}], logic="fo", evaluator=evaluator
        )
    assert f"FO-CEL has no {operand}" in caught.value.message


def test_why_shows_the_value_and_what_it_is_made_of() -> None:
    users = [{"type": "L", "user": user} for user in ("ana", "bob", "ana")]
    text = "L+ AS a FILTER COUNT(DISTINCT a.user) >= 3"
    assert "COUNT(DISTINCT a.user) is 2: ana, bob" in str(cerlab.why(text, users, [0, 1, 2]))
    prices = [{"type": "L", "p": p} for p in (1, 3, 2)]
    text = "L+ AS a FILTER a.p > PREV(a.p)"
    assert "a.p 2 at 2, PREV(a.p) 3 at 1" in str(cerlab.why(text, prices, [0, 1, 2]))
