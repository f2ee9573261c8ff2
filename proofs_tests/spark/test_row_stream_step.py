"""Row patterns in buckets of partitions: rows that come in any order have the certain result."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any, get_args

import numpy as np
import pyarrow as pa
import pytest

import cerlab
from cerlab import CerlabError
from cerlab.engine.row_order import ColumnNames
from cerlab.model.stream import TimeAxis
from cerlab.rows import expressions as ex
from cerlab.rows import syntax as rp
from cerlab.rows.recognise import column_kinds, recognise
from cerlab.rows.syntax import RowPattern
from cerlab.rows.text import row_pattern_text
from cerlab.rows.types import bind
from cerlab.spark.stream.engine import number_keys
from cerlab.spark.stream.step import BucketStep, StreamJob
from cerlab.testing import random_row_pattern, random_row_table
from cerlab.testing.rows import Reach
from proofs_tests.rows.tables import typed_table
from proofs_tests.rows.test_sessions import by_partition
from proofs_tests.spark.buckets import BucketResults, feed
from proofs_tests.suite import Suite


def row_job(
    query: RowPattern, table: Any, lateness: int, lag: int | None = None, tick: int = 1
) -> StreamJob:
    """The job of a clause ORDER BY t on the rows of a table, whose positions are in `id`."""
    binding = bind(query, column_kinds(table))
    attributes = ("", *(name for name in table.column_names if name in binding.read))
    kinds = [str(table.schema.field(name).type) for name in attributes[1:]]
    return StreamJob(
        b"",
        TimeAxis("t"),
        attributes,
        ("string", *kinds),
        str(table.schema.field("t").type),
        ColumnNames(("t", "id"), "t"),
        lateness,
        keys=tuple(attributes.index(binding.names[c.name]) for c in query.partition_by),
        by_key=True,
        with_partition=False,
        tick=None if lag is None else tick,
        lag=None if lag is None else -(-lag // tick) * tick,
        query=row_pattern_text(query),
        result=recognise(query, table.slice(0, 0)).schema,
    )


def row_buckets(job: StreamJob, table: Any, buckets: int) -> dict[int, Any]:
    """The rows of each bucket, as tasks get them; a partition is in one bucket."""
    columns = {"position": table.column("id"), "time": table.column("t")}
    columns["a0"] = pa.array(["row"] * table.num_rows)
    columns |= {f"a{n}": table.column(name) for n, name in enumerate(job.attributes) if n}
    keys = [repr([row[job.attributes[n]] for n in job.keys]) for row in table.to_pylist()]
    numbers = {key: n % buckets for n, key in enumerate(dict.fromkeys(keys))}
    groups: dict[int, list[int]] = {}
    for row, key in enumerate(keys):
        groups.setdefault(numbers[key], []).append(row)
    whole = pa.table(columns).combine_chunks()
    return {bucket: whole.take(rows) for bucket, rows in groups.items()}


def draw(rng: Random) -> tuple[RowPattern, Any, Any]:
    """Return a clause by g and t, rows in order with ties in time, and the result on all rows."""
    while True:
        query = random_row_pattern(rng, rng.choice(get_args(Reach)))
        order = (rp.OrderItem(ex.Column("t"), False, rng.random() < 0.5),)
        query = replace(query, partition_by=(ex.Column("g"),), order_by=order)
        table = typed_table(random_row_table(rng, rows=rng.choice((6, 12, 24))))
        times = np.cumsum(rng.choices((0, 1, 2, 3), k=table.num_rows))
        table = table.set_column(table.column_names.index("t"), "t", pa.array(times))
        positions = np.cumsum(rng.choices((1, 2), k=table.num_rows))
        table = table.append_column("id", pa.array(positions))
        try:
            return query, table, cerlab.match_recognize(query, table)
        except CerlabError:  # the skip clause, or the kinds of columns
            continue


def certain_result(query: RowPattern, table: Any) -> Any:
    """Return the rows of the result that a session gives before its end."""
    session: Any = cerlab.session(query)
    return session.push(table).to_pylist() if table.num_rows else []


def in_any_order(rng: Random) -> bool:
    """Equal to a session on the rows that were read, and a part of the result on these rows."""
    query, table, whole = draw(rng)
    if not whole.num_rows:
        query, table, _ = draw(rng)
    lateness = rng.choice((0, 1, 4))
    lag = rng.choice((None, lateness, lateness + 5))
    job = row_job(query, table, lateness, lag, rng.choice((1, 1, 3)))
    slack = lateness * rng.choice((1, 1, 1, 4))
    try:
        output = feed(rng, job, row_buckets(job, table, rng.choice((1, 1, 2))), slack, lag)
        rows = read_rows(table, output)
        expected = certain_result(query, rows)
        whole = cerlab.match_recognize(query, rows)
    except cerlab.BadData as error:
        if error.code != "CER0788":  # the skip clause, without some rows
            raise
        return False
    if slack == lateness and (lag is None or lag >= 2 * lateness):
        assert not output.late
    found = by_partition(query, output.rows)
    assert found == by_partition(query, expected), f"{query}\n{table.to_pylist()}"
    everything = by_partition(query, whole.to_pylist())
    assert all(everything[key][: len(mine)] == mine for key, mine in found.items())
    return bool(output.rows)


def read_rows(table: Any, output: BucketResults) -> Any:
    """Return the rows that were read, in order: neither late nor held back."""
    gone = {*output.late, *output.waiting}
    is_read = [position not in gone for position in table.column("id").to_pylist()]
    return table.filter(pa.array(is_read, pa.bool_()))


def test_random_clauses_on_rows_that_come_in_any_order(suite: Suite) -> None:
    suite.run(in_any_order, deep_count=5_000)


GAP = """MATCH_RECOGNIZE (PARTITION BY g ORDER BY t MEASURES COUNT(*) AS n, FIRST(t) AS b
    PATTERN (A B*) DEFINE B AS t - PREV(t) <= 5)"""


def arrivals(rows: list[tuple[Any, int, int]]) -> tuple[StreamJob, Any]:
    """A job of sessions of a log, and arriving rows: each a key, a time and a position."""
    g, t, position = zip(*rows, strict=True)
    table = pa.table({"g": pa.array(g, pa.float64()), "t": t, "id": position})
    job = row_job(cerlab.parse_rows(GAP), table, 2)
    (rows_of_bucket,) = row_buckets(job, table, 1).values()
    return job, rows_of_bucket


def test_a_match_goes_on_over_micro_batches_until_it_is_certain() -> None:
    job, rows = arrivals([(1, 0, 0), (1, 4, 1), (2, 4, 2), (1, 8, 3), (1, 30, 4), (1, 40, 5)])
    state, found = None, []
    for n in range(rows.num_rows):
        step = BucketStep(job, state, rows.slice(n, 1))
        found.append([tuple(row.values()) for part in step.rows() for row in part.to_pylist()])
        state, _ = step.state()
    assert found == [[], [], [], [], [], [(1.0, 3, 0)]], "the row at 30 is read at 40"


def test_null_and_nan_are_two_partitions_and_the_zeros_are_one() -> None:
    nan = float("nan")
    keys = [None, nan, 0.0, nan, None, -0.0]
    job, rows = arrivals([(g, n, n) for n, g in enumerate(keys * 2 + keys)])
    step = BucketStep(job, None, rows)
    assert sum(part.num_rows for part in step.rows()) == 0
    step.state()
    counts = [rows.num_rows for rows in (step.released_rows, step._keys)]
    assert counts == [14, 3]
    table = pa.table({"a": pa.array([None, None, 1, 1, None]), "b": [nan, None, nan, nan, nan]})
    both = [table.column(name) for name in table.column_names]
    numbers, known = number_keys(table.slice(0, 0), both, 5, null_is_key=True)
    assert (numbers.tolist(), known.num_rows) == ([0, 1, 2, 2, 0], 3)
    again, _ = number_keys(known, both, 5, null_is_key=True)
    assert again.tolist() == numbers.tolist()


def test_a_state_of_another_clause_or_a_damaged_one_is_refused() -> None:
    job, rows = arrivals([(1, 0, 0), (1, 9, 1), (2, 20, 2)])
    step = BucketStep(job, None, rows)
    assert [row.num_rows for row in step.rows()] == [0]
    state, _ = step.state()
    assert state is not None
    other = replace(job, query=job.query.replace("<= 5", "<= 6"))
    with pytest.raises(cerlab.BadData, match="CER0773"):
        BucketStep(other, state, rows.slice(0, 0))
    for at in range(0, len(state), 97):
        damaged = bytearray(state)
        damaged[at] ^= 1
        with pytest.raises(cerlab.BadData):
            BucketStep(job, bytes(damaged), rows.slice(0, 0))
