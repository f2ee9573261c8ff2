"""LIMIT n: n answers of each end, the latest positions first; ``limit=`` caps them all, by hand.

Which answers of the last end ``limit=`` gives is free, so a row says how many there must be.
"""

from __future__ import annotations

from typing import Any

import pytest

import cerlab
from cerlab import ComplexEvent
from cerlab.model.answer import by_end
from proofs_tests.clauses.tables import EVALUATORS, c, check_answers, word

PAIRS = [c(0, 2, 0, 2), c(1, 2, 1, 2), c(0, 3, 0, 3), c(1, 3, 1, 3)]
"""``A ; B`` on AABB."""

OF_EACH_END = [
    pytest.param("A ; B LIMIT 1", word("AABB"), [c(1, 2, 1, 2), c(1, 3, 1, 3)], id="one"),
    pytest.param("A ; B LIMIT 2", word("AABB"), PAIRS, id="exactly-as-many"),
    pytest.param("A ; B LIMIT 9", word("AABB"), PAIRS, id="fewer-than-allowed"),
    pytest.param("A ; B LIMIT 0", word("AABB"), [], id="none"),
    pytest.param("A ; B LIMIT 1", word("BA"), [], id="of-nothing"),
    pytest.param(
        "A+ LIMIT 3",
        word("AAA"),
        [
            *(c(0, 0, 0), c(0, 1, 0, 1), c(1, 1, 1)),
            *(
                c(0, 2, 0, 1, 2),
                c(1, 2, 1, 2),
                c(2, 2, 2),
            ),  # not {0,2}: 0 is before 1
        ],
        id="the-latest-positions-first",
    ),
    pytest.param(
        "PROJECT[x, C]((A ; A AS x ; C) OR (A ; C)) LIMIT 1",
        word("AAC"),
        [c(1, 2, 2)],  # begins at 1, where [0,2] {1,2} has a position
        id="one-that-begins-comes-before-one-that-goes-on",
    ),
    pytest.param(
        "PROJECT[x, C]((A ; A AS x ; C) OR (A ; C)) LIMIT 2",
        word("AAC"),
        [c(0, 2, 1, 2), c(1, 2, 2)],  # and [0,2] {2} has none
        id="and-that-before-one-that-has-none-there",
    ),
    pytest.param(
        "A ; B WITHIN 1 EVENTS LIMIT 1",
        word("AAB"),
        [c(1, 2, 1, 2)],
        id="after-the-window",
    ),
    pytest.param(
        "A ; B CONSUME BY ANY LIMIT 1",
        word("AABAB"),
        [c(1, 2, 1, 2), c(3, 4, 3, 4)],  # the A that is not given is consumed as well
        id="what-is-not-given-is-consumed",
    ),
    pytest.param(
        "A ; B PARTITION BY [k] LIMIT 1",
        word("AAAABB", k="112212"),
        [c(1, 4, 1, 4), c(3, 5, 3, 5)],
        id="of-each-end-in-its-partition",
    ),
    pytest.param(
        "PROJECT[B](A+ ; B) LIMIT 2",
        word("AAAB"),
        [c(1, 3, 3), c(2, 3, 3)],  # seven valuations are three answers
        id="counts-answers-not-valuations",
    ),
]

IN_ALL = [
    pytest.param("A ; B", 9, 4, id="more"),
    pytest.param("A ; B", 3, 3, id="less"),
    pytest.param("A ; B", 1, 1, id="one"),
    pytest.param("A ; B LIMIT 1", 9, 2, id="with-the-clause"),
    pytest.param("A ; B LIMIT 2", 1, 1, id="less-than-the-clause"),
]


@pytest.mark.parametrize(("rest", "events", "expected"), OF_EACH_END)
def test_clause(rest: str, events: list[dict[str, Any]], expected: list[ComplexEvent]) -> None:
    query = f"SELECT * WHERE {rest}"
    check_answers(query, events, expected)
    check_answers(query if "WITHIN" in query else _within(query), events, expected)
    session = cerlab.parse_query(query).open()
    assert sorted((m for e in events for m in session.push([e])), key=by_end) == expected


def _within(query: str) -> str:
    """The same with a window that everything fits: where windows are read in two phases."""
    head, _, limit = query.partition(" LIMIT ")
    before, consume, policy = head.partition(" CONSUME BY ")
    return f"{before} WITHIN 99 EVENTS{consume}{policy} LIMIT {limit}"


@pytest.mark.parametrize("evaluator", EVALUATORS)
@pytest.mark.parametrize(("rest", "limit", "count"), IN_ALL)
def test_argument(rest: str, limit: int, count: int, evaluator: str) -> None:
    query, events = f"SELECT * WHERE {rest}", word("AABB")
    answers = cerlab.evaluate(query, events, evaluator=evaluator, limit=limit)  # type: ignore[arg-type]  # a literal
    assert answers == [answer for answer in PAIRS if answer in answers]  # true, once each, in order
    assert len(answers) == count
    assert [m.end for m in answers] == [m.end for m in cerlab.evaluate(query, events)[:count]]
