"""The public generators: what `cerlab.testing` hands to tests of other engines."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import find, given, settings

import cerlab
from cerlab.model.stream import Stream
from cerlab.testing import Shape, cases, random_events, random_query
from cerlab.workbench import as_query

SMALL = Shape(depth=2, events=4)


@pytest.mark.filterwarnings("ignore::cerlab.CerlabWarning")
@settings(max_examples=100, deadline=None)
@given(cases(SMALL))
def test_a_case_is_text_and_dicts_that_every_evaluator_takes(
    case: tuple[str, list[dict[str, Any]]],
) -> None:
    text, rows = case
    events = Stream.from_events(rows, time="t", unit="s")
    expected = cerlab.evaluate(text, events, evaluator="reference")
    assert cerlab.evaluate(text, events) == expected


def test_the_same_seed_gives_the_same_case() -> None:
    first, again = (random_query(Random(5)) for _ in range(2))
    assert first == again
    assert random_events(Random(6), first.formula) == random_events(Random(6), again.formula)


@pytest.mark.filterwarnings("ignore::cerlab.CerlabWarning")
def test_failures_can_be_searched_for_and_shrink() -> None:
    """A wrong engine that forgets every second answer is found out."""

    def wrong(case: tuple[str, list[dict[str, Any]]]) -> bool:
        text, rows = case
        answers = cerlab.evaluate(as_query(text), Stream.from_events(rows, time="t", unit="s"))
        return answers[::2] != answers

    text, rows = find(cases(SMALL), wrong)
    assert wrong((text, rows))
