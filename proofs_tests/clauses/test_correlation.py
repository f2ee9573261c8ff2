"""x.a op y.b: for all combinations of events of the two labels."""

from __future__ import annotations

from typing import Any

import pytest

import cerlab
from cerlab import Valuation
from proofs_tests.clauses.tables import check_on_registers, check_reference, v, word

CASES = [
    pytest.param(
        "A AS x ; B AS y FILTER x.v < y.v",
        word("ABB", v="102"),
        {v(0, 2, A=(0,), B=(2,), x=(0,), y=(2,))},
        id="one-each",
    ),
    pytest.param(
        "A AS x ; B AS y FILTER x.v = y.w",
        word("AB", v="10", w="01"),
        {v(0, 1, A=(0,), B=(1,), x=(0,), y=(1,))},
        id="different-attributes",
    ),
    pytest.param(
        "(A+ AS x) : B AS y FILTER x.v <= y.v",
        word("AAB", v="231"),
        set(),
        id="for-all-of-an-iteration",
    ),
    pytest.param(
        "A:+ AS x : (B:+ AS y) FILTER x.v < y.v", word("AABB", v="1223"), set(), id="all-pairs"
    ),
    pytest.param(
        "A:+ AS x : (B:+ AS y) FILTER x.v < y.v",
        word("AABB", v="0123"),
        {
            v(0, 2, A=(0, 1), B=(2,), x=(0, 1), y=(2,)),
            v(1, 2, A=(1,), B=(2,), x=(1,), y=(2,)),
            v(0, 3, A=(0, 1), B=(2, 3), x=(0, 1), y=(2, 3)),
            v(1, 3, A=(1,), B=(2, 3), x=(1,), y=(2, 3)),
        },
        id="all-pairs-hold",
    ),
    pytest.param(
        "(A AS x OR B AS y) FILTER x.v = y.v",
        word("AB", v="12"),
        {v(0, 0, A=(0,), x=(0,)), v(1, 1, B=(1,), y=(1,))},
        id="an-empty-label-holds",
    ),
    pytest.param(
        "A AS x ; B AS y FILTER x.v != y.v", word("AB", v="1."), set(), id="missing-is-false"
    ),
    pytest.param(
        "A AS x ; B AS y FILTER x.v = y.v AND y[w = 1]",
        word("ABB", v="111", w="001"),
        {v(0, 2, A=(0,), B=(2,), x=(0,), y=(2,))},
        id="and-with-a-predicate",
    ),
    pytest.param(
        "A AS x ; B AS y FILTER x.v = y.v OR x.w = y.w",
        word("AB", v="12", w="11"),
        {v(0, 1, A=(0,), B=(1,), x=(0,), y=(1,))},
        id="or-of-comparisons",
    ),
]


@pytest.mark.parametrize(("formula", "events", "expected"), CASES)
def test_clause(formula: str, events: list[dict[str, Any]], expected: set[Valuation]) -> None:
    check_on_registers(formula, events, expected)


def test_all_pairs_differ() -> None:
    """Two labels that repeat need as many registers as there are events."""
    formula = "A:+ AS x : (B:+ AS y) FILTER x.v != y.v"
    check_reference(formula, word("AABB", v="1223"), set())
    with pytest.raises(cerlab.Unsupported, match="CER0491"):
        cerlab.evaluate(formula, word("AB"), evaluator="registers")
