"""Comparisons between labels on registers, by hand: registers that are kept, and refusals."""

from __future__ import annotations

from itertools import combinations, combinations_with_replacement
from typing import Any

import pytest

import cerlab
from cerlab import ComplexEvent
from cerlab.api import parse_formula, parse_query
from cerlab.compile.correlated_to_srt import correlated_to_srt, why_not
from cerlab.compile.pattern import as_pattern
from cerlab.engine.registers.evaluation import RegisterEvaluation
from cerlab.model.answer import by_end
from proofs_tests.clauses.tables import c, word


def row(formula: str, types: str, *expected: ComplexEvent, id: str, **values: str) -> Any:
    """A row: a formula, a stream as `word` reads it, its complex events."""
    return pytest.param(formula, word(types, **values), sorted(expected, key=by_end), id=id)


SINGLE = [
    row("A AS a ; B AS b FILTER a.v < b.v", "ABB", c(0, 1, 0, 1), id="less", v="120"),
    row("A AS a ; B AS b FILTER a.v <= b.v", "ABB", c(0, 1, 0, 1), id="less-or-equal", v="110"),
    row("A AS a ; B AS b FILTER a.v > b.v", "ABB", c(0, 2, 0, 2), id="greater", v="120"),
    row("A AS a ; B AS b FILTER a.v >= b.v", "ABB", c(0, 1, 0, 1), id="greater-or-equal", v="112"),
    row("A AS a ; B AS b FILTER a.v = b.v", "ABB", c(0, 2, 0, 2), id="equal", v="121"),
    row("A AS a ; B AS b FILTER a.v != b.v", "ABB", c(0, 1, 0, 1), id="unequal", v="121"),
    row(
        "A AS a ; B AS b FILTER b.v < a.v", "ABB", c(0, 2, 0, 2), id="the-later-one-first", v="120"
    ),
    row("A AS a ; B AS b FILTER a.v != b.v", "AB", id="missing-before", v=".1"),
    row("A AS a ; B AS b FILTER a.v != b.v", "AB", id="missing-after", v="1."),
    row(
        "A AS a : B AS b FILTER a.v = b.w", "AAB", c(1, 2, 1, 2), id="contiguous", v="11.", w="..1"
    ),
    row(
        "(A AS a ; B AS b) OR (B AS b ; A AS a) FILTER a.v < b.v",
        "ABA",
        c(1, 2, 1, 2),
        id="either-order",
        v="321",
    ),
    row(
        "(A AS a OR B AS b) FILTER a.v < b.v",
        "AB",
        c(0, 0, 0),
        c(1, 1, 1),
        id="an-empty-label-holds",
        v="..",
    ),
    row(
        "A AS a AS b FILTER a.v < b.w",
        "AA",
        c(0, 0, 0),
        id="one-event-of-both-labels",
        v="11",
        w="21",
    ),
    row(
        "A AS a ; B AS b FILTER a.type = b.v OR a.v = b.v AND a.w = b.w",
        "ABB",
        c(0, 2, 0, 2),
        id="or-and-and",
        v="111",
        w="121",
    ),
]

PRODUCTS = [
    row(
        "(A AS a ; B AS b FILTER a.v < b.v) AND (A AS a ; B AS b FILTER a.w < b.w)",
        "ABBB",
        c(0, 2, 0, 2),
        id="and",
        v="1221",
        w="2133",
    ),
    row(
        "(A AS a ; B AS b FILTER a.v < b.v) ALL C",
        "ACBB",
        c(0, 3, 0, 1, 3),
        id="all",
        v="2.13",
    ),
    row(
        "(A AS a ; B AS b FILTER a.v < b.v) ALL (A AS a ; B AS b FILTER a.v > b.v)",
        "ABB",
        c(0, 2, 0, 1, 2),
        id="all-with-labels-of-its-own",
        v="213",
    ),
    row(
        "(A AS a ; B AS b FILTER a.v < b.v) UNLESS C",
        "ABCB",
        c(0, 1, 0, 1),
        id="unless",
        v="12.2",
    ),
    row(
        "STRICT(A AS a ; B AS b FILTER a.v < b.v)",
        "AABB",
        c(1, 2, 1, 2),
        id="strict",
        v="1122",
    ),
]

ITERATIONS = [
    row(
        "A AS a ; (B+ AS b) FILTER a.v != b.v",
        "ABBB",
        *(c(0, 1, 0, 1), c(0, 3, 0, 1, 3), c(0, 3, 0, 3)),
        id="each-unequal-to-one-before",
        v="1213",
    ),
    row("(A+ AS a) : B AS b FILTER a.v < b.v", "AAB", c(1, 2, 1, 2), id="the-greatest", v="312"),
    row("A:+ AS a : B AS b FILTER a.v > b.v", "AAB", c(1, 2, 1, 2), id="the-least", v="132"),
    row(
        "A:+ AS a : (B:+ AS b) FILTER a.v = b.v",
        "AABB",
        *(c(0, 2, 0, 1, 2), c(1, 2, 1, 2), c(0, 3, 0, 1, 2, 3), c(1, 3, 1, 2, 3)),
        id="all-equal",
        v="1111",
    ),
    row(
        "A:+ AS a : B AS b FILTER a.v <= b.v",
        "AAB",
        c(1, 2, 1, 2),
        id="a-missing-one-fails",
        v=".11",
    ),
    row(
        "A:+ AS a : (B AS b OR C) FILTER a.v < b.v",
        "AAC",
        *(c(0, 2, 0, 1, 2), c(1, 2, 1, 2)),
        id="missing-ones-hold-without-the-other",
        v="1..",
    ),
    row(
        "(A AS a OR B AS b):+ FILTER a.v < b.v",
        "ABAB",
        *(
            c(0, 0, 0),
            c(0, 1, 0, 1),
            c(0, 2, 0, 1, 2),
            c(0, 3, 0, 1, 2, 3),
            c(1, 1, 1),
            c(1, 2, 1, 2),
            c(1, 3, 1, 2, 3),
            c(2, 2, 2),
            c(2, 3, 2, 3),
            c(3, 3, 3),
        ),
        id="both-iterated",
        v="0213",
    ),
    row(
        "(A AS a OR B AS b):+ FILTER a.v < b.v",
        "ABA",
        *(c(0, 0, 0), c(0, 1, 0, 1), c(1, 1, 1), c(2, 2, 2)),
        id="both-iterated-and-not",
        v="022",
    ),
    row(
        "(A AS a : B AS b FILTER a.v < b.v):+",
        "ABAB",
        *(c(0, 1, 0, 1), c(0, 3, 0, 1, 2, 3), c(2, 3, 2, 3)),
        id="a-filter-in-an-iteration-begins-anew",
        v="1256",
    ),
    row(
        "(A AS a : B AS b):+ FILTER a.v < b.v",
        "ABAB",
        c(0, 1, 0, 1),
        c(2, 3, 2, 3),
        id="a-filter-around-an-iteration-does-not",
        v="1256",
    ),
    row(
        "(A AS a ; B AS b ; B AS b) ; C AS z FILTER b.v != z.v",
        "ABBC",
        c(0, 3, 0, 1, 2, 3),
        id="two-to-be-unequal-to",
        v="1234",
    ),
    row(
        "(A AS a ; B AS b ; B AS b) ; C AS z FILTER b.v != z.v",
        "ABBC",
        id="unequal-to-one-of-two-only",
        v="1233",
    ),
]

SCOPES = [
    row("(A AS a ; B AS b FILTER a.v < b.v) ; C", "ABXC", c(0, 3, 0, 1, 3), id="then", v="12.."),
    row("(A AS a ; B AS b FILTER a.v < b.v) : C", "ABXC", id="then-at-once", v="12.."),
    row(
        "(A AS a : B AS b FILTER a.v < b.v)+",
        "ABXAB",
        *(c(0, 1, 0, 1), c(3, 4, 3, 4), c(0, 4, 0, 1, 3, 4)),
        id="again-after-a-gap",
        v="12.12",
    ),
    *(
        row(
            f"{formula} FILTER a.v < b.v",
            f"{step * 3}C",
            *(c(p[0], 3, *p, 3) for n in (1, 2, 3) for p in combinations(range(3), n)),
            id=f"no-{other}-to-compare-with-what-does-not-compare",
            v="1.1.",
        )
        for formula, step, other in (
            ("A+ AS a ; (B AS b OR C)", "A", "B"),
            ("B+ AS b ; (A AS a OR C)", "B", "A"),
        )
    ),
    row(
        "PROJECT[a]((A AS a ; B AS b FILTER a.v < b.v) AS a) ; B AS b FILTER a.v < b.v",
        "ABB",
        c(0, 2, 0, 1, 2),
        id="labels-of-an-outer-operator-are-others",
        v="123",
    ),
    row(
        "RENAME[a -> b](A AS a ; B AS b FILTER a.v < b.v)",
        "AB",
        c(0, 1, 0, 1),
        id="a-filter-below-a-renaming",
        v="12",
    ),
    row(
        "RENAME[a -> b](A AS a ; B AS b) FILTER a.v < b.v",
        "AB",
        c(0, 1, 0, 1),
        id="a-filter-above-a-renaming",
        v="21",
    ),
    row(
        "PROJECT[b](A AS a ; B AS b FILTER a.v < b.v)",
        "ABB",
        c(0, 1, 1),
        id="a-projection-hides-what-was-compared",
        v="121",
    ),
    row(
        "PROJECT[b](A AS a ; B AS b) FILTER a.v < b.v",
        "AB",
        c(0, 1, 1),
        id="a-projection-below-leaves-nothing-to-compare",
        v="21",
    ),
]


@pytest.mark.filterwarnings("ignore::cerlab.CerlabWarning")
@pytest.mark.parametrize(("formula", "events", "expected"), SINGLE + PRODUCTS + ITERATIONS + SCOPES)
@pytest.mark.parametrize("evaluator", ["reference", "registers", "auto"])
def test_formula(
    evaluator: Any, formula: str, events: list[dict[str, Any]], expected: list[ComplexEvent]
) -> None:
    assert cerlab.evaluate(formula, events, evaluator=evaluator) == expected


VALUES = [
    (1, 1.0, "<= >= ="),
    (2**53 + 1, float(2**53), "> >= !="),
    (True, 1, ""),
    (False, True, "< <= !="),
    ("a", "b", "< <= !="),
    ("1", 1, ""),
    (float("nan"), float("nan"), ""),
    (None, None, ""),
]


@pytest.mark.parametrize(("left", "right", "holding"), VALUES, ids=repr)
def test_values_of_every_kind(left: Any, right: Any, holding: str) -> None:
    """A register keeps the value as it is: exact numbers, and kinds that do not mix."""
    events = [{"type": "A", "v": left}, {"type": "B", "v": right}]
    operators = {
        op
        for op in ("<", "<=", ">", ">=", "=", "!=")
        if cerlab.evaluate(f"A AS a ; B AS b FILTER a.v {op} b.v", events, evaluator="registers")
    }
    assert operators == set(holding.split())


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


QUERIES = [
    ("SELECT * WHERE A AS a ; B AS b FILTER a.v < b.v WITHIN 1 EVENTS", [c(2, 3, 2, 3)]),
    ("SELECT b WHERE A AS a ; B AS b FILTER a.v < b.v WITHIN 1 EVENTS", [c(2, 3, 3)]),
    (
        "SELECT * WHERE A AS a ; B AS b FILTER a.v < b.v PARTITION BY [k]",
        [c(0, 3, 0, 3)],
    ),
    ("SELECT MAX * WHERE A AS a ; B AS b FILTER a.v < b.v", [c(0, 3, 0, 3), c(2, 3, 2, 3)]),
    ("SELECT LAST * WHERE A AS a ; B AS b FILTER a.v < b.v", [c(2, 3, 2, 3)]),
    ("SELECT NEXT * WHERE A AS a ; B AS b FILTER a.v < b.v", [c(0, 3, 0, 3)]),
    ("SELECT STRICT * WHERE A AS a ; B AS b FILTER a.v < b.v", [c(2, 3, 2, 3)]),
    ("SELECT * FROM S WHERE A AS a ; B AS b FILTER a.v < b.v", [c(0, 3, 0, 3), c(2, 3, 2, 3)]),
]


@pytest.mark.parametrize(("text", "expected"), QUERIES)
@pytest.mark.parametrize("evaluator", ["reference", "registers"])
def test_query(evaluator: Any, text: str, expected: list[ComplexEvent]) -> None:
    """On A B A B with v = 1 1 1 2 and k = 0 1 1 0."""
    events = word("ABAB", v="1112", k="0110")
    assert cerlab.evaluate(text, events, evaluator=evaluator) == expected


def test_consumption_ends_runs_with_their_registers() -> None:
    text = "SELECT * WHERE A AS a ; B AS b FILTER a.v < b.v CONSUME BY ANY"
    events = word("ABABB", v="12022")
    for evaluator in ("reference", "registers"):
        answers = cerlab.evaluate(text, events, evaluator=evaluator)
        assert answers == [c(0, 1, 0, 1), c(2, 3, 2, 3)]


FO = [
    ("A AS x ; (B AS y FILTER x.v != y.v)+", [c(0, 1, 0, 1)]),
    ("(A AS x ; B AS y) FILTER x.v = y.v", [c(0, 2, 0, 2)]),
    ("(B AS y FILTER y.v > x.v)+ ; C ; A AS x", []),
]


@pytest.mark.parametrize(("formula", "expected"), FO)
@pytest.mark.parametrize("evaluator", ["reference", "registers", "auto"])
def test_first_order(evaluator: Any, formula: str, expected: list[ComplexEvent]) -> None:
    """A variable is one event: in an iteration it is that of the iteration."""
    events = word("ABB", v="121")
    answers = cerlab.evaluate(formula, events, evaluator=evaluator, logic="fo")
    assert answers == expected


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
    assert "reference" in caught.value.hint
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
