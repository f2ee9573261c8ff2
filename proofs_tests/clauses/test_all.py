"""phi ALL psi: both, any order, overlap allowed."""

from __future__ import annotations

from typing import Any

import pytest

from cerlab import Valuation
from proofs_tests.clauses.tables import check_valuations, rows

CASES = rows("""
in-order | A ALL B | AB | 0-1 A=0 B=1
out-of-order | A ALL B | BA | 0-1 A=1 B=0
the-same-event | A ALL A | A | 0-0 A=0
all-pairs | A ALL A | AA | 0-0 A=0; 0-1 A=0,1; 1-1 A=1
nested-intervals | (A ; A) ALL B | ABA | 0-2 A=0,2 B=1
overlapping | (A ; B) ALL (C ; A) | CABA | 0-2 A=1 B=2 C=0; 0-3 A=1,3 B=2 C=0
one-is-missing | A ALL B | AA |
labels-unite | A AS x ALL B AS x | BA | 0-1 A=1 B=0 x=0,1
""")


@pytest.mark.parametrize(("formula", "events", "expected"), CASES)
def test_clause(formula: str, events: list[dict[str, Any]], expected: set[Valuation]) -> None:
    check_valuations(formula, events, expected)
