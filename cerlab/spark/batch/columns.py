"""The columns that the batch pipeline evaluates, and those of its answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cerlab.spark.batch.named import answer_types
from cerlab.spark.batch.request import Request

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType


def keys_of(asked: Request) -> list[Column]:
    """What orders the stream: ``k0 k1 ..``."""
    return [key.alias(f"k{n}") for n, key in enumerate(asked.keys)]


def values_of(asked: Request) -> Iterator[Column]:
    """What is read of an event: ``a0 a1 ..``."""
    for n, name in enumerate(asked.attributes):
        yield asked.source.column(name).alias(f"a{n}")


def answer_schema(asked: Request, rows: DataFrame) -> StructType:
    """The schema of DESIGN 2.6, with the key where it is asked for; `rows` have the attributes.

    Of rows with names, that of their columns.
    """
    from pyspark.sql.types import ArrayType, LongType, StructField, StructType

    if asked.names is not None:
        return answer_types(asked.source, asked.names)
    schema = StructType([StructField("start", LongType()), StructField("end", LongType())])
    schema.add("positions", ArrayType(LongType()))
    if asked.with_partition:
        keys = [
            StructField(name, rows.schema[f"a{asked.attributes.index(name)}"].dataType)
            for name in dict.fromkeys(asked.plan.partition)
        ]
        schema.add("partition", StructType(keys))
    return schema
