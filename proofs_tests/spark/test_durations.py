"""Lengths of time as users write them."""

from __future__ import annotations

from datetime import timedelta
from fractions import Fraction

import pytest

import cerlab
from cerlab.engine.late_events import Length, length_in


@pytest.mark.parametrize(
    ("unit", "length", "expected"),
    [
        (1_000, "10 seconds", 10_000_000),
        (10**6, "2 min", 120_000),
        (10**6, "2 mins", None),
        (10**6, "2 minutes", 120_000),
        (10**6, "90", 90),
        (None, 7, 7),
        (None, 2.5, Fraction(5, 2)),
        (10**9, timedelta(milliseconds=1), Fraction(1, 1000)),
        (10**6, timedelta(days=20_000), 1_728_000_000_000),
        (None, "1 s", None),
        (10**6, "-1 s", None),
        (10**6, timedelta(seconds=-1), None),
        (None, -1, None),
        (None, True, None),
        (None, float("nan"), None),
    ],
)
def test_lengths_of_time(unit: int | None, length: Length, expected: Fraction | None) -> None:
    if expected is not None:
        assert length_in(unit, length, "lateness") == expected
        return
    with pytest.raises(cerlab.UsageError, match="lateness") as caught:
        length_in(unit, length, "lateness")
    assert caught.value.code == "CER0882"
