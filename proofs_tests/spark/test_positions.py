"""`Positions` is a list of integers that is empty where they follow one another."""

from __future__ import annotations

from random import Random

import numpy as np

from cerlab.spark.evaluation import Positions
from proofs_tests.suite import random_suite


@random_suite(5_000)
def test_positions_are_those_that_were_added(rng: Random) -> bool:
    positions, every, forgotten = Positions(), [0], 0
    for _ in range(rng.randrange(1, 8)):
        more = []
        for _ in range(rng.randrange(40)):
            every.append(every[-1] + rng.choice((1, 1, 1, 5)))
            more.append(every[-1])
        positions.append(np.array(more, np.int64))
        if rng.random() < 0.5:
            forgotten = rng.randrange(forgotten, len(every))
            positions.forget(forgotten)
        at = list(range(forgotten, len(every) - 1))
        assert positions.of(np.array(at, np.int64)).tolist() == [every[n + 1] for n in at]
    return len(every) > 1


def test_of_consecutive_positions_nothing_is_kept() -> None:
    positions = Positions()
    for start in range(0, 10_000, 100):
        positions.append(np.arange(start, start + 100) + 5)
    assert positions.size == 0
    assert positions.of(np.array([0, 9_999])).tolist() == [5, 10_004]


def test_what_is_forgotten_gives_its_room_back() -> None:
    positions = Positions()
    for start in range(0, 100_000, 100):
        positions.append(2 * np.arange(start, start + 100))
        positions.forget(start)
        assert positions.size <= 300
