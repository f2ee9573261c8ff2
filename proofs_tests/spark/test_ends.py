"""Answers that end between two times, of tasks that read a part of the stream."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import cerlab
from cerlab import Unsupported, UsageError
from cerlab.automata.plan import PlanClauses
from cerlab.logic.ceql.syntax import plan_clauses
from cerlab.model.clauses import AttributeWindow, TimeWindow
from cerlab.model.stream import TimeAxis
from cerlab.spark.ends import EndsIn, ends_of, least_number
from cerlab.spark.plan import Mode, why_not, window_width
from proofs_tests.spark import cases
from proofs_tests.spark.cases import TIME, SparkCase
from proofs_tests.spark.layouts import in_packets
from proofs_tests.spark.test_any_split import case_for
from proofs_tests.suite import Suite


def windowed_case(rng: Random, mode: Mode) -> SparkCase:
    """Return a case with a window in time and without FROM, which leaves rows without a time."""
    while True:
        case = case_for(rng, mode)
        plan = case.query.plan
        if plan.streams or not isinstance(plan.window, AttributeWindow | TimeWindow):
            continue
        if why_not(plan, Mode.RANGES) is None and (case.expected() or rng.random() < 0.1):
            return case


def check_ends(rng: Random, mode: Mode) -> bool:
    """Compare the answers of some rows of a stream with those of all rows that end in time."""
    case = windowed_case(rng, mode)
    times = list(map(Fraction, case.table.column("t").to_pylist()))
    steps = (0, 0, 0, Fraction(1, 3), 1)
    places = range(len(times)) if case.positions is None else case.positions
    time_of = dict(zip(places, times, strict=True))
    answers = case.expected()
    near = [time_of[a.end] for a in rng.sample(answers, rng.choice((1, 2)) % (len(answers) + 1))]
    some = near if near and rng.random() < 0.8 else rng.choices(times, k=2)
    first, stop = (
        min(some) - rng.choice(steps),
        max(some) + rng.choice((0, Fraction(1, 3), 1, 1, 3)),
    )
    reads = first - window_width(case.query.plan.window, TIME, 1)
    ends = EndsIn("t", False, reads, first, stop)
    begin = rng.randint(0, sum(time < reads for time in times))
    end = rng.randint(sum(time < stop for time in times), len(times))
    expected = [a for a in answers if first <= time_of[a.end] < stop]
    given = None if case.positions is None else case.positions[begin:end]
    part = replace(case, table=case.table.slice(begin, end - begin), positions=given)
    before = begin if case.positions is None else 0
    batches = in_packets(part, mode, rng, ordered=rng.random() < 0.5, ends=ends, before=before)
    found = sorted(cases._answers(batches), key=cases._place)
    assert found == expected, f"{mode} {ends} of rows {begin} to {end}\n{case.describe()}"
    return bool(expected)


@pytest.mark.parametrize("mode", list(Mode))
def test_a_part_of_a_stream_has_the_answers_that_end_in_time(suite: Suite, mode: Mode) -> None:
    suite.run(lambda rng: check_ends(rng, mode), deep_count=3_000)


@pytest.mark.parametrize(
    "kind", [pa.int32(), pa.int64(), pa.float64(), pa.decimal128(21, 2), pa.timestamp("ms")]
)
def test_rows_are_counted_by_the_exact_time(kind: pa.DataType) -> None:
    unit = 10**6 if pa.types.is_timestamp(kind) else 1
    times = pa.chunked_array([pa.array([1, 2, 2], pa.int64()), pa.array([5], pa.int64())])
    ends = EndsIn("t", unit > 1, *(Fraction(n) * unit for n in (0, 2, 5)))
    assert ends.rows(times.cast(kind)) == (1, 3)
    third = Fraction(1, 3) * unit
    between = replace(ends, first=2 * unit + third, stop=5 * unit + third)
    assert between.rows(times.cast(kind)) == (3, 4)


def test_bounds_beyond_64_bits_are_the_greatest_or_least_integer() -> None:
    for bound in (Fraction(10**30), Fraction(-(10**30))):
        assert least_number(bound, whole=True) in (2**63 - 1, -(2**63))
    assert least_number(Fraction(2**53 + 1), whole=False) == 2.0**53 + 2


def test_times_are_those_of_the_column() -> None:
    pattern = cerlab.parse_query("SELECT * WHERE A ; B WITHIN 1 MINUTE")
    axis = TimeAxis("ts")
    times = ("2024-03-01", "2024-03-02T00:00+01:00")
    day = ends_of(times, pattern, pattern.plan, axis, are_moments=True)
    assert day is not None
    assert day.text() == (
        "from 2024-03-01T00:00:00Z to before 2024-03-01T23:00:00Z; "
        "rows from 2024-02-29T23:59:00Z on are read"
    )
    wrong: list[Any] = [
        (1, 2),
        ("yesterday", "2024-03-02"),
        "2024",
        ("2024-03-02", "2024-03-01"),
    ]
    for pair in [*wrong, ("2024-03-02", "2024-03-02"), (None, None), ("2024-03-01",)]:
        with pytest.raises(UsageError, match="CER0852") as refused:
            ends_of(pair, pattern, pattern.plan, axis, are_moments=True)
        assert refused.value.hint
    pattern = cerlab.parse_query("SELECT * WHERE A ; B WITHIN 2.5 [t]")
    assert ends_of(("1", 2.25), pattern, pattern.plan, None, are_moments=False) == EndsIn(
        "t", False, Fraction(-3, 2), Fraction(1), Fraction(9, 4)
    )
    wrong = [("2024-03-01", "2024-03-02"), (float("nan"), 1), (0, float("inf")), (False, True)]
    for pair in wrong:
        with pytest.raises(UsageError, match="CER0852"):
            ends_of(pair, pattern, pattern.plan, None, are_moments=False)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * WHERE A ; B",
        "SELECT * WHERE A ; B WITHIN 3 EVENTS",
        "SELECT * WHERE A ; B WITHIN 3 [t] CONSUME BY ANY",
        "SELECT NEXT * WHERE A ; B WITHIN 3 [t]",
        "SELECT * WHERE A ; B WITHIN 3 [t] THROTTLE 9 [t]",
        "SELECT * WHERE (A WAIT 9 [t]) UNLESS B WITHIN 30 [t]",
    ],
)
def test_answers_that_one_window_does_not_decide_are_refused(query: str) -> None:
    pattern = cerlab.parse_query(query)
    plan = PlanClauses(**plan_clauses(pattern.ast))
    with pytest.raises(Unsupported, match="CER0488"):
        ends_of((1, 2), pattern, plan, None, are_moments=False)
