"""Every numbered clause and every decision has cases, named by it."""

from __future__ import annotations

import re

from cerlab.conformance import cases, groups

CLAUSES = {
    *("1-1", "1-2", "1-3", "1-4", "2-1", "2-2", "2-3", "2-4"),
    *("3-1", "3-2", "3-3", "3-4", "3-5", "3-6", "4-1", "4-2", "4-3", "4-4"),
    *("5-1", "5-2a", "5-2b", "5-2c", "5-2d", "5-2e", "5-2f", "5-3", "5-4", "5-5", "5-6"),
    *(f"6-{n}" for n in range(12)),
    *("7-1", "7-2", "7-3", "8-1", "8-2", "8-3", "8-4", "8-5", "8-6", "9-1", "10-1", "10-3", "13"),
}
"""Clauses with a case; 5.7 belongs to the search, 10.2 and 12 have other tests."""

DECISIONS = {f"d{n}" for n in range(1, 22)}


def test_every_clause_and_decision_has_a_case() -> None:
    """The examples of the standard are named by its sections."""
    names = [g.name for g in groups() if g.name.startswith("rows-") and g.name != "rows-standard"]
    found = set()
    for case in cases(*names):
        clause = re.match(r"(d\d+|13|\d+-\d+[a-f]?)-", case.id.partition("/")[2])
        assert clause is not None, case.id
        found.add(clause[1])
    assert found == CLAUSES | DECISIONS
