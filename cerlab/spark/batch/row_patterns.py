"""Row patterns on Spark: the rows of a partition are in one task, as those of a key are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cerlab.errors import BadData, Unsupported
from cerlab.rows.recognise import column_kinds, recognise
from cerlab.rows.syntax import RowPattern
from cerlab.rows.types import bind
from cerlab.spark.batch.frame import quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def match_recognize(df: DataFrame, query: str | RowPattern) -> DataFrame:
    """The result of a MATCH_RECOGNIZE clause on a DataFrame, as `cerlab.match_recognize` has it.

    The clause needs PARTITION BY, whose partitions are evaluated apart, each in the memory of one
    task, and ORDER BY, by which no two rows of a partition may be equal: the rows of a DataFrame
    have no other order. The result comes in no order. Raises `Unsupported` for other clauses, and
    as `cerlab.match_recognize`; the job raises `BadData` for two rows in one place.
    """
    from pyspark.sql import functions as fn
    from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

    pattern = _row_pattern(query)
    rows = to_arrow_schema(df.schema, timezone="UTC").empty_table()
    names = bind(pattern, column_kinds(rows)).names
    keys = [fn.col(quoted(names[column.name])) for column in pattern.partition_by]
    order = tuple(names[item.column.name] for item in pattern.order_by)
    schema = from_arrow_schema(recognise(pattern, rows).schema)
    task = PartitionTask(pattern, order, to_arrow_schema(schema, timezone="UTC"))
    return df.groupBy(*keys).applyInArrow(lambda rows: task.evaluate(rows), schema)


@dataclass(frozen=True, slots=True)
class PartitionTask:
    """What a task has to know of a row pattern."""

    pattern: RowPattern
    order: tuple[str, ...]
    """The columns of ORDER BY."""
    schema: Any
    """The Arrow types that Spark expects."""

    def evaluate(self, rows: Any) -> Any:
        """The result on the rows of one partition; raises `BadData` for two in one place."""
        places = rows.group_by(list(self.order)).aggregate([([], "count_all")])
        if places.num_rows < rows.num_rows:
            raise BadData(
                "CER0781",
                f"two rows of a partition have the same {', '.join(self.order)}",
                hint="add a column to ORDER BY that tells them apart",
            )
        return recognise(self.pattern, rows).cast(self.schema)


def _row_pattern(query: str | RowPattern) -> RowPattern:
    from cerlab.rows.parser import parse_rows  # loads sqlglot

    pattern = parse_rows(query) if isinstance(query, str) else query
    for clause, columns in (("PARTITION BY", pattern.partition_by), ("ORDER BY", pattern.order_by)):
        if not columns:
            raise Unsupported(
                "CER0494",
                f"a row pattern without {clause} is not local to a task of Spark",
                hint=f"add {clause}, or use cerlab.match_recognize on one machine",
            )
    return pattern
