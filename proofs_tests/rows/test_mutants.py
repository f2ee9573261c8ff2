"""A wrong version of each clause: the hand-computed tables kill every one (rows.md)."""

from __future__ import annotations

import pytest

from proofs_tests.mutants.driver import (
    Mutant,
    check_killed,
    each_of,
)
from proofs_tests.rows.judges import CLAUSES, PATTERNS, RESULTS, SCAN, VALUES
from proofs_tests.rows.mutants_of_patterns import OF_PATTERNS
from proofs_tests.rows.mutants_of_reading import OF_READING
from proofs_tests.rows.mutants_of_results import OF_RESULTS
from proofs_tests.rows.mutants_of_values import OF_VALUES
from proofs_tests.suite import Suite

MUTANTS: list[Mutant] = [*OF_READING, *OF_PATTERNS, *OF_VALUES, *OF_RESULTS]


def test_the_reference_itself_passes_every_row() -> None:
    for judged in (PATTERNS, SCAN, VALUES, RESULTS, CLAUSES):
        assert all(judged.case(n) for n in range(judged.count))


@each_of(MUTANTS)
def test_the_tables_kill(mutant: Mutant, monkeypatch: pytest.MonkeyPatch, suite: Suite) -> None:
    check_killed(mutant, monkeypatch, suite)
