"""Repairs, texts and limits of `why`; the conformance suite has what stands in the way."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from itertools import pairwise
from typing import Any

import pytest

import cerlab
from cerlab.conformance import Case, cases
from cerlab.model.clauses import AttributeWindow, EventWindow
from cerlab.why import Derivation, Kind, deduction, why, why_to_json
from cerlab.why.failure import (
    Alter,
    Drop,
    End,
    Give,
    Insert,
    Reach,
    Relax,
    Remove,
    Retype,
    Widen,
    Without,
)
from proofs_tests.clauses.tables import word

EXPLAINED = [
    case for case in cases("why-first-order", "why-sremo") if "words" in (case.expected or {})
]


@pytest.mark.parametrize("case", EXPLAINED, ids=lambda case: case.id)
def test_nothing_else_stands_in_the_way(case: Case) -> None:
    query = cerlab.parse_sremo(case.query) if case.language == "sremo" else case.query
    interval = {name: at for name, at in case.question.items() if name != "why"}
    logic = case.options.get("logic", "so")
    explanation = why(query, case.stream, case.question["why"], **interval, logic=logic)
    assert len(explanation.failures) == 1


def test_a_look_back_says_when_it_begins() -> None:
    events = [{"type": kind, "t": t} for kind, t in (("A", 0), ("B", 12), ("A", 20))]
    explanation = why("(A LOOKBACK 10 [t]) UNLESS B", events, (2,))
    text = (
        "UNLESS: B matches inside, at {1} in [1, 1]; LOOKBACK 10 [t] of 2 begins at 10, 1 is at 12"
    )
    assert str(explanation.failure) == text
    match = why("(A LOOKBACK 5 [t]) UNLESS B", events, (2,))
    assert match.holds
    assert (match.derivation.valuation.start, match.derivation.valuation.end) == (2, 2)  # type: ignore[union-attr]


def test_a_throttle_names_the_answer_before() -> None:
    query, events = "SELECT * WHERE A THROTTLE 10 [t]", [{"type": "A", "t": t} for t in (0, 6, 12)]
    explanation = why(query, events, (1,))
    text = "it is an answer, but THROTTLE 10 [t] leaves it out: the answer {0} was given before it"
    assert str(explanation.failure) == text
    assert explanation.repairs == (Without("throttle"),)
    assert why(query, events, (2,)).holds


def test_an_interval_that_is_not_the_answers_own() -> None:
    assert why("A ; B", word("ABC"), (0, 1), end=2).repairs == (Reach(0, 1),)


def test_unmarked_ends_are_looked_for() -> None:
    explanation = why("SELECT B WHERE A ; B", word("AACB"), (3,))
    assert isinstance(explanation.derivation, Derivation)
    assert explanation.derivation.valuation == cerlab.Valuation(1, 3, {"A": (1,), "B": (3,)})


def test_the_first_unmarked_event_may_be_far() -> None:
    far = word("A" + "C" * 1_000 + "B")
    assert why("SELECT B WHERE A ; B", far, (1_001,)).holds
    assert not why("SELECT B WHERE A ; B", far[1:], (1_000,)).holds


def test_what_is_wrong_in_two_places_has_two_failures_and_no_single_repair() -> None:
    explanation = why("A ; B", word("BA"), (0, 1))
    assert [str(f) for f in explanation.failures] == [
        "event 0 is B, A was asked",
        "event 1 is A, B was asked",
    ]
    assert explanation.repairs == ()


def test_what_is_wrong_with_one_event_is_mended_by_another_event() -> None:
    explanation = why("A ; B FILTER B[v = 1]", word("AC", v="00"), (0, 1))
    assert [f.kind for f in explanation.failures] == [Kind.TYPE, Kind.FILTER]
    assert explanation.repairs == (Alter(1),)


def test_repairs_are_data() -> None:
    def first(query: str, types: str, positions: tuple[int, ...]) -> tuple[object, ...]:
        return why(query, word(types), positions).repairs

    assert first("A ; B", "AC", (0, 1)) == (Retype(1, "B"), Alter(1))
    assert first("A : B", "ACB", (0, 2)) == (
        Relax((), cerlab.parse_formula("A ; B")),
        Remove((1,)),
    )
    assert first("A ; B ; C", "AC", (0, 1)) == (Insert((0, 1), 0, 1),)
    assert first("A ; B", "ABC", (0, 1, 2)) == (Drop(2),)
    assert first("A ; B : C", "ABC", (0, 2)) == (Give(1),)
    assert first("SELECT * WHERE A ; B WITHIN 1 EVENTS", "ACB", (0, 2)) == (Widen(EventWindow(2)),)
    assert first("SELECT MAX * WHERE A+", "AA", (1,)) == (Without("strategy"),)
    halves = [{"type": "A", "t": 0.0}, {"type": "B", "t": 2.5}]
    explanation = why("SELECT * WHERE A ; B WITHIN 1 [t]", halves, (0, 1))
    assert explanation.repairs == (Widen(AttributeWindow(2.5, "t")),)


@pytest.mark.parametrize(
    ("values", "alterations"),
    [("21", (Alter(0), Alter(1))), (".1", (Alter(0),)), ("2.", (Alter(1),)), ("..", ())],
)
def test_of_two_events_that_are_compared_one_without_a_value_is_altered(
    values: str, alterations: tuple[Alter, ...]
) -> None:
    query = "A AS x ; B AS y FILTER y.v > x.v"
    failure = why(query, word("AB", v=values), (0, 1)).failure
    assert failure is not None
    assert failure.repairs == (Relax((), cerlab.parse_formula("A AS x ; B AS y")), *alterations)


def test_a_repair_that_is_not_enough_is_not_offered() -> None:
    def repairs(query: str, *events: Any, positions: tuple[int, ...]) -> tuple[object, ...]:
        return why(query, list(events), positions).repairs

    a, b, c = ({"type": name, "k": 0, "v": 0} for name in "ABC")
    other = b | {"k": 1}
    by_key = "SELECT * WHERE A : B PARTITION BY [k]"
    assert repairs(by_key, a, c, other, positions=(0, 2)) == (Alter(0),)
    assert repairs(by_key, a, other, positions=(0, 1)) == (Without("partition"), Alter(1))
    never = "A ; B FILTER B[v = 1] AND B[v = 2]"
    failure = why(never, [a, b], (0, 1)).failure
    assert failure is not None
    assert Alter(1) in failure.repairs
    assert repairs(never, a, b, positions=(0, 1)) == (Relax((), cerlab.parse_formula("A ; B")),)
    late = "SELECT NEXT * WHERE A ; B WITHIN 1 EVENTS"
    assert repairs(late, a, a, b, positions=(0, 2)) == (Widen(EventWindow(2)),)
    assert repairs(late, a, c, a, c, b, positions=(2, 4)) == ()


def test_the_relaxed_part_is_written_out() -> None:
    failure = why("A : (B : C)", word("ABDC"), (0, 1, 3)).failure
    assert failure is not None
    (relax, _) = failure.repairs
    assert isinstance(relax, Relax)
    assert relax.path == (1,)
    assert relax.into == cerlab.parse_formula("B ; C")


def test_an_answer_is_what_it_says_and_not_what_was_asked() -> None:
    explanation = why("A ; B", word("AC"), (0, 1))
    assert "question" not in repr(explanation)
    assert replace(explanation, question=None) == explanation


def test_the_text_of_a_match() -> None:
    explanation = why("(A ; B+) AS x FILTER B[v > 0]", word("ABCB", v="0112"), (0, 1, 3))
    assert str(explanation).splitlines() == [
        "a match: {0, 1, 3} in [0, 3]",
        "FILTER B[v > 0] [0, 3]  A {0}  B {1, 3}  x {0, 1, 3}",
        "└─ AS x [0, 3]  A {0}  B {1, 3}  x {0, 1, 3}",
        "   └─ ; [0, 3]  A {0}  B {1, 3}",
        "      ├─ A 0: A(v=0)",
        "      └─ + [1, 3]  B {1, 3}",
        "         ├─ B 1: B(v=1)",
        "         └─ B 3: B(v=2)",
    ]


def test_the_text_of_a_failure_marks_where() -> None:
    assert str(why("A ; B", word("AC"), (0, 1))).splitlines() == [
        "no match: {0, 1}",
        "  event 1 is C, B was asked",
        "searched from 0 to 1; the nearest attempt:",
        "; [0, 1]  A {0}  B {1}",
        "├─ A 0: A()",
        "└─ B 1: C() ✗",
    ]


def test_matches_and_queries_know_why() -> None:
    query = cerlab.parse_query("SELECT * WHERE A ; B")
    matches = query.run(word("AAB"))
    assert matches.why(0).holds
    assert matches.why(matches[1]).holds
    assert not matches.why(cerlab.ComplexEvent(0, 2, (0, 1, 2))).holds
    assert str(query.why_not(word("AAB"), (0, 1)).failure) == "event 1 is A, B was asked"
    assert cerlab.why(query, word("AAB"), (0, 2)).holds


def test_a_search_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deduction, "MAX_STEPS", 5_000)
    events = word("A" * 700 + "B" + "C")
    with pytest.raises(cerlab.ResourceLimit) as error:
        why("SELECT C WHERE (A ; A) ; D ; (A ; A)+ ; C", events, (701,))
    assert error.value.code == "CER0605"


def test_a_strategy_inside_a_formula_is_compared_on_short_streams_only() -> None:
    with pytest.raises(cerlab.ResourceLimit) as error:
        why("PROJECT[A](MAX(A ; B)) ; C", word("C" * 300 + "ABC"), (300, 302))
    assert error.value.code == "CER0696"


def test_a_strategy_around_the_formula_is_compared_on_long_ones_too() -> None:
    long = word("C" * 300 + "AAB")
    assert why("MAX(A+ ; B)", long, (300, 301, 302)).holds
    failure = why("MAX(A+ ; B)", long, (300, 302)).failure
    assert str(failure) == "a larger answer contains it (MAX): {300, 301, 302}"


def test_a_predicate_of_the_user() -> None:
    @cerlab.predicate(name="rising")
    def rising(values: list[int]) -> bool:
        return all(a < b for a, b in pairwise(values))

    query = "A+ AS x FILTER rising(x.v)"
    assert why(query, word("AA", v="12"), (0, 1)).holds
    failure = why(query, word("AA", v="21"), (0, 1)).failure
    assert str(failure) == "rising(x.v) is false of the events at 0, 1"


@pytest.mark.parametrize("question", [{"positions": "01"}, {"positions": (0,), "start": "0"}])
def test_positions_are_whole_numbers(question: Any) -> None:
    with pytest.raises(cerlab.UsageError) as error:
        why("A", word("A"), **question)
    assert error.value.code == "CER0836"


def test_a_larger_answer_is_the_rival() -> None:
    failure = why("SELECT MAX * WHERE A ; B+", word("ABB"), (0, 2)).failure
    assert failure is not None
    assert failure.rival == cerlab.ComplexEvent(0, 2, (0, 1, 2))


MINUTES = [
    {"type": "A", "ts": datetime(2024, 1, 31, 10, 0)},
    {"type": "C", "ts": datetime(2024, 1, 31, 10, 1)},
    {"type": "B", "ts": datetime(2024, 1, 31, 10, 4)},
]


def test_an_event_during_a_wait_may_be_altered() -> None:
    explanation = why("(A WAIT 10 MINUTES) UNLESS B", MINUTES, (0,), until="end")
    assert explanation.repairs[1] == Alter(2)


def test_the_end_of_a_stream_or_no_wait_gives_what_waits() -> None:
    waiting = [{"type": "A", "t": 0}, {"type": "B", "t": 3}]
    explanation = why("A WAIT 5 [t]", waiting, (0,))
    assert explanation.repairs == (End(), Relax((), cerlab.parse_formula("A")))
    match = why("A WAIT 5 [t]", waiting, (0,), until="end")
    assert str(match).splitlines() == [
        "a match: {0} in [0, 1]",
        "WAIT 5 [t] [0, 1]  A {0}  until 5",
        "└─ A 0: A(t=0)",
    ]
    assert why_to_json(match)["derivation"]["until"] == "5"


def test_what_an_answer_waits_for_may_be_far_behind_its_positions() -> None:
    """The stretch that is searched ends with the wait, not with the positions."""
    far = [{"type": "A", "t": 0}, *({"type": "C", "t": t} for t in range(1, 2_000))]
    query = "SELECT A WHERE (A WAIT 1500 [t]) UNLESS B"
    explanation = why(query, far, (0,))
    assert explanation.holds
    assert isinstance(explanation.derivation, Derivation)
    assert explanation.derivation.interval == (0, 1_500)
    far[1_500] = {"type": "B", "t": 1_500}
    assert "1500 is at 1500" in str(why(query, far, (0,)).failure)
    far[1_500], far[1_501] = far[1_499] | {"t": 1_500}, {"type": "B", "t": 1_501}
    assert why(query, far, (0,), start=0, end=1_500).holds


@pytest.mark.parametrize("body", ["A : B", "(A OR B):+", "(A OR B):{2}"])
@pytest.mark.parametrize("last", ["..", "2."])
def test_what_is_in_no_substream_has_no_neighbours(body: str, last: str) -> None:
    """A gap before it is not a reason: whatever is between, the event has no key."""
    events = word("ACCB", k="1" + "1" + last)
    failures = why(f"SELECT * WHERE {body} PARTITION BY [k]", events, (0, 3)).failures
    assert [failure.words for failure in failures] == ["k is missing at 3, so in no partition"]
    inside = why(f"SELECT * WHERE {body} PARTITION BY [k]", word("ACB", k="111"), (0, 2)).failures
    assert [failure.kind for failure in inside] == [Kind.GAP]
