"""Wrong versions of a bucket of keys in a stream, each killed by keys that come in any order."""

from __future__ import annotations

from typing import Any

import numpy as np

from cerlab.engine import reorder
from cerlab.spark.stream import engine as keys
from cerlab.spark.stream.engine import SequencesEngine
from proofs_tests.mutants.driver import kills, mutant, on_seeds
from proofs_tests.spark.test_stream_step import in_any_order

_WINDOW_STARTS = SequencesEngine._window_starts
_IS_MORE = reorder._is_more


def one_window_for_all(self: SequencesEngine, events: Any) -> Any:
    """The windows of all keys begin where the last one begins."""
    starts = _WINDOW_STARTS(self, events)
    return np.full_like(starts, starts.max(initial=-1))


def not_more_but_as_much(after: Any, before: Any, length: Any) -> Any:
    """A row is released by one that is exactly the lateness after it."""
    return _IS_MORE(after, before, length) | (after - before == length)


def two_zeros(column: Any) -> Any:
    """The two zeros are two keys."""
    indices = column.combine_chunks().dictionary_encode().indices
    return indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)


SEEDS = on_seeds(in_any_order, 600)

MUTANTS = [
    mutant(SEEDS, SequencesEngine, "_window_starts", one_window_for_all),
    mutant(SEEDS, reorder, "_is_more", not_more_but_as_much),
    mutant(SEEDS, keys, "_codes", two_zeros),
]


test_the_mutant_is_killed = kills(MUTANTS)
