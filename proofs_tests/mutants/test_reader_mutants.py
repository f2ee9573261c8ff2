"""Wrong versions of the types of columns of text, which the table by hand sees."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from cerlab.io import Stream, batches, column_types
from proofs_tests.io.test_column_types import CASES, Case, check, csv_lines
from proofs_tests.mutants.driver import Mutant, check_killed, each_of, mutant, on_rows
from proofs_tests.suite import Suite


def is_right(case: Case) -> bool:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "e.csv"
        path.write_text("\n".join(csv_lines(case.cells)) + "\n")
        for stream in ([Stream.read(path)], batches(path, size=1)):
            check(case, [event.attributes["v"] for part in stream for event in part])
    return True


def hexadecimals(texts: Any, characters: bytes) -> bool:
    """``0x10`` is 16."""
    return characters != b"xX" and _HOLD(texts, characters)


_HOLD = column_types._hold


def infinite(cell: str | None) -> bool:
    """``1e400`` and long integers are the doubles that are next."""
    return True


def lower_case(words: Any) -> Any:
    """``TRUE`` is no boolean."""
    return _TRUTHS(words) if set(words.to_pylist()) <= {"true", "false"} else None


_TRUTHS = column_types._truths


def without_zone(words: Any) -> Any:
    """Moments with a zone are text."""
    return column_types._cast(words, column_types.MOMENT)


MUTANTS = [
    mutant(on_rows(is_right, CASES), column_types, name, wrong)
    for name, wrong in [
        ("_hold", hexadecimals),
        ("_is_double", infinite),
        ("_truths", lower_case),
        ("_moments", without_zone),
    ]
]


@each_of(MUTANTS)
def test_the_mutant_is_killed(
    mutant: Mutant, monkeypatch: pytest.MonkeyPatch, suite: Suite
) -> None:
    check_killed(mutant, monkeypatch, suite)
