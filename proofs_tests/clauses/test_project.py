"""PROJECT[L](phi): other labels are emptied, the interval is kept (CORE Table 2)."""

from __future__ import annotations

from typing import Any

import pytest

from cerlab import Valuation
from proofs_tests.clauses.tables import check_valuations, rows, v, word

CASES = [
    *rows("""
keeps | PROJECT[x](A AS x) | A | 0-0 x=0
keeps-the-interval | PROJECT[A](A ; B) | AXB | 0-2 A=0
to-nothing | PROJECT[](A ; B) | AB | 0-1
several-intervals-one-support | PROJECT[B](A ; B) | AAB | 0-2 B=2; 1-2 B=2
composes-as-intersection | PROJECT[A](PROJECT[A, B](A ; B ; C)) | ABC | 0-2 A=0
different-become-equal | PROJECT[C](A ; B ; C) | ABBC | 0-3 C=3
inside-an-iteration | PROJECT[A](A : B)+ | ABAB | 0-1 A=0; 0-3 A=0,2; 2-3 A=2
of-a-label-that-is-not-set | PROJECT[A](A OR B) | B | 0-0
several-ends-one-support | PROJECT[A](A ; B) | ABB | 0-1 A=0; 0-2 A=0
# {0,2} and {0,1,2} are one
of-an-iteration-to-nothing | PROJECT[](A+) | AAA | 0-0; 0-1; 0-2; 1-1; 1-2; 2-2
of-an-iteration | PROJECT[A](A+ ; B) | AAB | 0-2 A=0; 0-2 A=0,1; 1-2 A=1
types-are-labels-like-any | PROJECT[x]((A ; B) AS x) | AB | 0-1 x=0,1
several-labels | PROJECT[A, x](A AS x ; B AS x) | AB | 0-1 A=0 x=0,1
two-valuations-become-one | PROJECT[A](A AS x OR A AS y) | A | 0-0 A=0
a-filter-below-sees-what-is-projected-away | PROJECT[B](A ; B FILTER A[v = 1]) | AAB v=010 | 1-2 B=2
"""),
    pytest.param(
        "PROJECT[B](A ; B) FILTER A[v = 1]",
        word("AAB", v="010"),
        {v(0, 2, B=(2,)), v(1, 2, B=(2,))},
        id="a-filter-above-does-not",
        marks=pytest.mark.filterwarnings("ignore:CER0901"),  # always holds, and says so
    ),
]


@pytest.mark.parametrize(("formula", "events", "expected"), CASES)
def test_clause(formula: str, events: list[dict[str, Any]], expected: set[Valuation]) -> None:
    check_valuations(formula, events, expected)
