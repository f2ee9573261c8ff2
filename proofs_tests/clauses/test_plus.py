"""phi+: one or more, gaps allowed (CORE Table 2)."""

from __future__ import annotations

from typing import Any

import pytest

from cerlab import Valuation
from proofs_tests.clauses.tables import check_valuations, rows

CASES = rows("""
once | A+ | A | 0-0 A=0
every-subset | A+ | AA | 0-0 A=0; 0-1 A=0,1; 1-1 A=1
skips-between | A+ | ABA | 0-0 A=0; 0-2 A=0,2; 2-2 A=2
skips-its-own | A+ | AAA | 0-0 A=0; 0-1 A=0,1; 0-2 A=0,1,2; 0-2 A=0,2; 1-1 A=1; 1-2 A=1,2; 2-2 A=2
nested-is-the-same | (A+)+ | AA | 0-0 A=0; 0-1 A=0,1; 1-1 A=1
of-a-sequence | (A ; B)+ | ABAB | 0-1 A=0 B=1; 0-3 A=0 B=3; 0-3 A=0,2 B=1,3; 2-3 A=2 B=3
of-a-choice | (A OR B)+ | AB | 0-0 A=0; 0-1 A=0 B=1; 1-1 B=1
none | A+ | B |
of-what-sets-nothing | PROJECT[](A)+ | AA | 0-0; 0-1; 1-1
twice-without-parentheses | A++ | ABA | 0-0 A=0; 0-2 A=0,2; 2-2 A=2
# never twice: the first B is at 2 and no A comes after it
iterations-do-not-interleave | (A ; B)+ | AABB | 0-2 A=0 B=2; 0-3 A=0 B=3; 1-2 A=1 B=2; 1-3 A=1 B=3
nested-inside-a-sequence | (A+ ; B)+ | ABAB | 0-1 A=0 B=1; 0-3 A=0 B=3; 0-3 A=0,2 B=1,3;
    0-3 A=0,2 B=3; 2-3 A=2 B=3
skips-between-contiguous-pairs | (A : B)+ | ABCAB | 0-1 A=0 B=1; 0-4 A=0,3 B=1,4; 3-4 A=3 B=4
then-another | A+ ; B | AAB | 0-2 A=0 B=2; 0-2 A=0,1 B=2; 1-2 A=1 B=2
a-filter-inside-decides-each-iteration | (A FILTER A[v = 0] OR A[v = 1])+ | AAA v=010 | 0-0 A=0;
    0-1 A=0,1; 0-2 A=0,1,2; 0-2 A=0,2; 1-1 A=1; 1-2 A=1,2; 2-2 A=2
a-filter-outside-decides-all-iterations-together | A+ FILTER A[v = 0] OR A[v = 1] | AAA v=010 |
    0-0 A=0; 0-2 A=0,2; 1-1 A=1; 2-2 A=2
a-filter-inside-leaves-the-outside-alone | A ; (A FILTER A[v = 1])+ | AAA v=011 | 0-1 A=0,1;
    0-2 A=0,1,2; 0-2 A=0,2; 1-2 A=1,2
a-filter-outside-does-not | A ; A+ FILTER A[v = 1] | AAA v=011 | 1-2 A=1,2
a-label-gathers-over-the-iterations | (A AS x ; B)+ | ABAB | 0-1 A=0 B=1 x=0; 0-3 A=0 B=3 x=0;
    0-3 A=0,2 B=1,3 x=0,2; 2-3 A=2 B=3 x=2
iterates-intervals-not-marks | PROJECT[A](A ; B)+ | ABAB | 0-1 A=0; 0-3 A=0; 0-3 A=0,2; 2-3 A=2
""")


@pytest.mark.parametrize(("formula", "events", "expected"), CASES)
def test_clause(formula: str, events: list[dict[str, Any]], expected: set[Valuation]) -> None:
    check_valuations(formula, events, expected)
