"""Runs by hand: what lies in order, what does not, and who reads what."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import cerlab
from cerlab.automata.plan import plan_to_bytes
from cerlab.spark import runs as module
from cerlab.spark.evaluation import Job
from cerlab.spark.packets import Placing, evaluate_ranges, packets_of_ranges
from cerlab.spark.ranges import (
    begins_in_events,
    begins_in_time,
    coarser,
    parts_of,
    range_assignment,
    starts_of,
)
from cerlab.spark.runs import SortedRun, descents, in_order, runs_in, runs_of


def lying(
    keys: dict[str, Any], *, longest: int = 100, positions: bool = False, **more: Any
) -> list[SortedRun] | None:
    """The runs of one task, which reads rows in batches of two, all of them at once."""
    count = len(next(iter(keys.values())))
    table = pa.table({**keys, "named": [True] * count, **more})
    reports = runs_of(table.to_batches(max_chunksize=2), positions=positions, longest=longest)
    return runs_in((row for batch in reports for row in batch.to_pylist()), len(keys))


def test_runs_by_hand() -> None:
    """Down after 3, and the widest gap in all after 9; the first of equal gaps."""
    runs = lying({"k0": [1, 2, 3, 0, 8, 9, 20]}, longest=2)
    assert runs is not None
    assert [(run.first[0], run.last[0], run.rows) for run in runs] == [
        (1, 1, 1), (2, 2, 1), (3, 3, 1), (0, 0, 1), (8, 8, 1), (9, 9, 1), (20, 20, 1)
    ]  # fmt: skip
    runs = lying({"k0": [1, 2, 3, 0, 8, 9, 20]})
    assert runs is not None
    assert [(run.first[0], run.last[0], run.rows) for run in runs] == [
        (1, 1, 1), (2, 3, 2), (0, 9, 3), (20, 20, 1)
    ]  # fmt: skip


def test_kept_rows_and_their_times_by_hand() -> None:
    mask = [False, True, True, False, False]
    runs = lying({"k0": ["a", "b", "c", "a", "b"]}, kept=mask, time=[None, 5, 7, 0, None])
    assert runs == [
        SortedRun(("a",), ("c",), 3, 2, 5, 7),
        SortedRun(("a",), ("b",), 2, 0, None, None),
    ]


@pytest.mark.parametrize(
    ("keys", "more"),
    [
        ({"k0": [1, 2, 2, 3]}, {}),
        ({"k0": [1, 1, 2, 2], "k1": [1, 2, 2, 2]}, {}),
        ({"k0": [1, None, 2]}, {}),
        ({"k0": [1.0, float("nan")]}, {}),
        ({"k0": [0.0, -0.0]}, {}),
        ({"k0": [1, 2]}, {"named": [True, False]}),
        ({"k0": [1, 2]}, {"time": [1, None]}),
        ({"k0": [1, 2]}, {"time": [1.0, float("inf")]}),
        ({"k0": ["a", "b"]}, {"time": [2, 1]}),
        ({"k0": ["a", "b"], "k1": [2, 1]}, {"positions": True}),
    ],
)
def test_what_is_no_stream_ends_the_pass(keys: dict[str, Any], more: dict[str, Any]) -> None:
    assert lying(keys, **more) is None


def test_the_same_without_what_is_wrong_does_not() -> None:
    assert lying({"k0": [1, 1, 2, 2], "k1": [1, 2, 1, 2]}, time=[1, 1, 2, 2]) is not None
    assert lying({"k0": ["a", "b"], "k1": [1, 2]}, positions=True, time=[1, 1]) is not None
    assert lying({"k0": [1, 2]}, kept=[True, False], time=[1, None]) is not None
    assert lying({"k0": [1, 2]}, time=[1.0, 1.5]) is not None


def test_rows_in_no_order_are_given_up_soon() -> None:
    rng, rows_read = Random(1), 0
    rows = rng.sample(range(10**6), 10**5)

    def batches() -> Any:
        nonlocal rows_read
        for batch in pa.table({"k0": rows, "named": [True] * len(rows)}).to_batches(1000):
            rows_read += batch.num_rows
            yield batch

    reports = list(runs_of(batches(), positions=False, size=1000))
    assert reports[-1].to_pylist()[0]["rows"] is None
    assert rows_read == 1000


def test_a_task_that_reads_much_has_few_runs() -> None:
    count = 1 << 20
    table = pa.table({"k0": range(count), "named": pa.repeat(pa.scalar(True), count)})
    batches = table.to_batches(max_chunksize=1 << 12)
    reports = pa.Table.from_batches(runs_of(batches, positions=False, longest=128))
    runs = runs_in(reports.to_pylist(), 1)
    assert runs is not None
    assert sum(run.rows for run in runs) == count
    assert len(runs) < 2_000  # 16,384 runs of 128 rows


def three(**more: Any) -> list[SortedRun]:
    return [SortedRun((n,), (n + 8,), 9, 9, n, n + 8, **more) for n in (20, 0, 10)]


def test_runs_that_do_not_overlap_are_sorted() -> None:
    runs = in_order(three(), positions=False)
    assert runs is not None
    assert [run.first for run in runs] == [(0,), (10,), (20,)]
    assert in_order([], positions=False) == ()


@pytest.mark.parametrize(
    ("run", "positions"),
    [
        (SortedRun((18,), (19,), 2, 2, 18, 19), False),  # its first is the last of another
        (SortedRun((12,), (13,), 2, 2, 12, 13), False),  # inside another
        (SortedRun((9,), (9,), 1, 1, 7, 7), False),  # a time that goes back, to the run before
        (SortedRun((9,), (9,), 1, 1, 11, 11), False),  # and one to which the next goes back
    ],
)
def test_runs_that_overlap_or_go_back_are_refused(run: SortedRun, positions: bool) -> None:
    assert in_order([*three(), run], positions=positions) is None
    assert in_order([*three(), SortedRun((9,), (9,), 1, 1, 8, 9)], positions=positions) is not None


def test_a_time_goes_back_past_runs_without_one() -> None:
    runs = [
        SortedRun((0,), (0,), 1, 1, 5, 5),
        SortedRun((1,), (1,), 1, 0),
        SortedRun((2,), (2,), 1, 1, 4, 4),
    ]
    assert in_order(runs, positions=False) is None


def test_positions_increase_along_other_keys() -> None:
    runs = [SortedRun((0, 7), (1, 8), 2, 2), SortedRun((2, 8), (2, 9), 2, 2)]
    assert in_order(runs, positions=True) is None
    assert in_order(runs, positions=False) is not None


def test_who_reads_what_by_hand() -> None:
    """Runs of two rows at times 0 1, 2 3, ..; the third has no rows of FROM."""
    runs = [SortedRun((n,), (n,), 2, 2, 2 * n, 2 * n + 1) for n in range(6)]
    runs[2] = SortedRun((2,), (2,), 2, 0)
    part = parts_of(runs, 3)
    assert part == [0, 0, 1, 1, 2, 2]
    starts = starts_of(part)
    assert starts == [0, 2, 4]
    assert begins_in_time(runs, starts, Fraction(0)) == [0, 2, 4]
    assert begins_in_time(runs, starts, Fraction(2)) == [0, 2, 3]
    assert begins_in_time(runs, starts, Fraction(3)) == [0, 1, 3]
    assert begins_in_time(runs, starts, Fraction(100)) == [0, 0, 0]
    assert begins_in_events(runs, starts, 0) == [0, 2, 4]
    assert begins_in_events(runs, starts, 3) == [0, 0, 1]
    assignment = range_assignment(runs, part, [0, 1, 3])
    assert assignment.before == (0, 2, 4, 6, 8, 10)
    assert assignment.reader == (0, 1, 1, 2, 2, 2)
    assert (assignment.parts, assignment.read_again) == (3, 4)


def test_parts_without_runs_are_left_out() -> None:
    runs = [SortedRun((0,), (0,), 100, 100), SortedRun((1,), (1,), 1, 1)]
    assert parts_of(runs, 10) == [0, 1]
    assert parts_of([], 10) == []
    assert range_assignment([], [], []).parts == 0


def test_runs_next_to_each_other_are_taken_together() -> None:
    runs = [SortedRun((n,), (n,), 3, n % 2, n or None, n or None) for n in range(5)]
    assert coarser(runs, 6) == [
        SortedRun((0,), (1,), 6, 1, 1, 1),
        SortedRun((2,), (3,), 6, 1, 2, 3),
        SortedRun((4,), (4,), 3, 0, 4, 4),
    ]
    assert coarser(runs, 0) == runs


def test_rows_that_were_not_there_before_are_seen() -> None:
    runs = [SortedRun((0,), (4,), 3, 3), SortedRun((10,), (14,), 3, 3)]
    assignment = range_assignment(runs, [0, 0], [0])
    plan = cerlab.parse_query("SELECT * WHERE A ; B WITHIN 2 [t]").plan
    job = Job(plan_to_bytes(plan), None, ("type", "t"))

    def evaluate(keys: list[int]) -> None:
        table = pa.table({"k0": keys, "a0": ["A"] * len(keys), "a1": keys})
        units = list(packets_of_ranges(table.to_batches(), assignment))
        list(evaluate_ranges(units, job, assignment, Placing(has_positions=True)))

    evaluate([0, 3, 4, 10, 12, 14])
    for keys in ([0, 3, 5, 10, 12, 14], [-1, 3, 4, 10, 12, 14], [0, 3, 4, 10, 12, 15]):
        with pytest.raises(cerlab.BadData, match="not in the first pass"):
            evaluate(keys)
    for keys in ([0, 3, 4, 10, 14], [0, 1, 3, 4, 10, 12, 14]):
        with pytest.raises(cerlab.BadData, match="3 rows in the first pass"):
            evaluate(keys)


def test_keys_go_down() -> None:
    rows = pa.record_batch({"k0": [1, 1, 2, 1, 1], "k1": [1, 3, 2, 5, 4]})
    assert descents(rows).tolist() == [False, False, True, True]


def test_gaps_of_infinite_keys_warn_of_nothing() -> None:
    assert len(module._gaps(pa.array([float("inf"), float("inf")]))) == 1


@pytest.mark.parametrize(
    "values", [[False, True], ["a", "b", "ä", "\U0001f600"], [Decimal("1.10"), Decimal("1.2")]]
)
def test_keys_of_other_types_have_an_order_too(values: list[Any]) -> None:
    assert lying({"k0": values}) == [
        SortedRun((values[0],), (values[-1],), len(values), len(values), 0, 0)
    ]
    runs = lying({"k0": values[::-1]})
    assert runs is not None
    assert len(runs) == len(values)


def test_a_part_without_events_in_from_reads_from_its_own_start() -> None:
    runs = [
        SortedRun((0,), (0,), 1, 1, 5, 5),
        SortedRun((1,), (1,), 1, 0),
        SortedRun((2,), (2,), 1, 0),
    ]
    assert begins_in_time(runs, [0, 1, 2], Fraction(3)) == [0, 1, 2]
