"""Several integers as one: by hand at the ends of int64, and any of them there and back."""

from __future__ import annotations

from random import Random

import pyarrow as pa

from cerlab.spark.ranges import BITS, BitField, bit_fields
from proofs_tests.suite import random_suite

LEAST, GREATEST = -(2**63), 2**63 - 1


def test_what_has_no_room_is_left_out() -> None:
    wide = ("a1", 0, 2**40)
    fields = bit_fields([("k0", LEAST, LEAST + 2**60 - 1)], [("a0", 0, 7), wide, ("group", 0, 0)])
    assert fields is not None
    assert fields.names == ["k0", "a0", "group"]
    assert fields.least_at((LEAST + 2,)) == 2 << 3
    assert fields.greatest_at((LEAST + 2,)) == (3 << 3) - 1
    assert bit_fields([("k0", LEAST, GREATEST)], [("a0", 0, 0)]) is None
    assert bit_fields([("k0", 0, 1)], [wide, ("a2", LEAST, GREATEST)]) is not None
    assert bit_fields([("k0", 0, 1)], []) is None


def test_a_row_with_a_value_outside_is_null() -> None:
    fields = bit_fields([("k0", 10, 12)], [("a0", 0, 3)])
    assert fields is not None
    columns = {"k0": pa.array([9, 10, 12, 13, None, 11]), "a0": pa.array([0, 3, 4, 0, 0, None])}
    words = fields.encode(columns)
    assert words.is_valid().to_pylist() == [False, True, False, False, False, False]
    rows = fields.decode(pa.RecordBatch.from_pydict({"k0": words}))
    assert rows.to_pydict() == {"k0": [None] * 6, "a0": [None] * 6}


def _inside(rng: Random, field: BitField) -> int:
    return rng.randint(field.least, field.greatest)


@random_suite(1_000)
def test_integers_come_back_and_are_in_the_order_of_the_keys(rng: Random) -> bool:
    ends = []
    for _ in range(rng.randrange(2, 5)):
        width, least = rng.randrange(40), rng.choice((LEAST, -5, 0, GREATEST - 2**40))
        ends.append((least, least + rng.randrange(2**width)))
    keys = rng.randrange(1, len(ends))
    ranges = [(f"k{n}", *each) for n, each in enumerate(ends)]
    fields = bit_fields(ranges[:keys], ranges[keys:])
    if fields is None:
        widths = [(greatest - least).bit_length() for least, greatest in ends]
        assert sum(widths[:keys]) + min(widths[keys:]) > BITS
        return False
    columns = {
        each.name: [rng.choice((each.least, each.greatest, _inside(rng, each))) for _ in "123456"]
        for each in fields.fields
    }
    words = fields.encode({name: pa.array(column) for name, column in columns.items()})
    rows = fields.decode(pa.RecordBatch.from_pydict({"k0": words}))
    assert rows.to_pydict() == columns
    places = list(zip(*(columns[f"k{n}"] for n in range(keys)), strict=True))
    whole = words.to_pylist()
    for place, value in zip(places, whole, strict=True):
        assert fields.least_at(place) <= value <= fields.greatest_at(place)
        for other, more in zip(places, whole, strict=True):
            assert (value < more) == (place < other) or place == other
    return True
