"""The faults in the report on pycer (`examples/trial/pycer`): each smallest case has one cause.

A cause is another meaning of the query, stated here; what it makes of a case is the verdict of the
report, and what any other cause makes of it is right.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import pytest

from cerlab import Event
from cerlab.fuzz import reference
from cerlab.logic.ceql.parser import parse_ceql
from cerlab.logic.ceql.syntax import CeqlQuery, query_text
from cerlab.model.clauses import AttributeWindow, EventWindow

REPORT = Path(__file__).parents[2] / "examples" / "trial" / "pycer"
Answers: TypeAlias = set[tuple[int, ...]] | None
"""The positions of each answer; None for an end of the process."""


def right(query: CeqlQuery, events: Sequence[Event]) -> set[tuple[int, ...]]:
    return {tuple(answer.positions) for answer in reference(query, events)}


def exclusive_window(query: CeqlQuery, events: Sequence[Event]) -> Answers:
    """``WITHIN n [t]`` has less than n."""
    if not isinstance(query.window, AttributeWindow):
        return right(query, events)
    attribute, n = query.window.attribute, query.window.width
    times = [int(event.attributes[attribute]) for event in events]  # type: ignore[arg-type]
    matches = reference(query, events)
    return {tuple(m.positions) for m in matches if times[m.end] - times[m.start] < n}


def division_by_zero(query: CeqlQuery, events: Sequence[Event]) -> Answers:
    """``/`` and ``%`` by zero end the process."""
    divisors = re.findall(r"[/%] (\w)", query_text(query))
    divides_by_zero = any(event.attributes.get(name) == 0 for event in events for name in divisors)
    return None if divides_by_zero else right(query, events)


def no_strategy(query: CeqlQuery, events: Sequence[Event]) -> Answers:
    """STRICT, NEXT, LAST and MAX have no effect."""
    return right(replace(query, strategy=None), events)


def gaps_after_a_sequence(query: CeqlQuery, events: Sequence[Event]) -> Answers:
    """``:+`` after ``;`` skips events, as ``+``."""
    before, after, rest = query_text(query).partition(" ; ")
    return right(parse_ceql(before + after + rest.replace(":+", "+"))[0], events)


def window_of_all_partitions(query: CeqlQuery, events: Sequence[Event]) -> Answers:
    """``WITHIN n EVENTS`` beside PARTITION BY counts the events of all partitions."""
    if not isinstance(query.window, EventWindow):
        return right(query, events)
    matches, n = reference(query, events), query.window.width
    return {tuple(m.positions) for m in matches if m.end - m.start <= n}


def first_of_a_bracket(query: CeqlQuery, events: Sequence[Event]) -> Answers:
    """``[k, v]`` names one attribute: v where an event has no k."""
    return right(replace(query, partition=tuple(names[:1] for names in query.partition)), events)


CAUSES: dict[Callable[[CeqlQuery, Sequence[Event]], Answers], set[int]] = {
    exclusive_window: {1},
    division_by_zero: {2, 3, 4},
    no_strategy: {5, 6, 7, 8, 11, 13, 14},
    gaps_after_a_sequence: {9},
    window_of_all_partitions: {10, 12},
    first_of_a_bracket: {15},
}
"""The cases of each cause, by their numbers in the report."""


def verdict(query: CeqlQuery, events: Sequence[Event], answers: Answers) -> str:
    if answers is None:
        return "crash"
    expected = right(query, events)
    return "missing" if expected - answers else "extra" if answers - expected else "same"


def cases() -> list[tuple[str, CeqlQuery, list[Event]]]:
    engines = json.loads((REPORT / "trial.json").read_text())["engines"]
    (pycer,) = (engine for engine in engines if engine["name"] == "pycer")
    assert not pycer["unsorted"]
    return [
        (
            each["verdict"],
            parse_ceql(each["query"])[0],
            [Event(row["type"], {k: row[k] for k in "vwkt"}) for row in each["data"]],
        )
        for each in pycer["causes"]
    ]


@pytest.mark.parametrize("number", range(1, 16))
def test_a_case_has_one_cause(number: int) -> None:
    kind, query, events = cases()[number - 1]
    for cause, numbers in CAUSES.items():
        expected = kind if number in numbers else "same"
        assert verdict(query, events, cause(query, events)) == expected, cause.__doc__


def test_every_case_is_sorted() -> None:
    assert sorted(n for numbers in CAUSES.values() for n in numbers) == list(
        range(1, len(cases()) + 1)
    )
