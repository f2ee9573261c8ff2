"""Queries that wait on streams: keys in any order, micro-batches, watermarks; each answer once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import cerlab
from cerlab import ComplexEvent
from cerlab.compile.pattern import Pattern
from cerlab.logic.cel.syntax import Atom, Formula, Lookback, Or, Seq, Unless, Wait, waits
from cerlab.logic.ceql.syntax import CeqlQuery
from cerlab.model.clauses import AttributeWindow, TimeWindow
from cerlab.spark.stream.step import BucketStep, reach
from cerlab.spark.stream.waits import why_not_by_watermark
from cerlab.testing import Shape, random_correlated_events, random_correlated_formula
from proofs_tests.spark.buckets import buckets_of, feed, job_of, plan_of, without
from proofs_tests.spark.cases import SparkCase
from proofs_tests.spark.test_stream_step import in_any_order, place
from proofs_tests.suite import Suite, random_suite

SHAPE = Shape(depth=2, events=16)


def length(rng: Random, seconds: bool, widths: tuple[int, ...]) -> AttributeWindow | TimeWindow:
    width = rng.choice(widths)
    return TimeWindow(width * 10**9) if seconds else AttributeWindow(width, "t")


def waiting_case(rng: Random) -> SparkCase:
    """Return a query that waits, on a stream biased to its answers."""
    while True:
        formula: Any = random_correlated_formula(rng, SHAPE)
        seconds = rng.random() < 0.5
        waiting: Formula = Wait(formula, length(rng, seconds, (0, 2, 5, 8)))
        match rng.choice(("wait", "unless", "or", "then", "twice")):
            case "unless":
                waiting = Unless(waiting, Atom(rng.choice("ABC")))
            case "or":
                waiting = Or(waiting, Atom("B"))
            case "then":
                waiting = Seq(Atom("A"), Unless(waiting, Atom("B")))
            case "twice":
                waiting = Seq(waiting, Wait(Atom("C"), length(rng, seconds, (1, 3))))
        if (case := timed_case(rng, formula, waiting, seconds, SHAPE)) is not None:
            return case


def timed_case(
    rng: Random, formula: Any, timed: Formula, seconds: bool, shape: Shape
) -> SparkCase | None:
    """Return a query that waits or looks back, on a stream with an answer of its inner `formula`.

    None if it is refused on streams, or has too many answers; mostly also if it has no answer.
    """
    partition = (("k",),) if rng.random() < 0.8 else ()
    window = length(rng, seconds, (6, 9, 20))
    query = Pattern(CeqlQuery(timed, partition=partition, window=window))
    if query.machine_kind != "waits" or why_not_by_watermark(query, ends=True) is not None:
        return None
    events = random_correlated_events(rng, formula, shape)
    times = list(accumulate(rng.choice((0, 1, 1, 3)) for _ in events))
    columns: dict[str, Any] = {
        "type": pa.array([event.type for event in events], pa.string()),
        "stream": pa.nulls(len(events), pa.string()),
        "t": pa.array(times, rng.choice((pa.int64(), pa.float64()))),
        "k": pa.array(rng.choices("xxyz", k=len(events)), pa.string()),
    }
    for name in "vw":
        values = [event.attributes.get(name) for event in events]
        columns[name] = pa.array([v if type(v) is int else None for v in values], pa.int64())
    gaps = tuple(3 * n for n in range(len(events)))
    case = SparkCase(query.ast, pa.table(columns), rng.choice((None, gaps)))
    least = rng.choice((0, 1, 1, 1, 1))
    is_right = least <= cerlab.count(query, case.stream, until="end") < 2_000
    return case if is_right else None


def check_waits(rng: Random, draw: Callable[[Random], SparkCase] = waiting_case) -> bool:
    """Compare all answers of a stream, whose watermark passes every wait, with one machine."""
    case = draw(rng)
    plan, lateness = plan_of(case), rng.choice((0, 0, 1, 4))
    lag = rng.choice((lateness, lateness, lateness + 5))
    job = job_of(case, plan, lateness, lag, rng.choice((1, 1, 3)))
    groups = buckets_of(case, plan, job, rng.choice((1, 1, 2)))
    output = feed(rng, job, groups, lateness * rng.choice((1, 1, 4)), lag)
    expected = sorted(without(case, set(output.late), "end"), key=place)
    assert sorted(output.answers, key=place) == expected, case.describe()
    assert not output.waiting
    assert bool(output.states) == (bool(groups) and reach(job) is None)
    return bool(expected)


def test_queries_that_wait_on_keys_that_come_in_any_order(suite: Suite) -> None:
    suite.run(check_waits, deep_count=1_500)


def looking_back_case(rng: Random, shape: Shape) -> SparkCase:
    """Return a query that looks back, on a stream biased to its answers."""
    while True:
        formula: Any = random_correlated_formula(rng, shape)
        seconds = rng.random() < 0.5
        back: Formula = Lookback(formula, length(rng, seconds, (0, 2, 5, 8, 25)))
        match rng.choice(("back", "unless", "unless", "wait", "then", "twice")):
            case "unless":
                back = Unless(back, Atom(rng.choice("ABC")))
            case "wait":
                back = Unless(Wait(back, length(rng, seconds, (1, 4))), Atom(rng.choice("ABC")))
            case "then":
                back = Seq(back, Atom("B"))
            case "twice":
                back = Lookback(back, length(rng, seconds, (1, 3)))
        if (case := timed_case(rng, formula, back, seconds, shape)) is not None:
            return case


@random_suite(1_500)
def test_queries_that_look_back_on_keys_that_come_in_any_order(rng: Random) -> bool:
    """With a lag, the watermark ends waits; a query that only looks back needs none."""
    case = looking_back_case(rng, SHAPE)
    if not waits(case.ast.formula):
        return in_any_order(rng, lambda _rng, _shape: case)
    return check_waits(rng, lambda _rng: case)


ABSENCE = "SELECT * WHERE (A WAIT 5 [t]) UNLESS B PARTITION BY [k] WITHIN 9 [t]"


def steps(
    rows: list[tuple[str, str, int]],
    parts: Sequence[tuple[int, int, int | None]],
    query: str = ABSENCE,
) -> list[list[tuple[int, int, tuple[int, ...]]]]:
    """Return the answers of each micro-batch: rows from one to before another, and a watermark."""
    table = pa.table(
        {
            "type": [row[0] for row in rows],
            "stream": pa.nulls(len(rows), pa.string()),
            "k": [row[1] for row in rows],
            "t": [row[2] for row in rows],
        }
    )
    case = SparkCase(cerlab.parse_query(query).ast, table, None)
    job = job_of(case, plan_of(case), 0, 0, 1)
    ((_, arriving),) = buckets_of(case, plan_of(case), job).items()
    state, found = None, []
    for begin, end, watermark in parts:
        step = BucketStep(job, state, arriving.slice(begin, end - begin), watermark)
        answers = [answer for batch, _ in step.answers() for answer in batch]
        found.append([(a.start, a.end, a.positions) for a in answers])
        state, _ = step.state()
    return found


def test_a_wait_ends_when_the_watermark_has_passed_it() -> None:
    """At 10 + 5 the wait is over only when the clock is later: events at 15 may follow."""
    rows = [("A", "x", 10), ("C", "y", 14)]
    first, *rest = steps(rows, [(0, 2, None), (0, 0, 15), (0, 0, 16), (0, 0, 17), (0, 0, 99)])
    assert (first, rest) == ([], [[], [(0, 0, (0,))], [], []])


def test_a_wait_ends_by_a_later_event_of_its_key() -> None:
    """A row is read once one of its key is later: so the event at 16 ends the wait at 17."""
    rows = [("A", "x", 10), ("A", "y", 11), ("C", "x", 16), ("C", "x", 17), ("B", "y", 16)]
    rows += [("C", "y", 18), ("C", "y", 19)]
    parts = [(0, 2, None), (2, 3, None), (3, 4, None), (4, 7, None)]
    assert steps(rows, parts) == [[], [], [(0, 0, (0,))], []]


def test_a_look_back_begins_before_its_window() -> None:
    """The interval of the A at 9 begins at 0, too early for its window."""
    query = "SELECT * WHERE A LOOKBACK 10 [t] WITHIN 3 [t]"
    rows = [("C", "x", 0), ("C", "x", 7), ("A", "x", 9), ("A", "x", 30), ("C", "x", 40)]
    parts = [(0, 2, None), (2, 3, None), (3, 5, None)]
    with pytest.warns(cerlab.CerlabWarning, match="CER0923"):
        assert steps(rows, parts, query) == [[], [], [(3, 3, (3,))]]


def test_a_timer_is_set_to_the_end_of_the_first_wait() -> None:
    table = pa.table(
        {"type": ["A", "C"], "stream": pa.nulls(2, pa.string()), "k": ["x", "x"], "t": [10, 12]}
    )
    case = SparkCase(cerlab.parse_query(ABSENCE).ast, table, None)
    job = job_of(case, plan_of(case), 0, 0, 1)
    ((_, arriving),) = buckets_of(case, plan_of(case), job).items()
    state, found = None, []
    for rows, watermark, timer in ((2, None, 13), (0, 13, 16), (0, 16, 18), (0, 27, None)):
        step = BucketStep(job, state, arriving.slice(0, rows), watermark)
        found += [answer for batch, _ in step.answers() for answer in batch]
        state, due = step.state()
        assert due == timer
        assert bool(found) == (watermark is not None and watermark > 15)
    assert found == [ComplexEvent(0, 1, (0,))]
    assert state is None


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("(A WAIT 5 [t]) UNLESS B PARTITION BY [k]", "WITHIN with a length of time"),
        ("(A WAIT 5 [t]) UNLESS B PARTITION BY [k] WITHIN 3 EVENTS", "WITHIN with a length"),
        ("(A WAIT 5 [t]) UNLESS B PARTITION BY [k] WITHIN 9 [t] CONSUME BY ANY", "CONSUME BY"),
        ("(A WAIT 5 [t]) UNLESS B PARTITION BY [k] WITHIN 9 [t] LIMIT 1", "LIMIT"),
        ("(A LOOKBACK 5 [t]) UNLESS B PARTITION BY [k]", "WITHIN with a length of time"),
        ("(A LOOKBACK 5 [u]) UNLESS B PARTITION BY [k] WITHIN 9 [t]", "measure one time"),
        ("(A WAIT 5 [u]) UNLESS B PARTITION BY [k] WITHIN 9 [t]", "measure one time"),
        ("(A WAIT 5 [t]) UNLESS B PARTITION BY [k] WITHIN 9 [t]", "give lag="),
    ],
)
def test_waits_that_one_window_does_not_decide_are_refused(query: str, why: str) -> None:
    pattern = cerlab.parse_query(f"SELECT * WHERE {query}")
    assert why in (why_not_by_watermark(pattern, ends=False) or "")
