"""phi : psi: psi immediately after phi (spec cel.md 2, Section 6; DESIGN 2.3)."""

from __future__ import annotations

from typing import Any

import pytest

from cerlab import Valuation
from proofs_tests.clauses.tables import check_valuations, v, word

CASES = [
    pytest.param("A : B", word("AB"), {v(0, 1, A=(0,), B=(1,))}, id="adjacent"),
    pytest.param("A : B", word("ACB"), set(), id="no-gap"),
    pytest.param("A : B", word("AAB"), {v(1, 2, A=(1,), B=(2,))}, id="only-the-adjacent-pair"),
    pytest.param(
        "A : B ; C", word("ABXC"), {v(0, 3, A=(0,), B=(1,), C=(3,))}, id="looser-than-sequence"
    ),
    pytest.param(
        "PROJECT[A](A ; B) : C",
        word("ABC"),
        {v(0, 2, A=(0,), C=(2,))},
        id="the-interval-counts-not-the-marks",
    ),
    pytest.param(
        "(A ; B) : C",
        word("ACBC"),
        {v(0, 3, A=(0,), B=(2,), C=(3,))},
        id="marks-adjacent-interval-not",
    ),
    pytest.param("A : (B : C)", word("ABC"), {v(0, 2, A=(0,), B=(1,), C=(2,))}, id="associative"),
    pytest.param("A : NOT(B) : C", word("AXC"), {v(0, 2, A=(0,), C=(2,))}, id="not-fills-a-place"),
    pytest.param("A : B", word("BA"), set(), id="wrong-order"),
]


@pytest.mark.parametrize(("formula", "events", "expected"), CASES)
def test_clause(formula: str, events: list[dict[str, Any]], expected: set[Valuation]) -> None:
    check_valuations(formula, events, expected)
