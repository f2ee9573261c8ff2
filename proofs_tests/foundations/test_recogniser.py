"""Promises of the evaluators to their callers, under every strategy (FOUND Thm. 6)."""

from __future__ import annotations

from random import Random

import pytest

from cerlab import Event
from cerlab.engine.reference.lists import lists_recogniser
from cerlab.model.clauses import Strategy
from proofs_tests.foundations.anchored_cases import anchored_cea, answers, random_case, word

STRATEGIES = [None, *Strategy]
ANY_SUBSET = anchored_cea(2, "0 ∘ 0, 0 • 1, 1 ∘ 1, 1 • 1", {1})


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_before_the_first_event_there_is_nothing(strategy: Strategy | None) -> None:
    final_at_once = anchored_cea(1, "0 • 0", {0})
    evaluation = lists_recogniser(final_at_once, strategy)
    assert list(evaluation.answers(0)) == []
    evaluation.advance(Event("A"), 0)
    evaluation.reset()
    assert list(evaluation.answers(0)) == []


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_an_enumeration_goes_on_after_a_reset(strategy: Strategy | None) -> None:
    evaluation = lists_recogniser(ANY_SUBSET, strategy)
    for n, event in enumerate(word("AAAA")):
        evaluation.advance(event, n)
    expected = list(evaluation.answers(0))
    going_on = evaluation.answers(0)
    first = next(going_on)
    evaluation.reset()
    assert [first, *going_on] == expected


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_forgetting_what_is_before_the_window_loses_nothing(strategy: Strategy | None) -> None:
    for seed in range(200):
        case = random_case(Random(seed))
        evaluation, other = (lists_recogniser(case.cea, strategy) for _ in range(2))
        for n, event in enumerate(case.events):
            lowest = max(0, n - 2)
            evaluation.forget(lowest)
            evaluation.advance(event, n)
            other.advance(event, n)
            in_window = [C for C in other.answers(0) if C.start >= lowest]
            assert list(evaluation.answers(lowest)) == in_window


@pytest.mark.parametrize(
    ("strategy", "order"),
    [
        (None, [(2,), (1, 2), (0, 1, 2), (0, 2)]),
        (Strategy.STRICT, [(2,), (1, 2), (0, 1, 2)]),
    ],
)
def test_the_order_of_answers_is_fixed(
    strategy: Strategy | None, order: list[tuple[int, ...]]
) -> None:
    """A list has its newest nodes first, in the reverse order in which states were reached."""
    assert answers(ANY_SUBSET, strategy, "AAA") == order


def test_a_long_stream_needs_no_recursion() -> None:
    evaluation = lists_recogniser(ANY_SUBSET, Strategy.NXT)
    for n in range(20_000):
        evaluation.advance(Event("A"), n)
    (answer,) = evaluation.answers(0)
    assert answer.positions == tuple(range(20_000))
