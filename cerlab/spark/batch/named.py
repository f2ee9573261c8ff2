"""Rows with names on Spark: which columns are asked for, and their types."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from cerlab.compile.pattern import Pattern
from cerlab.errors import UsageError
from cerlab.evaluate.labelled import named_columns, repeatable_labels
from cerlab.io.named_columns import NamedColumn
from cerlab.logic.ceql.syntax import partition_attributes
from cerlab.spark.batch.aggregates import group_types, part_types
from cerlab.spark.batch.frame import Source
from cerlab.spark.tasks.aggregates import GroupRows
from cerlab.spark.tasks.named_rows import RowNames

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructType

OF_SELECT = "*"
"""What stands for the columns that SELECT names."""


def row_names(
    pattern: Pattern,
    source_names: Collection[str],
    columns: str | Iterable[str] | None,
    *,
    with_partition: bool,
) -> RowNames | None:
    """The columns of rows with names; None where positions are asked for.

    Raises `UsageError` for columns that there are not, and for the key besides.
    """
    if columns is None:
        return None
    if with_partition:
        raise UsageError(
            "CER0897",
            "rows with names have the attributes of PARTITION BY as columns",
            hint="leave partition out (on the command line: --partition)",
        )
    texts = None if columns == OF_SELECT else [columns] if isinstance(columns, str) else columns
    selection = named_columns(pattern, texts, source_names)
    key = tuple(dict.fromkeys(partition_attributes(pattern.ast)))
    return RowNames(tuple(selection), key, repeatable_labels(pattern))


def answer_types(source: Source, names: RowNames | GroupRows) -> StructType:
    """The schema of rows with names, or of what tasks give of aggregates."""
    from pyspark.sql.types import LongType, StructType

    if isinstance(names, GroupRows):
        return (group_types if names.are_final else part_types)(source, names)
    schema = StructType().add("start", LongType()).add("end", LongType())
    for name in names.key:
        schema.add(name, source.type_of(name))
    for column in names.columns:
        schema.add(column.name, _type(source, names, column))
    return schema


def _type(source: Source, names: RowNames, column: NamedColumn) -> DataType:
    from pyspark.sql.types import ArrayType, LongType

    if column.function == "count":
        return LongType()
    one = LongType() if column.attribute is None else source.type_of(column.attribute)
    return ArrayType(one) if column in names.lists else one
