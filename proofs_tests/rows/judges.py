"""Cases of the conformance suite, as judges of wrong versions."""

from __future__ import annotations

from typing import Any

from cerlab.conformance import Case, cases
from cerlab.conformance.judge import difference
from cerlab.conformance.replies import reply_of
from proofs_tests.mutants.driver import Judge, on_rows

CRASHES = (AssertionError, IndexError, KeyError, NotImplementedError, TypeError, ValueError)
"""Errors that a wrong version may raise, instead of an error by name."""

OF_VALUES = (
    *("rows-contexts", "rows-navigation", "rows-aggregates", "rows-labels"),
    *("rows-modes", "rows-logic", "rows-operators"),
)
"""The groups of expressions."""


def is_right(case: Case, evaluator: Any = "reference") -> bool:
    """Return whether an evaluator replies as the case expects."""
    try:
        return not difference(case, reply_of(case, evaluator), codes=True)
    except CRASHES:
        return False


def judge(*groups: str, evaluator: str = "reference") -> Judge:
    """Return the judge by all cases of some groups."""
    return on_rows(lambda case: is_right(case, evaluator), [*cases(*groups)])


PATTERNS = judge("rows-patterns", "rows-derivations")
SCAN = judge("rows-scan")
WITHIN = judge("rows-within", "rows-clauses")
VALUES = judge(*OF_VALUES)
RESULTS = judge("rows-data", "rows-names", "rows-results")
READ = judge("rows-data", "rows-names", "rows-results", "rows-clauses")
