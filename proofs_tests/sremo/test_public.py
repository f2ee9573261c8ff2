"""SREMO from outside: reading, matches, what a stream shows, what refuses it (SRT Def. 32)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import cerlab
from cerlab import BadData, ComplexEvent, QuerySyntaxError, Unsupported, UsageError, parse_sremo
from cerlab.compile.pattern import any_pattern
from cerlab.compile.sremo_to_srt import register_plan, sremo_to_srt
from cerlab.evaluate import EVALUATORS, names_that_take
from cerlab.logic.sremo.syntax import SpanWindow
from proofs_tests.clauses.tables import c, word
from proofs_tests.command import Cli

PAIR = "<type = 'B'>^ -> r1 . <TRUE>* . <type = 'S' AND id = r1.id>^"
TRADES = word("BBBSSB", id="112112")


def test_matches_are_of_the_whole_stream_and_count_from_0() -> None:
    assert cerlab.matches(PAIR, TRADES[:4]) == frozenset({(0, 3)})
    assert cerlab.matches(cerlab.parse_sremo(PAIR), TRADES[:5]) == frozenset({(0, 4)})
    assert cerlab.matches(PAIR, TRADES) == frozenset()
    assert cerlab.matches("EPS", []) == frozenset({()})
    assert cerlab.matches("<TRUE>", [{"type": "A"}]) == frozenset({()})


def test_evaluate_shows_what_ends_at_each_event_in_order() -> None:
    expected = [c(1, 3, 1, 3), c(0, 3, 0, 3), c(1, 4, 1, 4), c(0, 4, 0, 4)]
    expected.sort(key=lambda C: (C.end, C.start, C.positions))
    for pattern in (PAIR, cerlab.parse_sremo(PAIR)):
        for evaluator in ("auto", *names_that_take(any_pattern(pattern))):
            answers = cerlab.evaluate(pattern, TRADES, evaluator=evaluator)  # type: ignore[arg-type]  # names
            assert answers == expected
    assert cerlab.evaluate(PAIR, cerlab.Stream.from_events(TRADES)) == expected
    assert cerlab.evaluate(PAIR, TRADES, language="sremo") == expected
    assert cerlab.count(PAIR, TRADES) == 4
    first_three = cerlab.evaluate(PAIR, TRADES, limit=3)
    assert len(first_three) == 3
    assert set(first_three) < set(expected)


@pytest.mark.parametrize(
    ("text", "types", "expected"),
    [
        ("<type = 'A'>^ . <TRUE>*", "AB", [c(0, 0, 0)]),
        ("<TRUE> . <type = 'A'>^ . <TRUE>", "BAB", []),
        ("<type = 'A'>^ . <TRUE> . <type = 'A'>^", "ABA", [c(0, 2, 0, 2)]),
        ("<TRUE> . <type = 'A'>^", "BA", [c(1, 1, 1)]),
        ("EPS", "AB", []),
        ("<TRUE>", "A", []),
        ("<type = 'A'>^ . <type = 'B'>^*", "ABB", [c(0, 0, 0), c(0, 1, 0, 1), c(0, 2, 0, 1, 2)]),
        ("<type = 'A'>^ | <TRUE>^", "A", [c(0, 0, 0)]),
    ],
)
def test_start_and_end_are_the_first_and_the_last_mark(
    text: str, types: str, expected: list[ComplexEvent]
) -> None:
    assert cerlab.evaluate(text, word(types), language="sremo") == expected


@pytest.mark.parametrize(
    "text",
    [
        "<type = 'A'>^",
        " ( !<type = 'B'> . <type = 'A'>^ )",
        "#(<type = 'A'>^)",
        "@(<type = 'A'>^)",
        "-- a comment\n/* and another */ <type = 'A'>^",
    ],
)
def test_a_text_that_begins_with_a_sign_tells_that_it_is_a_sremo(text: str) -> None:
    assert cerlab.evaluate(text, word("A")) == [c(0, 0, 0)]


def test_many_comments_are_read_in_no_time() -> None:
    assert cerlab.evaluate("/* */" * 1_000 + "<TRUE>^", word("A")) == [c(0, 0, 0)]
    with pytest.raises(QuerySyntaxError):
        cerlab.parse_sremo("/* */" * 1_000)


def test_other_texts_are_read_as_before() -> None:
    assert cerlab.evaluate("EPS", word("A")) == []
    assert cerlab.evaluate("(A)", word("A")) == [c(0, 0, 0)]
    assert cerlab.evaluate("SELECT * WHERE A", word("A")) == [c(0, 0, 0)]
    assert cerlab.evaluate("SELECT * WHERE A", word("A"), language="ceql") == [c(0, 0, 0)]
    with pytest.raises(QuerySyntaxError):
        cerlab.evaluate("A ; B", word("A"), language="sremo")
    with pytest.raises(QuerySyntaxError):
        cerlab.evaluate("<type = 'A'>^", word("A"), language="cel")
    with pytest.raises(UsageError, match="did you mean 'sremo'"):
        cerlab.evaluate("A", word("A"), language="srem")  # type: ignore[arg-type]  # on purpose


def test_what_takes_no_sremo_says_so() -> None:
    taking = names_that_take(any_pattern(PAIR))
    assert taking == ("reference", "compiled", "registers")
    for evaluator in EVALUATORS.keys() - set(taking):
        with pytest.raises(
            Unsupported, match=f'evaluator="{evaluator}" does not support a SREMO'
        ) as caught:
            cerlab.evaluate(PAIR, TRADES, evaluator=evaluator)  # type: ignore[arg-type]  # names
        assert "reference" in caught.value.hint
    with pytest.raises(UsageError, match="unknown evaluator"):
        cerlab.evaluate(PAIR, TRADES, evaluator="none")  # type: ignore[arg-type]  # on purpose
    with pytest.raises(Unsupported, match='logic="fo"'):
        cerlab.evaluate(PAIR, TRADES, logic="fo")
    with pytest.raises(Unsupported, match="no labels"):
        cerlab.valuations(PAIR, TRADES)


@pytest.mark.parametrize(
    ("times", "code"),
    [("01.", "CER0712"), ("021", "CER0714")],
)
def test_a_time_window_needs_times_in_order(times: str, code: str) -> None:
    text = "#(<TRUE>^, (<TRUE>^)[within 5 t])"
    for ask in (cerlab.matches, cerlab.evaluate):
        with pytest.raises(BadData) as caught:
            ask(text, word("AAA", t=times))
        assert caught.value.code == code


def test_the_command_line_knows_the_language(cli: Cli) -> None:
    """Its commands do not take it yet, and say who does."""
    for arguments in (["check", PAIR], ["check", "--language", "sremo", "EPS"]):
        assert "CER0483" in cli(*arguments, status=2).err


@pytest.mark.parametrize("construct", [register_plan, sremo_to_srt])
def test_a_construction_refuses_what_no_text_says(construct: Callable[[Any], Any]) -> None:
    with pytest.raises(cerlab.IllFormed, match="CER0280"):
        construct(SpanWindow(parse_sremo("<v = 1>^"), 0))


def test_a_sremo_shows_itself() -> None:
    e: Any = cerlab.parse_sremo("<a=1>^ . <b=2>")
    assert str(e) == "<a = 1>^ . <b = 2>"
    assert e._repr_mimebundle_()["text/plain"] == "<a = 1>^ . <b = 2>"
    assert isinstance(e, cerlab.Sremo)


@pytest.mark.parametrize("ask", [cerlab.satisfiable, lambda e: cerlab.equivalent("A", e)])
def test_the_deciders_refuse_it_by_name(ask: Callable[[Any], Any]) -> None:
    with pytest.raises(cerlab.Unsupported) as caught:
        ask(cerlab.parse_sremo("<type = 'A'>^"))
    assert caught.value.code == "CER0483"
