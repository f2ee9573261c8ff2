"""Wrong versions of the columnar predicate stage, which the scalar truth sees."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from cerlab.io import text_codes, text_kernels
from cerlab.predicates.columns import axes, pieces
from cerlab.predicates.columns import axes as cuts
from cerlab.predicates.columns import lookup_tables as twins
from proofs_tests.io.test_text_codes import check_codes
from proofs_tests.kernels import JIT
from proofs_tests.laws.random_columns import check_case
from proofs_tests.mutants.driver import Mutant, Place, check_killed, each_of, mutant, on_seeds
from proofs_tests.suite import Suite


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


def rounded_constants(values: Any, *, moments: bool) -> list[int | float]:
    """Constants become floats before they cut."""
    exact = _NUMBERS_OF(values, moments=moments)
    return [float(min(max(n, -(2**70)), 2**70)) for n in exact]


_NUMBERS_OF = cuts.numbers_of


def stale_dictionary(self: Any, dictionary: Any, name: str, numbers_of: Any) -> Any:
    """The table of the last dictionary serves for the next one of its length."""
    if self._last is not None and len(self._last[0]) == len(dictionary):
        return self._last[1]
    return _TABLE(self, dictionary, name, numbers_of)


_TABLE = pieces.Lookup._table


def from_the_first_row(numbers: Any, chunk: Any, number: Any) -> Any:
    """A slice of a column begins where the column does."""
    chunk = pa.Array.from_buffers(chunk.type, len(chunk), chunk.buffers())
    return _NUMBER_CHUNK(numbers, chunk, number)


_NUMBER_CHUNK = text_codes._number_chunk


def text_mutant(id: str, *places: Place) -> Mutant:
    """A wrong numbering of texts, by a table where they meet."""
    few = Place(text_codes, "MOST_TEXTS", 8)
    return Mutant(id, on_seeds(check_codes, 600), (few, *places))


def without_jit(module: object, name: str) -> Place:
    """A kernel as it is written."""
    kernel = getattr(module, name)
    return Place(module, name, getattr(kernel, "py_func", kernel))


STAGE = on_seeds(check_case, 600)
CUT_BELOW, NAN_IS_LARGE = map(operations_with, (cut_below, nan_is_large))

MUTANTS = [
    mutant(STAGE, axes, "operations", CUT_BELOW, id="a cut belongs to the stretch below"),
    mutant(STAGE, axes, "operations", NAN_IS_LARGE, id="NaN is a number"),
    mutant(STAGE, axes, "same", as_text, id="equal values of two types are one"),
    mutant(STAGE, cuts, "numbers_of", rounded_constants, id="constants are rounded"),
    mutant(
        STAGE,
        pieces.Lookup,
        "_table",
        stale_dictionary,
        id="a dictionary is known by its length",
    ),
    text_mutant(
        "a text is known by its first eight bytes and its length",
        *(without_jit(text_kernels, name) for name in ("number_texts", "_mix", "_word")),
        Place(text_kernels, "_same_rest", lambda *_: True),
    ),
    text_mutant(
        "a slice of texts begins at the first row",
        Place(text_codes, "_number_chunk", from_the_first_row),
    ),
]


@pytest.mark.skipif(not JIT, reason="too slow without it")
@each_of(MUTANTS)
def test_mutants_are_killed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch, suite: Suite) -> None:
    check_killed(mutant, monkeypatch, suite)
