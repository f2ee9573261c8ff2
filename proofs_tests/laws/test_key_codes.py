"""Partition ids of columns against the keys of their events."""

from __future__ import annotations

import math
from decimal import Decimal
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from cerlab import BadData, Duration, Event, Timestamp
from cerlab.model.columns import values_of
from cerlab.predicates.columns import kernels, key_codes
from cerlab.predicates.columns.key_codes import KeyCodes
from cerlab.predicates.truth import key_of, partition_key
from proofs_tests.laws.random_columns import CONSTANTS, DEEP, NAN, random_batch
from proofs_tests.suite import random_suite


@random_suite(DEEP, needs_answers=0.4)
def test_partition_ids_are_equal_exactly_where_keys_are(rng: Random) -> bool:
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


ODD: list[Any] = [
    *(0, -0.0, 1, 1.0, True, False, 1.5, 0.1, 5e-324, 2**53 + 1, 2.0**53, math.inf, -math.inf),
    *(2**63, 2.0**63, 2**63 - 1, -(2**63), -(2.0**63), 2**64, 2.0**64, 2**64 - 1, 2**70, 2.0**70),
    *(2**70 + 1, 10**400, NAN, None, "", "1", "\u00e9", "a" * 100, "\ud800"),
    *(Timestamp(1), Timestamp(2**70), Duration(1), Duration(2**70)),
]
COLUMNS = [
    pa.array([2**63, 2**64 - 1, 1, None], pa.uint64()),
    pa.array([2.0**63, math.inf, 1.0, -(2.0**63), 2.0**70, NAN, None, 0.1]),
    pa.array([1, None, -(2**63), 2**63 - 1]),
    pa.array(["1", None, "", "\u00e9"]).dictionary_encode(),
    pa.array(["x", "1", "y"]).slice(1),
]


@pytest.mark.parametrize("seed", range(3))
def test_odd_values_are_numbered_one_by_one_and_by_columns(seed: int) -> None:
    """At the bounds of 64 bits and of doubles; a part of the keys keeps its values."""
    rng, keys, ids = Random(seed), KeyCodes(["k"]), dict[Any, int]()

    def expected(values: list[Any]) -> list[int]:
        known = (key_of([value]) for value in values)
        return [-1 if key is None else ids.setdefault(key, len(ids)) for key in known]

    for _ in range(2):
        some = rng.sample(ODD, len(ODD))
        assert keys.codes({"k": some}, len(some)).tolist() == expected(some)
        assert [keys.code(Event("A", {"k": value})) for value in some] == expected(some)
        for column in rng.sample(COLUMNS, len(COLUMNS)):
            assert keys.codes({"k": column}, len(column)).tolist() == expected(column.to_pylist())
    every = keys.keys()
    assert [*map(key_of, every)] == list(ids)
    left = sorted(rng.sample(range(keys.count), keys.count // 2))
    part = keys.only(left)
    of_part = part.keys()
    assert [*map(key_of, of_part)] == [list(ids)[n] for n in left]
    assert part.codes({"k": ODD}, len(ODD)).max() == part.count - 1


@pytest.mark.parametrize("count", [1, 2, 3])
def test_many_keys_of_several_attributes(count: int) -> None:
    """Tables grow several times, in batches of any length; equal keys have one id."""
    rng, names = Random(count), [f"k{n}" for n in range(count)]
    keys, ids = KeyCodes(names), dict[Any, int]()
    for size in (1, 300, 2, 3_000):
        rows: list[list[Any]] = [[rng.randrange(2_000) for _ in names] for _ in range(size)]
        columns = {name: pa.array([row[n] for row in rows]) for n, name in enumerate(names)}
        if rng.random() < 0.5:
            columns[names[0]] = pa.array([f"user {row[0]}" for row in rows])
            rows = [[f"user {row[0]}", *row[1:]] for row in rows]
        expected = [ids.setdefault(tuple(row), len(ids)) for row in rows]
        assert keys.codes(columns, size).tolist() == expected
    part = keys.only(range(1, keys.count, 3))
    assert part.keys() == list(ids)[1::3] == keys.keys()[1::3]


@pytest.mark.parametrize("seed", range(3))
def test_texts_whose_hashes_are_equal_are_two_keys(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By columns and one by one, where a text is new and where it is known."""

    def alike(offsets: Any, data: Any, out: Any) -> None:
        out[:] = 7

    monkeypatch.setattr(kernels, "hash_texts", alike)
    monkeypatch.setattr(key_codes, "hash_of_text", lambda data: 7)
    rng, keys, ids = Random(seed), KeyCodes(["k"]), dict[str, int]()
    for _ in range(8):
        texts = rng.choices(["a", "b", "", "ab", "ba", "aba"], k=3)
        expected = [ids.setdefault(text, len(ids)) for text in texts]
        if rng.random() < 0.5:
            assert keys.codes({"k": pa.array(texts)}, 3).tolist() == expected
        else:
            assert [keys.code(Event("A", {"k": text})) for text in texts] == expected


def decimals(rng: Random) -> Any:
    """Return a column of decimals of 15 digits, or with some of more, of any width and scale."""
    scale = rng.choice((0, 1, 2, 15, 21, 22, 23, 30))
    most = 10 ** rng.choice((1, 3, 15, 15, 17, 30))
    units = [
        rng.choice((1, -1)) * rng.choice((0, 1, most - 1, rng.randrange(most))) for _ in "12345678"
    ]
    kind = rng.choice((pa.decimal128(38, scale), pa.decimal256(70, scale)))
    values = [None if rng.random() < 0.1 else Decimal(n).scaleb(-scale) for n in units]
    column = pa.array(values, kind).slice(rng.randrange(3))
    return column if rng.random() < 0.5 else pa.chunked_array([column, column[:2]])


@random_suite(DEEP, needs_answers=0.4)
def test_decimals_are_the_numbers_that_they_are_one_by_one(rng: Random) -> bool:
    """Decimals are the numbers that they are one by one, beside integers and doubles."""
    keys, ids = KeyCodes(["k"]), dict[Any, int]()
    count = 0
    for _ in range(4):
        column = decimals(rng)
        try:
            values: list[Any] = [*values_of(column, "k")]
        except BadData:  # more digits than a double has
            with pytest.raises(BadData, match="CER0720"):
                keys.codes({"k": column}, len(column))
            continue
        count += 1
        numbers = [value for value in values if value is not None]
        same = [pa.array([float(value) for value in numbers], pa.float64())]
        if all(type(value) is int and abs(value) < 2**63 for value in numbers):
            same.append(pa.array(numbers, pa.int64()))
        for each in rng.sample([column, *same], 1 + len(same)):
            known = (key_of([value]) for value in values_of(each, "k"))
            expected = [-1 if key is None else ids.setdefault(key, len(ids)) for key in known]
            assert keys.codes({"k": each}, len(each)).tolist() == expected
    assert [*map(key_of, keys.keys())] == list(ids)
    return count > 0


def test_few_decimals_are_made_in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """None of 15 digits is, by a count of the values that are looked at one by one."""
    looks: list[Any] = []
    of_value = key_codes._Values.of_value

    def counted(self: Any, value: Any) -> int:
        looks.append(value)
        return of_value(self, value)

    monkeypatch.setattr(key_codes._Values, "of_value", counted)
    for most, expected in ((10**15 - 1, 0), (10**15, 5_000)):
        column = pa.array(
            [Decimal(most - n).scaleb(-2) for n in range(5_000)], pa.decimal128(20, 2)
        )
        looks.clear()
        keys = KeyCodes(["k"])
        assert keys.codes({"k": column}, 5_000).tolist() == [*range(5_000)]
        assert len(looks) == expected
