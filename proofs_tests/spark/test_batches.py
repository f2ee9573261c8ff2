"""Record batches that Spark hands to Python: few rows, however wide, and settings of users."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import cerlab.spark
from cerlab.spark.launch import BATCHES, BATCHES_OF_STREAMS
from cerlab.spark.packets import BYTES_OF_A_PACKET, packets_of_cuts, runs_of_packets
from cerlab.spark.runs import BYTES, tables_of
from cerlab.spark.stream.match import use_rocksdb

MB = 1 << 20
MOST = 256 * MB


def wide_batches(rows: int, rows_of_a_batch: int) -> Any:
    """Rows of 1 MB, the same text in all."""
    for start in range(0, rows, rows_of_a_batch):
        numbers = np.arange(start, min(rows, start + rows_of_a_batch))
        yield pa.RecordBatch.from_pydict({"k0": numbers, "a0": ["x" * MB] * len(numbers)})


def test_a_task_collects_few_wide_rows_and_moves_them_in_small_packets() -> None:
    tables = [(each.num_rows, each.nbytes) for each in tables_of(wide_batches(300, 16))]
    assert sum(rows for rows, _ in tables) == 300
    assert max(size for _, size in tables) < BYTES + 17 * MB
    packets = [*packets_of_cuts(wide_batches(40, 7), [], 1)]
    assert max(batch.nbytes for batch in packets) < 2 * BYTES_OF_A_PACKET
    (run,) = runs_of_packets(packets)
    assert run.rows.column("k0").to_pylist() == [*range(40)]


def test_narrow_rows_stay_together() -> None:
    numbers = np.arange(1 << 18)
    batches = [pa.RecordBatch.from_pydict({"k0": numbers[n::128]}) for n in range(128)]
    packets = [*packets_of_cuts(batches, [], 1)]
    assert len(packets) == 2
    (run,) = runs_of_packets(packets)
    assert np.array_equal(run.rows.column("k0").to_numpy(), numbers)


@pytest.mark.filterwarnings("default")
def test_no_batch_of_wide_rows_outgrows_memory(spark: Any) -> None:
    """Rows of 1 MB that cross for LIKE, in no order, in a JVM of 1 GB."""
    from pyspark.sql import functions as fn

    rows, query = 540, "SELECT * WHERE A ; B FILTER B[note LIKE 'b$'] PARTITION BY [key]"
    number = (fn.col("id") * 37) % rows
    letter = fn.when(number % 2 == 0, "A").otherwise("B")
    numbers = spark.range(rows).repartition(2)  # without a bound a batch has 270 MB
    events = numbers.select(number.alias("n"), letter.alias("type"))
    note = fn.concat(fn.repeat(fn.lit("x"), MB), fn.lower("type"))
    events = events.select("*", note.alias("note"), fn.floor(fn.col("n") / 2).alias("key"))
    sizes = events.mapInArrow(
        lambda batches: (pa.RecordBatch.from_pydict({"size": [b.nbytes]}) for b in batches),
        "size bigint",
    )
    found = [row["size"] for row in sizes.collect()]
    assert rows * MB < sum(found)
    assert max(found) < MOST
    for order in ({"order_by": "n"}, {"position": "n"}):
        answers = cerlab.spark.match(events, query, mode="keys", **order)
        assert answers.count() == rows // 2


def test_a_session_keeps_the_sizes_that_somebody_has_set(spark: Any) -> None:
    names = [*BATCHES]
    before = {name: spark.conf.get(name) for name in names}
    try:
        spark.conf.set(names[0], "10m")
        assert cerlab.spark.session("local[2]") is spark
        use_rocksdb(spark)
        assert spark.conf.get(names[0]) == "10m"
        for name in names:
            spark.conf.unset(name)
        cerlab.spark.session("local[2]")
        assert {name: spark.conf.get(name) for name in names} == BATCHES
        use_rocksdb(spark)
        assert {name: spark.conf.get(name) for name in names} == BATCHES_OF_STREAMS
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)
