"""phi OR psi: the union (CORE Table 2)."""

from __future__ import annotations

from typing import Any

import pytest

from cerlab import Valuation
from proofs_tests.clauses.tables import check_valuations, rows

CASES = rows("""
either | A OR B | AB | 0-0 A=0; 1-1 B=1
same-on-both-sides-once | A OR A | A | 0-0 A=0
different-labels-are-two-valuations | A AS x OR A AS y | A | 0-0 A=0 x=0; 0-0 A=0 y=0
binds-looser-than-sequence | A OR B ; C | ABC | 0-0 A=0; 1-2 B=1 C=2
inside-sequence | (A OR B) ; C | ABC | 0-2 A=0 C=2; 1-2 B=1 C=2
one-empty | A OR B | B | 0-0 B=0
both-empty | A OR B | C |
of-different-lengths | A OR (A ; A) | AA | 0-0 A=0; 0-1 A=0,1; 1-1 A=1
binds-looser-than-sequence-on-its-left | A ; B OR C | ABC | 0-1 A=0 B=1; 2-2 C=2
binds-looser-than-contiguity | A OR B : C | ABC | 0-0 A=0; 1-2 B=1 C=2
of-three | A OR B OR C | CAB | 0-0 C=0; 1-1 A=1; 2-2 B=2
either-order | (A ; B) OR (B ; A) | ABA | 0-1 A=0 B=1; 1-2 A=2 B=1
with-and-without-a-position | A OR PROJECT[](A) | A | 0-0; 0-0 A=0
""")


@pytest.mark.parametrize(("formula", "events", "expected"), CASES)
def test_clause(formula: str, events: list[dict[str, Any]], expected: set[Valuation]) -> None:
    check_valuations(formula, events, expected)
