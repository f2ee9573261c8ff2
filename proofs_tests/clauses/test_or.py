"""phi OR psi: the union (CORE Table 2)."""

from __future__ import annotations

from typing import Any

import pytest

from cerlab import Valuation
from proofs_tests.clauses.tables import check_valuations, v, word

CASES = [
    pytest.param("A OR B", word("AB"), {v(0, 0, A=(0,)), v(1, 1, B=(1,))}, id="either"),
    pytest.param("A OR A", word("A"), {v(0, 0, A=(0,))}, id="same-on-both-sides-once"),
    pytest.param(
        "A AS x OR A AS y",
        word("A"),
        {v(0, 0, A=(0,), x=(0,)), v(0, 0, A=(0,), y=(0,))},
        id="different-labels-are-two-valuations",
    ),
    pytest.param(
        "A OR B ; C",
        word("ABC"),
        {v(0, 0, A=(0,)), v(1, 2, B=(1,), C=(2,))},
        id="binds-looser-than-sequence",
    ),
    pytest.param(
        "(A OR B) ; C",
        word("ABC"),
        {v(0, 2, A=(0,), C=(2,)), v(1, 2, B=(1,), C=(2,))},
        id="inside-sequence",
    ),
    pytest.param("A OR B", word("B"), {v(0, 0, B=(0,))}, id="one-empty"),
    pytest.param("A OR B", word("C"), set(), id="both-empty"),
    pytest.param(
        "A OR (A ; A)",
        word("AA"),
        {v(0, 0, A=(0,)), v(1, 1, A=(1,)), v(0, 1, A=(0, 1))},
        id="of-different-lengths",
    ),
    pytest.param(
        "A ; B OR C",
        word("ABC"),
        {v(0, 1, A=(0,), B=(1,)), v(2, 2, C=(2,))},
        id="binds-looser-than-sequence-on-its-left",
    ),
    pytest.param(
        "A OR B : C",
        word("ABC"),
        {v(0, 0, A=(0,)), v(1, 2, B=(1,), C=(2,))},
        id="binds-looser-than-contiguity",
    ),
    pytest.param(
        "A OR B OR C",
        word("CAB"),
        {v(0, 0, C=(0,)), v(1, 1, A=(1,)), v(2, 2, B=(2,))},
        id="of-three",
    ),
    pytest.param(
        "(A ; B) OR (B ; A)",
        word("ABA"),
        {v(0, 1, A=(0,), B=(1,)), v(1, 2, A=(2,), B=(1,))},
        id="either-order",
    ),
    pytest.param(
        "A OR PROJECT[](A)", word("A"), {v(0, 0, A=(0,)), v(0, 0)}, id="with-and-without-a-position"
    ),
]


@pytest.mark.parametrize(("formula", "events", "expected"), CASES)
def test_clause(formula: str, events: list[dict[str, Any]], expected: set[Valuation]) -> None:
    check_valuations(formula, events, expected)
