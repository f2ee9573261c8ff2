"""What the survey says of a stream, by hand; and what it refuses, with the place."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest

import cerlab
from cerlab.spark.plan import cuts
from cerlab.spark.plan.order import Labels
from cerlab.spark.plan.survey import Summary, summaries


def surveyed(columns: dict[str, Any], *, width: int = 0, size: int = 2) -> list[Summary]:
    table = pa.table(columns)
    made = summaries(
        table.to_batches(max_chunksize=1),
        Labels(("ts",), "t" if "time" in columns else None),
        whole_times=True,
        width=width,
        size=size,
    )
    found = [Summary(**row) for batch in made for row in batch.to_pylist()]
    return cuts.complete(found, 3)


def base(count: int, parts: list[int], **more: Any) -> dict[str, Any]:
    return {"part": parts, "k0": list(range(count)), "type": ["A"] * count, **more}


def test_a_survey_by_hand() -> None:
    parts = [0, 0, 0, 2, 2]
    first, empty, last = surveyed(
        base(5, parts, time=[1, 2, 2, 7, 9], kept=[True, False, True, False, True]), width=1
    )
    assert (first.rows, first.kept, first.first, first.last) == (3, 2, 0, 2)
    assert (first.first_kept, first.tail, first.first_time, first.last_time) == (0, 2, 1, 2)
    assert empty == Summary(1)
    assert (last.rows, last.kept, last.first_kept, last.tail) == (2, 1, 1, 1)
    assert (last.first_time, last.last_time) == (9, 9)
    assert cuts.offsets([first, empty, last]) == [0, 3, 3]
    halo = cuts.halo_in_time([first, empty, last], Fraction(7))
    assert halo.bounds == (2.0, 2.0)
    assert halo.rows == 2 * 1  # for each of the two ranges, one of two kept rows
    assert cuts.halo_in_events([first, empty, last], 1, positions=False).bounds == (2, 2)


def test_places_are_positions_where_there_are_some() -> None:
    made = surveyed(base(3, [0, 0, 1], position=[4, 9, 11]), width=1)
    assert (made[0].first, made[0].last, made[0].tail) == (4, 9, 9)
    cuts.check(made, positions=True)


@pytest.mark.parametrize(
    ("columns", "positions", "code", "said"),
    [
        (base(3, [0] * 3) | {"k0": [1, 5, 5]}, False, "CER0781", r"position 2: .*ts = 5"),
        (base(3, [0] * 3) | {"k0": [1, 5, None]}, False, "CER0780", "position 2: 'ts' is NULL"),
        (base(3, [0] * 3) | {"type": ["A", None, "B"]}, False, "CER0701", "position 1: .*None"),
        (base(3, [0] * 3) | {"type": ["A", "B", ""]}, False, "CER0701", "position 2: .*''"),
        (base(3, [0] * 3, position=[4, 8, 8]), True, "CER0782", "position 8: 'ts' does not incr"),
        (base(3, [0, 0, 1], position=[4, 8, 8]), True, "CER0782", "position 8: .*8, then 8"),
        (base(3, [0, 1, 2], time=[1, 5, 4]), False, "CER0714", "position 2: .*5, then 4"),
        (base(3, [0, 0, 0], time=[1, 5, 4]), False, "CER0714", "position 2: .*5, then 4"),
        (base(3, [0, 1, 1], time=[1, 5, 4]), False, "CER0714", "position 2: .*5, then 4"),
        (base(3, [0, 1, 2], time=[1, None, 4]), False, "CER0712", "position 1: .*'t' is None"),
    ],
)
@pytest.mark.parametrize("size", [1, 2, 100])
def test_what_is_no_stream_is_refused_with_its_place(
    columns: dict[str, Any], positions: bool, code: str, said: str, size: int
) -> None:
    made = surveyed(columns, size=size)
    with pytest.raises(cerlab.BadData, match=said) as caught:
        cuts.check(made, positions=positions)
    assert caught.value.code == code
    assert caught.value.hint


def test_the_times_of_other_streams_are_not_looked_at() -> None:
    kept = [True, False, True, False, True]
    made = surveyed(base(5, [0, 0, 1, 1, 1], time=[1, None, 2, 0, 3], kept=kept))
    cuts.check(made, positions=False)


def test_the_first_problem_is_the_one_that_is_told() -> None:
    columns = base(4, [0, 0, 1, 1], time=[1, None, 3, 2]) | {"type": ["A", "A", None, "A"]}
    with pytest.raises(cerlab.BadData, match="position 1"):
        cuts.check(surveyed(columns), positions=False)


def test_quantiles_are_different_and_in_order() -> None:
    ordered = [(n // 3,) for n in range(30)]
    assert cuts.quantiles(ordered, 5) == [(2,), (4,), (6,), (8,)]
    assert cuts.quantiles(ordered, 100) == [(n,) for n in range(1, 10)]
    assert cuts.quantiles([], 5) == []
    assert cuts.quantiles([(1,)] * 9, 5) == []


def test_bounds_are_not_rounded_past_the_window() -> None:
    """2^53 + 1 is no float: the bound of a window of 0 is not above it."""
    at = 2**53 + 1
    parts = [Summary(0, 1, 1, 0, 0, 0, None, at, at), Summary(1, 1, 1, 0, 0, 0, None, at, at)]
    (bound,) = cuts.halo_in_time(parts, Fraction(0)).bounds
    assert float(at) >= bound
    (bound,) = cuts.halo_in_time(parts, Fraction(10**400)).bounds
    assert bound == float("-inf")


def test_a_window_of_no_events_reads_nothing_before() -> None:
    parts = [Summary(n, 5, 5, 0, 4, 0, 4) for n in range(3)]
    assert cuts.halo_in_events(parts, 0, positions=False).rows == 0
    assert min(cuts.halo_in_events(parts, 0, positions=False).bounds) == cuts.NEVER
