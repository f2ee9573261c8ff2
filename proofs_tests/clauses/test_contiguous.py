"""phi : psi: psi immediately after phi."""

from __future__ import annotations

from typing import Any

import pytest

from cerlab import Valuation
from proofs_tests.clauses.tables import check_valuations, rows

CASES = rows("""
adjacent | A : B | AB | 0-1 A=0 B=1
no-gap | A : B | ACB |
only-the-adjacent-pair | A : B | AAB | 1-2 A=1 B=2
beside-a-sequence | A : B ; C | ABXC | 0-3 A=0 B=1 C=3
the-interval-counts-not-the-marks | PROJECT[A](A ; B) : C | ABC | 0-2 A=0 C=2
marks-adjacent-interval-not | (A ; B) : C | ACBC | 0-3 A=0 B=2 C=3
associative | A : (B : C) | ABC | 0-2 A=0 B=1 C=2
not-fills-a-place | A : NOT(B) : C | AXC | 0-2 A=0 C=2
wrong-order | A : B | BA |
neighbours-of-one-type | A : A | AAA | 0-1 A=0,1; 1-2 A=1,2
a-gap-inside-is-allowed-a-gap-between-is-not | (A ; B) : C | ABDC |
# after the interval [0,2]; the C at 1 is next to the mark
next-to-the-interval-not-to-the-mark | PROJECT[A](A ; B) : C | ACBC | 0-3 A=0 C=3
# the right part begins at 1, though it marks 3 only
the-right-part-begins-where-its-interval-does | A : PROJECT[C](B ; C) | ABDC | 0-3 A=0 C=3
the-right-part-begins-before | A : PROJECT[C](B ; C) | BAC |
after-what-marks-nothing | PROJECT[](A) : B | AB | 0-1 B=1
after-an-iteration-that-skips | A+ : B | ACAB | 0-3 A=0,2 B=3; 2-3 A=2 B=3
tighter-than-or | A : B OR C | ABC | 0-1 A=0 B=1; 2-2 C=2
sequence-is-contiguity-over-what-is-skipped | A : B OR A : PROJECT[]((A OR B OR C):+) : B | ACBB |
    0-2 A=0 B=2; 0-3 A=0 B=3
""")


@pytest.mark.parametrize(("formula", "events", "expected"), CASES)
def test_clause(formula: str, events: list[dict[str, Any]], expected: set[Valuation]) -> None:
    check_valuations(formula, events, expected)
