"""Cases of the conformance suite, as judges of wrong versions."""

from __future__ import annotations

from cerlab.conformance import cases
from proofs_tests.mutants.driver import Judge, on_cases

OF_VALUES = (
    *("rows-contexts", "rows-navigation", "rows-aggregates", "rows-labels"),
    *("rows-modes", "rows-logic", "rows-operators"),
)
"""The groups of expressions."""


def judge(*groups: str, evaluator: str = "reference") -> Judge:
    """Return the judge by all cases of some groups."""
    return on_cases(cases(*groups), evaluator)


PATTERNS = judge("rows-patterns", "rows-derivations")
SCAN = judge("rows-scan")
WITHIN = judge("rows-within", "rows-clauses")
VALUES = judge(*OF_VALUES)
RESULTS = judge("rows-data", "rows-names", "rows-results")
READ = judge("rows-data", "rows-names", "rows-results", "rows-clauses")
