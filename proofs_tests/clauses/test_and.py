"""phi AND psi: the valuations in both; start, end and every label equal."""

from __future__ import annotations

from typing import Any

import pytest

from cerlab import Valuation
from proofs_tests.clauses.tables import check_valuations, v, word

CASES = [
    pytest.param("A AND A", word("AA"), {v(0, 0, A=(0,)), v(1, 1, A=(1,))}, id="same"),
    pytest.param("A AS x AND B AS x", word("AB"), set(), id="types-are-labels"),
    pytest.param("A AS x AND A", word("A"), set(), id="other-labels-differ"),
    pytest.param(
        "(A FILTER A[v = 1]) AND (A FILTER A[w = 1])",
        word("AAA", v="110", w="101"),
        {v(0, 0, A=(0,))},
        id="of-two-filters",
    ),
    pytest.param("A+ AND A:+", word("ABA"), {v(0, 0, A=(0,)), v(2, 2, A=(2,))}, id="plus-and-star"),
    pytest.param(
        "PROJECT[C](A ; B ; C) AND PROJECT[C](B ; C)", word("ABC"), set(), id="intervals-count"
    ),
    pytest.param("NOT(B) AND NOT(C)", word("ABC"), {v(0, 0)}, id="empty-supports-can-be-equal"),
    pytest.param("A OR B AND B", word("AB"), {v(1, 1, B=(1,))}, id="one-level-with-or-to-the-left"),
]


@pytest.mark.parametrize(("formula", "events", "expected"), CASES)
def test_clause(formula: str, events: list[dict[str, Any]], expected: set[Valuation]) -> None:
    check_valuations(formula, events, expected)
