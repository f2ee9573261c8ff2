"""Comparisons between labels on registers, by hand: registers that are kept, and refusals."""

from __future__ import annotations

import re
from itertools import combinations_with_replacement
from typing import Any

import pytest

import cerlab
from cerlab import parse_formula, parse_query
from cerlab.compile.correlated_to_srt import correlated_to_srt, why_not
from cerlab.compile.pattern import as_pattern
from cerlab.engine.registers.evaluation import RegisterEvaluation
from proofs_tests.clauses.tables import word


@pytest.mark.parametrize("op", ["<", "<=", ">", ">=", "="])
@pytest.mark.parametrize("odd", [None, float("nan"), "text", True])
def test_one_value_that_does_not_compare_fails_all_pairs(op: str, odd: Any) -> None:
    """Wherever it comes among the iterated events, and though the extremes would satisfy."""
    for place in range(3):
        values = [1, 1, 1]
        values[place] = odd
        events = [{"type": "A", "v": v} for v in values] + [{"type": "B", "v": 1}]
        text = f"A:+ AS a : B AS b FILTER a.v {op} b.v"
        expected = cerlab.evaluate(text, events, evaluator="reference")
        assert cerlab.evaluate(text, events, evaluator="registers") == expected
        assert all(place not in answer.positions for answer in expected)


ORDERS = {"<": "<", "<=": "<=", "=": "=", ">=": "=>", ">": ">", "!=": "<>"}
"""Orders of two values in which a comparison holds."""


@pytest.mark.parametrize("pair", list(combinations_with_replacement(ORDERS, 2)))
def test_an_answer_of_two_comparisons_that_overlap_is_one(pair: tuple[str, str]) -> None:
    """Runs of both lead to it; answers are counted by runs where the two exclude each other."""
    one, other = pair
    query = f"SELECT * WHERE A AS a ; B AS b FILTER b.v {one} a.v OR b.v {other} a.v"
    events = word("ABBBAB", v="101211")
    expected = cerlab.evaluate(query, events, evaluator="reference")
    for evaluator in ("registers", "compiled"):
        assert cerlab.evaluate(query, events, evaluator=evaluator) == expected
    assert cerlab.count(query, events) == len(expected)
    run = RegisterEvaluation(as_pattern(query).registers, cerlab.Stream.from_events(events))
    assert run.is_unambiguous is (one == other or not set(ORDERS[one]) & set(ORDERS[other]))


REFUSALS = [
    ("(B AS b)+ ; A AS a FILTER b.v != a.v", "CER0491", "'b', which repeats"),
    ("(B AS b)+ ; A AS a FILTER a.v != b.v", "CER0491", "'b', which repeats"),
    ("(A AS a ; B AS b)+ FILTER a.v != b.v", "CER0491", "repeats"),
    ("(A AS a)+ ; (B AS b)+ FILTER a.v != b.v AND a.v < b.v", "CER0491", "'a', which repeats"),
    ("A UNLESS (A AS a ; B AS b FILTER a.v < b.v)", "CER0492", "inside UNLESS"),
    ("NXT(A AS a ; B AS b FILTER a.v < b.v) ; C", "CER0492", "inside NEXT"),
    ("C ; NOT(A FILTER A.v < b.v)", "CER0492", "inside NOT"),
    ("MAX(A AS a ; B AS b) FILTER a.v < b.v", "CER0403", "MAX"),
]


@pytest.mark.parametrize(("formula", "code", "message"), REFUSALS)
@pytest.mark.filterwarnings("ignore::cerlab.CerlabWarning")
def test_what_has_no_transducer_is_refused_by_name(formula: str, code: str, message: str) -> None:
    with pytest.raises(cerlab.Unsupported, match=message) as caught:
        correlated_to_srt(parse_formula(formula))
    assert caught.value.code == code
    assert re.search(r"reference|without evaluator=", caught.value.hint)
    query = parse_query(f"SELECT * WHERE {formula}")
    assert message in (why_not(query.ast) or "")
    events = word("AB", v="12")
    assert cerlab.evaluate(query, events) == cerlab.evaluate(query, events, evaluator="reference")


@pytest.mark.parametrize(
    "formula",
    [
        "(A AS a ; B AS b) AND (A AS a ; B AS b OR C) FILTER a.v < b.v",
        "(A AS a ALL B AS b) FILTER a.v < b.v",
        "(A AS a ; B AS b) UNLESS C FILTER a.v < b.v",
        "STRICT(A AS a ; B AS b) FILTER a.v < b.v",
        "A AS a ; NOT(C) ; B AS b FILTER a.v < b.v",
    ],
)
def test_comparisons_around_other_operators_are_taken(formula: str) -> None:
    events = word("ACBAB", v="11203")
    answers = cerlab.evaluate(formula, events, evaluator="registers")
    assert answers == cerlab.evaluate(formula, events, evaluator="reference")
    assert correlated_to_srt(parse_formula(formula)).R


def test_predicates_over_sets_of_events_are_refused() -> None:
    @cerlab.predicate(name="rising_for_registers")
    def rising(values: list[int]) -> bool:
        return sorted(values) == values

    formula = "A AS a ; B AS b FILTER rising_for_registers(a.v) AND a.v < b.v"
    with pytest.raises(cerlab.Unsupported, match="rising_for_registers"):
        cerlab.evaluate(formula, [], evaluator="registers")


@pytest.mark.long
def test_filters_with_too_many_alternatives_are_refused() -> None:
    either = " AND ".join(f"(a.v = b.v OR a.w{n} = b.w{n})" for n in range(13))
    with pytest.raises(cerlab.ResourceLimit, match="copies"):
        cerlab.evaluate(f"A AS a ; B AS b FILTER {either}", [], evaluator="registers")
