"""phi ; psi: psi after phi, gaps allowed (CORE Table 2)."""

from __future__ import annotations

from typing import Any

import pytest

from cerlab import Valuation
from proofs_tests.clauses.tables import check_valuations, rows

CASES = rows("""
adjacent | A ; B | AB | 0-1 A=0 B=1
with-a-gap | A ; B | ACB | 0-2 A=0 B=2
all-pairs | A ; B | AABB | 0-2 A=0 B=2; 0-3 A=0 B=3; 1-2 A=1 B=2; 1-3 A=1 B=3
order-matters | A ; B | BA |
one-event-is-not-two | A ; A | A |
same-type-unites-labels | A ; A | AA | 0-1 A=0,1
associative | A ; (B ; C) | ABC | 0-2 A=0 B=1 C=2
intervals-must-not-overlap | (A ; A) ; (A ; A) | AAA |
same-label-on-both-sides | A AS x ; B AS x | AB | 0-1 A=0 B=1 x=0,1
all-pairs-of-one-type | A ; A | AAA | 0-1 A=0,1; 0-2 A=0,2; 1-2 A=1,2
of-three | A ; B ; C | ABCBC | 0-2 A=0 B=1 C=2; 0-4 A=0 B=1 C=4; 0-4 A=0 B=3 C=4
# the first part ends at 2, where B is, though nothing is marked
begins-after-the-interval-not-after-the-marks | PROJECT[](A ; B) ; C | ACBC | 0-3 C=3
# [0,2] and [0,4] begin before the A at 1; only [3,4] does not
ends-before-the-interval-not-before-the-marks | A ; PROJECT[](B ; C) | BACBC | 1-4 A=1
# [0,2] leaves no B after it
what-is-not-marked-is-still-used-up | PROJECT[A](A ; B) ; B | ABB | 0-2 A=0 B=2
parts-do-not-interleave | (A ; B) ; (A ; B) | AABB |
""")


@pytest.mark.parametrize(("formula", "events", "expected"), CASES)
def test_clause(formula: str, events: list[dict[str, Any]], expected: set[Valuation]) -> None:
    check_valuations(formula, events, expected)
