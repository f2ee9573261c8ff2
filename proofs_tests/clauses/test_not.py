"""NOT(R), NOT(R FILTER ..): one event that is not that, unmarked."""

from __future__ import annotations

from typing import Any

import pytest

from cerlab import Valuation
from proofs_tests.clauses.tables import check_valuations, rows, v

CASES = [
    *rows("""
other-types | NOT(A) | AB | 1-1
is-no-absence | A ; NOT(B) ; C | ABXC | 0-3 A=0 C=3
with-a-filter-the-type-may-fail | NOT(A FILTER A[v = 1]) | AAB v=101 | 1-1; 2-2
missing-attribute-does-not-satisfy | NOT(A FILTER A[v = 1]) | A | 0-0
two-filters | NOT(A FILTER A[v = 1] AND A[w = 1]) | AAA v=110 w=101 | 1-1; 2-2
either-filter | NOT(A FILTER A[v = 1] OR A[w = 1]) | AAA v=100 w=010 | 2-2
iterated | NOT(A):+ | BB | 0-0; 0-1; 1-1
gives-an-empty-answer | NOT(B) : NOT(B) | AA | 0-1
nothing-else-there | NOT(A) | AA |
empty-stream-it-takes-an-event | NOT(A) | - |
# all but the A events whose v is not 1
complement-twice | NOT(A FILTER A[NOT (v = 1)]) | AAB v=100 | 0-0; 2-2
iterated-with-gaps-may-span-an-a | NOT(A)+ | BAB | 0-0; 0-2; 2-2
iterated-contiguously-may-not | NOT(A):+ | BAB | 0-0; 2-2
# an A and a C are no B
takes-its-place | A : NOT(B) : C | ABCAACC | 3-5 A=3 C=5; 4-6 A=4 C=6
none-between-with-contiguity | A : NOT(A):+ : A | ABBABA | 0-3 A=0,3; 3-5 A=3,5
the-interval-ends-at-its-event | A ; NOT(B) | ABC | 0-2 A=0
its-label-is-empty | NOT(A) AS x FILTER x[v = 1] | B v=0 | 0-0
or-the-event-itself | NOT(A) OR A | AB | 0-0 A=0; 1-1
"""),
    pytest.param(
        "NOT(S>A)",
        [{"type": "A", "stream": "S"}, {"type": "A", "stream": "T"}],
        {v(1, 1)},
        id="of-a-stream",
    ),
    pytest.param(
        "NOT(A FILTER A[v > 1])",
        [{"type": "A", "v": None}, {"type": "A", "v": float("nan")}, {"type": "A", "v": 2}],
        {v(0, 0), v(1, 1)},
        id="null-and-nan-do-not-satisfy",
    ),
]


@pytest.mark.parametrize(("formula", "events", "expected"), CASES)
def test_clause(formula: str, events: list[dict[str, Any]], expected: set[Valuation]) -> None:
    check_valuations(formula, events, expected)
