"""phi AS X: X gets all positions of phi, the other labels stay (CORE Table 2)."""

from __future__ import annotations

from typing import Any

import pytest

from cerlab import Valuation
from proofs_tests.clauses.tables import check_valuations, v, word

CASES = [
    pytest.param("A AS x", word("A"), {v(0, 0, A=(0,), x=(0,))}, id="labels-the-atom"),
    pytest.param(
        "(A ; B) AS x", word("AB"), {v(0, 1, A=(0,), B=(1,), x=(0, 1))}, id="labels-a-sequence"
    ),
    pytest.param(
        "A+ AS x",
        word("AA"),
        {v(0, 0, A=(0,), x=(0,)), v(1, 1, A=(1,), x=(1,)), v(0, 1, A=(0, 1), x=(0, 1))},
        id="labels-an-iteration",
    ),
    pytest.param("A AS x AS y", word("A"), {v(0, 0, A=(0,), x=(0,), y=(0,))}, id="twice"),
    pytest.param(
        "(A AS x ; B) AS x",
        word("AB"),
        {v(0, 1, A=(0,), B=(1,), x=(0, 1))},
        id="does-not-lose-what-x-had",
    ),
    pytest.param("PROJECT[](A) AS x", word("A"), {v(0, 0)}, id="empty-support-sets-nothing"),
    pytest.param("NOT(B) AS x", word("A"), {v(0, 0)}, id="not-has-no-positions"),
    pytest.param("A AS B", word("A"), {v(0, 0, A=(0,), B=(0,))}, id="may-name-a-type"),
    pytest.param(
        "A ; B AS x",
        word("AB"),
        {v(0, 1, A=(0,), B=(1,), x=(1,))},
        id="binds-tighter-than-sequence",
    ),
    pytest.param("A AS A", word("A"), {v(0, 0, A=(0,))}, id="its-own-type-again"),
    pytest.param(
        "(A ; B) AS A",
        word("ACB"),
        {v(0, 2, A=(0, 2), B=(2,))},  # A gets the support {0, 2}; B keeps {2}
        id="the-label-of-a-type-grows",
    ),
    pytest.param(
        "(A AS x ; B) AS y",
        word("AB"),
        {v(0, 1, A=(0,), B=(1,), x=(0,), y=(0, 1))},
        id="outer-label-takes-all-inner-label-stays",
    ),
    pytest.param(
        "PROJECT[A](A ; B) AS x",
        word("AB"),
        {v(0, 1, A=(0,), x=(0,))},  # B's position was emptied before AS looked
        id="takes-the-support-that-is-left",
    ),
    pytest.param(
        "A AS x+",
        word("AA"),
        {v(0, 0, A=(0,), x=(0,)), v(1, 1, A=(1,), x=(1,)), v(0, 1, A=(0, 1), x=(0, 1))},
        id="postfix-operators-chain",
    ),
    pytest.param(
        "A OR B AS x",
        word("AB"),
        {v(0, 0, A=(0,)), v(1, 1, B=(1,), x=(1,))},
        id="binds-tighter-than-or",
    ),
]


@pytest.mark.parametrize(("formula", "events", "expected"), CASES)
def test_clause(formula: str, events: list[dict[str, Any]], expected: set[Valuation]) -> None:
    check_valuations(formula, events, expected)
