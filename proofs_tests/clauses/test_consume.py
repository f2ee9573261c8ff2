"""CONSUME BY: after an answer at j, as if the stream began after j (CORE App. G)."""

from __future__ import annotations

from typing import Any

import pytest

from cerlab import ComplexEvent
from proofs_tests.clauses.tables import c, check_answers, word

CASES = [
    pytest.param(
        "SELECT * WHERE A ; B CONSUME BY ANY",
        word("AABB"),
        [c(0, 2, 0, 2), c(1, 2, 1, 2)],  # all that end at 2; then B alone is left
        id="all-answers-of-one-end-are-given",
    ),
    pytest.param(
        "SELECT * WHERE A ; B CONSUME BY NONE",
        word("AABB"),
        [c(0, 2, 0, 2), c(1, 2, 1, 2), c(0, 3, 0, 3), c(1, 3, 1, 3)],
        id="none-is-no-consumption",
    ),
    pytest.param(
        "SELECT * WHERE A ; B",
        word("AABB"),
        [c(0, 2, 0, 2), c(1, 2, 1, 2), c(0, 3, 0, 3), c(1, 3, 1, 3)],
        id="none-is-the-default",
    ),
    pytest.param(
        "SELECT * WHERE A ; A CONSUME BY ANY",
        word("AAAA"),
        [c(0, 1, 0, 1), c(2, 3, 2, 3)],  # the A at 1 is used up; the suffix begins at 2
        id="the-last-event-begins-nothing",
    ),
    pytest.param(
        "SELECT * WHERE A : A CONSUME BY ANY",
        word("AAAAA"),
        [c(0, 1, 0, 1), c(2, 3, 2, 3)],
        id="contiguous-pairs-become-disjoint",
    ),
    pytest.param(
        "SELECT * WHERE A+ CONSUME BY ANY",
        word("AAA"),
        [c(0, 0, 0), c(1, 1, 1), c(2, 2, 2)],  # each A completes, so none is left to go on from
        id="an-iteration-never-grows",
    ),
    pytest.param(
        "SELECT * WHERE A ; B+ CONSUME BY ANY",
        word("ABBAB"),
        [c(0, 1, 0, 1), c(3, 4, 3, 4)],
        id="an-iteration-at-the-end-is-cut",
    ),
    pytest.param(
        "SELECT A WHERE A ; B CONSUME BY ANY",
        word("ABAB"),
        [c(0, 1, 0), c(2, 3, 2)],  # [0,3] {0} would hold the consumed 0
        id="an-unmarked-end-consumes",
    ),
    pytest.param(
        "SELECT NONE WHERE A ; B CONSUME BY ANY",
        word("AABB"),
        [c(0, 2), c(1, 2)],
        id="an-empty-answer-consumes",
    ),
    pytest.param(
        "SELECT B WHERE NOT(B) ; B CONSUME BY ANY",
        word("CABB"),
        [c(0, 2, 2), c(1, 2, 2)],  # 0 and 1 are marked nowhere and are used up all the same
        id="unmarked-events-are-consumed",
    ),
    pytest.param(
        "SELECT * WHERE (A ; B) OR (B ; C) WITHIN 1 EVENTS CONSUME BY ANY",
        word("ADBC"),
        [c(2, 3, 2, 3)],  # [0,2] is too long, so its B is still there
        id="what-the-window-rejects-does-not-consume",
    ),
    pytest.param(
        "SELECT * WHERE A ; B CONSUME BY PARTITION",
        word("AABBAB"),
        [c(0, 2, 0, 2), c(1, 2, 1, 2), c(4, 5, 4, 5)],
        id="without-partitions-the-stream-is-one",
    ),
    pytest.param(
        "SELECT * WHERE A ; B PARTITION BY [k] CONSUME BY ANY",
        word("AABAB", k="21122"),
        [c(1, 2, 1, 2), c(3, 4, 3, 4)],  # 2 ends a match of k = 1 and the A at 0 of k = 2
        id="any-restarts-every-partition",
    ),
    pytest.param(
        "SELECT * WHERE A ; B PARTITION BY [k] CONSUME BY PARTITION",
        word("AABAB", k="21122"),
        [c(1, 2, 1, 2), c(0, 4, 0, 4), c(3, 4, 3, 4)],
        id="partition-restarts-its-own",
    ),
    pytest.param(
        "SELECT * WHERE A ; B PARTITION BY [k] CONSUME BY NONE",
        word("AABAB", k="21122"),
        [c(1, 2, 1, 2), c(0, 4, 0, 4), c(3, 4, 3, 4)],
        id="none-restarts-none",
    ),
    pytest.param(
        "SELECT * WHERE A ; B PARTITION BY [k] WITHIN 1 EVENTS CONSUME BY PARTITION",
        word("AACBBAB", k="1212121"),
        [c(1, 3, 1, 3)],  # of k = 1: A C B B, whose B is 2 after A; of k = 2: A B A, then no B
        id="with-a-window-inside-partitions",
    ),
    pytest.param(
        "SELECT * WHERE A ; B PARTITION BY [k] WITHIN 100 [t] CONSUME BY ANY",
        word("AABAB", k="01011", t="01234"),
        [c(0, 2, 0, 2), c(3, 4, 3, 4)],  # {1, 4} would hold an event before the answer at 2
        id="any-restarts-every-partition-inside-a-window-in-time",
    ),
    pytest.param(
        "SELECT * WHERE A ; B PARTITION BY [k] WITHIN 100 [t] CONSUME BY PARTITION",
        word("AABAB", k="01011", t="01234"),
        [c(0, 2, 0, 2), c(1, 4, 1, 4), c(3, 4, 3, 4)],
        id="partition-restarts-its-own-inside-a-window-in-time",
    ),
]


@pytest.mark.parametrize(("query", "events", "expected"), CASES)
def test_clause(query: str, events: list[dict[str, Any]], expected: list[ComplexEvent]) -> None:
    check_answers(query, events, expected)
