"""A strategy in SELECT: after projection, before WITHIN, then consumption."""

from __future__ import annotations

from typing import Any

import pytest

import cerlab
from cerlab import ComplexEvent
from proofs_tests.clauses.tables import c, check_answers, word

CASES = [
    pytest.param(
        "SELECT NEXT * WHERE A ; B WITHIN 1 EVENTS", word("AXXAB"), [], id="within-after-next"
    ),
    pytest.param(
        "SELECT LAST * WHERE A ; B WITHIN 1 EVENTS", word("AXXAB"), [c(3, 4, 3, 4)], id="and-last"
    ),
    pytest.param(
        "SELECT NEXT B WHERE A ; B", word("AAB"), [c(0, 2, 2), c(1, 2, 2)], id="after-projection"
    ),
    pytest.param(
        "SELECT STRICT A WHERE A ; B",
        word("ABB"),
        [c(0, 1, 0), c(0, 2, 0)],
        id="strict-before-events-without-labels",
    ),
    pytest.param(
        "SELECT MAX * WHERE A+ PARTITION BY [k]",
        [{"type": "A", "k": k} for k in (1, 2, 1)],
        [c(0, 0, 0), c(1, 1, 1), c(0, 2, 0, 2)],
        id="in-each-partition",
    ),
    pytest.param(
        "SELECT STRICT * WHERE A ; B PARTITION BY [k]",
        [{"type": t, "k": k} for t, k in (("A", 1), ("A", 2), ("B", 1))],
        [c(0, 2, 0, 2)],  # next to each other in their partition
        id="contiguous-in-the-partition",
    ),
    pytest.param(
        "SELECT NEXT * WHERE A ; B CONSUME BY ANY",
        word("AABAAB"),
        [c(0, 2, 0, 2), c(3, 5, 3, 5)],
        id="consumed-events-do-not-compete",
    ),
    pytest.param(
        "SELECT NEXT * WHERE A ; B WITHIN 2 EVENTS CONSUME BY ANY",
        word("AXABB"),
        [],  # at 3 and at 4 the first A wins and the window rejects it; nothing is consumed
        id="what-the-window-rejects-consumes-nothing",
    ),
]


@pytest.mark.parametrize(("query", "events", "expected"), CASES)
def test_clause(query: str, events: list[dict[str, Any]], expected: list[ComplexEvent]) -> None:
    check_answers(query, events, expected)


def test_auto_and_count_take_what_only_the_reference_takes() -> None:
    query = "SELECT MAX * WHERE A+"
    assert cerlab.evaluate(query, word("AAA")) == [c(0, 0, 0), c(0, 1, 0, 1), c(0, 2, 0, 1, 2)]
    assert cerlab.count(query, word("AAA")) == 3
