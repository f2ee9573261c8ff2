"""LIMIT n: n answers of each end, the latest positions first; ``limit=`` caps them all, by hand.

Which answers of the last end ``limit=`` gives is free, so a row says how many there must be.
"""

from __future__ import annotations

import pytest

import cerlab
from proofs_tests.clauses.tables import EVALUATORS, c, word

PAIRS = [c(0, 2, 0, 2), c(1, 2, 1, 2), c(0, 3, 0, 3), c(1, 3, 1, 3)]
"""``A ; B`` on AABB."""


IN_ALL = [
    pytest.param("A ; B", 9, 4, id="more"),
    pytest.param("A ; B", 3, 3, id="less"),
    pytest.param("A ; B", 1, 1, id="one"),
    pytest.param("A ; B LIMIT 1", 9, 2, id="with-the-clause"),
    pytest.param("A ; B LIMIT 2", 1, 1, id="less-than-the-clause"),
]


@pytest.mark.parametrize("evaluator", EVALUATORS)
@pytest.mark.parametrize(("rest", "limit", "count"), IN_ALL)
def test_argument(rest: str, limit: int, count: int, evaluator: str) -> None:
    query, events = f"SELECT * WHERE {rest}", word("AABB")
    answers = cerlab.evaluate(query, events, evaluator=evaluator, limit=limit)  # type: ignore[arg-type]  # a literal
    assert answers == [answer for answer in PAIRS if answer in answers]  # true, once each, in order
    assert len(answers) == count
    assert [m.end for m in answers] == [m.end for m in cerlab.evaluate(query, events)[:count]]
