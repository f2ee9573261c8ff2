"""phi ALL psi: both, any order, overlap allowed."""

from __future__ import annotations

from typing import Any

import pytest

from cerlab import Valuation
from proofs_tests.clauses.tables import check_valuations, v, word

CASES = [
    pytest.param("A ALL B", word("AB"), {v(0, 1, A=(0,), B=(1,))}, id="in-order"),
    pytest.param("A ALL B", word("BA"), {v(0, 1, A=(1,), B=(0,))}, id="out-of-order"),
    pytest.param("A ALL A", word("A"), {v(0, 0, A=(0,))}, id="the-same-event"),
    pytest.param(
        "A ALL A", word("AA"), {v(0, 0, A=(0,)), v(1, 1, A=(1,)), v(0, 1, A=(0, 1))}, id="all-pairs"
    ),
    pytest.param("(A ; A) ALL B", word("ABA"), {v(0, 2, A=(0, 2), B=(1,))}, id="nested-intervals"),
    pytest.param(
        "(A ; B) ALL (C ; A)",
        word("CABA"),
        {v(0, 2, A=(1,), B=(2,), C=(0,)), v(0, 3, A=(1, 3), B=(2,), C=(0,))},
        id="overlapping",
    ),
    pytest.param("A ALL B", word("AA"), set(), id="one-is-missing"),
    pytest.param(
        "A AS x ALL B AS x", word("BA"), {v(0, 1, A=(1,), B=(0,), x=(0, 1))}, id="labels-unite"
    ),
]


@pytest.mark.parametrize(("formula", "events", "expected"), CASES)
def test_clause(formula: str, events: list[dict[str, Any]], expected: set[Valuation]) -> None:
    check_valuations(formula, events, expected)
