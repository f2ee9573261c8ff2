"""Windows inside a formula, (phi WITHIN w): the valuations of phi whose interval w holds."""

from __future__ import annotations

from typing import Any

import pytest

import cerlab
from cerlab import BadData, QuerySyntaxError, Unsupported, Valuation
from cerlab.compile.pattern import any_pattern
from cerlab.evaluate import EVALUATORS, evaluators_for
from cerlab.model.answer import complex_event
from proofs_tests.clauses.tables import v, word
from proofs_tests.limits.calls import at_most_calls

STREAM = [{"type": x, "t": t} for x, t in zip("ABBCAB", (0, 4, 7, 8, 100, 130), strict=True)]


IN_TIME = [
    pytest.param("(A ; B WITHIN 5 [t]) ; C", {v(0, 3, A=(0,), B=(1,), C=(3,))}, id="attribute"),
    pytest.param(
        "(A ; B WITHIN 7 [t]) ; C",
        {v(0, 3, A=(0,), B=(1,), C=(3,)), v(0, 3, A=(0,), B=(2,), C=(3,))},
        id="the-bound-is-included",
    ),
    pytest.param("((A ; B WITHIN 5 [t]) ; B WITHIN 6 [t])", set(), id="nested"),
    pytest.param(
        "((A ; B WITHIN 30 [t]) WITHIN 5 [t])", {v(0, 1, A=(0,), B=(1,))}, id="the-minimum"
    ),
    pytest.param("(A ; B WITHIN 4 [t])+ ; C", {v(0, 3, A=(0,), B=(1,), C=(3,))}, id="of-a-round"),
    pytest.param(
        "(B ; B WITHIN 3 [t]) ALL (A ; C WITHIN 8 [t])",
        {v(0, 3, A=(0,), B=(1, 2), C=(3,))},
        id="two-at-once",
    ),
    pytest.param("(A ; C WITHIN 8 [t]) UNLESS (B ; B)", set(), id="left-of-unless"),
    pytest.param("STRICT(A ; B WITHIN 7 [t]) ; C", {v(0, 3, A=(0,), B=(1,), C=(3,))}, id="strict"),
    pytest.param(
        "C ; (A ; B WITHIN 30 [t])", {v(3, 5, A=(4,), B=(5,), C=(3,))}, id="from-its-own-start"
    ),
    pytest.param(
        "(A ; B WITHIN 30 [t] ) : B OR (B ; C WITHIN 1 [t])",
        {v(0, 2, A=(0,), B=(1, 2)), v(2, 3, B=(2,), C=(3,))},
        id="two",
    ),
]


@pytest.mark.parametrize(("formula", "expected"), IN_TIME)
def test_in_time(formula: str, expected: set[Valuation]) -> None:
    takers = evaluators_for(any_pattern(formula))
    answers_by_hand = {complex_event(V) for V in expected}
    assert cerlab.valuations(formula, STREAM) == expected
    for name in EVALUATORS:
        evaluator: Any = name
        if name in takers:
            assert {*cerlab.evaluate(formula, STREAM, evaluator=evaluator)} == answers_by_hand
        else:
            with pytest.raises(cerlab.Unsupported):
                cerlab.evaluate(formula, STREAM, evaluator=evaluator)


def answers(text: str, events: Any = STREAM, **how: Any) -> list[tuple[int, ...]]:
    return [m.positions for m in cerlab.evaluate(text, events, **how)]


def test_times_are_subtracted_exactly_and_the_width_is_the_double_as_written() -> None:
    """FILTER computes in doubles, so the two may differ."""
    events = [{"type": "A", "t": 0.3}, {"type": "B", "t": 0.8}]
    assert answers("(A ; B WITHIN 0.5 [t])", events) == []
    assert answers("A ; B FILTER B.t - A.t <= 0.5", events) == [(0, 1)]
    events = [{"type": "A", "t": 0.0}, {"type": "B", "t": 0.3}, {"type": "B", "t": 0.1 + 0.2}]
    assert answers("(A ; B WITHIN 0.3 [t])", events) == [(0, 1)]


def test_events_are_counted_in_the_substream() -> None:
    events = word("AABB", k="1212")
    query = "SELECT * WHERE (A ; B WITHIN 1 EVENTS) PARTITION BY [k]"
    for evaluator in ("auto", "reference", "automaton", "tecs", "compiled", "registers"):
        assert answers(query, events, evaluator=evaluator) == [(0, 2), (1, 3)]


def test_it_acts_before_the_strategy_and_the_clause_after_it() -> None:
    """The longest answer is too long: inside it does not compete, as a clause it wins first."""
    events = word("AAA")
    assert answers("SELECT MAX * WHERE (A+ WITHIN 1 EVENTS)", events) == [(0,), (0, 1), (1, 2)]
    assert answers("SELECT MAX * WHERE A+ WITHIN 1 EVENTS", events) == [(0,), (0, 1)]


@pytest.mark.parametrize("evaluator", ["reference", "registers", "compiled"])
def test_clauses_over_windows_in_time(evaluator: Any) -> None:
    events = [{"type": x, "t": t} for t, x in enumerate("AABBCBC")]
    text = "(A ; B WITHIN 2 [t]) ; C"
    every = [(0, 2, 4), (1, 2, 4), (1, 3, 4), (0, 2, 6), (1, 2, 6), (1, 3, 6)]
    for clauses, expected in (
        (f"* WHERE {text}", every),
        (f"* WHERE {text} CONSUME BY ANY", every[:3]),
        (f"* WHERE {text} LIMIT 1", [(1, 3, 4), (1, 3, 6)]),
        (f"LAST * WHERE {text}", [(1, 3, 4), (1, 3, 6)]),
        (f"NEXT * WHERE {text}", [(0, 2, 4), (0, 2, 6)]),
        (f"* WHERE {text} WITHIN 3 [t]", [(1, 2, 4), (1, 3, 4)]),
        (f"A WHERE {text} WITHIN 3 [t] LIMIT 1", [(1,)]),
    ):
        assert answers(f"SELECT {clauses}", events, evaluator=evaluator) == expected, clauses


def test_each_suffix_after_an_answer_is_measured_anew() -> None:
    query = "SELECT * WHERE (A ; B WITHIN 30 [t]) CONSUME BY ANY"
    assert answers(query) == [(0, 1), (4, 5)]
    assert answers("SELECT * WHERE (A ; B WITHIN 29 [t]) CONSUME BY ANY") == [(0, 1)]


@pytest.mark.parametrize(
    ("times", "code"), [((0, None, 2), "CER0712"), ((1, 0, 2), "CER0714"), ((0, "x", 2), "CER0712")]
)
def test_every_event_that_is_matched_needs_a_time(times: tuple[Any, ...], code: str) -> None:
    events = [{"type": x, "t": t} for x, t in zip("AXB", times, strict=True)]
    with pytest.raises(BadData, match=code):
        cerlab.evaluate("(A ; B WITHIN 5 [t])", events)


def test_a_duration_needs_the_time_of_the_stream() -> None:
    with pytest.raises(cerlab.UsageError, match="CER0802"):
        cerlab.evaluate("(A ; B WITHIN 5 SECONDS)", STREAM)


@pytest.mark.parametrize(
    "text",
    [
        "A WITHIN 5 EVENTS",
        "A ; B WITHIN 5 EVENTS",
        "NOT(A WITHIN 5 EVENTS)",
        "(A WITHIN 5 EVENTS ; B)",
        "(A WITHIN 5 EVENTS WITHIN 3 EVENTS)",
        "(A WITHIN 5)",
        "(A WITHIN -5 EVENTS)",
        "A AS x WITHIN 5 EVENTS ; B",
    ],
)
def test_it_is_the_last_thing_in_parentheses(text: str) -> None:
    with pytest.raises(QuerySyntaxError):
        cerlab.parse_formula(text)


@pytest.mark.parametrize("text", ["WITHIN", "(WITHIN ; EVENTS)", "A AS WITHIN ; EVENTS AS SECONDS"])
def test_its_words_stay_names(text: str) -> None:
    formula = cerlab.parse_formula(text)
    assert cerlab.parse_formula(str(formula)) == formula


@pytest.mark.parametrize("window", ["1 EVENTS", "5 [t]", "5 SECONDS"])
def test_who_does_not_take_it_says_so(window: str) -> None:
    text = f"(A ; B WITHIN {window}) ; C"
    with pytest.raises(Unsupported, match=r"CER0406.*WITHIN"):
        cerlab.evaluate(text, STREAM, logic="fo")
    with pytest.raises(Unsupported, match=r"CER0412.*WITHIN"):
        cerlab.evaluate(text, STREAM, evaluator="lists")
    with pytest.raises(Unsupported, match=r"CER0406.*WITHIN"):
        cerlab.why(text, STREAM, (0, 1, 3), logic="fo")


def test_the_deciders_know_windows_in_events() -> None:
    assert cerlab.equivalent("((A+ WITHIN 3 EVENTS) WITHIN 1 EVENTS)", "(A+ WITHIN 1 EVENTS)").holds
    assert cerlab.equivalent("(A ; B WITHIN 1 EVENTS)", "A : B").holds
    assert cerlab.equivalent("(A+ WITHIN 1 EVENTS)", "(A+ WITHIN 2 EVENTS)").holds is False
    assert cerlab.satisfiable("(A ; B ; A WITHIN 1 EVENTS)").holds is False
    assert cerlab.satisfiable("(A ; B WITHIN 1 [t])").holds


def test_a_window_beyond_the_budget_is_refused_at_once() -> None:
    with at_most_calls(50_000), pytest.raises(cerlab.ResourceLimit, match="CER0605"):
        cerlab.evaluate("(A ; B WITHIN 1000000000 EVENTS)", STREAM, evaluator="automaton")
