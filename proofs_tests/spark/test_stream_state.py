"""The state of a bucket: of a version and a query, and as large as what can still matter."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import cerlab
from cerlab.engine.row_order import ColumnNames
from cerlab.spark.stream.step import BucketStep, StreamJob
from proofs_tests.engine.hostile_states import states_before
from proofs_tests.hostile.buckets import gone_on
from proofs_tests.spark.buckets import buckets_of, job_of, read_state
from proofs_tests.spark.cases import SparkCase
from proofs_tests.suite import random_suite


def first_step(text: str, table: Any) -> tuple[StreamJob, Any, bytes]:
    case = SparkCase(cerlab.parse_query(text).ast, table, None)
    job = job_of(case, case.query.plan, 2, None, 1)
    rows = buckets_of(case, case.query.plan, job)[0]
    step = BucketStep(job, None, rows)
    assert [len(batch) for batch, _ in step.answers()]
    state, _ = step.state()
    assert state is not None
    return job, rows, state


def table(count: int = 400) -> Any:
    rng = Random(4)
    return pa.table(
        {
            "type": rng.choices("ABC", k=count),
            "stream": pa.nulls(count, "string"),
            "v": range(count),
            "k": [n % 7 for n in range(count)],
            "t": range(count),
        }
    )


def test_a_state_is_read_under_its_own_query_and_version_only() -> None:
    job, rows, state = first_step("SELECT * WHERE A ; B WITHIN 9 [t]", table())
    assert read_state(job, state).sequences.pending_rows.num_rows == 3
    for other in (
        replace(job, lateness=3),
        replace(job, labels=ColumnNames(("t", "n"), "t")),
        replace(job, plan=first_step("SELECT * WHERE A ; B WITHIN 8 [t]", table())[0].plan),
    ):
        with pytest.raises(cerlab.BadData) as caught:
            BucketStep(other, state, rows.slice(0, 0))
        assert caught.value.code == "CER0773"
        assert caught.value.hint
    for bad in (b"", b"\x80\x04.", state[:100], state[: len(state) // 2], state + b"\0"):
        with pytest.raises(cerlab.BadData, match="CER0771"):
            BucketStep(job, bad, rows.slice(0, 0))
    newer = state.replace(b'"version": 4,', b'"version": 7,', 1)
    with pytest.raises(cerlab.BadData, match="CER0772"):
        BucketStep(job, newer, rows.slice(0, 0))
    with pytest.raises(cerlab.BadData, match="a state of version 3, this cerlab reads 4"):
        BucketStep(job, states_before()["bucket"], rows.slice(0, 0))


@random_suite(6_000, needs_answers=0.3)
def test_a_changed_state_is_refused_or_is_another_state(rng: Random) -> bool:
    """Bytes, or arrays and values with a digest that fits: no other error, and no crash."""
    try:
        gone_on(rng)
    except cerlab.CerlabError:
        return True
    return False


def test_a_state_comes_back_as_it_was() -> None:
    job, rows, state = first_step("SELECT * WHERE A ; B PARTITION BY [k] WITHIN 9 [t]", table())
    assert BucketStep(job, state, rows.slice(0, 0)).state() == (state, None)


@pytest.mark.parametrize("window", ["WITHIN 9 [t]", "WITHIN 9 EVENTS"])
def test_a_state_does_not_grow_with_what_has_been(window: str) -> None:
    text = f"SELECT * WHERE A ; B ; C {window}"
    sizes = [len(first_step(text, table(count))[2]) for count in (400, 4_000)]
    assert sizes[1] < 1.5 * sizes[0]


def test_without_a_window_it_keeps_the_positions_that_answers_may_have() -> None:
    """Keeps positions of the events that the pattern takes, not of all events."""
    _, _, few = first_step("SELECT * WHERE A ; B FILTER A[v < 20]", table(4_000))
    _, _, all_of_them = first_step("SELECT * WHERE A ; B", table(4_000))
    assert len(few) < 8_000 < len(all_of_them)
