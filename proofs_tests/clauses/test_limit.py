"""LIMIT n: at most n answers of each end; ``limit=`` caps them all (DESIGN 3.9), by hand.

Which answers are given is free, so a row holds the true ones, and how many of them there must be.
"""

from __future__ import annotations

from typing import Any

import pytest

import cerlab
from cerlab import ComplexEvent
from proofs_tests.clauses.tables import EVALUATORS, c, word

PAIRS = [c(0, 2, 0, 2), c(1, 2, 1, 2), c(0, 3, 0, 3), c(1, 3, 1, 3)]
"""``A ; B`` on AABB."""

SUBSETS = [
    c(0, 0, 0),
    c(0, 1, 0, 1),
    c(1, 1, 1),
    c(0, 2, 0, 1, 2),
    c(0, 2, 0, 2),
    c(1, 2, 1, 2),
    c(2, 2, 2),
]
"""``A+`` on AAA."""

CASES = [
    pytest.param("A ; B LIMIT 1", word("AABB"), None, PAIRS, {2: 1, 3: 1}, id="one-of-each-end"),
    pytest.param("A ; B LIMIT 2", word("AABB"), None, PAIRS, {2: 2, 3: 2}, id="exactly-as-many"),
    pytest.param("A ; B LIMIT 9", word("AABB"), None, PAIRS, {2: 2, 3: 2}, id="fewer-than-allowed"),
    pytest.param("A+ LIMIT 3", word("AAA"), None, SUBSETS, {0: 1, 1: 2, 2: 3}, id="each-end-alone"),
    pytest.param("A ; B LIMIT 1", word("BA"), None, [], {}, id="of-nothing"),
    pytest.param(
        "A ; B WITHIN 1 EVENTS LIMIT 1",
        word("AAB"),
        None,
        [c(1, 2, 1, 2)],
        {2: 1},  # [0,2] is too long and must not use up the one place
        id="after-the-window",
    ),
    pytest.param(
        "A ; B CONSUME BY ANY LIMIT 1",
        word("AABAB"),
        None,
        [c(0, 2, 0, 2), c(1, 2, 1, 2), c(3, 4, 3, 4)],
        {2: 1, 4: 1},  # the A that is not given is consumed as well
        id="what-is-not-given-is-consumed",
    ),
    pytest.param(
        "A ; B PARTITION BY [k] LIMIT 1",
        word("AAAABB", k="112212"),
        None,
        [c(0, 4, 0, 4), c(1, 4, 1, 4), c(2, 5, 2, 5), c(3, 5, 3, 5)],
        {4: 1, 5: 1},
        id="of-each-end-in-its-partition",
    ),
    pytest.param(
        "PROJECT[B](A+ ; B) LIMIT 2",
        word("AAAB"),
        None,
        [c(0, 3, 3), c(1, 3, 3), c(2, 3, 3)],
        {3: 2},  # seven valuations are three answers; the two given are distinct
        id="counts-answers-not-valuations",
    ),
    pytest.param("A ; B", word("AABB"), 9, PAIRS, {2: 2, 3: 2}, id="limit-in-all-is-more"),
    pytest.param("A ; B", word("AABB"), 3, PAIRS, 3, id="limit-in-all"),
    pytest.param("A ; B", word("AABB"), 1, PAIRS, 1, id="limit-in-all-of-one"),
    pytest.param("A ; B LIMIT 1", word("AABB"), 9, PAIRS, {2: 1, 3: 1}, id="both-the-clause-less"),
    pytest.param("A ; B LIMIT 2", word("AABB"), 1, PAIRS, 1, id="both-the-argument-less"),
]


@pytest.mark.parametrize("evaluator", EVALUATORS)
@pytest.mark.parametrize(("rest", "events", "limit", "true", "given"), CASES)
def test_clause(
    rest: str,
    events: list[dict[str, Any]],
    limit: int | None,
    true: list[ComplexEvent],
    given: dict[int, int] | int,
    evaluator: str,
) -> None:
    query = f"SELECT * WHERE {rest}"
    found = cerlab.evaluate(query, events, evaluator=evaluator, limit=limit)  # type: ignore[arg-type]  # a literal
    assert found == [answer for answer in true if answer in found]  # true, once each, in order
    if isinstance(given, int):
        assert len(found) == given
    else:
        ends = [answer.end for answer in found]
        assert {end: ends.count(end) for end in ends} == given
