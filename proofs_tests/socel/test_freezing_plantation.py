"""Plantations that may freeze, the running example (SOCEL Sec. 2; SOCEL Sec. 3; SOCEL Fig. 1).

A temperature below 0, then humidities that increase, then one above 60. Our copy of Figure 1 has
lost its signs and its types; the values, 2 30 20 1 27 2 45 50 2 65, are printed. The text demands
temperatures below 0 and humidities that rise to above 60, hence the reading below: -2 and -1 are
temperatures, and so are both other 2s.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from statistics import pvariance
from typing import Any

import pytest

import cerlab
from cerlab.predicates import condition as second_order

VALUES = ["T-2", "H30", "H20", "T-1", "H27", "T2", "H45", "H50", "T-2", "H65"]
FIGURE_1 = [{"type": word[0], "value": int(word[1:])} for word in VALUES]

PHI = "(T ; H+ AS HS ; H AS LH) FILTER T[value < 0] AND increasing(HS.value) AND LH[value > 60]"
WITH_RENAME = PHI.replace("(T ; H+ AS HS ; H AS LH)", "RENAME[H -> HS](T ; H+ AS HS) ; H AS LH")


@pytest.fixture(autouse=True)
def _own_predicates(monkeypatch: pytest.MonkeyPatch) -> None:
    """Predicates of these tests are not there for others."""
    monkeypatch.setattr(second_order, "_registry", {})

    @cerlab.predicate
    def increasing(values: Sequence[float]) -> bool:
        return all(a < b for a, b in pairwise(values))

    @cerlab.predicate
    def variance_below(values: Sequence[float], bound: float) -> bool:
        return not values or pvariance(values) < bound


def test_the_events_and_the_labels_of_the_text() -> None:
    """T at 0, the humidities 2, 4, 6, 7 in HS, the last one, 9, in LH; and less of them."""
    matches = cerlab.valuations(PHI, FIGURE_1)
    largest = cerlab.Valuation(
        0, 9, {"T": (0,), "H": (2, 4, 6, 7, 9), "HS": (2, 4, 6, 7), "LH": (9,)}
    )
    assert largest in matches
    assert {V.end for V in matches} == {9}
    assert {V.labels["T"] for V in matches} == {(0,), (3,)}


def test_all_of_them_by_hand() -> None:
    """Increasing runs of humidities after the temperature: from 0 out of 30 20 27 45 50, from 3
    out of 27 45 50, each non-empty subset that increases."""
    from_0 = [(1,), (1, 6), (1, 7), (1, 6, 7)]
    later = [(2,), (4,), (6,), (7,), (2, 4), (2, 6), (2, 7), (4, 6), (4, 7), (6, 7)]
    later += [(2, 4, 6), (2, 4, 7), (2, 6, 7), (4, 6, 7), (2, 4, 6, 7)]
    expected = {(0, HS) for HS in (*from_0, *later)}
    expected |= {(3, HS) for HS in later if 2 not in HS}
    pairs = {(V.labels["T"][0], V.labels["HS"]) for V in cerlab.valuations(PHI, FIGURE_1)}
    assert pairs == expected


def test_renaming_takes_the_sequence_out_of_h() -> None:
    """With the renaming of Section 3, H keeps only the event of LH."""
    matches = cerlab.valuations(WITH_RENAME, FIGURE_1)
    assert len(matches) == len(cerlab.valuations(PHI, FIGURE_1))
    assert {V.labels["H"] for V in matches} == {(9,)}


def test_variance_below_five() -> None:
    """The paper's other wish: humidities whose variance is below five."""
    text = "H+ AS x FILTER variance_below(x.value, 5) ; T"
    positions = {V.labels["x"] for V in cerlab.valuations(text, FIGURE_1[:4])}
    assert positions == {(1,), (2,)}, "30 and 20 have variance 25"
    assert (6, 7) not in {V.labels["x"] for V in cerlab.valuations(text, FIGURE_1[:9])}
    wider = text.replace("5)", "6.5)")
    assert (6, 7) in {V.labels["x"] for V in cerlab.valuations(wider, FIGURE_1[:9])}


def test_events_are_given_in_stream_order_and_empty_labels_as_empty_lists() -> None:
    calls: list[list[cerlab.Event]] = []

    @cerlab.predicate(name="spy")
    def spy(events: list[cerlab.Event]) -> bool:
        calls.append(events)
        return True

    with pytest.warns(cerlab.CerlabWarning, match="nothing sets label 'y'"):
        cerlab.evaluate("A ; B FILTER spy(y)", [{"type": "A"}, {"type": "B"}])
    assert calls == [[]]
    calls.clear()
    events = [{"type": "A", "v": v} for v in (3, 1, 2)]
    cerlab.evaluate("A : A : A AS x FILTER spy(A)", events)
    assert [[t.attributes["v"] for t in each] for each in calls] == [[3, 1, 2]]


def test_a_predicate_of_two_sets_is_put_to_both_at_once() -> None:
    """Compares sums, not pairs of members: 1 and 1, and 1 + 2 and 3, of 1 2 before 3 1."""

    @cerlab.predicate
    def same_sum(left: Sequence[float], right: Sequence[float]) -> bool:
        return sum(left) == sum(right)

    events = [{"type": t, "v": v} for t, v in zip("AABB", (1, 2, 3, 1), strict=True)]
    answers = cerlab.evaluate("A+ AS x ; B+ AS y FILTER same_sum(x.v, y.v)", events)
    assert [m.positions for m in answers] == [(0, 1, 2), (0, 3)]


def test_the_universal_extension_of_a_predicate_over_events() -> None:
    """``each=True`` is put to all combinations, and holds of the empty set (SOCEL Sec. 4)."""

    @cerlab.predicate(each=True)
    def at_most(x: int, y: int) -> bool:
        return x <= y

    events = [{"type": t, "v": v} for t, v in zip("AABB", (1, 5, 4, 6), strict=True)]
    answers = cerlab.evaluate("A+ ; B FILTER at_most(A.v, B.v)", events)
    assert [m.positions for m in answers] == [(0, 2), (0, 1, 3), (0, 3), (1, 3)]
    both = cerlab.evaluate("A+ AS x ; B FILTER x.v <= B.v", events)
    assert answers == both, "as the comparison that is built in"


def test_under_fo_a_variable_is_one_event() -> None:
    @cerlab.predicate(each=True)
    def less(x: int, y: int) -> bool:
        return x < y

    events = [{"type": t, "v": v} for t, v in zip("ABB", (1, 0, 2), strict=True)]
    answers = cerlab.evaluate("A AS x ; (B AS y FILTER less(x.v, y.v))+", events, logic="fo")
    assert [m.positions for m in answers] == [(0, 2)]


@pytest.mark.parametrize("evaluator", ["automaton", "tecs"])
def test_other_evaluators_refuse_it_by_name(evaluator: str) -> None:
    with pytest.raises(cerlab.Unsupported, match="'increasing'"):
        cerlab.evaluate(PHI, FIGURE_1, evaluator=evaluator)  # type: ignore[arg-type]  # a literal


def test_unknown_names_have_a_place_and_a_hint() -> None:
    with pytest.raises(cerlab.IllFormed, match="increasin") as caught:
        cerlab.parse_formula("A FILTER increasin(A)")
    assert caught.value.code == "CER0240"
    assert "increasing" in str(caught.value)


@pytest.mark.parametrize("register", [cerlab.predicate, cerlab.predicate(each=True)])
@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("type = 'A'", "expected a Python function that returns a bool, got the text"),
        (3, "got int"),
        ({"v": 3}, "got dict"),
        (lambda values: True, "has no name"),
        (partial(max, 3), "has no name"),
    ],
)
def test_a_predicate_that_is_no_function_or_has_no_name_is_refused(
    register: Any, value: object, says: str
) -> None:
    before = second_order.user_predicates()
    with pytest.raises(cerlab.UsageError, match=says) as caught:
        register(value)
    assert caught.value.code == "CER0816"
    assert second_order.user_predicates() == before


def test_a_function_without_a_name_may_be_given_one() -> None:
    cerlab.predicate(name="always")(lambda values: True)
    assert cerlab.count("A AS x FILTER always(x)", [{"type": "A"}]) == 1


def test_a_predicate_that_raises_or_returns_no_bool_is_an_error() -> None:
    @cerlab.predicate
    def broken(events: object) -> bool:
        raise ValueError("no")

    @cerlab.predicate
    def shy(events: object) -> object:
        return None

    for name, code in (("broken", "CER0814"), ("shy", "CER0815")):
        with pytest.raises(cerlab.UsageError) as caught:
            cerlab.evaluate(f"A FILTER {name}(A)", [{"type": "A"}])
        assert caught.value.code == code


@pytest.mark.parametrize(
    "text",
    [
        "A FILTER increasing(A)",
        "A FILTER A[v = 1] AND increasing(A.v)",
        "A FILTER (increasing(A.v) OR A[v = 1]) AND variance_below(A.v, -2.5)",
        "A FILTER (increasing(A) OR increasing(A.v, 'it''s', TRUE, A.w))",
        "A FILTER increasing()",
    ],
)
def test_text_reads_back(text: str) -> None:
    phi = cerlab.parse_formula(text)
    assert str(phi) == text
    assert cerlab.parse_formula(str(phi)) == phi


def test_and_before_an_operator_with_parentheses_is_an_operator_of_formulas() -> None:
    phi = cerlab.parse_formula("A FILTER A[v = 1] AND LAST(A)")
    assert str(phi) == "A FILTER A[v = 1] AND LAST(A)"
    assert type(phi).__name__ == "And"
