"""phi AS X: X gets all positions of phi, the other labels stay (CORE Table 2)."""

from __future__ import annotations

from typing import Any

import pytest

from cerlab import Valuation
from proofs_tests.clauses.tables import check_valuations, rows

CASES = rows("""
labels-the-atom | A AS x | A | 0-0 A=0 x=0
labels-a-sequence | (A ; B) AS x | AB | 0-1 A=0 B=1 x=0,1
labels-an-iteration | A+ AS x | AA | 0-0 A=0 x=0; 0-1 A=0,1 x=0,1; 1-1 A=1 x=1
twice | A AS x AS y | A | 0-0 A=0 x=0 y=0
does-not-lose-what-x-had | (A AS x ; B) AS x | AB | 0-1 A=0 B=1 x=0,1
empty-support-sets-nothing | PROJECT[](A) AS x | A | 0-0
not-has-no-positions | NOT(B) AS x | A | 0-0
may-name-a-type | A AS B | A | 0-0 A=0 B=0
binds-tighter-than-sequence | A ; B AS x | AB | 0-1 A=0 B=1 x=1
its-own-type-again | A AS A | A | 0-0 A=0
# A gets the support {0, 2}; B keeps {2}
the-label-of-a-type-grows | (A ; B) AS A | ACB | 0-2 A=0,2 B=2
outer-label-takes-all-inner-label-stays | (A AS x ; B) AS y | AB | 0-1 A=0 B=1 x=0 y=0,1
# B's position was emptied before AS looked
takes-the-support-that-is-left | PROJECT[A](A ; B) AS x | AB | 0-1 A=0 x=0
postfix-operators-chain | A AS x+ | AA | 0-0 A=0 x=0; 0-1 A=0,1 x=0,1; 1-1 A=1 x=1
binds-tighter-than-or | A OR B AS x | AB | 0-0 A=0; 1-1 B=1 x=1
""")


@pytest.mark.parametrize(("formula", "events", "expected"), CASES)
def test_clause(formula: str, events: list[dict[str, Any]], expected: set[Valuation]) -> None:
    check_valuations(formula, events, expected)
