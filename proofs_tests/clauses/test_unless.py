"""phi UNLESS psi: no psi inside the interval of phi."""

from __future__ import annotations

from typing import Any

import pytest

from cerlab import Valuation
from proofs_tests.clauses.tables import check_valuations, rows

CASES = rows("""
nothing-inside | (A ; B) UNLESS C | ADB | 0-2 A=0 B=2
something-inside | (A ; B) UNLESS C | ACB |
before-and-after-do-not-count | (A ; B) UNLESS C | CABC | 1-2 A=1 B=2
the-ends-are-inside | (A ; B) UNLESS B | AB |
psi-must-fit-as-a-whole | (A ; B) UNLESS (C ; D) | CADB | 1-3 A=1 B=3
psi-fits | (A ; B) UNLESS (C ; D) | ACDB |
skipped-events-count | (A ; A) UNLESS B | ABA |
the-interval-counts-not-the-marks | PROJECT[B](A ; B) UNLESS C | ACAB | 2-3 B=3
filtered | (A ; A) UNLESS (B FILTER B[v = 1]) | ABA v=000 | 0-2 A=0,2
""")


@pytest.mark.filterwarnings("ignore:CER0918")  # UNLESS of the left side itself is judged too
@pytest.mark.parametrize(("formula", "events", "expected"), CASES)
def test_clause(formula: str, events: list[dict[str, Any]], expected: set[Valuation]) -> None:
    check_valuations(formula, events, expected)
