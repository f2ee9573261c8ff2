"""phi:+: one or more, each immediately after the one before (DESIGN 2.3)."""

from __future__ import annotations

from typing import Any

import pytest

from cerlab import Valuation
from proofs_tests.clauses.tables import check_valuations, v, word

CASES = [
    pytest.param("A:+", word("A"), {v(0, 0, A=(0,))}, id="once"),
    pytest.param(
        "A:+",
        word("AA"),
        {v(0, 0, A=(0,)), v(1, 1, A=(1,)), v(0, 1, A=(0, 1))},
        id="twice-adjacent",
    ),
    pytest.param("A:+", word("ABA"), {v(0, 0, A=(0,)), v(2, 2, A=(2,))}, id="no-skipping"),
    pytest.param(
        "A:+",
        word("AAA"),
        {
            v(0, 0, A=(0,)),
            v(1, 1, A=(1,)),
            v(2, 2, A=(2,)),
            v(0, 1, A=(0, 1)),
            v(1, 2, A=(1, 2)),
            v(0, 2, A=(0, 1, 2)),
        },
        id="no-skipping-its-own",
    ),
    pytest.param(
        "(A ; B):+",
        word("AXBAB"),
        {
            v(0, 2, A=(0,), B=(2,)),
            v(0, 4, A=(0,), B=(4,)),
            v(3, 4, A=(3,), B=(4,)),
            v(0, 4, A=(0, 3), B=(2, 4)),
        },
        id="of-a-sequence-that-skips",
    ),
    pytest.param(
        "(A : B):+",
        word("ABAB"),
        {v(0, 1, A=(0,), B=(1,)), v(2, 3, A=(2,), B=(3,)), v(0, 3, A=(0, 2), B=(1, 3))},
        id="of-a-contiguous-pair",
    ),
    pytest.param(
        "(A:+):+",
        word("AA"),
        {v(0, 0, A=(0,)), v(1, 1, A=(1,)), v(0, 1, A=(0, 1))},
        id="nested-is-the-same",
    ),
    pytest.param(
        "(A:+)+",
        word("ABA"),
        {v(0, 0, A=(0,)), v(2, 2, A=(2,)), v(0, 2, A=(0, 2))},
        id="plus-of-star",
    ),
    pytest.param("A:+", word("B"), set(), id="none"),
]


@pytest.mark.parametrize(("formula", "events", "expected"), CASES)
def test_clause(formula: str, events: list[dict[str, Any]], expected: set[Valuation]) -> None:
    check_valuations(formula, events, expected)
