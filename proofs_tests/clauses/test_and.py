"""phi AND psi: the valuations in both; start, end and every label equal."""

from __future__ import annotations

from typing import Any

import pytest

from cerlab import Valuation
from proofs_tests.clauses.tables import check_valuations, rows

CASES = rows("""
same | A AND A | AA | 0-0 A=0; 1-1 A=1
types-are-labels | A AS x AND B AS x | AB |
other-labels-differ | A AS x AND A | A |
of-two-filters | (A FILTER A[v = 1]) AND (A FILTER A[w = 1]) | AAA v=110 w=101 | 0-0 A=0
plus-and-star | A+ AND A:+ | ABA | 0-0 A=0; 2-2 A=2
intervals-count | PROJECT[C](A ; B ; C) AND PROJECT[C](B ; C) | ABC |
empty-supports-can-be-equal | NOT(B) AND NOT(C) | ABC | 0-0
one-level-with-or-to-the-left | A OR B AND B | AB | 1-1 B=1
""")


@pytest.mark.parametrize(("formula", "events", "expected"), CASES)
def test_clause(formula: str, events: list[dict[str, Any]], expected: set[Valuation]) -> None:
    check_valuations(formula, events, expected)
