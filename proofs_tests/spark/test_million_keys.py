"""A million keys on a stream: answers are exact, and what windows have passed is forgotten."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import cerlab
from cerlab.spark.stream.step import BUCKETS, BucketStep
from proofs_tests.spark.buckets import job_of
from proofs_tests.spark.cases import SparkCase

pytestmark = pytest.mark.services  # it takes a while

KEYS = 10**6
QUERY = "SELECT * WHERE A ; B PARTITION BY [k] WITHIN 1000 [t]"


def pairs(first: int, count: int) -> Any:
    """Events in pairs with one key each: A, and then B."""
    n = np.arange(first, first + count)
    types = pa.array(np.where(n % 2 == 0, "A", "B"))
    return pa.table({"type": types, "stream": pa.nulls(count, "string"), "k": n // 2, "t": n})


def test_in_a_session() -> None:
    session, size = cerlab.parse_query(QUERY).open(), 100_000
    counts = [len(session.push(pairs(first, size))) for first in range(0, 2 * KEYS, size)]
    assert sum(counts) == KEYS
    state = session.state()
    assert len(state) < 3_000_000  # a few thousand keys, not all
    again = cerlab.parse_query(QUERY).open(state=state)
    last = again.push([{"type": "B", "k": KEYS - 1, "t": 2 * KEYS}])
    assert [answer.start for answer in last] == [2 * KEYS - 2]


def test_in_the_buckets_of_a_stream_on_spark() -> None:
    """Feeds one bucket at a time, as a task does, in two micro-batches."""
    whole, answers, largest = pairs(0, 2 * KEYS), 0, 0
    keys = np.arange(2 * KEYS) // 2
    for bucket in range(BUCKETS):
        mine = whole.take(pa.array(np.flatnonzero(keys % BUCKETS == bucket)))
        case = SparkCase(cerlab.parse_query(QUERY).ast, mine, None)
        job = job_of(case, case.query.plan, 0, 1000, 1)
        rows = rows_of(job, mine)
        half, state = rows.num_rows // 2, None
        for part, watermark in ((rows.slice(0, half), None), (rows.slice(half), KEYS)):
            step = BucketStep(job, state, part, watermark)
            answers += sum(len(batch) for batch, _ in step.answers())
            state, _ = step.state()
            largest = max(largest, len(state or b""))
        step = BucketStep(job, state, rows.slice(0, 0), 10**12)
        answers += sum(len(batch) for batch, _ in step.answers())
        assert step.state() == (None, None)
    assert answers == KEYS
    assert largest < 200 * KEYS // BUCKETS


def rows_of(job: Any, table: Any) -> Any:
    """The rows as tasks get them."""
    columns = {"position": table.column("t"), "time": table.column("t")}
    attributes = {f"a{n}": table.column(name) for n, name in enumerate(job.attributes)}
    return pa.table(columns | attributes).combine_chunks()
