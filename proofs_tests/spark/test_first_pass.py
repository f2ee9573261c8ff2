"""Results of the survey of a stream, by hand; and its refusals, with the place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import cerlab
from cerlab.engine.row_order import ColumnNames, increase, is_stream
from cerlab.spark.packets import packets_of_cuts, survey_packets
from cerlab.spark.runs import SortedRun, in_order, quantiles, runs_in, runs_of, runs_of_survey


def survey(
    columns: dict[str, Any],
    cuts: list[int],
    *,
    positions: bool = False,
    size: int = 2,
    moments: bool = False,
) -> tuple[SortedRun, ...]:
    """The runs between some cuts of rows that tasks read two at a time."""
    table = pa.table(columns)
    places = [(cut,) for cut in cuts]
    packets = list(packets_of_cuts(table.to_batches(max_chunksize=1), places, 1, size))
    runs = (
        pa.Table.from_batches(packets).sort_by("run").to_batches(max_chunksize=1) if packets else []
    )
    names = ("ts", "at")[: 1 + ("k1" in columns)]
    time = "t" if "time" in columns else None
    labels = ColumnNames(names, time, (("t", 1_000),) if moments else ())
    reports = survey_packets(runs, labels, positions=positions)
    rows = [row for batch in reports for row in batch.to_pylist()]
    return runs_of_survey(rows, labels, positions=positions)


def base(keys: list[Any], **more: Any) -> dict[str, Any]:
    return {"k0": pa.array(keys, pa.int64()), "named": [True] * len(keys), **more}


@pytest.mark.parametrize(
    ("keys", "times", "positions", "expected"),
    [
        ([[0, 1, 1], [5, 6, 7]], None, True, True),
        ([[0, 1, 1], [6, 5, 7]], None, True, False),  # in order by the first key, positions go back
        ([[0, 1, 1], [6, 5, 7]], None, False, True),
        ([[0, 0, 1], [6, 6, 7]], None, False, False),
        ([[0, 1, 2]], [4, 4, 5], False, True),  # times may be the same
        ([[0, 1, 2]], [4, 3, 5], False, False),
    ],
)
def test_a_stream_is_in_the_order_of_its_keys_positions_and_times(
    keys: list[list[int]], times: list[int] | None, positions: bool, expected: bool
) -> None:
    columns = [np.array(key) for key in keys]
    at = None if times is None else np.array(times)
    assert is_stream(columns, at, positions=positions) is expected


def test_a_survey_by_hand() -> None:
    """Rows in no order; no run for a stretch without rows."""
    columns = base([9, 0, 4, 2, 7], time=[9, 1, 7, 2, None], kept=[True, True, True, True, False])
    assert survey(columns, [3, 5, 6]) == (
        SortedRun((0,), (2,), 2, 2, 1, 2),
        SortedRun((4,), (4,), 1, 1, 7, 7),
        SortedRun((7,), (9,), 2, 1, 9, 9),
    )
    assert survey(columns, []) == (SortedRun((0,), (9,), 5, 4, 1, 9),)


@pytest.mark.parametrize(
    ("columns", "cuts", "positions", "code", "message"),
    [
        (base([5, 1, 5]), [], False, "CER0781", r"position 2: .*ts = 5"),
        (base([1, None, 5]), [2], False, "CER0780", "'ts' is NULL"),
        (base([0, 1, 2], named=[True, None, True]), [], False, "CER0701", "position 1: .*None"),
        (base([0, 1, 2], named=[True, True, False]), [1], False, "CER0701", "position 2: .*''"),
        (base([8, 4, 8]), [], True, "CER0782", "position 8: 'ts' does not incr"),
        (base([0, 1, 2], time=[1, 5, 4]), [1, 2], False, "CER0714", "position 2: .*5, then 4"),
        (base([0, 1, 2], time=[1, 5, 4]), [], False, "CER0714", "position 2: .*5, then 4"),
        (base([0, 1, 2], time=[1, 5, 4]), [1], False, "CER0714", "position 2: .*5, then 4"),
        (base([0, 4, 8], time=[1, 5, 4]), [4, 8], True, "CER0714", "position 8: .*5, then 4"),
        (base([0, 1, 2], time=[1, None, 4]), [1], False, "CER0712", "position 1: .*'t' is None"),
    ],
)
@pytest.mark.parametrize("size", [1, 2, 100])
def test_what_is_no_stream_is_refused_with_its_place(
    columns: dict[str, Any], cuts: list[int], positions: bool, code: str, message: str, size: int
) -> None:
    with pytest.raises(cerlab.BadData, match=message) as caught:
        survey(columns, cuts, positions=positions, size=size)
    assert caught.value.code == code
    assert caught.value.hint


DAY = 86_400_000_000
OPEN_END = 2_932_896 * DAY
LAST = (2**63 - 1) // 1_000
"""The last microsecond that 64 bits of nanoseconds hold; the first is as far before 1970."""


@pytest.mark.parametrize(
    ("times", "place", "text"),
    [
        ([0, 1, OPEN_END], 2, "9999-12-31T00:00:00Z"),
        ([-719_162 * DAY, 0, 1], 0, "0001-01-01T00:00:00Z"),
        ([0, LAST + 1, OPEN_END], 1, "2262-04-11T23:47:16.854776Z"),
        ([-LAST - 1, -LAST, LAST], 0, "1677-09-21T00:12:43.145224Z"),
    ],
)
@pytest.mark.parametrize("cuts", [[], [1], [1, 2]])
@pytest.mark.parametrize("more", [{}, {"kept": [True] * 3}])
def test_a_moment_far_away_is_no_time(
    times: list[int], place: int, text: str, cuts: list[int], more: dict[str, Any]
) -> None:
    columns = base([0, 1, 2], time=times, **more)
    message = rf"CER0740: at position {place}: .* outside the years 1678 to 2262: 't' is {text}"
    with pytest.raises(cerlab.BadData, match=message) as caught:
        survey(columns, cuts, moments=True)
    assert caught.value.hint
    assert survey(columns, cuts)  # integers may be of any size
    if more:
        far = abs(np.array(times)) > LAST
        assert survey({**columns, "kept": ~far}, cuts, moments=True)
    # the way of rows in order finds the same
    table = pa.table(columns)
    rows = [
        row for batch in runs_of(table.to_batches(), positions=False) for row in batch.to_pylist()
    ]
    assert in_order(runs_in(rows, 1) or [], positions=False) is not None
    assert in_order(runs_in(rows, 1) or [], positions=False, moments=True) is None


def test_the_first_and_the_last_moment_are_times() -> None:
    columns = base([0, 1, 2], time=[-LAST, 0, LAST])
    assert survey(columns, [1], moments=True) == survey(columns, [1])
    rows = [
        row
        for batch in runs_of(pa.table(columns).to_batches(), positions=False)
        for row in batch.to_pylist()
    ]
    assert in_order(runs_in(rows, 1) or [], positions=False, moments=True)


def test_of_several_keys_the_first_that_differs_decides() -> None:
    rows = [(1, 2, 0), (1, 2, 1), (1, 3, 0), (2, 1, 0)]
    assert increase([np.array(key) for key in zip(*rows, strict=True)])
    assert not any(
        increase([np.array(key) for key in zip(*pair, strict=True)])
        for pair in zip(rows[1:], rows, strict=False)
    )


def test_positions_increase_from_run_to_run() -> None:
    columns = base([0, 1, 2]) | {"k1": [4, 9, 9]}
    with pytest.raises(cerlab.BadData, match="position 9: the positions do not increase: 9, then"):
        survey(columns, [2], positions=True)


def test_nan_has_no_place() -> None:
    columns = base([0, 1, 2]) | {"k0": [0.0, float("nan"), 2.0]}
    with pytest.raises(cerlab.BadData, match="CER0780"):
        survey(columns, [1])


def test_the_times_of_other_streams_are_not_looked_at() -> None:
    mask = [True, False, True, False, True]
    runs = survey(base([0, 1, 2, 3, 4], time=[1, None, 2, 0, 3], kept=mask), [2])
    assert [run.rows_in_from for run in runs] == [1, 2]


def test_the_first_problem_is_the_one_that_is_told() -> None:
    columns = base([0, 1, 2, 3], time=[1, None, 3, 2]) | {"named": [True, True, None, True]}
    with pytest.raises(cerlab.BadData, match="position 1"):
        survey(columns, [2])


def test_quantiles_are_different_and_in_order() -> None:
    keys = [(n // 3,) for n in range(30)]
    assert quantiles(keys, 5) == [(2,), (4,), (6,), (8,)]
    assert quantiles(keys, 100) == [(n,) for n in range(1, 10)]
    assert quantiles([], 5) == []
    assert quantiles([(1,)] * 9, 5) == []
