"""phi ; psi: psi after phi, gaps allowed (CORE Table 2)."""

from __future__ import annotations

from typing import Any

import pytest

from cerlab import Valuation
from proofs_tests.clauses.tables import check_valuations, v, word

CASES = [
    pytest.param("A ; B", word("AB"), {v(0, 1, A=(0,), B=(1,))}, id="adjacent"),
    pytest.param("A ; B", word("ACB"), {v(0, 2, A=(0,), B=(2,))}, id="with-a-gap"),
    pytest.param(
        "A ; B",
        word("AABB"),
        {
            v(0, 2, A=(0,), B=(2,)),
            v(1, 2, A=(1,), B=(2,)),
            v(0, 3, A=(0,), B=(3,)),
            v(1, 3, A=(1,), B=(3,)),
        },
        id="all-pairs",
    ),
    pytest.param("A ; B", word("BA"), set(), id="order-matters"),
    pytest.param("A ; A", word("A"), set(), id="one-event-is-not-two"),
    pytest.param("A ; A", word("AA"), {v(0, 1, A=(0, 1))}, id="same-type-unites-labels"),
    pytest.param("A ; (B ; C)", word("ABC"), {v(0, 2, A=(0,), B=(1,), C=(2,))}, id="associative"),
    pytest.param("(A ; A) ; (A ; A)", word("AAA"), set(), id="intervals-must-not-overlap"),
    pytest.param(
        "A AS x ; B AS x",
        word("AB"),
        {v(0, 1, A=(0,), B=(1,), x=(0, 1))},
        id="same-label-on-both-sides",
    ),
]


@pytest.mark.parametrize(("formula", "events", "expected"), CASES)
def test_clause(formula: str, events: list[dict[str, Any]], expected: set[Valuation]) -> None:
    check_valuations(formula, events, expected)
