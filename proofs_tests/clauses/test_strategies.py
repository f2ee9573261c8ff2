"""STRICT, NEXT, LAST, MAX over answers with the same end (FOUND Sec. 4)."""

from __future__ import annotations

from typing import Any

import pytest

from cerlab import Valuation
from cerlab.api import parse_formula
from cerlab.logic.cel import syntax as cel
from cerlab.model.clauses import Strategy
from proofs_tests.clauses.tables import check_reference, check_valuations, rows

CASES = rows("""
strict | STRICT(A ; B) | AABB | 1-2 A=1 B=2
strict-takes-one-and-none | STRICT(NOT(B) OR A) | A | 0-0; 0-0 A=0
strict-sees-marks-not-the-interval | STRICT(PROJECT[B](A ; B)) | AXB | 0-2 B=2
next-takes-the-oldest | NEXT(A ; B) | AAB | 0-2 A=0 B=2
next-takes-most-of-an-iteration | NEXT(A+) | AA | 0-0 A=0; 0-1 A=0,1
last-takes-the-newest | LAST(A ; B) | AAB | 1-2 A=1 B=2
last-compares-from-the-end | LAST(A ; B OR (C ; A ; B)) | CAAB | 0-3 A=2 B=3 C=0
max-keeps-what-nothing-contains | MAX(A ; B) | AAB | 0-2 A=0 B=2; 1-2 A=1 B=2
max-drops-subsets | MAX(A+) | AAA | 0-0 A=0; 0-1 A=0,1; 0-2 A=0,1,2
ends-do-not-compete | NEXT(A ; B) | ABB | 0-1 A=0 B=1; 0-2 A=0 B=2
equal-positions-live-together | NEXT(PROJECT[B](A ; B)) | AAB | 0-2 B=2; 1-2 B=2
labels-do-not-compete | NEXT(A AS x OR A AS y) | A | 0-0 A=0 x=0; 0-0 A=0 y=0
inside-a-formula-the-context-comes-after | C : NEXT(A ; B) | ACAB |
""")


@pytest.mark.parametrize(("formula", "events", "expected"), CASES)
def test_clause(formula: str, events: list[dict[str, Any]], expected: set[Valuation]) -> None:
    """By every evaluator; NEXT, LAST and MAX below another operator by the reference only."""
    phi = parse_formula(formula)
    inner = phi.body if isinstance(phi, cel.Select) else phi
    compete = [
        psi
        for psi in cel.subformulas(inner)
        if isinstance(psi, cel.Select) and psi.strategy is not Strategy.STRICT
    ]
    check = check_reference if compete else check_valuations
    check(formula, events, expected)
