"""Wrong versions of the columnar predicate stage, which the scalar truth sees."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cerlab.predicates.columns import axes, pieces
from cerlab.predicates.columns import lookup_tables as twins
from proofs_tests.kernels import JIT
from proofs_tests.laws.random_columns import check_case
from proofs_tests.mutants.driver import kills, mutant, on_seeds


def cut_below(values: Any, stretches: Any, out: Any, scratch: Any) -> None:
    """A number is at a start only if it is above it."""
    below = np.searchsorted(stretches.starts, values, side="left")
    out[:] = stretches.table[np.where(values == values, below, 0)]


def nan_is_large(values: Any, stretches: Any, out: Any, scratch: Any) -> None:
    """NaN lies beyond the last cut."""
    out[:] = stretches.table[np.searchsorted(stretches.starts, values, side="right")]


def operations_with(regions: Any) -> Any:
    """The twins of the kernels, with another `regions`."""
    operations = SimpleNamespace(**{**vars(twins), "regions": regions})
    return lambda: operations


def as_text(value: Any) -> Any:
    """1, 1.0 and TRUE are one value to the memory."""
    return value


def rounded_constants(values: Any, of_time: Any) -> list[int | float]:
    """Constants become floats before they cut."""
    exact = _NUMBERS_OF(values, of_time)
    return [float(min(max(n, -(2**70)), 2**70)) for n in exact]


_NUMBERS_OF = axes.numbers_of


def stale_dictionary(self: Any, dictionary: Any, name: str, numbers_of: Any) -> Any:
    """The table of the last dictionary serves for the next one of its length."""
    if self._last is not None and len(self._last[0]) == len(dictionary):
        return self._last[1]
    return _TABLE(self, dictionary, name, numbers_of)


_TABLE = pieces.Lookup._table


STAGE = on_seeds(check_case, 600)
CUT_BELOW, NAN_IS_LARGE = map(operations_with, (cut_below, nan_is_large))

MUTANTS = [
    mutant(STAGE, axes, "operations", CUT_BELOW, id="a cut belongs to the stretch below"),
    mutant(STAGE, axes, "operations", NAN_IS_LARGE, id="NaN is a number"),
    mutant(STAGE, axes, "same", as_text, id="equal values of two types are one"),
    mutant(STAGE, axes, "numbers_of", rounded_constants, id="constants are rounded"),
    mutant(
        STAGE,
        pieces.Lookup,
        "_table",
        stale_dictionary,
        id="a dictionary is known by its length",
    ),
]


is_compiled = pytest.mark.skipif(not JIT, reason="too slow without it")

test_mutants_are_killed = is_compiled(kills(MUTANTS))
