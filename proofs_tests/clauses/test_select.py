"""SELECT: a projection of the answers, each once, in their order (CORE Sec. 2.2)."""

from __future__ import annotations

from typing import Any

import pytest

from cerlab import ComplexEvent
from proofs_tests.clauses.tables import c, check_answers, word

UNSET = pytest.mark.filterwarnings("ignore:CER")
"""For rows that select a label that nothing sets: a warning, and no position."""

CASES = [
    pytest.param("SELECT * WHERE A ; B", word("ACB"), [c(0, 2, 0, 2)], id="everything-marked"),
    pytest.param("SELECT A WHERE A ; B", word("ACB"), [c(0, 2, 0)], id="a-type-keeps-the-interval"),
    pytest.param(
        "SELECT y WHERE A AS x ; B AS y", word("ACB"), [c(0, 2, 2)], id="a-variable-drops-the-type"
    ),
    pytest.param(
        "SELECT x, y[v, w] WHERE A AS x ; B ; A AS y",
        word("ABA", v="123"),
        [c(0, 2, 0, 2)],  # what is shown of y changes no position
        id="attributes-are-for-display",
    ),
    pytest.param(
        "SELECT NONE WHERE A ; B", word("AABB"), [c(0, 2), c(1, 2), c(0, 3), c(1, 3)], id="none"
    ),
    pytest.param(
        "SELECT B WHERE A+ ; B",
        word("AAB"),
        [c(0, 2, 2), c(1, 2, 2)],  # {0,2} and {0,1,2} have one interval and become one
        id="equal-answers-once-different-starts-stay",
    ),
    pytest.param(
        "SELECT * WHERE A AS x OR A AS y", word("A"), [c(0, 0, 0)], id="two-valuations-one-answer"
    ),
    pytest.param(
        "SELECT x WHERE A AS x OR B", word("AB"), [c(0, 0, 0), c(1, 1)], id="a-branch-without-it"
    ),
    pytest.param(
        "SELECT x WHERE (A ; B) AS x ; C", word("ABC"), [c(0, 2, 0, 1)], id="a-variable-of-several"
    ),
    pytest.param("SELECT z WHERE A", word("A"), [c(0, 0)], id="a-label-nothing-sets", marks=UNSET),
    pytest.param(
        "SELECT X WHERE A AS x", word("A"), [c(0, 0)], id="labels-are-case-sensitive", marks=UNSET
    ),
    pytest.param(
        "SELECT * WHERE PROJECT[B](A ; B) ; C",
        word("ABC"),
        [c(0, 2, 1, 2)],
        id="everything-means-what-is-still-marked",
    ),
    pytest.param(
        "SELECT B WHERE A ; B FILTER A[v = 1]",
        word("AAB", v="01."),
        [c(1, 2, 2)],
        id="filters-see-what-is-not-selected",
    ),
    pytest.param(
        "select `x` where A as `x` -- B too\n", word("AB"), [c(0, 0, 0)], id="any-case-and-quotes"
    ),
    pytest.param(
        "SELECT * WHERE A OR (A ; A)",
        word("AA"),
        [c(0, 0, 0), c(0, 1, 0, 1), c(1, 1, 1)],
        id="ordered-by-end-then-start",
    ),
    pytest.param(
        "SELECT * WHERE A+ ; B",
        word("AAAB"),
        [
            c(0, 3, 0, 1, 2, 3),
            c(0, 3, 0, 1, 3),
            c(0, 3, 0, 2, 3),
            c(0, 3, 0, 3),
            c(1, 3, 1, 2, 3),
            c(1, 3, 1, 3),
            c(2, 3, 2, 3),
        ],
        id="then-by-positions",
    ),
]


@pytest.mark.parametrize(("query", "events", "expected"), CASES)
def test_clause(query: str, events: list[dict[str, Any]], expected: list[ComplexEvent]) -> None:
    check_answers(query, events, expected)
