"""Row patterns on Parquet files that tasks read: packets by key have the result of a table."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, get_args

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cerlab
from cerlab import CerlabError
from cerlab.rows import expressions as ex
from cerlab.rows import syntax as rp
from cerlab.rows.recognise import column_kinds, recognise
from cerlab.rows.types import bind
from cerlab.spark import packets, tasks
from cerlab.spark.footers import Columns, row_groups
from cerlab.spark.row_patterns import PartitionTask
from cerlab.spark.tasks import GroupedRows
from cerlab.testing import random_row_pattern, random_row_table
from cerlab.testing.rows import Reach
from proofs_tests.rows.tables import typed_table
from proofs_tests.spark.layouts import random_files
from proofs_tests.suite import Suite


def draw(rng: Random) -> tuple[rp.RowPattern, Any, Any]:
    """Return a clause by g and t, a table of distinct times, and the result."""
    while True:
        query = random_row_pattern(rng, rng.choice(get_args(Reach)))
        order = (rp.OrderItem(ex.Column("t"), rng.random() < 0.3, rng.random() < 0.5),)
        query = replace(query, partition_by=(ex.Column("g"),), order_by=order)
        table = typed_table(random_row_table(rng, rows=rng.choice((6, 12, 24))))
        times = pa.array(rng.sample(range(99), table.num_rows), pa.int64())
        table = table.set_column(table.column_names.index("t"), "t", times)
        try:
            return query, table, recognise(query, table)
        except CerlabError:
            continue


def in_packets(rng: Random, query: rp.RowPattern, table: Any, schema: Any, folder: Path) -> Any:
    """Return the result of tasks on files of the rows, which some other tasks read."""
    folder.mkdir()
    paths = []
    for n, rows in enumerate(random_files(rng, table.num_rows, ordered=rng.random() < 0.5)):
        paths.append(str(folder / f"{n}.parquet"))
        pq.write_table(table.take(pa.array(rows, pa.int64())), paths[-1], row_group_size=5)
    binding = bind(query, column_kinds(table))
    read = [name for name in table.column_names if name in binding.read]
    columns = Columns((), False, None, tuple(read), None)
    groups, count, buckets = row_groups(paths, columns).groups, rng.randint(1, 3), rng.randint(1, 3)
    files = GroupedRows(groups, columns, count, (read.index(binding.names["g"]),), buckets)
    spread = partial(packets.packets_of_keys, buckets=buckets)
    sent: list[Any] = []
    for number in range(count):
        task = pa.RecordBatch.from_pydict({"id": [number]})
        for batch in tasks.packets_of_groups([task], files, spread):
            sent += batch.to_pylist()
    rng.shuffle(sent)
    types = pa.schema([table.schema.field(name) for name in read])
    receiver = PartitionTask(query, ("g", "t"), types, schema)
    results: list[Any] = []
    for part in sorted({packet["part"] for packet in sent}):
        some = [packet for packet in sent if packet["part"] == part]
        results += receiver.evaluate_packets([pa.RecordBatch.from_pylist(some)])
    return pa.Table.from_batches(results, schema)


def check(rng: Random, folder: Path) -> bool:
    query, table, expected = draw(rng)
    found = in_packets(rng, query, table, expected.schema, folder)
    assert sorted(map(repr, found.to_pylist())) == sorted(map(repr, expected.to_pylist())), query
    return bool(expected.num_rows)


def test_row_patterns_in_packets_have_the_result_of_the_table(suite: Suite, tmp_path: Path) -> None:
    count = iter(range(1 << 30))
    suite.run(lambda rng: check(rng, tmp_path / str(next(count))), deep_count=3_000)


def test_a_task_reads_each_row_group_once_and_only_the_columns_of_the_clause(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    reads: list[tuple[Any, ...]] = []
    right = tasks._content

    def content(file: Any, group: Any, names: list[str]) -> Any:
        reads.append((group.path, group.number, *names))
        return right(file, group, names)

    monkeypatch.setattr(tasks, "_content", content)
    rng, clause = Random(5), "PARTITION BY g ORDER BY t MEASURES COUNT(*) AS n PATTERN (A{2})"
    query = cerlab.parse_rows(f"MATCH_RECOGNIZE ({clause} DEFINE A AS x > 0)")
    rows = [{"g": n % 7, "t": n, "x": n % 3, "s": "unread"} for n in range(200)]
    table = typed_table(rows)
    expected = recognise(query, table)
    found = in_packets(rng, query, table, expected.schema, tmp_path / "rows")
    assert found.num_rows == expected.num_rows > 0
    assert len(set(reads)) == len(reads) >= 40
    assert {columns[2:] for columns in reads} == {("g", "t", "x")}
