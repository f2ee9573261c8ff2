"""Row patterns on Spark, partition by partition: MATCH_RECOGNIZE on a DataFrame.

A DataFrame that is exactly a set of Parquet files is read by tasks, as `match` reads it: a task
sends the columns that the clause reads as packets, by a hash of the partition. Spark moves the rows
of any other DataFrame, one at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from cerlab.errors import BadData, Unsupported
from cerlab.rows.recognise import column_kinds, recognise
from cerlab.rows.syntax import RowPattern
from cerlab.rows.types import bind
from cerlab.spark.files import PACKETS, by_part, numbers_of, same_types
from cerlab.spark.footers import Columns, NoProof, row_groups
from cerlab.spark.frame import (
    Source,
    arrow_schema,
    group_of,
    map_batches,
    refuse_same_names,
    refuse_stream,
    spark_frame,
)
from cerlab.spark.packets import packets_of_keys, runs_of_packets
from cerlab.spark.request import parts_of
from cerlab.spark.scans import bare_scan
from cerlab.spark.tasks import GroupedRows, packets_of_groups

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def match_recognize(df: DataFrame, query: str | RowPattern) -> DataFrame:
    """Return the result of a MATCH_RECOGNIZE clause on a DataFrame, as `cerlab.match_recognize`.

    The clause needs PARTITION BY, whose partitions are distributed by a hash, and ORDER BY, by
    which no two rows of a partition may be equal: the rows of a DataFrame have no other order.
    Only the columns that the clause reads move, or with ALL ROWS PER MATCH all columns; a task
    holds its partitions in memory. The result is in no order.

    Args:
        df: a DataFrame.
        query: the clause, or the SELECT around it, as text or parsed.

    Raises:
        UsageError: for a stream.
        Unsupported: for a clause without PARTITION BY or ORDER BY.
        BadData: in the job, for two rows that are equal by ORDER BY.

    Other errors are those of `cerlab.match_recognize`.
    """
    import pyarrow as pa
    from pyspark.sql import functions as fn
    from pyspark.sql.pandas.types import from_arrow_schema

    df = spark_frame(df)
    refuse_stream(df, "match_recognize")
    refuse_same_names(df.columns)
    pattern = local_row_pattern(query)
    columns = arrow_schema(df.schema)
    binding = bind(pattern, column_kinds(columns.empty_table()))
    schema = from_arrow_schema(recognise(pattern, columns.empty_table()).schema)
    keys = [binding.names[column.name] for column in pattern.partition_by]
    order = [binding.names[item.column.name] for item in pattern.order_by]
    read = [name for name in df.columns if name in binding.read]
    source = Source(df.toDF(*(f"c{n}" for n in range(len(df.columns)))), tuple(df.columns), None)
    types = pa.schema([columns.field(name) for name in read])
    task = PartitionTask(pattern, (*keys, *order), types, arrow_schema(schema))
    try:
        return map_batches(_packets(source, read, keys), task.evaluate_packets, schema)
    except NoProof:
        group, _ = group_of(source, keys)
        places = (source.names.index(name) for name in read)
        moved = [fn.col(f"c{n}").alias(name) for n, name in zip(places, read, strict=True)]
        rows = source.frame.repartition(group).select(*moved)
        return map_batches(rows, task.evaluate, schema)


ROWS_OF_A_TASK = 1 << 20
"""Approximate number of rows of a task, which holds them in memory: 120 MB if four columns are
read."""


def _packets(source: Source, read: Sequence[str], keys: Sequence[str]) -> DataFrame:
    """Return packets of the rows of Parquet files, by a hash of the key.

    Raises `NoProof` with the reason why Spark must read the rows.
    """
    scan = bare_scan(source.frame)
    in_files = [scan.names[f"c{source.names.index(name)}"] for name in read]
    columns = Columns((), False, None, tuple(in_files), None)
    footers = row_groups(scan.paths, columns, scan.keys)
    same_types(source, scan.names, footers)
    parts = max(parts_of(source, {}), sum(g.rows for g in footers.groups) // ROWS_OF_A_TASK)
    files = GroupedRows(
        footers.groups,
        columns,
        tasks=max(1, min(len(footers.groups), parts_of(source, {}))),
        partition=tuple(map(read.index, keys)),
        buckets=parts,
    )
    send = partial(packets_of_groups, files=files, spread=partial(packets_of_keys, buckets=parts))
    return by_part(map_batches(numbers_of(source, files.tasks), send, PACKETS), parts)


@dataclass(frozen=True, slots=True)
class PartitionTask:
    """The parts of a row pattern that Spark sends to a task."""

    pattern: RowPattern
    place: tuple[str, ...]
    """The columns of PARTITION BY and ORDER BY."""
    columns: Any
    """The names and Arrow types of the columns that the clause reads."""
    schema: Any
    """The Arrow types that Spark expects of the result."""

    def evaluate_packets(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Yield the result on the packets of a task; raises as `evaluate`."""
        import pyarrow as pa

        names = [f"a{n}" for n in range(len(self.columns))]
        for packet in runs_of_packets(batches):
            columns = packet.rows.select(names).columns
            rows = pa.Table.from_arrays(columns, self.columns.names).cast(self.columns)
            yield from self.evaluate(rows.to_batches())

    def evaluate(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Yield the result on all rows of a task; raises `BadData` for two rows with one order."""
        import pyarrow as pa

        if not (some := [batch for batch in batches if batch.num_rows]):
            return
        rows = pa.Table.from_batches(some)
        names = dict.fromkeys(self.place)
        places = rows.group_by(list(names)).aggregate([([], "count_all")])
        if places.num_rows < rows.num_rows:
            raise BadData(
                "CER0781",
                f"two rows have the same {', '.join(names)}",
                hint="add a column to ORDER BY in which the rows differ",
            )
        yield from recognise(self.pattern, rows).cast(self.schema).to_batches()


def local_row_pattern(query: str | RowPattern) -> RowPattern:
    """Return the clause; raises `Unsupported` without PARTITION BY or ORDER BY."""
    from cerlab.rows.parser import parse_rows  # loads sqlglot

    pattern = parse_rows(query) if isinstance(query, str) else query
    for clause, columns in (("PARTITION BY", pattern.partition_by), ("ORDER BY", pattern.order_by)):
        if not columns:
            raise Unsupported(
                "CER0494",
                f"a row pattern without {clause} cannot be distributed by Spark",
                hint=f"add {clause}, or use cerlab.match_recognize on one machine",
            )
    return pattern
