"""Parts of why by hand: where it searches, what it may fail, what repairs cost, its limits."""

from __future__ import annotations

from dataclasses import replace
from itertools import takewhile

import pytest

import cerlab
from cerlab.logic.cel.semantics import MAX_EVENTS, valuations
from cerlab.logic.cel.syntax import Atom
from cerlab.model.clauses import EventWindow
from cerlab.why import Failure, Kind, Repair, explain, repairs
from cerlab.why.candidates import regions
from cerlab.why.cel import Part, derivations
from cerlab.why.deduction import Goal, passes
from cerlab.why.failure import FILTER, HEAVY, LIGHT, Drop, End, Give, Relax, Widen, cost
from cerlab.why.question import Context, Question, unmarked_ends
from cerlab.why.strategies import ending_at
from proofs_tests.clauses.tables import c, word


def question_of(query: str, types: str, *positions: int) -> Question:
    stream = cerlab.Stream.from_events(word(types))
    return Question(cerlab.parse_query(query).ast, stream, positions)


def test_an_unmarked_end_is_looked_for_eight_times_as_far_each_time() -> None:
    question = question_of("SELECT B WHERE A ; B", "C" * 2_999 + "B", 2_999)
    assert list(regions(question)) == [(2_743, 2_999), (951, 2_999), (0, 2_999)]


@pytest.mark.parametrize(
    ("formula", "ends"),
    [
        ("A", (True, True)),
        ("B", (False, False)),
        ("A ; B", (True, False)),
        ("B : NOT(B)", (False, True)),
        ("(A ; B)+", (True, False)),
        ("(A ; B) OR B", (True, False)),
        ("B OR (A ; B)", (True, False)),
        ("(B ; A) OR B", (False, True)),
        ("B ALL (B ; A)", (False, True)),
        ("(B ; A) AND B", (False, True)),
        ("(B ; A) UNLESS A", (False, True)),
    ],
)
def test_an_end_is_unmarked_where_some_side_has_it_so(
    formula: str, ends: tuple[bool, bool]
) -> None:
    """Under SELECT B, which leaves the events of A out of the answer."""
    context = Context(frozenset("AB"), frozenset("B"))
    assert unmarked_ends(cerlab.parse_formula(formula), context) == ends


def test_a_part_fails_what_the_allowance_has_room_for() -> None:
    """An event of another type, and no event."""
    events, A = cerlab.Stream.from_events(word("C")).events, frozenset("A")
    kinds = [[], [Kind.TYPE], [Kind.TYPE, Kind.MISSING]]
    for allowance, expected in zip((LIGHT - 1, LIGHT, HEAVY), kinds, strict=True):
        parts = derivations(
            Part(Goal(events, (0,), (0,), 0, 0, allowance), Atom("A"), (), Context(A, A))
        )
        assert [failure.kind for d in parts for failure in d.failures] == expected


def test_each_cost_of_one_or_two_failures_has_a_pass() -> None:
    assert list(takewhile(lambda allowance: allowance < 13, passes())) == [2, 3, 4, 5, 6, 9, 12]


def test_to_write_one_part_weaker_costs_once() -> None:
    """Require that one terminal repairs both failures."""
    ways = (Relax((0,), cerlab.parse_formula(text)) for text in ("A", "B"))
    assert cost([Failure(FILTER, repairs=(way,)) for way in ways]) == LIGHT


@pytest.mark.parametrize(
    ("query", "types", "positions", "proved"),
    [
        ("SELECT * WHERE A : B", "ACB", (0, 2), Relax((), cerlab.parse_formula("A ; B"))),
        ("SELECT * WHERE A ; B : C", "ABC", (0, 2), Give(1)),
        ("SELECT * WHERE A ; B", "ABC", (0, 1, 2), Drop(2)),
        ("SELECT * WHERE A ; B WITHIN 1 EVENTS", "ACB", (0, 2), Widen(EventWindow(2))),
    ],
)
def test_a_repair_that_leaves_the_events_as_they_are_is_proved_by_the_derivation(
    query: str,
    types: str,
    positions: tuple[int, ...],
    proved: Repair,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No question is asked again, except for repairs of events; with LIMIT it is asked."""
    asked: list[Question] = []
    monkeypatch.setattr(repairs, "holds", lambda question: asked.append(question))
    explanation = explain(question_of(query, types, *positions))
    assert explanation.repairs == (proved,)
    assert all(len(question.stream) < len(types) for question in asked)
    assert explain(question_of(f"{query} LIMIT 1", types, *positions)).repairs == ()


def test_a_part_that_does_not_wait_is_no_repair_where_the_answer_ends_later() -> None:
    """The derivation ends with its wait, so it does not prove what the weaker part answers."""
    events = [{"type": "A", "t": 0}, {"type": "C", "t": 1}]
    question = Question(
        cerlab.parse_query("SELECT * WHERE A WAIT 5 [t]").ast,
        cerlab.Stream.from_events(events, time="t"),
        (0,),
        0,
        1,
    )
    explanation = explain(question)
    assert Relax((), Atom("A")) in explanation.failures[0].repairs
    assert explanation.repairs == (End(),)


def test_positions_out_of_the_stream_are_no_answer() -> None:
    question = question_of("SELECT * WHERE A", "A", 0)
    assert repairs.holds(question)
    assert not repairs.holds(replace(question, positions=(1,)))


def test_a_strategy_compares_answers_on_the_events_up_to_their_end() -> None:
    """However many come after it; one event too many is refused by name."""
    S, last = cerlab.Stream.from_events(word("A" * (MAX_EVENTS + 2))).events, MAX_EVENTS - 1
    assert ending_at(Atom("A"), S, last, valuations, None) == [c(last, last, last)]
    with pytest.raises(cerlab.ResourceLimit) as error:
        ending_at(Atom("A"), S, last + 1, valuations, None)
    assert error.value.code == "CER0696"
