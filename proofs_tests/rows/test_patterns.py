"""Patterns and preferment, by hand: every rule of derivations and its decisions.

A row has the letters that stand in it; A holds where an ``a`` stands, and so on.
"""

from __future__ import annotations

import pytest

from cerlab.rows.recognise import RowEvaluator
from proofs_tests.rows.tables import EVALUATORS, patterns_of, scan_of

GRAMMAR = patterns_of("GRAMMAR")
OTHERS = ("DERIVATIONS", "EMPTY_ITERATIONS", "DECISIONS")
CASES = [*GRAMMAR, *(case for section in OTHERS for case in patterns_of(section))]


@pytest.mark.parametrize("evaluator", EVALUATORS)
@pytest.mark.parametrize(("pattern", "text", "clauses", "expected"), CASES)
def test_the_scan_finds(
    pattern: str, text: str, clauses: str, expected: str, evaluator: RowEvaluator
) -> None:
    assert scan_of(pattern, text, clauses, evaluator) == expected
