"""RENAME[a -> b](phi): events of a move to b, beside the events of b (SOCEL Table 1)."""

from __future__ import annotations

from typing import Any

import pytest

import cerlab
from cerlab import Valuation
from proofs_tests.clauses.tables import check_valuations, v, word

CASES = [
    pytest.param("RENAME[A -> x](A)", word("A"), {v(0, 0, x=(0,))}, id="moves"),
    pytest.param(
        "RENAME[A -> B](A ; B)", word("AB"), {v(0, 1, B=(0, 1))}, id="joins-what-was-there"
    ),
    pytest.param(
        "RENAME[A -> x](A ; B)", word("AB"), {v(0, 1, x=(0,), B=(1,))}, id="keeps-the-others"
    ),
    pytest.param(
        "RENAME[A -> x](A OR B)", word("B"), {v(0, 0, B=(0,))}, id="of-an-empty-label-is-nothing"
    ),
    pytest.param("RENAME[A -> A](A)", word("A"), {v(0, 0, A=(0,))}, id="to-itself"),
    pytest.param(
        "RENAME[x -> y](A AS x) FILTER y[v = 1]",
        word("AA", v="01"),
        {v(1, 1, A=(1,), y=(1,))},
        id="then-the-old-filter-is-vacuous",
    ),
    pytest.param(
        "RENAME[x -> y](A AS x OR A AS y)",
        word("A"),
        {v(0, 0, A=(0,), y=(0,))},
        id="different-become-equal",
    ),
    pytest.param(
        "RENAME[A -> x](A)+",
        word("AA"),
        {v(0, 0, x=(0,)), v(1, 1, x=(1,)), v(0, 1, x=(0, 1))},
        id="inside-an-iteration",
    ),
]


@pytest.mark.parametrize(("formula", "events", "expected"), CASES)
def test_clause(formula: str, events: list[dict[str, Any]], expected: set[Valuation]) -> None:
    check_valuations(formula, events, expected)


def test_columns_of_the_label_are_of_all_types_that_it_may_hold() -> None:
    schema = cerlab.parse_schema("DECLARE STREAM S { EVENT A { v: int }, EVENT B { w: int } }")
    query = cerlab.parse_query("SELECT * WHERE RENAME[A -> B](A ; B)", schema)
    table = query.run([{"type": "A", "v": 1}, {"type": "B", "w": 2}]).table()
    assert {"B.v", "B.w"} <= set(table.column_names)
