"""phi UNLESS psi: no psi inside the interval of phi."""

from __future__ import annotations

from typing import Any

import pytest

from cerlab import Valuation
from proofs_tests.clauses.tables import check_valuations, v, word

CASES = [
    pytest.param("(A ; B) UNLESS C", word("ADB"), {v(0, 2, A=(0,), B=(2,))}, id="nothing-inside"),
    pytest.param("(A ; B) UNLESS C", word("ACB"), set(), id="something-inside"),
    pytest.param(
        "(A ; B) UNLESS C",
        word("CABC"),
        {v(1, 2, A=(1,), B=(2,))},
        id="before-and-after-do-not-count",
    ),
    pytest.param("(A ; B) UNLESS B", word("AB"), set(), id="the-ends-are-inside"),
    pytest.param(
        "(A ; B) UNLESS (C ; D)",
        word("CADB"),
        {v(1, 3, A=(1,), B=(3,))},
        id="psi-must-fit-as-a-whole",
    ),
    pytest.param("(A ; B) UNLESS (C ; D)", word("ACDB"), set(), id="psi-fits"),
    pytest.param("(A ; A) UNLESS B", word("ABA"), set(), id="skipped-events-count"),
    pytest.param(
        "PROJECT[B](A ; B) UNLESS C",
        word("ACAB"),
        {v(2, 3, B=(3,))},
        id="the-interval-counts-not-the-marks",
    ),
    pytest.param(
        "(A ; A) UNLESS (B FILTER B[v = 1])",
        word("ABA", v="000"),
        {v(0, 2, A=(0, 2))},
        id="filtered",
    ),
]


@pytest.mark.filterwarnings("ignore:CER0918")  # UNLESS of the left side itself is judged too
@pytest.mark.parametrize(("formula", "events", "expected"), CASES)
def test_clause(formula: str, events: list[dict[str, Any]], expected: set[Valuation]) -> None:
    check_valuations(formula, events, expected)
