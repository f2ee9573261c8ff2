"""RENAME[a -> b](phi): events of a move to b, beside the events of b (SOCEL Table 1)."""

from __future__ import annotations

from typing import Any

import pytest

import cerlab
from cerlab import Valuation
from proofs_tests.clauses.tables import check_valuations, rows

CASES = rows("""
moves | RENAME[A -> x](A) | A | 0-0 x=0
joins-what-was-there | RENAME[A -> B](A ; B) | AB | 0-1 B=0,1
keeps-the-others | RENAME[A -> x](A ; B) | AB | 0-1 B=1 x=0
of-an-empty-label-is-nothing | RENAME[A -> x](A OR B) | B | 0-0 B=0
to-itself | RENAME[A -> A](A) | A | 0-0 A=0
then-the-old-filter-is-vacuous | RENAME[x -> y](A AS x) FILTER y[v = 1] | AA v=01 | 1-1 A=1 y=1
different-become-equal | RENAME[x -> y](A AS x OR A AS y) | A | 0-0 A=0 y=0
inside-an-iteration | RENAME[A -> x](A)+ | AA | 0-0 x=0; 0-1 x=0,1; 1-1 x=1
""")


@pytest.mark.parametrize(("formula", "events", "expected"), CASES)
def test_clause(formula: str, events: list[dict[str, Any]], expected: set[Valuation]) -> None:
    check_valuations(formula, events, expected)


def test_columns_of_the_label_are_of_all_types_that_it_may_hold() -> None:
    schema = cerlab.parse_schema("DECLARE STREAM S { EVENT A { v: int }, EVENT B { w: int } }")
    query = cerlab.parse_query("SELECT * WHERE RENAME[A -> B](A ; B)", schema)
    table = query.run([{"type": "A", "v": 1}, {"type": "B", "w": 2}]).table()
    assert {"B.v", "B.w"} <= set(table.column_names)
