"""STRICT, NEXT, LAST, MAX over answers with the same end (FOUND Sec. 4)."""

from __future__ import annotations

from typing import Any

import pytest

from cerlab import Valuation
from cerlab.api import parse_formula
from cerlab.logic.cel import syntax as cel
from cerlab.model.clauses import Strategy
from proofs_tests.clauses.tables import check_reference, check_valuations, v, word

CASES = [
    pytest.param("STRICT(A ; B)", word("AABB"), {v(1, 2, A=(1,), B=(2,))}, id="strict"),
    pytest.param(
        "STRICT(NOT(B) OR A)", word("A"), {v(0, 0), v(0, 0, A=(0,))}, id="strict-takes-one-and-none"
    ),
    pytest.param(
        "STRICT(PROJECT[B](A ; B))",
        word("AXB"),
        {v(0, 2, B=(2,))},
        id="strict-sees-marks-not-the-interval",
    ),
    pytest.param("NEXT(A ; B)", word("AAB"), {v(0, 2, A=(0,), B=(2,))}, id="next-takes-the-oldest"),
    pytest.param(
        "NEXT(A+)",
        word("AA"),
        {v(0, 0, A=(0,)), v(0, 1, A=(0, 1))},
        id="next-takes-most-of-an-iteration",
    ),
    pytest.param("LAST(A ; B)", word("AAB"), {v(1, 2, A=(1,), B=(2,))}, id="last-takes-the-newest"),
    pytest.param(
        "LAST(A ; B OR (C ; A ; B))",
        word("CAAB"),
        {v(0, 3, C=(0,), A=(2,), B=(3,))},
        id="last-compares-from-the-end",
    ),
    pytest.param(
        "MAX(A ; B)",
        word("AAB"),
        {v(0, 2, A=(0,), B=(2,)), v(1, 2, A=(1,), B=(2,))},
        id="max-keeps-what-nothing-contains",
    ),
    pytest.param(
        "MAX(A+)",
        word("AAA"),
        {v(0, 0, A=(0,)), v(0, 1, A=(0, 1)), v(0, 2, A=(0, 1, 2))},
        id="max-drops-subsets",
    ),
    pytest.param(
        "NEXT(A ; B)",
        word("ABB"),
        {v(0, 1, A=(0,), B=(1,)), v(0, 2, A=(0,), B=(2,))},
        id="ends-do-not-compete",
    ),
    pytest.param(
        "NEXT(PROJECT[B](A ; B))",
        word("AAB"),
        {v(0, 2, B=(2,)), v(1, 2, B=(2,))},
        id="equal-positions-live-together",
    ),
    pytest.param(
        "NEXT(A AS x OR A AS y)",
        word("A"),
        {v(0, 0, A=(0,), x=(0,)), v(0, 0, A=(0,), y=(0,))},
        id="labels-do-not-compete",
    ),
    pytest.param(
        "C : NEXT(A ; B)", word("ACAB"), set(), id="inside-a-formula-the-context-comes-after"
    ),
]


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
