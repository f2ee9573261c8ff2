"""Smaller cases: they still fail, and nothing more can be left out of them."""

from __future__ import annotations

from random import Random

from cerlab import BadData, Event, Formula
from cerlab.logic.cel import syntax as cel
from cerlab.logic.cel.syntax import subformulas
from cerlab.logic.ceql.parser import parse_ceql
from cerlab.logic.ceql.semantics import query_answers
from cerlab.logic.ceql.syntax import CeqlQuery, query_text
from cerlab.model.stream import Stream, time_axis
from cerlab.testing import Shape, random_events, random_query, smallest
from cerlab.testing.choices import smaller
from proofs_tests.suite import random_suite

TIME = time_axis("t", "s")


def has(kind: type[Formula], query: CeqlQuery) -> bool:
    return any(isinstance(phi, kind) for phi in subformulas(query.formula))


def test_only_what_matters_is_left() -> None:
    text = "SELECT LAST * WHERE ((A AS x ; B)+ OR C) ; A FILTER x[v > 1 OR v = 0] WITHIN 4 EVENTS"
    query, _, _ = parse_ceql(text)
    events = [Event(kind, {"v": 7, "w": "a"}, "S") for kind in "ABACBA"]

    def fails(query: CeqlQuery, events: tuple[Event, ...]) -> bool:
        return has(cel.Plus, query) and has(cel.Seq, query) and len(events) >= 2

    smaller, left = smallest(query, events, fails)
    assert query_text(smaller) == "SELECT *\nWHERE (A ; B)+"
    assert [(event.attributes, event.stream) for event in left] == [({}, None)] * 2


def test_a_case_that_raises_is_no_failing_case() -> None:
    query, _, _ = parse_ceql("SELECT * WHERE A ; B")

    def fails(query: CeqlQuery, events: tuple[Event, ...]) -> bool:
        if len(events) < 3:
            raise BadData("CER0712", "too short")
        return True

    assert len(smallest(query, [Event("A")] * 5, fails)[1]) == 3


def test_a_case_of_which_nothing_can_be_left_out_stays() -> None:
    query, _, _ = parse_ceql("SELECT * WHERE A ; B WITHIN 3 EVENTS")
    events = (Event("A", {"v": 1}),)
    assert smallest(query, events, lambda q, S: (q, S) == (query, events)) == (query, events)


@random_suite(2_000)
def test_random_cases(rng: Random) -> bool:
    """With an engine that drops its last answer: one answer is left, on a stream of one event."""
    shape = Shape(depth=2, events=5, family=True)
    query = random_query(rng, shape)
    events = tuple(random_events(rng, query.formula, shape))

    def fails(query: CeqlQuery, events: tuple[Event, ...]) -> bool:
        return bool(query_answers(query, Stream(events, time=TIME)))

    if not fails(query, events):
        return False
    smaller, left = smallest(query, events, fails)
    assert fails(smaller, left)
    assert not any(fails(*each) for each in _that_the_reference_takes(smaller, left))
    assert len(left) == 1
    assert smaller == CeqlQuery(smaller.formula)
    return True


def _that_the_reference_takes(
    query: CeqlQuery, events: tuple[Event, ...]
) -> list[tuple[CeqlQuery, tuple[Event, ...]]]:
    return [(q, S) for q, S in smaller(query, events) if q.window is None]
