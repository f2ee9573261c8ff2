"""WITHIN: the window bounds the interval, ends included (CORE Sec. 2.2)."""

from __future__ import annotations

from typing import Any

import pytest

from cerlab import ComplexEvent, Stream
from proofs_tests.clauses.tables import answer_rows, c, check_answers


def at(types: str, attribute: str, times: list[Any]) -> list[dict[str, Any]]:
    return [{"type": t, attribute: time} for t, time in zip(types, times, strict=True)]


def millis(types: str, times: list[int]) -> Stream:
    return Stream.from_events(at(types, "ts", times), time="ts", unit="ms")


CASES = [
    *answer_rows("""
end-minus-start | SELECT * WHERE A ; B WITHIN 2 EVENTS | ACB | 0-2 0,2
one-event-too-long | SELECT * WHERE A ; B WITHIN 1 EVENTS | ACB |
# four events; with the B at 4 it would be five
three-events-span-four-and-no-more | SELECT * WHERE A ; B WITHIN 3 EVENTS | ACCBB | 0-3 0,3
an-iteration-is-cut-by-its-whole-length | SELECT * WHERE A+ WITHIN 2 EVENTS | AABA | 0-0 0; 0-1 0,1;
    1-1 1; 1-3 1,3; 3-3 3
# {0} alone is short, its interval [0,2] is not
the-unmarked-end-counts | SELECT A WHERE A ; B WITHIN 1 EVENTS | ACBAB | 3-4 3
# both starts mark {2}; only [1,2] fits
of-equal-marks-the-short-interval-stays | SELECT B WHERE A ; B WITHIN 1 EVENTS | AAB | 1-2 2
an-empty-answer-has-a-length | SELECT NONE WHERE A ; B WITHIN 1 EVENTS | AABB | 1-2
the-event-of-not-counts | SELECT * WHERE A ; NOT(A) WITHIN 1 EVENTS | ABB | 0-1 0
attribute-equal-times-in-stream-order | SELECT * WHERE A ; B WITHIN 0 [ts] | BABB ts=4556 | 1-2 1,2
"""),
    pytest.param(
        "SELECT * WHERE A ; B WITHIN 10 [ts]",
        at("ABB", "ts", [0, 10, 11]),
        [c(0, 1, 0, 1)],
        id="attribute-inclusive",
    ),
    pytest.param(
        "SELECT * WHERE A ; B WITHIN 1 [ts]",
        at("ABB", "ts", [0.5, 1.5, 1.75]),
        [c(0, 1, 0, 1)],
        id="attribute-with-a-fraction",
    ),
    pytest.param(
        "SELECT * WHERE A ; B WITHIN 1 [ts]",
        at("AXXXXXXB", "ts", [0, 0, 0, 1, 1, 1, 1, 1]),
        [c(0, 7, 0, 7)],
        id="attribute-whatever-the-number-of-events",
    ),
    pytest.param(
        "SELECT B WHERE A ; B WITHIN 1 [ts]",
        at("AAB", "ts", [0, 9, 10]),
        [c(1, 2, 2)],
        id="attribute-from-the-start-of-the-interval",
    ),
    pytest.param(
        "SELECT * WHERE A ; B WITHIN 1 [ts]",
        millis("ABB", [0, 1, 2]),
        [c(0, 1, 0, 1)],  # one of the attribute's own units, here a millisecond; not a second
        id="attribute-in-its-own-unit",
    ),
    pytest.param(
        "SELECT * WHERE A ; B WITHIN 1 SECONDS",
        millis("ABB", [0, 1000, 1001]),
        [c(0, 1, 0, 1)],
        id="second-inclusive",
    ),
    pytest.param(
        "SELECT * WHERE A ; B WITHIN 1 HOURS 1 MINUTES 1 SECONDS",
        millis("ABB", [5, 3661005, 3661006]),
        [c(0, 1, 0, 1)],  # 3600 + 60 + 1 seconds
        id="hours-minutes-and-seconds-add-up",
    ),
    pytest.param(
        "SELECT * WHERE A ; B WITHIN 90 SECONDS",
        millis("ABB", [0, 90000, 90001]),
        [c(0, 1, 0, 1)],
        id="more-seconds-than-a-minute",
    ),
    pytest.param(
        "SELECT * WHERE A ; B",
        at("AXXXXB", "ts", [0, 0, 0, 0, 0, 10**9]),
        [c(0, 5, 0, 5)],
        id="without-it-no-window",
    ),
]


@pytest.mark.parametrize(("query", "events", "expected"), CASES)
def test_clause(query: str, events: Any, expected: list[ComplexEvent]) -> None:
    check_answers(query, events, expected)
