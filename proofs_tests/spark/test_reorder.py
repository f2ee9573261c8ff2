"""Rows in any order within the lateness are rows in order."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import cerlab
from cerlab.engine.reorder import arrive, nothing, with_sequence
from proofs_tests.spark.buckets import LABELS, positions_of
from proofs_tests.spark.lateness import Model
from proofs_tests.suite import random_suite

SCHEMA = pa.schema([("position", pa.int64()), ("time", pa.int64()), ("a0", pa.string())])
EMPTY = nothing(SCHEMA).with_count(1)


def rows_at(*times_and_positions: tuple[Any, Any]) -> Any:
    times, positions = zip(*times_and_positions, strict=True)
    columns = [pa.array(positions, pa.int64()), pa.array(times, pa.int64())]
    rows = pa.table([*columns, pa.array(["A"] * len(times))], schema=SCHEMA)
    return with_sequence(rows, np.zeros(len(times), np.int64))


# Rows are (time, position); the lateness is 3. After each call: released, late, held back.
BY_HAND = [
    ([(5, 0)], [], [], [0]),
    ([(8, 4), (6, 1)], [], [], [0, 1, 4]),  # 8 - 5 is not more than 3
    ([(9, 7)], [0], [], [1, 4, 7]),
    ([(7, 3), (7, 2)], [], [], [1, 2, 3, 4, 7]),  # older than the newest, not than what is released
    ([(12, 9)], [1, 2, 3, 4], [], [7, 9]),
    ([(7, 2), (8, 4), (8, 3)], [], [2, 3, 4], [7, 9]),  # the last one released comes again
    ([(8, 6), (9, 8)], [6], [], [7, 8, 9]),  # beside the last one released, and after it
    ([(30, 10)], [7, 8, 9], [], [10]),
]


def test_released_late_and_held_back_by_hand() -> None:
    before = EMPTY
    for rows, released_positions, late, pending in BY_HAND:
        arrival = arrive(before, rows_at(*rows), 3, LABELS)
        before = arrival.after
        assert positions_of(arrival.released_rows) == released_positions, rows
        assert positions_of(arrival.late) == late, rows
        assert positions_of(before.pending_rows) == pending, rows
        assert before.waiting().tolist() == [bool(pending)]


def test_a_floor_releases_what_is_before_it_and_no_more() -> None:
    before = arrive(EMPTY, rows_at((5, 0), (6, 1), (7, 2)), 10, LABELS).after
    arrival = arrive(before, rows_at((4, 9)), 10, LABELS, floor=6)
    assert positions_of(arrival.late) == [9]
    assert positions_of(arrival.released_rows) == [0]
    arrival = arrive(arrival.after, EMPTY.pending_rows, 10, LABELS, floor=100)
    assert positions_of(arrival.released_rows) == [1, 2]
    assert arrival.after.pending_rows.num_rows == 0
    assert arrival.after.newest().tolist() == [7]


@pytest.mark.parametrize(
    ("rows", "code"),
    [
        ([(None, 1)], "CER0780"),
        ([(1, None)], "CER0780"),
        ([(1, 1), (1, 1)], "CER0782"),
        ([(1, 2), (2, 1)], "CER0782"),
        ([(6, 1)], "CER0782"),
    ],
)
def test_rows_without_a_place_are_refused(rows: list[tuple[Any, Any]], code: str) -> None:
    before = arrive(EMPTY, rows_at((5, 3)), 100, LABELS).after
    with pytest.raises(cerlab.BadData) as caught:
        arrive(before, rows_at(*rows), 100, LABELS)
    assert caught.value.code == code


@random_suite(2_000, needs_answers=0.8)
def test_any_order_within_the_lateness_is_the_order(rng: Random) -> bool:
    """A row is late exactly if a later one was released before it: a plain list agrees."""
    lateness = rng.choice((0, 1, 3, 10))
    times = np.cumsum([rng.choice((0, 0, 1, 2, 7)) for _ in range(40)]).tolist()
    rows = list(zip(times, range(0, 80, 2), strict=True))
    slack = lateness * rng.choice((1, 1, 3))
    queue = sorted(rows, key=lambda row: row[0] + rng.random() * slack)
    before, output, late, model = EMPTY, [], [], Model(lateness)
    while queue:
        size = rng.choice((1, 1, 4, 15))
        batch, queue = queue[:size], queue[size:]
        arrival = arrive(before, rows_at(*rng.sample(batch, len(batch))), lateness, LABELS)
        before = arrival.after
        output += positions_of(arrival.released_rows)
        late += positions_of(arrival.late)
        model.take(batch)
        assert output == [position for _, position in model.released_rows]
    pending = positions_of(before.pending_rows)
    assert late == model.late
    assert output + pending == sorted(set(range(0, 80, 2)) - set(late))
    if slack == lateness:
        assert not late
    return bool(late) or slack == lateness
