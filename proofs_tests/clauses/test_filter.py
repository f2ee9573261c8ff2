"""phi FILTER X[P]: all events of X satisfy P (CORE Table 2)."""

from __future__ import annotations

from typing import Any

import pytest

from cerlab import Valuation
from proofs_tests.clauses.tables import check_valuations, v, word

CASES = [
    pytest.param(
        "A FILTER A[v = 1] OR A[v = TRUE]",
        [{"type": "A", "v": 1}, {"type": "A", "v": True}],
        {v(0, 0, A=(0,)), v(1, 1, A=(1,))},
        id="one-and-true-are-two-constants",
    ),
    pytest.param(
        "A FILTER A[v IN {0}] OR A[v IN {FALSE}]",
        [{"type": "A", "v": 0}, {"type": "A", "v": False}],
        {v(0, 0, A=(0,)), v(1, 1, A=(1,))},
        id="zero-and-false-are-two-members",
    ),
    pytest.param(
        "A FILTER A[v = 1]", word("AA", v="01"), {v(1, 1, A=(1,))}, id="keeps-what-satisfies"
    ),
    pytest.param(
        "A FILTER B[v = 1]", word("A", v="0"), {v(0, 0, A=(0,))}, id="an-empty-label-holds"
    ),
    pytest.param(
        "(A ; A) FILTER A[v = 1]",
        word("AAA", v="101"),
        {v(0, 2, A=(0, 2))},
        id="for-all-events-of-the-label",
    ),
    pytest.param(
        "(A FILTER A[v = 1])+",
        word("AAA", v="101"),
        {v(0, 0, A=(0,)), v(2, 2, A=(2,)), v(0, 2, A=(0, 2))},
        id="inside-an-iteration-each-one",
    ),
    pytest.param(
        "A+ FILTER A[v = 1]",
        word("AAA", v="101"),
        {v(0, 0, A=(0,)), v(2, 2, A=(2,)), v(0, 2, A=(0, 2))},
        id="outside-an-iteration-the-same-here",
    ),
    pytest.param(
        "(A ; A) AS x FILTER x[v = 0] OR x[v = 1]",
        word("AAA", v="011"),
        {v(1, 2, A=(1, 2), x=(1, 2))},
        id="or-of-filters-decides-as-a-whole",
    ),
    pytest.param(
        "(A ; A) AS x FILTER x[v = 0 OR v = 1]",
        word("AA", v="01"),
        {v(0, 1, A=(0, 1), x=(0, 1))},
        id="or-inside-brackets-decides-each",
    ),
    pytest.param(
        "A AS x FILTER A[v = 1] AND x[w = 1]",
        word("AAA", v="110", w="101"),
        {v(0, 0, A=(0,), x=(0,))},
        id="and-nests",
    ),
    pytest.param(
        "A FILTER A[v = 1] ; A", word("AA", v="10"), {v(0, 1, A=(0, 1))}, id="suffix-then-operator"
    ),
    pytest.param(
        "A ; A FILTER A[v = 1]", word("AA", v="10"), set(), id="suffix-on-everything-left"
    ),
    pytest.param(
        "PROJECT[x](A AS x) FILTER A[v = 1]",
        word("A", v="0"),
        {v(0, 0, x=(0,))},
        id="projected-away-labels-are-empty",
    ),
    pytest.param(
        "(A AS x OR B) FILTER x[v = 1]",
        word("AB", v="00"),
        {v(1, 1, B=(1,))},
        id="either-side-of-or-may-set-it",
    ),
    pytest.param(
        "(A AS x OR B AS y) FILTER x[v = 1] OR y[v = 1]",
        word("A", v="0"),
        {v(0, 0, A=(0,), x=(0,))},
        id="one-half-of-or-holds-vacuously",
    ),
    pytest.param(
        "(A ; A) FILTER A[NOT (v = 1)]",
        word("AAA", v="010"),
        {v(0, 2, A=(0, 2))},  # all of them not 1, which is not "not all of them 1"
        id="complement-inside-then-for-all",
    ),
    pytest.param(
        "(A AS x OR B) FILTER x[v = 1]",
        word("AAB", v="010"),
        {v(1, 1, A=(1,), x=(1,)), v(2, 2, B=(2,))},
        id="a-branch-without-the-label-holds",
    ),
    pytest.param(
        "(A AS x ; B AS x) FILTER x[v = 1]",
        word("AABB", v="0101"),
        {v(1, 3, A=(1,), B=(3,), x=(1, 3))},
        id="a-label-set-twice-is-one-set",
    ),
    pytest.param(
        "(A ; B) AS x FILTER x[v = 1]",
        word("ABB", v="1.1"),
        {v(0, 2, A=(0,), B=(2,), x=(0, 2))},  # event 1 has no v, so v = 1 is false of it
        id="an-event-without-the-attribute-fails",
    ),
    pytest.param(
        "(A FILTER x[v = 1]) AS x",
        word("A", v="0"),
        {v(0, 0, A=(0,), x=(0,))},  # x is still empty where the filter stands
        id="a-label-set-later-is-empty-here",
    ),
    pytest.param("A FILTER A.v = 1", word("AA", v="01"), {v(1, 1, A=(1,))}, id="dotted"),
    pytest.param(
        "A FILTER A[v = 1] FILTER A[w = 1]",
        word("AAA", v="110", w="101"),
        {v(0, 0, A=(0,))},
        id="filters-chain",
    ),
    pytest.param(
        "A ; B FILTER A[v = 1]",
        word("AAB", v="01."),
        {v(1, 2, A=(1,), B=(2,))},  # on B alone, A would be empty and both pairs would pass
        id="suffix-reaches-the-first-of-a-sequence",
    ),
    pytest.param(
        "A FILTER A[v = 1] ; A",
        word("AAA", v="101"),
        {v(0, 1, A=(0, 1)), v(0, 2, A=(0, 2))},
        id="what-follows-the-suffix-is-not-filtered",
    ),
    pytest.param(
        "A OR B FILTER A[v = 1]", word("AB", v="00"), {v(1, 1, B=(1,))}, id="suffix-on-both-of-or"
    ),
    pytest.param(
        "A FILTER A[v = 1] OR A[v = 2] AND A[w = 1]",
        word("AAA", v="122", w="001"),
        {v(0, 0, A=(0,)), v(2, 2, A=(2,))},
        id="and-binds-tighter-than-or",
    ),
    pytest.param(
        "A FILTER (A[v = 1] OR A[v = 2]) AND A[w = 1]",
        word("AAA", v="122", w="001"),
        {v(2, 2, A=(2,))},
        id="a-parenthesis-of-filters",
    ),
    pytest.param(
        "A FILTER A[v = 1] OR B",
        word("ABA", v="001"),
        {v(1, 1, B=(1,)), v(2, 2, A=(2,))},
        id="or-before-a-formula-is-that-of-formulas",
    ),
    pytest.param(
        "A FILTER A[v = 1] OR (B ; A)",
        word("BA", v="00"),
        {v(0, 1, B=(0,), A=(1,))},
        id="a-parenthesis-of-formulas-is-no-filter",
    ),
    pytest.param(
        "A FILTER A[v = 1] OR B[v = 1]",
        word("AB", v="01"),
        {v(0, 0, A=(0,))},  # two copies of A: in the second, B is empty and its filter holds
        id="or-before-a-filter-is-that-of-filters",
    ),
    pytest.param(
        "(A AS x ; A AS y) FILTER x[v = 1] AND y[v = 2]",
        word("AAAA", v="1212"),
        {
            v(0, 1, A=(0, 1), x=(0,), y=(1,)),
            v(0, 3, A=(0, 3), x=(0,), y=(3,)),
            v(2, 3, A=(2, 3), x=(2,), y=(3,)),
        },
        id="one-filter-for-each-label",
    ),
]


@pytest.mark.filterwarnings("ignore:CER0901")
@pytest.mark.parametrize(("formula", "events", "expected"), CASES)
def test_clause(formula: str, events: list[dict[str, Any]], expected: set[Valuation]) -> None:
    check_valuations(formula, events, expected)
