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
    pytest.param(
        "A ; A",
        word("AAA"),
        {v(0, 1, A=(0, 1)), v(0, 2, A=(0, 2)), v(1, 2, A=(1, 2))},
        id="all-pairs-of-one-type",
    ),
    pytest.param(
        "A ; B ; C",
        word("ABCBC"),
        {
            v(0, 2, A=(0,), B=(1,), C=(2,)),
            v(0, 4, A=(0,), B=(1,), C=(4,)),
            v(0, 4, A=(0,), B=(3,), C=(4,)),
        },
        id="of-three",
    ),
    pytest.param(
        "PROJECT[](A ; B) ; C",
        word("ACBC"),
        {v(0, 3, C=(3,))},  # the first part ends at 2, where B is, though nothing is marked
        id="begins-after-the-interval-not-after-the-marks",
    ),
    pytest.param(
        "A ; PROJECT[](B ; C)",
        word("BACBC"),
        {v(1, 4, A=(1,))},  # [0,2] and [0,4] begin before the A at 1; only [3,4] does not
        id="ends-before-the-interval-not-before-the-marks",
    ),
    pytest.param(
        "PROJECT[A](A ; B) ; B",
        word("ABB"),
        {v(0, 2, A=(0,), B=(2,))},  # [0,2] leaves no B after it
        id="what-is-not-marked-is-still-used-up",
    ),
    pytest.param("(A ; B) ; (A ; B)", word("AABB"), set(), id="parts-do-not-interleave"),
]


@pytest.mark.parametrize(("formula", "events", "expected"), CASES)
def test_clause(formula: str, events: list[dict[str, Any]], expected: set[Valuation]) -> None:
    check_valuations(formula, events, expected)
