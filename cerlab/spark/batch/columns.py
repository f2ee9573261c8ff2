"""The columns that the batch pipeline evaluates, and those of its answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cerlab.spark.batch.named import answer_types
from cerlab.spark.batch.request import Request

if TYPE_CHECKING:
    from pyspark.sql import Column
    from pyspark.sql.types import StructType


def keys_of(asked: Request) -> list[Column]:
    """What orders the stream: ``k0 k1 ..``."""
    return [key.alias(f"k{n}") for n, key in enumerate(asked.keys)]


def answer_schema(asked: Request) -> StructType:
    """The schema of DESIGN 2.6, with the key where it is asked for.

    Of rows with names and of aggregates, that of their columns.
    """
    from pyspark.sql.types import ArrayType, LongType, StructField, StructType

    if asked.names is not None:
        return answer_types(asked.source, asked.names)
    schema = StructType([StructField("start", LongType()), StructField("end", LongType())])
    schema.add("positions", ArrayType(LongType()))
    if asked.with_partition:
        keys = [
            StructField(name, asked.source.type_of(name))
            for name in dict.fromkeys(asked.plan.partition)
        ]
        schema.add("partition", StructType(keys))
    return schema
