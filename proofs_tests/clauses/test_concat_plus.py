"""phi:+: one or more, each immediately after the one before."""

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
    pytest.param(
        "(A ; B):+",
        word("ABCAB"),
        {v(0, 1, A=(0,), B=(1,)), v(0, 4, A=(0,), B=(4,)), v(3, 4, A=(3,), B=(4,))},
        id="a-gap-between-iterations-ends-it",
    ),
    pytest.param(
        "(A+):+",
        word("ABA"),
        {v(0, 0, A=(0,)), v(2, 2, A=(2,)), v(0, 2, A=(0, 2))},
        id="star-of-plus-skips-inside-one-iteration",
    ),
    pytest.param(
        "A:+ : B",
        word("ACAAB"),
        {v(3, 4, A=(3,), B=(4,)), v(2, 4, A=(2, 3), B=(4,))},
        id="then-contiguously-another",
    ),
    pytest.param(
        "A:+ ; B",
        word("ACAB"),
        {v(0, 3, A=(0,), B=(3,)), v(2, 3, A=(2,), B=(3,))},
        id="then-another-after-a-gap",
    ),
    pytest.param(
        "(A OR B):+",
        word("ABCA"),
        {v(0, 0, A=(0,)), v(1, 1, B=(1,)), v(0, 1, A=(0,), B=(1,)), v(3, 3, A=(3,))},
        id="of-a-choice",
    ),
    pytest.param(
        "PROJECT[](A):+",
        word("AABA"),
        {v(0, 0), v(1, 1), v(0, 1), v(3, 3)},
        id="of-what-sets-nothing",
    ),
    pytest.param(
        "PROJECT[A](A ; B):+",
        word("ACBAB"),
        {v(0, 2, A=(0,)), v(0, 4, A=(0,)), v(3, 4, A=(3,)), v(0, 4, A=(0, 3))},
        id="next-to-the-interval-not-to-the-mark",  # [0,2] marks 0 only, and 3 is next to 2
    ),
    pytest.param(
        "(A FILTER A[v = 0] OR A[v = 1]):+",
        word("AA", v="01"),
        {v(0, 0, A=(0,)), v(1, 1, A=(1,)), v(0, 1, A=(0, 1))},
        id="a-filter-inside-decides-each-iteration",
    ),
    pytest.param(
        "A:+ FILTER A[v = 0] OR A[v = 1]",
        word("AA", v="01"),
        {v(0, 0, A=(0,)), v(1, 1, A=(1,))},
        id="a-filter-outside-decides-all-iterations-together",
    ),
]


@pytest.mark.parametrize(("formula", "events", "expected"), CASES)
def test_clause(formula: str, events: list[dict[str, Any]], expected: set[Valuation]) -> None:
    check_valuations(formula, events, expected)
