"""phi:+: one or more, each immediately after the one before."""

from __future__ import annotations

from typing import Any

import pytest

from cerlab import Valuation
from proofs_tests.clauses.tables import check_valuations, rows

CASES = rows("""
once | A:+ | A | 0-0 A=0
twice-adjacent | A:+ | AA | 0-0 A=0; 0-1 A=0,1; 1-1 A=1
no-skipping | A:+ | ABA | 0-0 A=0; 2-2 A=2
no-skipping-its-own | A:+ | AAA | 0-0 A=0; 0-1 A=0,1; 0-2 A=0,1,2; 1-1 A=1; 1-2 A=1,2; 2-2 A=2
of-a-sequence-that-skips | (A ; B):+ | AXBAB | 0-2 A=0 B=2; 0-4 A=0 B=4; 0-4 A=0,3 B=2,4;
    3-4 A=3 B=4
of-a-contiguous-pair | (A : B):+ | ABAB | 0-1 A=0 B=1; 0-3 A=0,2 B=1,3; 2-3 A=2 B=3
nested-is-the-same | (A:+):+ | AA | 0-0 A=0; 0-1 A=0,1; 1-1 A=1
plus-of-star | (A:+)+ | ABA | 0-0 A=0; 0-2 A=0,2; 2-2 A=2
none | A:+ | B |
a-gap-between-iterations-ends-it | (A ; B):+ | ABCAB | 0-1 A=0 B=1; 0-4 A=0 B=4; 3-4 A=3 B=4
star-of-plus-skips-inside-one-iteration | (A+):+ | ABA | 0-0 A=0; 0-2 A=0,2; 2-2 A=2
then-contiguously-another | A:+ : B | ACAAB | 2-4 A=2,3 B=4; 3-4 A=3 B=4
then-another-after-a-gap | A:+ ; B | ACAB | 0-3 A=0 B=3; 2-3 A=2 B=3
of-a-choice | (A OR B):+ | ABCA | 0-0 A=0; 0-1 A=0 B=1; 1-1 B=1; 3-3 A=3
of-what-sets-nothing | PROJECT[](A):+ | AABA | 0-0; 0-1; 1-1; 3-3
# [0,2] marks 0 only, and 3 is next to 2
next-to-the-interval-not-to-the-mark | PROJECT[A](A ; B):+ | ACBAB | 0-2 A=0; 0-4 A=0; 0-4 A=0,3;
    3-4 A=3
a-filter-inside-decides-each-iteration | (A FILTER A[v = 0] OR A[v = 1]):+ | AA v=01 | 0-0 A=0;
    0-1 A=0,1; 1-1 A=1
a-filter-outside-decides-all-iterations-together | A:+ FILTER A[v = 0] OR A[v = 1] | AA v=01 |
    0-0 A=0; 1-1 A=1
""")


@pytest.mark.parametrize(("formula", "events", "expected"), CASES)
def test_clause(formula: str, events: list[dict[str, Any]], expected: set[Valuation]) -> None:
    check_valuations(formula, events, expected)
