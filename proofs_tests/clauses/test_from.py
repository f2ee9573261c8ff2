"""FROM: the events of the named streams, merged as they arrive (CORE Sec. 2.2)."""

from __future__ import annotations

from typing import Any

import pytest

from cerlab import ComplexEvent
from proofs_tests.clauses.tables import c, check_answers


def merge(text: str) -> list[dict[str, Any]]:
    """``merge("S>A B")``: an A of the stream S, then a B that names no stream."""
    events: list[dict[str, Any]] = []
    for each in text.split():
        *stream, event_type = each.split(">")
        events.append({"type": event_type, **({"stream": stream[0]} if stream else {})})
    return events


CASES = [
    pytest.param(
        "SELECT * FROM S WHERE A ; B", merge("S>A T>A S>B T>B"), [c(0, 2, 0, 2)], id="one-stream"
    ),
    pytest.param(
        "SELECT * FROM T, S WHERE A ; B",
        merge("S>A T>A S>B T>B"),
        [c(0, 2, 0, 2), c(1, 2, 1, 2), c(0, 3, 0, 3), c(1, 3, 1, 3)],
        id="several-in-order-of-arrival-not-of-naming",
    ),
    pytest.param(
        "SELECT * WHERE A ; B",
        merge("S>A T>A S>B T>B"),
        [c(0, 2, 0, 2), c(1, 2, 1, 2), c(0, 3, 0, 3), c(1, 3, 1, 3)],
        id="without-it-all-streams",
    ),
    pytest.param(
        "SELECT * FROM S WHERE A",
        merge("A S>A T>A"),
        [c(0, 0, 0), c(1, 1, 1)],
        id="an-event-without-a-stream-is-in-all",
    ),
    pytest.param(
        "SELECT * WHERE A ; B FILTER S>A[v = 1]",
        merge("S>A T>A A S>B"),  # without attributes: only events of S, or of all, must have them
        [c(1, 3, 1, 3)],
        id="a-filter-on-the-events-of-one-stream",
    ),
    pytest.param(
        "SELECT * WHERE A ; B FILTER (S>A[v = 1] OR T>B[v = 1]) AND A[type = 'A']",
        merge("S>A T>A S>B T>B"),
        [c(0, 2, 0, 2), c(1, 2, 1, 2), c(1, 3, 1, 3)],
        id="such-filters-under-or-and-and",
    ),
    pytest.param(
        "SELECT S>A WHERE A ; B",
        merge("S>A T>A A S>B"),
        [c(0, 3, 0), c(1, 3), c(2, 3, 2)],
        id="select-the-events-of-one-stream",
    ),
    pytest.param(
        "SELECT S>A, T>A, T>B FROM S, T WHERE A ; B",
        merge("S>A T>A U>A S>B T>B"),
        [c(0, 3, 0), c(1, 3, 1), c(0, 4, 0, 4), c(1, 4, 1, 4)],
        id="select-those-of-several",
    ),
    pytest.param(
        "SELECT S>x, A WHERE (A OR B)+ AS x : C",
        merge("T>A T>B S>B C"),
        [c(0, 3, 0, 2), c(1, 3, 2), c(2, 3, 2)],
        id="select-of-a-label-beside-a-whole-one",
    ),
    pytest.param(
        "SELECT * FROM S WHERE A : B",
        merge("S>A T>C S>B"),
        [c(0, 2, 0, 2)],
        id="an-event-of-another-stream-is-no-gap",
    ),
    pytest.param("SELECT * WHERE A : B", merge("S>A T>C S>B"), [], id="without-it-it-is-a-gap"),
    pytest.param(
        "SELECT * FROM S WHERE A ; B WITHIN 1 EVENTS",
        merge("S>A T>C T>C S>B"),
        [c(0, 3, 0, 3)],
        id="events-are-counted-in-the-streams-named",
    ),
    pytest.param(
        "SELECT * FROM S WHERE NOT(A)",
        merge("S>A T>B S>B"),
        [c(2, 2)],
        id="not-sees-only-the-streams-named",
    ),
    pytest.param(
        "SELECT * FROM S, T WHERE S>A ; T>A",
        merge("S>A T>A S>A"),
        [c(0, 1, 0, 1)],
        id="an-atom-of-one-of-them",
    ),
    pytest.param(
        "SELECT * FROM S, T WHERE S>A",
        merge("A T>A S>A"),
        [c(0, 0, 0), c(2, 2, 2)],
        id="an-atom-of-one-takes-what-names-no-stream",
    ),
    pytest.param(
        "SELECT A FROM S, T WHERE S>A ; T>B",
        merge("S>A T>B S>B"),
        [c(0, 1, 0)],
        id="its-label-is-the-type-alone",
    ),
    pytest.param(
        "SELECT * FROM S, T WHERE S>A OR T>A FILTER A[v = 1]",
        [
            {"type": "A", "stream": "S", "v": 0},
            {"type": "A", "stream": "T", "v": 1},
            {"type": "A", "stream": "S", "v": 1},
        ],
        [c(1, 1, 1), c(2, 2, 2)],
        id="a-filter-on-the-type-is-on-those-of-all-streams",
    ),
    pytest.param(
        "SELECT * FROM U WHERE A", merge("S>A T>A"), [], id="a-stream-without-events-is-empty"
    ),
    pytest.param(
        "SELECT * FROM S WHERE A : B PARTITION BY [k]",
        [
            {"type": "A", "stream": "S", "k": 1},
            {"type": "C", "stream": "T", "k": 1},
            {"type": "C", "stream": "S", "k": 2},
            {"type": "B", "stream": "S", "k": 1},
        ],
        [c(0, 3, 0, 3)],
        id="then-the-partition",
    ),
]


@pytest.mark.parametrize(("query", "events", "expected"), CASES)
def test_clause(query: str, events: list[dict[str, Any]], expected: list[ComplexEvent]) -> None:
    check_answers(query, events, expected)
