"""PROJECT[L](phi): other labels are emptied, the interval is kept (CORE Table 2)."""

from __future__ import annotations

from typing import Any

import pytest

from cerlab import Valuation
from proofs_tests.clauses.tables import check_valuations, v, word

CASES = [
    pytest.param("PROJECT[x](A AS x)", word("A"), {v(0, 0, x=(0,))}, id="keeps"),
    pytest.param("PROJECT[A](A ; B)", word("AXB"), {v(0, 2, A=(0,))}, id="keeps-the-interval"),
    pytest.param("PROJECT[](A ; B)", word("AB"), {v(0, 1)}, id="to-nothing"),
    pytest.param(
        "PROJECT[B](A ; B)",
        word("AAB"),
        {v(0, 2, B=(2,)), v(1, 2, B=(2,))},
        id="several-intervals-one-support",
    ),
    pytest.param(
        "PROJECT[A](PROJECT[A, B](A ; B ; C))",
        word("ABC"),
        {v(0, 2, A=(0,))},
        id="composes-as-intersection",
    ),
    pytest.param(
        "PROJECT[C](A ; B ; C)", word("ABBC"), {v(0, 3, C=(3,))}, id="different-become-equal"
    ),
    pytest.param(
        "PROJECT[A](A : B)+",
        word("ABAB"),
        {v(0, 1, A=(0,)), v(2, 3, A=(2,)), v(0, 3, A=(0, 2))},
        id="inside-an-iteration",
    ),
    pytest.param("PROJECT[A](A OR B)", word("B"), {v(0, 0)}, id="of-a-label-that-is-not-set"),
    pytest.param(
        "PROJECT[A](A ; B)",
        word("ABB"),
        {v(0, 1, A=(0,)), v(0, 2, A=(0,))},
        id="several-ends-one-support",
    ),
    pytest.param(
        "PROJECT[](A+)",
        word("AAA"),
        {v(0, 0), v(1, 1), v(2, 2), v(0, 1), v(1, 2), v(0, 2)},  # {0,2} and {0,1,2} are one
        id="of-an-iteration-to-nothing",
    ),
    pytest.param(
        "PROJECT[A](A+ ; B)",
        word("AAB"),
        {v(0, 2, A=(0,)), v(1, 2, A=(1,)), v(0, 2, A=(0, 1))},
        id="of-an-iteration",
    ),
    pytest.param(
        "PROJECT[x]((A ; B) AS x)", word("AB"), {v(0, 1, x=(0, 1))}, id="types-are-labels-like-any"
    ),
    pytest.param(
        "PROJECT[A, x](A AS x ; B AS x)",
        word("AB"),
        {v(0, 1, A=(0,), x=(0, 1))},
        id="several-labels",
    ),
    pytest.param(
        "PROJECT[A](A AS x OR A AS y)", word("A"), {v(0, 0, A=(0,))}, id="two-valuations-become-one"
    ),
    pytest.param(
        "PROJECT[B](A ; B FILTER A[v = 1])",
        word("AAB", v="010"),
        {v(1, 2, B=(2,))},
        id="a-filter-below-sees-what-is-projected-away",
    ),
    pytest.param(
        "PROJECT[B](A ; B) FILTER A[v = 1]",
        word("AAB", v="010"),
        {v(0, 2, B=(2,)), v(1, 2, B=(2,))},
        id="a-filter-above-does-not",
        marks=pytest.mark.filterwarnings("ignore:CER0901"),  # always holds, and says so
    ),
]


@pytest.mark.parametrize(("formula", "events", "expected"), CASES)
def test_clause(formula: str, events: list[dict[str, Any]], expected: set[Valuation]) -> None:
    check_valuations(formula, events, expected)
