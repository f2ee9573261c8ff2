"""The same answers by key in plain Spark, as one writes them without `cerlab.spark`.

    python -m proofs_tests.benchmarks.plain_spark QUERY INPUT OUTPUT CORES

Each task reads all its rows, which are in order, and cerlab evaluates them as a table.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from cerlab import parse_query

ANSWERS = "start bigint, end bigint, positions array<bigint>"


def write_answers(query: str, events: str, output: str, cores: str) -> None:
    """Write the answers on a folder of stocks, with the ids of events for positions."""

    def match(batches: Iterable[Any]) -> Iterator[Any]:
        if batches := [*batches]:
            rows = pa.Table.from_batches(batches)
            found, ids = parse_query(query).run(rows).to_arrow(), rows["id"].combine_chunks()
            for batch in found.to_batches():
                places = batch.column("positions")
                positions = places.from_arrays(places.offsets, pc.take(ids, places.values))
                ends = (pc.take(ids, batch.column(name)) for name in ("start", "end"))
                yield pa.RecordBatch.from_arrays([*ends, positions], ["start", "end", "positions"])

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark = SparkSession.builder.master(f"local[{cores}]").getOrCreate()
    keys = parse_query(query).plan.partition
    names = dict.fromkeys(("type", "name", "price", *keys, "stock_time", "id"))
    rows = spark.read.parquet(events).select(*names)
    by_key = rows.repartition(2 * int(cores), *keys).sortWithinPartitions("stock_time", "id")
    by_key.mapInArrow(match, ANSWERS).write.parquet(output)


if __name__ == "__main__":
    write_answers(*sys.argv[1:])
