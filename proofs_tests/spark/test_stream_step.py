"""Keys that come in any order, micro-batch by micro-batch, have the answers of the whole stream."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import cerlab
from cerlab.model.answer import ComplexEvent
from cerlab.spark.stream.step import BucketStep, reach
from cerlab.testing import Shape
from proofs_tests.complexity.walk import codes_of_calls
from proofs_tests.spark.buckets import buckets_of, feed, job_of, without
from proofs_tests.spark.cases import SparkCase, typed_case
from proofs_tests.suite import Suite


def place(answer: ComplexEvent) -> tuple[int, int, tuple[int, ...]]:
    return answer.end, answer.start, answer.positions


def in_any_order(rng: Random) -> bool:
    """Equal to the local engine on all rows but the late ones, as far as rows do not wait."""
    case = typed_case(rng, Shape(depth=2, events=30))
    plan = case.query.plan
    lateness = rng.choice((0, 1, 4))
    lag = rng.choice((None, lateness, lateness + 5))
    job = job_of(case, plan, lateness, lag, rng.choice((1, 1, 3)))
    groups = buckets_of(case, plan, job, rng.choice((1, 1, 2)))
    slack = lateness * rng.choice((1, 1, 1, 4))
    output = feed(rng, job, groups, slack, lag)
    if slack == lateness and (lag is None or lag >= 2 * lateness):
        assert not output.late, case.describe()
    assert len(output.late) == len(set(output.late))
    expected = [a for a in without(case, set(output.late)) if a.end not in output.waiting]
    limit = plan.limit is not None
    if limit:
        assert len(output.answers) == len(expected), case.describe()
        assert set(output.answers) <= set(without(replace_limit(case), set(output.late)))
    else:
        same = sorted(output.answers, key=place) == sorted(expected, key=place)
        assert same, case.describe()
    if lag is not None:
        assert not output.waiting
        assert bool(output.states) == (bool(groups) and reach(plan, job.time) is None)
    return bool(output.answers)


def test_random_queries_on_keys_that_come_in_any_order(suite: Suite) -> None:
    suite.run(in_any_order, deep_count=1_500)


def replace_limit(case: SparkCase) -> SparkCase:
    return replace(case, ast=replace(case.ast, limit=None))


def through(text: str, *steps: tuple[str, list[int], int | None]) -> tuple[list[Any], bool]:
    """A key through steps of types, times, watermark: its answers, and whether it has a state."""
    types = "".join(step[0] for step in steps)
    times = [time for step in steps for time in step[1]]
    columns = {"type": list(types), "stream": pa.nulls(len(types), "string"), "t": times}
    case = SparkCase(cerlab.parse_query(text).ast, pa.table(columns), None)
    job = job_of(case, case.query.plan, 1, 5, 1)
    rows, offset, state = buckets_of(case, case.query.plan, job)[0], 0, None
    answers = []
    for names, _, watermark in steps:
        step = BucketStep(job, state, rows.slice(offset, len(names)), watermark)
        answers += [answer.positions for batch, _ in step.answers() for answer in batch]
        state, _ = step.state()
        offset += len(names)
    return answers, state is not None


def test_a_state_goes_when_its_window_has_passed_and_no_sooner() -> None:
    window = "SELECT * WHERE A ; B WITHIN 9 [t]"
    assert through(window, ("A", [10], None), ("", [], 19)) == ([], True)
    assert through(window, ("A", [10], None), ("", [], 20)) == ([], False)
    assert through(window, ("A", [10], None), ("", [], 19), ("BC", [19, 40], None))[0] == [(0, 1)]
    steps = [("A", [10], None), ("", [], 99), ("BC", [99, 120], None)]
    assert through("SELECT * WHERE A ; B", *steps)[0] == [(0, 1)]


@pytest.mark.parametrize(("strategy", "has_answers"), [("", True), ("MAX", False)])
def test_what_began_before_the_window_still_competes(strategy: str, has_answers: bool) -> None:
    """A set too long for the window contains the ones in it, and it is remembered."""
    text = f"SELECT {strategy} * WHERE A+ ; B WITHIN 5 [t]"
    steps = [("A", [0], None), ("", [], 15), ("AB", [20, 22], None), ("C", [90], None)]
    answers = cerlab.evaluate(
        text, [{"type": t, "t": n} for t, n in zip("AABC", (0, 20, 22, 90), strict=True)]
    )
    assert bool(answers) == has_answers
    assert through(text, *steps)[0] == [answer.positions for answer in answers]


def test_the_work_of_a_batch_does_not_count_the_keys() -> None:
    """For a thousand keys a few more calls of Python than for ten, as arrays grow by doubling."""
    query = "SELECT * WHERE A ; B PARTITION BY [k] WITHIN 90 [t]"

    def calls(keys: int) -> int:
        rows = 4_000
        columns = {"type": ["A", "B"] * (rows // 2), "stream": pa.nulls(rows, "string")}
        numbers = {"t": range(rows), "k": [n // 2 % keys for n in range(rows)]}
        case = SparkCase(cerlab.parse_query(query).ast, pa.table(columns | numbers), None)
        job = job_of(case, case.query.plan, 5, None, 1)
        arrivals = buckets_of(case, case.query.plan, job)[0]
        states: list[bytes | None] = [None]

        def step() -> None:
            n = len(states) - 1
            bucket_step = BucketStep(job, states[-1], arrivals.slice(2_000 * n, 2_000))
            assert sum(len(batch) for batch, _ in bucket_step.answers()) >= 1_000 * n
            states.append(bucket_step.state()[0])

        step()
        return len(codes_of_calls(step))

    for keys in (10, 1_000):
        calls(keys)  # kernels are loaded
    assert calls(1_000) < 2 * calls(10)


@pytest.mark.parametrize(
    ("kind", "times", "width", "ends"),
    [
        (pa.float64(), [0.2, 0.3, 0.4], "0.1", [1]),  # 0.4 - 0.3 is more than 0.1
        (pa.float64(), [0.0, 2.0**53, 2.0**53 + 2], str(2**53 + 1), [1, 2]),
        (pa.decimal128(4, 1), ["0.1", "0.2", "0.3"], "0.1", [1, 2]),
        (pa.int64(), [-(2**62), 0, 2**62], str(2**62), [1, 2]),
    ],
)
def test_windows_are_exact_from_batch_to_batch(
    kind: Any, times: list[Any], width: str, ends: list[int]
) -> None:
    """The local engine agrees."""
    text = f"SELECT * WHERE A ; A PARTITION BY [type] WITHIN {width} [t]"
    column = pa.array([Decimal(t) if isinstance(t, str) else t for t in times], kind)
    table = pa.table({"type": ["A"] * 3, "stream": pa.nulls(3, "string"), "t": column})
    case = SparkCase(cerlab.parse_query(text).ast, table, None)
    job = job_of(case, case.query.plan, 0, None, 1)
    job = replace(job, time_kind="int64" if kind == pa.int64() else "double")
    rows = buckets_of(case, case.query.plan, replace(job))[0]
    rows = rows.set_column(1, "time", rows.column("time").cast(job.time_kind))
    state, answer_ends = None, []
    for n in range(4):
        step = BucketStep(job, state, rows.slice(n, 1))
        answer_ends += [answer.end for batch, _ in step.answers() for answer in batch]
        state, _ = step.state()
    local = [answer.end for answer in cerlab.evaluate(text, table)]
    assert answer_ends == [end for end in local if end < 2]
    assert sorted(set(local)) == ends
