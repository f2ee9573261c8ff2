"""Partition ids of columns against the keys of their events."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from cerlab.predicates.columns import key_codes
from cerlab.predicates.columns import pieces as arrays
from cerlab.predicates.columns.key_codes import KeyCodes
from cerlab.predicates.truth import partition_key
from proofs_tests.laws.random_columns import CONSTANTS, DEEP, NAN, random_batch
from proofs_tests.suite import Suite


def check_keys(rng: Random) -> bool:
    """Partition ids of several batches: equal exactly where the keys are, and in order."""
    names = tuple(
        rng.choice(("v", "w", "type", "type", "stream")) for _ in range(rng.choice((0, 1, 1, 2, 3)))
    )
    palette = tuple(rng.sample(CONSTANTS, 8))
    keys = KeyCodes(names)
    id_of: dict[Any, int] = {}
    for _ in range(rng.choice((1, 2, 3))):
        columns, events = random_batch(rng, rng.choice((0, 1, 6, 12)), palette)
        first = [keys.code(event) for event in events[: rng.choice((0, 0, 1, 12))]]
        codes = keys.codes(columns, len(events))
        assert codes.dtype == np.int64
        assert first == codes.tolist()[: len(first)]
        expected = []
        for event in events:
            key = partition_key(event, names)
            expected.append(-1 if key is None else id_of.setdefault(key, len(id_of)))
        assert codes.tolist() == expected
        assert keys.count == len(id_of)
    return len(id_of) > 1


def test_partition_ids_are_equal_exactly_where_keys_are(suite: Suite) -> None:
    suite.run(check_keys, deep_count=DEEP, needs_answers=0.4)


def test_so_they_are_where_no_table_has_a_cell_for_each_key(
    suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(key_codes, "MAX_CELLS", 20)
    monkeypatch.setattr(arrays, "MAX_KEY", 20)
    suite.run(check_keys, deep_count=DEEP, needs_answers=0.4)


def test_one_is_one_point_zero_and_not_true() -> None:
    keys = KeyCodes(["k"])
    assert keys.codes({"k": [1, 1.0, True, "1", None, NAN, -0.0, 0]}, 8).tolist() == [
        *(0, 0, 1, 2, -1, -1, 3, 3)
    ]
    assert keys.codes({"k": pa.array([1.0, NAN, 0.0, None])}, 4).tolist() == [0, -1, 3, -1]
    assert keys.codes({"k": pa.array([True, False])}, 2).tolist() == [1, 4]
    assert keys.codes({"k": pa.array([2**53 + 1, 2**53])}, 2).tolist() == [5, 6]
    assert keys.codes({"k": pa.array([2.0**53])}, 1).tolist() == [6]
    assert keys.codes({}, 2).tolist() == [-1, -1]
    assert keys.count == 7
