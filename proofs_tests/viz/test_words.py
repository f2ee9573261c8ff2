"""Values in words: events in one form everywhere, moments of any year."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random

import pytest

import cerlab
from cerlab import Event, Timestamp
from cerlab.model.event import Value
from cerlab.predicates import syntax as pred
from cerlab.predicates.text import event_text, predicate_text
from cerlab.predicates.truth import satisfies
from cerlab.viz.machines import short_guard
from proofs_tests.suite import random_suite

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FIRST, LAST = (round((datetime(y, 1, 1, tzinfo=UTC) - EPOCH).total_seconds()) for y in (1, 9999))


@random_suite(5_000)
def test_moments_are_written_as_the_calendar_of_python_has_them(rng: Random) -> bool:
    seconds, nanos = rng.randrange(FIRST, LAST), rng.choice((0, 1, 10**8, rng.randrange(10**9)))
    moment = (EPOCH + timedelta(seconds=seconds)).isoformat().removesuffix("+00:00")
    fraction = f"{nanos / 10**9:.9f}".lstrip("0").rstrip("0").rstrip(".")
    assert str(Timestamp(seconds * 10**9 + nanos)) == f"{moment}{fraction}Z"
    return True


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (FIRST - 1, "0000-12-31T23:59:59Z"),  # a leap year, as ISO 8601 counts
        (FIRST - 366 * 86_400 - 1, "-0001-12-31T23:59:59Z"),
        (LAST + 365 * 86_400, "+10000-01-01T00:00:00Z"),
        (10**21, "+31688738508781-06-07T01:46:40Z"),
    ],
)
def test_years_that_python_has_no_dates_for(seconds: int, text: str) -> None:
    assert str(Timestamp(seconds * 10**9)) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3, "3"),
        ("3", "'3'"),
        ("", "''"),
        ("it's", "'it''s'"),
        (None, "NULL"),
        (True, "TRUE"),
        (0.5, "0.5"),
        (Timestamp(0), "1970-01-01T00:00:00Z"),
        (10**40, "about 1.00·10^40"),
        (10**30 - 1, "9" * 30),
        (10**30, "about 1.00·10^30"),
    ],
)
def test_values_of_events_are_told_apart(value: Value, text: str) -> None:
    assert event_text(Event("A", {"v": value})) == f"A(v={text})"
    assert event_text(Event("A", {"v": value}), names=False) == f"A({text})"


def test_an_event_is_cut_where_it_is_too_long_and_says_so() -> None:
    event = Event("A", {f"a{n}": n for n in range(10**4)})
    assert event_text(event, 12) == "A(a0=0, a1=…"
    assert event_text(event, 12, names=False) == "A(0, 1, 2, …"


def test_a_line_of_an_event_is_cut_where_nothing_else_is_asked() -> None:
    assert len(event_text(Event("A", {"v": "x" * 80}))) == 60


@random_suite(10_000, needs_answers=0.3)
def test_short_guards_hold_for_the_same_events(rng: Random) -> bool:
    def predicate(rng: Random, depth: int) -> pred.Predicate:
        match rng.randrange(7 if depth else 3):
            case 0 | 1:
                return pred.TypeIs(rng.choice("AB"))
            case 2:
                return pred.Comparison(
                    pred.Operator.GT, pred.Attribute("v"), pred.Constant(rng.randrange(2))
                )
            case 3:
                return pred.Not(predicate(rng, depth - 1))
            case 4:
                return pred.Or(predicate(rng, depth - 1), predicate(rng, depth - 1))
            case _:
                return pred.And(predicate(rng, depth - 1), predicate(rng, depth - 1))

    P: pred.Predicate = pred.And(predicate(rng, 1), predicate(rng, 4))
    short = short_guard(P)
    assert len(predicate_text(short)) <= len(predicate_text(P))
    for event in (Event(kind, {"v": v}) for kind in "ABC" for v in range(3)):
        assert satisfies(event, short) == satisfies(event, P)
    return short != P


ODD = "\x1b[31mred\u202e"


@pytest.mark.parametrize("positions", [[0], [0, 1]])
def test_what_is_printed_has_no_control_characters_of_values(positions: list[int]) -> None:
    """A terminal would obey them; the text of a query keeps its own."""
    events = [{"type": "A", "name": ODD}, {"type": ODD, "name": "x"}]
    query = cerlab.parse_query(f"SELECT * WHERE A FILTER A[name = '{ODD}'] AND A[v > 1]")
    stream = cerlab.Stream.from_events(events)
    for value in (
        cerlab.why(query, events, positions),
        cerlab.why("A ; B FILTER A[name = 'q']", events, positions),
        cerlab.why(query, events, positions).derivation,
        cerlab.why_none(query, events),
        cerlab.timeline("A", events),
        cerlab.step("A", events),
        cerlab.step("A", events)[0],
        query.tecs(events),
        *(stream, stream.events[0], query.run(events)),
    ):
        assert "\x1b" not in str(value) + repr(value), type(value)
        assert "\u202e" not in str(value) + repr(value), type(value)
    assert "\\u001b[31mred" in str(cerlab.why(query, events, positions))
    assert cerlab.parse_query(str(query)).ast == query.ast
