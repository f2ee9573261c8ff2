"""phi+: one or more, gaps allowed (CORE Table 2)."""

from __future__ import annotations

from typing import Any

import pytest

from cerlab import Valuation
from proofs_tests.clauses.tables import check_valuations, v, word

CASES = [
    pytest.param("A+", word("A"), {v(0, 0, A=(0,))}, id="once"),
    pytest.param(
        "A+", word("AA"), {v(0, 0, A=(0,)), v(1, 1, A=(1,)), v(0, 1, A=(0, 1))}, id="every-subset"
    ),
    pytest.param(
        "A+", word("ABA"), {v(0, 0, A=(0,)), v(2, 2, A=(2,)), v(0, 2, A=(0, 2))}, id="skips-between"
    ),
    pytest.param(
        "A+",
        word("AAA"),
        {
            v(0, 0, A=(0,)),
            v(1, 1, A=(1,)),
            v(2, 2, A=(2,)),
            v(0, 1, A=(0, 1)),
            v(1, 2, A=(1, 2)),
            v(0, 2, A=(0, 2)),
            v(0, 2, A=(0, 1, 2)),
        },
        id="skips-its-own",
    ),
    pytest.param(
        "(A+)+",
        word("AA"),
        {v(0, 0, A=(0,)), v(1, 1, A=(1,)), v(0, 1, A=(0, 1))},
        id="nested-is-the-same",
    ),
    pytest.param(
        "(A ; B)+",
        word("ABAB"),
        {
            v(0, 1, A=(0,), B=(1,)),
            v(0, 3, A=(0,), B=(3,)),
            v(2, 3, A=(2,), B=(3,)),
            v(0, 3, A=(0, 2), B=(1, 3)),
        },
        id="of-a-sequence",
    ),
    pytest.param(
        "(A OR B)+",
        word("AB"),
        {v(0, 0, A=(0,)), v(1, 1, B=(1,)), v(0, 1, A=(0,), B=(1,))},
        id="of-a-choice",
    ),
    pytest.param("A+", word("B"), set(), id="none"),
    pytest.param(
        "PROJECT[](A)+", word("AA"), {v(0, 0), v(1, 1), v(0, 1)}, id="of-what-sets-nothing"
    ),
    pytest.param(
        "A++",
        word("ABA"),
        {v(0, 0, A=(0,)), v(2, 2, A=(2,)), v(0, 2, A=(0, 2))},
        id="twice-without-parentheses",
    ),
    pytest.param(
        "(A ; B)+",
        word("AABB"),
        {
            v(0, 2, A=(0,), B=(2,)),
            v(0, 3, A=(0,), B=(3,)),
            v(1, 2, A=(1,), B=(2,)),
            v(1, 3, A=(1,), B=(3,)),
        },  # never twice: the first B is at 2 and no A comes after it
        id="iterations-do-not-interleave",
    ),
    pytest.param(
        "(A+ ; B)+",
        word("ABAB"),
        {
            v(0, 1, A=(0,), B=(1,)),
            v(0, 3, A=(0,), B=(3,)),
            v(2, 3, A=(2,), B=(3,)),
            v(0, 3, A=(0, 2), B=(3,)),
            v(0, 3, A=(0, 2), B=(1, 3)),
        },
        id="nested-inside-a-sequence",
    ),
    pytest.param(
        "(A : B)+",
        word("ABCAB"),
        {v(0, 1, A=(0,), B=(1,)), v(3, 4, A=(3,), B=(4,)), v(0, 4, A=(0, 3), B=(1, 4))},
        id="skips-between-contiguous-pairs",
    ),
    pytest.param(
        "A+ ; B",
        word("AAB"),
        {v(0, 2, A=(0,), B=(2,)), v(1, 2, A=(1,), B=(2,)), v(0, 2, A=(0, 1), B=(2,))},
        id="then-another",
    ),
    pytest.param(
        "(A FILTER A[v = 0] OR A[v = 1])+",
        word("AAA", v="010"),
        {
            v(0, 0, A=(0,)),
            v(1, 1, A=(1,)),
            v(2, 2, A=(2,)),
            v(0, 1, A=(0, 1)),
            v(1, 2, A=(1, 2)),
            v(0, 2, A=(0, 2)),
            v(0, 2, A=(0, 1, 2)),
        },
        id="a-filter-inside-decides-each-iteration",
    ),
    pytest.param(
        "A+ FILTER A[v = 0] OR A[v = 1]",
        word("AAA", v="010"),
        {v(0, 0, A=(0,)), v(1, 1, A=(1,)), v(2, 2, A=(2,)), v(0, 2, A=(0, 2))},
        id="a-filter-outside-decides-all-iterations-together",
    ),
    pytest.param(
        "A ; (A FILTER A[v = 1])+",
        word("AAA", v="011"),
        {
            v(0, 1, A=(0, 1)),
            v(0, 2, A=(0, 2)),
            v(0, 2, A=(0, 1, 2)),
            v(1, 2, A=(1, 2)),
        },
        id="a-filter-inside-leaves-the-outside-alone",
    ),
    pytest.param(
        "A ; A+ FILTER A[v = 1]",
        word("AAA", v="011"),
        {v(1, 2, A=(1, 2))},
        id="a-filter-outside-does-not",
    ),
    pytest.param(
        "(A AS x ; B)+",
        word("ABAB"),
        {
            v(0, 1, A=(0,), B=(1,), x=(0,)),
            v(0, 3, A=(0,), B=(3,), x=(0,)),
            v(2, 3, A=(2,), B=(3,), x=(2,)),
            v(0, 3, A=(0, 2), B=(1, 3), x=(0, 2)),
        },
        id="a-label-gathers-over-the-iterations",
    ),
    pytest.param(
        "PROJECT[A](A ; B)+",
        word("ABAB"),
        {v(0, 1, A=(0,)), v(0, 3, A=(0,)), v(2, 3, A=(2,)), v(0, 3, A=(0, 2))},
        id="iterates-intervals-not-marks",
    ),
]


@pytest.mark.parametrize(("formula", "events", "expected"), CASES)
def test_clause(formula: str, events: list[dict[str, Any]], expected: set[Valuation]) -> None:
    check_valuations(formula, events, expected)
