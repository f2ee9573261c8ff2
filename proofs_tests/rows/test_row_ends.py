"""Shortest tables on which the matches of a row pattern have two lengths, by hand."""

from __future__ import annotations

import pytest

from cerlab.rows.cel import two_ends
from proofs_tests.rows.test_decisions import query


@pytest.mark.parametrize(
    ("pattern", "define", "length"),
    [
        ("A", "", None),
        ("(A | B){2}", "", None),
        ("A B?", "", 2),
        ("A | B C", "", 2),
        ("A B{2,3}", "", 4),
        ("A B | A C D", "DEFINE B AS x = 1, C AS x = 2", None),
        ("A B | A C D", "DEFINE B AS x >= 1, C AS x <= 1", 3),
        ("A+ B", "DEFINE A AS x > 1, B AS x < 1", None),
        ("A+ B", "DEFINE A AS x > 1, B AS x > 2", 3),
        ("A+ B", "DEFINE A AS x > PREV(x) OR PREV(x) IS NULL, B AS x < PREV(x)", None),
        ("A+", "DEFINE A AS PREV(x) IS NULL", 2),
        ("A{3}", "DEFINE A AS x > 1 AND x < 1", None),
    ],
)
def test_a_shortest_table_with_matches_of_two_lengths(
    pattern: str, define: str, length: int | None
) -> None:
    table = two_ends(query(pattern, define))
    assert (None if table is None else len(table)) == length
