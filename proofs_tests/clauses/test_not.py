"""NOT(R), NOT(R FILTER ..): one event that is not that, unmarked."""

from __future__ import annotations

from typing import Any

import pytest

from cerlab import Valuation
from proofs_tests.clauses.tables import check_valuations, v, word

CASES = [
    pytest.param("NOT(A)", word("AB"), {v(1, 1)}, id="other-types"),
    pytest.param("A ; NOT(B) ; C", word("ABXC"), {v(0, 3, A=(0,), C=(3,))}, id="is-no-absence"),
    pytest.param(
        "NOT(A FILTER A[v = 1])",
        word("AAB", v="101"),
        {v(1, 1), v(2, 2)},
        id="with-a-filter-the-type-may-fail",
    ),
    pytest.param(
        "NOT(A FILTER A[v = 1])",
        word("A", v="."),
        {v(0, 0)},
        id="missing-attribute-does-not-satisfy",
    ),
    pytest.param(
        "NOT(A FILTER A[v = 1] AND A[w = 1])",
        word("AAA", v="110", w="101"),
        {v(1, 1), v(2, 2)},
        id="two-filters",
    ),
    pytest.param(
        "NOT(A FILTER A[v = 1] OR A[w = 1])",
        word("AAA", v="100", w="010"),
        {v(2, 2)},
        id="either-filter",
    ),
    pytest.param(
        "NOT(S>A)",
        [{"type": "A", "stream": "S"}, {"type": "A", "stream": "T"}],
        {v(1, 1)},
        id="of-a-stream",
    ),
    pytest.param("NOT(A):+", word("BB"), {v(0, 0), v(1, 1), v(0, 1)}, id="iterated"),
    pytest.param("NOT(B) : NOT(B)", word("AA"), {v(0, 1)}, id="gives-an-empty-answer"),
    pytest.param("NOT(A)", word("AA"), set(), id="nothing-else-there"),
    pytest.param("NOT(A)", [], set(), id="empty-stream-it-takes-an-event"),
    pytest.param(
        "NOT(A FILTER A[v > 1])",
        [{"type": "A", "v": None}, {"type": "A", "v": float("nan")}, {"type": "A", "v": 2}],
        {v(0, 0), v(1, 1)},
        id="null-and-nan-do-not-satisfy",
    ),
    pytest.param(
        "NOT(A FILTER A[NOT (v = 1)])",
        word("AAB", v="100"),
        {v(0, 0), v(2, 2)},  # all but the A events whose v is not 1
        id="complement-twice",
    ),
    pytest.param(
        "NOT(A)+", word("BAB"), {v(0, 0), v(2, 2), v(0, 2)}, id="iterated-with-gaps-may-span-an-a"
    ),
    pytest.param("NOT(A):+", word("BAB"), {v(0, 0), v(2, 2)}, id="iterated-contiguously-may-not"),
    pytest.param(
        "A : NOT(B) : C",
        word("ABCAACC"),
        {v(3, 5, A=(3,), C=(5,)), v(4, 6, A=(4,), C=(6,))},  # an A and a C are no B
        id="takes-its-place",
    ),
    pytest.param(
        "A : NOT(A):+ : A",
        word("ABBABA"),
        {v(0, 3, A=(0, 3)), v(3, 5, A=(3, 5))},
        id="none-between-with-contiguity",
    ),
    pytest.param("A ; NOT(B)", word("ABC"), {v(0, 2, A=(0,))}, id="the-interval-ends-at-its-event"),
    pytest.param(
        "NOT(A) AS x FILTER x[v = 1]", word("B", v="0"), {v(0, 0)}, id="its-label-is-empty"
    ),
    pytest.param("NOT(A) OR A", word("AB"), {v(0, 0, A=(0,)), v(1, 1)}, id="or-the-event-itself"),
]


@pytest.mark.parametrize(("formula", "events", "expected"), CASES)
def test_clause(formula: str, events: list[dict[str, Any]], expected: set[Valuation]) -> None:
    check_valuations(formula, events, expected)
