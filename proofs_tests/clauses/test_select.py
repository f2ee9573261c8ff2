"""SELECT: a projection of the answers, each once, in their order (CORE Sec. 2.2)."""

from __future__ import annotations

from typing import Any

import pytest

from cerlab import ComplexEvent
from proofs_tests.clauses.tables import answer_rows, c, check_answers, word

UNSET = pytest.mark.filterwarnings("ignore:CER")
"""For rows that select a label that nothing sets: a warning, and no position."""

CASES = [
    *answer_rows("""
everything-marked | SELECT * WHERE A ; B | ACB | 0-2 0,2
a-type-keeps-the-interval | SELECT A WHERE A ; B | ACB | 0-2 0
a-variable-drops-the-type | SELECT y WHERE A AS x ; B AS y | ACB | 0-2 2
# what is shown of y changes no position
attributes-are-for-display | SELECT x, y[v, w] WHERE A AS x ; B ; A AS y | ABA v=123 | 0-2 0,2
none | SELECT NONE WHERE A ; B | AABB | 0-2; 1-2; 0-3; 1-3
# {0,2} and {0,1,2} have one interval and become one
equal-answers-once-different-starts-stay | SELECT B WHERE A+ ; B | AAB | 0-2 2; 1-2 2
two-valuations-one-answer | SELECT * WHERE A AS x OR A AS y | A | 0-0 0
a-branch-without-it | SELECT x WHERE A AS x OR B | AB | 0-0 0; 1-1
a-variable-of-several | SELECT x WHERE (A ; B) AS x ; C | ABC | 0-2 0,1
everything-means-what-is-still-marked | SELECT * WHERE PROJECT[B](A ; B) ; C | ABC | 0-2 1,2
filters-see-what-is-not-selected | SELECT B WHERE A ; B FILTER A[v = 1] | AAB v=01. | 1-2 2
ordered-by-end-then-start | SELECT * WHERE A OR (A ; A) | AA | 0-0 0; 0-1 0,1; 1-1 1
then-by-positions | SELECT * WHERE A+ ; B | AAAB | 0-3 0,1,2,3; 0-3 0,1,3; 0-3 0,2,3; 0-3 0,3;
    1-3 1,2,3; 1-3 1,3; 2-3 2,3
"""),
    pytest.param("SELECT z WHERE A", word("A"), [c(0, 0)], id="a-label-nothing-sets", marks=UNSET),
    pytest.param(
        "SELECT X WHERE A AS x", word("A"), [c(0, 0)], id="labels-are-case-sensitive", marks=UNSET
    ),
    pytest.param(
        "select `x` where A as `x` -- B too\n", word("AB"), [c(0, 0, 0)], id="any-case-and-quotes"
    ),
]


@pytest.mark.parametrize(("query", "events", "expected"), CASES)
def test_clause(query: str, events: list[dict[str, Any]], expected: list[ComplexEvent]) -> None:
    check_answers(query, events, expected)
