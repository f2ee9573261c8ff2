"""`why` deep in the real stock stream: query S3 and what breaks it (CORE App. D).

Work is counted in the derivations that the search looks at, not in seconds.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from cerlab import ComplexEvent, Stream, Why
from cerlab.why import Derivation, Kind, Reading, deduction, why
from proofs_tests.core.test_real_stream import S3

ANSWER = ComplexEvent(199_914, 200_021, (199_914, 200_020, 200_021))
STEPS = 20_000
"""Partial derivations that suffice on 224,473 events."""


@pytest.fixture(scope="module")
def stream(stock_file: Path) -> Stream:
    return Stream.read(stock_file)


@pytest.fixture(autouse=True)
def few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deduction, "MAX_STEPS", STEPS)


def kinds(explanation: Why) -> list[Kind]:
    return [failure.kind for failure in explanation.failures]


def test_an_answer(stream: Stream) -> None:
    explanation = why(S3, stream, ANSWER.positions)
    assert explanation.holds
    assert isinstance(explanation.derivation, Derivation)
    V = explanation.derivation.valuation
    assert V is not None
    assert (V.start, V.end) == (ANSWER.start, ANSWER.end)
    assert V.labels["T1"] == ANSWER.positions[:1]


def test_what_is_in_the_way(stream: Stream) -> None:
    first, second, third = ANSWER.positions
    narrow = S3.replace("10000", "100")
    tight = S3.replace("SELL as T1;", "SELL as T1:")
    assert kinds(why(S3, stream, (first, second))) == [Kind.MISSING]
    assert kinds(why(narrow, stream, ANSWER.positions)) == [Kind.WINDOW]
    assert kinds(why(tight, stream, ANSWER.positions)) == [Kind.GAP]
    other = why(S3, stream, (first + 1, second, third))
    assert [str(failure) for failure in other.failures] == [
        f"event {first + 1} is BUY, SELL was asked",
        f"T1 at {first + 1} fails name = 'INTC': name is 'RIMM'",
    ]


def test_events_that_select_leaves_out_are_found(stream: Stream) -> None:
    without_t1 = S3.replace("SELECT *", "SELECT T2, T3")
    assert why(without_t1, stream, ANSWER.positions[1:]).holds
    wrong = without_t1.replace("'QQQ'", "'QQX'")
    (failure,) = why(wrong, stream, ANSWER.positions[1:]).failures
    assert str(failure) == f"T3 at {ANSWER.end} fails name = 'QQX': name is 'QQQ'"


def test_what_was_consumed(stream: Stream) -> None:
    (failure,) = why(f"{S3} CONSUME BY ANY", stream, ANSWER.positions).failures
    assert failure.kind is Kind.CONSUME
    assert failure.rival is not None
    assert ANSWER.start <= failure.rival.end < ANSWER.end


SREMO = """#(<type = 'SELL' AND name = 'INTC'>^ -> x, <type = 'BUY' AND name = 'RIMM'>^,
  <type = 'BUY' AND name = 'QQQ' AND price > x.price>^)[within 10000 stock_time]"""
"""The first pattern on stocks of SRT Sec. 5.3."""


@pytest.mark.long
def test_a_sremo(stream: Stream) -> None:
    first, second, third = ANSWER.positions
    explanation = why(SREMO, stream, ANSWER.positions)
    assert explanation.holds
    assert isinstance(explanation.derivation, Derivation)
    chain = explanation.derivation.children[0].children
    assert [child.interval[0] for child in chain] == [*ANSWER.positions]
    assert isinstance(explanation.derivation.valuation, Reading)
    assert explanation.derivation.valuation.registers == (("x", first),)
    narrow = why(SREMO.replace("10000", "100"), stream, ANSWER.positions)
    assert kinds(narrow) == [Kind.WINDOW]
    (failure,) = why(SREMO.replace("price >", "price <"), stream, ANSWER.positions).failures
    prices = [stream[p].attributes["price"] for p in (third, first)]
    assert str(failure) == (
        f"event {third} fails price < x.price: price is {prices[0]}, "
        f"x is event {first} with price {prices[1]}"
    )
    (failure,) = why(SREMO.replace("#", "@"), stream, ANSWER.positions).failures
    assert failure.kind is Kind.NEGATION
    assert failure.rival is not None
    assert first < failure.rival.start < third
    assert kinds(why(SREMO, stream, (first, second))) == [Kind.MISSING]
