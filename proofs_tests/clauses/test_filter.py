"""phi FILTER X[P]: all events of X satisfy P (CORE Table 2)."""

from __future__ import annotations

from typing import Any

import pytest

from cerlab import Valuation
from proofs_tests.clauses.tables import check_valuations, rows, v

CASES = [
    *rows("""
keeps-what-satisfies | A FILTER A[v = 1] | AA v=01 | 1-1 A=1
an-empty-label-holds | A FILTER B[v = 1] | A v=0 | 0-0 A=0
for-all-events-of-the-label | (A ; A) FILTER A[v = 1] | AAA v=101 | 0-2 A=0,2
inside-an-iteration-each-one | (A FILTER A[v = 1])+ | AAA v=101 | 0-0 A=0; 0-2 A=0,2; 2-2 A=2
outside-an-iteration-the-same-here | A+ FILTER A[v = 1] | AAA v=101 | 0-0 A=0; 0-2 A=0,2; 2-2 A=2
or-of-filters-decides-as-a-whole | (A ; A) AS x FILTER x[v = 0] OR x[v = 1] | AAA v=011 |
    1-2 A=1,2 x=1,2
or-inside-brackets-decides-each | (A ; A) AS x FILTER x[v = 0 OR v = 1] | AA v=01 | 0-1 A=0,1 x=0,1
and-nests | A AS x FILTER A[v = 1] AND x[w = 1] | AAA v=110 w=101 | 0-0 A=0 x=0
suffix-then-operator | A FILTER A[v = 1] ; A | AA v=10 | 0-1 A=0,1
suffix-on-everything-left | A ; A FILTER A[v = 1] | AA v=10 |
projected-away-labels-are-empty | PROJECT[x](A AS x) FILTER A[v = 1] | A v=0 | 0-0 x=0
either-side-of-or-may-set-it | (A AS x OR B) FILTER x[v = 1] | AB v=00 | 1-1 B=1
one-half-of-or-holds-vacuously | (A AS x OR B AS y) FILTER x[v = 1] OR y[v = 1] | A v=0 |
    0-0 A=0 x=0
# all of them not 1, which is not "not all of them 1"
complement-inside-then-for-all | (A ; A) FILTER A[NOT (v = 1)] | AAA v=010 | 0-2 A=0,2
a-branch-without-the-label-holds | (A AS x OR B) FILTER x[v = 1] | AAB v=010 | 1-1 A=1 x=1; 2-2 B=2
a-label-set-twice-is-one-set | (A AS x ; B AS x) FILTER x[v = 1] | AABB v=0101 | 1-3 A=1 B=3 x=1,3
# event 1 has no v, so v = 1 is false of it
an-event-without-the-attribute-fails | (A ; B) AS x FILTER x[v = 1] | ABB v=1.1 | 0-2 A=0 B=2 x=0,2
# x is still empty where the filter stands
a-label-set-later-is-empty-here | (A FILTER x[v = 1]) AS x | A v=0 | 0-0 A=0 x=0
dotted | A FILTER A.v = 1 | AA v=01 | 1-1 A=1
filters-chain | A FILTER A[v = 1] FILTER A[w = 1] | AAA v=110 w=101 | 0-0 A=0
# on B alone, A would be empty and both pairs would pass
suffix-reaches-the-first-of-a-sequence | A ; B FILTER A[v = 1] | AAB v=01. | 1-2 A=1 B=2
what-follows-the-suffix-is-not-filtered | A FILTER A[v = 1] ; A | AAA v=101 | 0-1 A=0,1; 0-2 A=0,2
suffix-on-both-of-or | A OR B FILTER A[v = 1] | AB v=00 | 1-1 B=1
and-binds-tighter-than-or | A FILTER A[v = 1] OR A[v = 2] AND A[w = 1] | AAA v=122 w=001 | 0-0 A=0;
    2-2 A=2
a-parenthesis-of-filters | A FILTER (A[v = 1] OR A[v = 2]) AND A[w = 1] | AAA v=122 w=001 | 2-2 A=2
or-before-a-formula-is-that-of-formulas | A FILTER A[v = 1] OR B | ABA v=001 | 1-1 B=1; 2-2 A=2
a-parenthesis-of-formulas-is-no-filter | A FILTER A[v = 1] OR (B ; A) | BA v=00 | 0-1 A=1 B=0
# two copies of A: in the second, B is empty and its filter holds
or-before-a-filter-is-that-of-filters | A FILTER A[v = 1] OR B[v = 1] | AB v=01 | 0-0 A=0
one-filter-for-each-label | (A AS x ; A AS y) FILTER x[v = 1] AND y[v = 2] | AAAA v=1212 |
    0-1 A=0,1 x=0 y=1; 0-3 A=0,3 x=0 y=3; 2-3 A=2,3 x=2 y=3
"""),
    pytest.param(
        "A FILTER A[v = 1] OR A[v = TRUE]",
        [{"type": "A", "v": 1}, {"type": "A", "v": True}],
        {v(0, 0, A=(0,)), v(1, 1, A=(1,))},
        id="one-and-true-are-two-constants",
    ),
    pytest.param(
        "A FILTER A[v IN {0}] OR A[v IN {FALSE}]",
        [{"type": "A", "v": 0}, {"type": "A", "v": False}],
        {v(0, 0, A=(0,)), v(1, 1, A=(1,))},
        id="zero-and-false-are-two-members",
    ),
]


@pytest.mark.filterwarnings("ignore:CER0901")
@pytest.mark.parametrize(("formula", "events", "expected"), CASES)
def test_clause(formula: str, events: list[dict[str, Any]], expected: set[Valuation]) -> None:
    check_valuations(formula, events, expected)
