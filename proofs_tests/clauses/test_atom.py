"""R and S>R: one event of the type, labelled by it (CORE Table 2)."""

from __future__ import annotations

from typing import Any

import pytest

from cerlab import Valuation
from proofs_tests.clauses.tables import check_valuations, rows, v, word

CASES = [
    *rows("""
one | A | A | 0-0 A=0
each-event-of-the-type | A | ABA | 0-0 A=0; 2-2 A=2
none | A | BB |
empty-stream | A | - |
types-are-case-sensitive | a | A |
no-stream-is-in-every-stream | S>A | A | 0-0 A=0
"""),
    pytest.param(
        "S>A",
        [{"type": "A", "stream": "S"}],
        {v(0, 0, A=(0,))},
        id="stream-sets-the-label-of-the-type",
    ),
    pytest.param("S>A", [{"type": "A", "stream": "T"}], set(), id="another-stream"),
    pytest.param("A", [{"type": "AA"}], set(), id="a-type-is-a-whole-word"),
    pytest.param(
        "A",
        [{"type": "A"}, {"type": "A", "v": None}, {"type": "A", "v": 1}],
        {v(0, 0, A=(0,)), v(1, 1, A=(1,)), v(2, 2, A=(2,))},
        id="whatever-the-attributes",
    ),
    pytest.param(
        "`FILTER`", [{"type": "FILTER"}], {v(0, 0, FILTER=(0,))}, id="a-quoted-keyword-is-a-name"
    ),
    pytest.param(
        "((A)) -- A\n/* ; B */", word("AB"), {v(0, 0, A=(0,))}, id="parentheses-and-comments"
    ),
]


@pytest.mark.parametrize(("formula", "events", "expected"), CASES)
def test_clause(formula: str, events: list[dict[str, Any]], expected: set[Valuation]) -> None:
    check_valuations(formula, events, expected)
