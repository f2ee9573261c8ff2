"""The kernels of the columnar predicate stage against their readable twins."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

from cerlab.predicates.columns import kernels, relevant_indices
from cerlab.predicates.columns import lookup_tables as twins
from cerlab.predicates.columns.lookup_tables import BLOCK, Cells, Stretches
from proofs_tests.kernels import JIT
from proofs_tests.laws.random_columns import DEEP
from proofs_tests.suite import random_suite


def random_arrays(rng: np.random.Generator) -> dict[str, tuple[Any, ...]]:
    """Arguments of each kernel; the last arrays are written."""
    n = int(rng.choice([0, 1, 10, 2_047, 2_048, 5_000]) if JIT else rng.choice([0, 1, 10, 100]))
    table_of = np.dtype(rng.choice(["uint8", "uint16", "uint32"]))
    dtype = np.dtype(rng.choice(["int64", "uint64", "float64"]))
    starts = np.unique(rng.integers(0, 60, int(rng.choice([1, 3, 16, 17, 40]))).astype(dtype))
    values = rng.integers(0, 60, n).astype(dtype)
    if dtype == np.float64:
        starts[0] = -np.inf
        values[rng.random(n) < 0.1] = np.nan
        values[rng.random(n) < 0.1] = np.inf
    table = rng.integers(0, 200, 64).astype(table_of)
    shape = [int(k) for k in rng.integers(1, 6, int(rng.choice([1, 2, 4])))]
    strides = np.cumprod([1, *shape[:-1]]).astype(np.int32)
    classes = np.concatenate([rng.integers(0, k, n) for k in shape]).astype(table_of)
    lut = np.full(int(np.prod(shape)) + 3, kernels.UNKNOWN, np.int32)
    is_known = rng.random(lut.size) < rng.choice([0.5, 1.0])
    lut[is_known] = rng.integers(0, 9, is_known.sum())
    pending = np.zeros(lut.size, np.int32)
    scratch = np.empty(BLOCK, np.uint32)
    return {
        "translate": (rng.integers(0, 64, n).astype(np.uint32), table, np.zeros(n, table_of)),
        "regions": (values, Stretches(starts, table), np.zeros(n, table_of), scratch),
        "fuse": (classes, Cells(strides, 3, lut), np.zeros(n, np.uint16), pending, scratch),
        "compact": (rng.integers(0, 64, n).astype(table_of), table % 2 == 0, np.zeros(n, np.int64)),
    }


def _copy(each: Any) -> Any:
    if isinstance(each, tuple):
        return type(each)(*map(_copy, each))
    return each.copy() if isinstance(each, np.ndarray) else each


def _arrays(arguments: list[Any]) -> list[Any]:
    """The arrays among some arguments and in tuples of them."""
    flat = [part for each in arguments for part in (each if isinstance(each, tuple) else (each,))]
    return [part for part in flat if isinstance(part, np.ndarray)]


@random_suite(DEEP // 10)
def test_kernels_and_their_twins_agree(rng: Random) -> bool:
    """A kernel and its twin return the same and write the same."""
    numbers = np.random.default_rng(rng.randrange(2**32))
    outputs = 0
    for name, arguments in random_arrays(numbers).items():
        ours, theirs = ([_copy(each) for each in arguments] for _ in range(2))
        results = getattr(kernels, name)(*ours), getattr(twins, name)(*theirs)
        assert results[0] == results[1], name
        if name == "fuse" and results[0]:  # the symbols are not to be used
            ours[2] = theirs[2] = None
        if name in ("regions", "fuse"):  # nor is the scratch
            ours[-1] = theirs[-1] = None
        if name == "compact":
            ours[2], theirs[2] = ours[2][: results[0]], theirs[2][: results[1]]
        for mine, yours in zip(_arrays(ours), _arrays(theirs), strict=True):
            np.testing.assert_array_equal(mine, yours, name)
        outputs += sum(bool(np.any(each)) for each in _arrays(ours[2:]))
    return outputs > 0


def test_relevant_indices_are_those_of_the_symbols_to_keep() -> None:
    symbols = np.array([0, 2, 1, 2, 0], np.uint8)
    indices = relevant_indices(symbols, np.array([False, False, True]))
    assert indices.dtype == np.int64
    assert indices.tolist() == [1, 3]
    assert relevant_indices(symbols[:0], np.zeros(0, bool)).tolist() == []
    assert relevant_indices(symbols, np.ones(3, bool)).tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(IndexError, match="symbol 2"):
        relevant_indices(symbols, np.array([True, True]))
