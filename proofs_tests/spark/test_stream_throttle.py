"""THROTTLE on streams: each key is throttled by its own last end, in any order of arrival."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

import pyarrow as pa

import cerlab
from cerlab.model.clauses import AttributeWindow, EventWindow, TimeWindow, Window
from cerlab.spark.plan import Mode, why_not
from cerlab.spark.stream.step import BucketStep
from cerlab.testing import Shape
from proofs_tests.hostile.buckets import gone_on
from proofs_tests.spark.buckets import buckets_of, job_of, plan_of
from proofs_tests.spark.cases import SparkCase, register_case, typed_case
from proofs_tests.spark.test_named_rows import check_stream
from proofs_tests.spark.test_stream_step import in_any_order, through
from proofs_tests.spark.test_stream_waits import check_waits, waiting_case
from proofs_tests.suite import Suite, random_suite

Draw = Callable[[Random, Shape], SparkCase]


def throttle(rng: Random) -> Window:
    """Return a length of THROTTLE: in events, in units of `t`, or in seconds."""
    width = rng.choice((1, 2, 2, 3, 5, 9))
    lengths = EventWindow(width), AttributeWindow(width, "t"), TimeWindow(width * 10**9)
    return rng.choice(lengths)


def throttled(draw: Draw) -> Draw:
    """Return a function that draws cases with THROTTLE; most of them lose answers by it."""

    def case(rng: Random, shape: Shape) -> SparkCase:
        is_hard = rng.random() < 0.8
        while True:
            plain = draw(rng, shape)
            ast = replace(plain.ast, throttle=throttle(rng))
            if rng.random() < 0.5 and why_not(plan_of(plain), Mode.RANGES) is None:
                ast = replace(ast, partition=(("k",),))
            drawn = replace(plain, ast=ast)
            plan = plan_of(drawn)
            if plan.partition and why_not(plan, Mode.KEYS) is not None:
                continue  # refused: each key has its own clock
            if not is_hard or _loses(drawn):
                return drawn

    return case


def _loses(case: SparkCase) -> bool:
    """Return whether THROTTLE removes answers of a case, and leaves more than one."""
    plain = replace(case, ast=replace(case.ast, throttle=None))
    every = cerlab.count(plain.query, case.stream)
    return 1 < cerlab.count(case.query, case.stream) < every


def test_random_queries_under_throttle(suite: Suite) -> None:
    suite.run(lambda rng: in_any_order(rng, throttled(typed_case)), deep_count=1_500)


def test_random_queries_that_compare_labels_under_throttle(suite: Suite) -> None:
    suite.run(lambda rng: in_any_order(rng, throttled(register_case), 12), deep_count=1_000)


def waiting_under_throttle(rng: Random) -> SparkCase:
    """Return a query that waits and is throttled."""
    while True:
        case = waiting_case(rng)
        length = throttle(rng)
        if isinstance(length, EventWindow) or type(length) is type(case.ast.window):
            return replace(case, ast=replace(case.ast, throttle=length))


def test_random_queries_that_wait_under_throttle(suite: Suite) -> None:
    suite.run(lambda rng: check_waits(rng, waiting_under_throttle), deep_count=1_000)


@random_suite(1_000)
def test_rows_with_names_under_throttle(rng: Random) -> bool:
    """Rows with names, of a query of any machine."""
    if rng.random() < 0.4:
        return check_stream(rng, lambda rng, _: waiting_under_throttle(rng), until="end")
    return check_stream(rng, throttled(rng.choice((typed_case, register_case))), 14)


@random_suite(2_000, needs_answers=0.3)
def test_a_changed_state_with_given_ends_is_refused_or_is_another_state(rng: Random) -> bool:
    try:
        gone_on(rng, throttled(typed_case if rng.random() < 0.6 else register_case))
    except cerlab.CerlabError:
        return True
    return False


KEYS = "SELECT * WHERE A PARTITION BY [k] WITHIN 3 [t] THROTTLE"


def ends(text: str, rows: list[tuple[str, int]], *watermarks: int | None) -> list[list[int]]:
    """Return the ends of each micro-batch: A's as (key, time), one a micro-batch, released there.

    A watermark may be given for each.
    """
    columns = {"type": ["A"] * len(rows), "stream": pa.nulls(len(rows), "string")}
    columns |= {"k": [key for key, _ in rows], "t": [time for _, time in rows]}
    case = SparkCase(cerlab.parse_query(text).ast, pa.table(columns), None)
    job = replace(job_of(case, plan_of(case), 0, 0 if watermarks else None, 1), lateness=-1)
    ((_, arriving),) = buckets_of(case, plan_of(case), job).items()
    state, found = None, []
    for n in range(len(rows)):
        step = BucketStep(job, state, arriving.slice(n, 1), watermarks[n] if watermarks else None)
        found.append([answer.end for batch, _ in step.answers() for answer in batch])
        state, _ = step.state()
    return found


def test_each_key_is_throttled_by_its_own_last_end() -> None:
    rows = [("x", 0), ("y", 1), ("x", 9), ("x", 10), ("y", 10), ("y", 11)]
    assert ends(f"{KEYS} 10 [t]", rows) == [[0], [1], [], [3], [], [5]]
    assert ends(f"{KEYS} 2 EVENTS", rows) == [[0], [1], [], [3], [], [5]]
    assert ends(f"{KEYS} 3 EVENTS", rows) == [[0], [1], [], [], [], []]


def test_a_state_stays_until_the_window_and_the_throttle_have_passed() -> None:
    """The window is 3; a key that is dropped would give its next answer."""
    rows = [("x", 0), ("y", 9), ("x", 9)]
    assert ends(f"{KEYS} 10 [t]", rows, None, 9, 9) == [[0], [1], []]
    rows = [("x", 0), ("y", 11), ("x", 11)]
    assert ends(f"{KEYS} 10 [t]", rows, None, 11, 11) == [[0], [1], [2]]


def test_a_state_of_a_throttle_in_time_goes_and_of_one_in_events_stays() -> None:
    for length, stays in (("4 [t]", False), ("20 [t]", True), ("2 EVENTS", True)):
        text = f"SELECT * WHERE A WITHIN 9 [t] THROTTLE {length}"
        assert through(text, ("AC", [10, 12], None), ("", [], 24))[1] == stays
