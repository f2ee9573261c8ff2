"""The columns that the batch pipeline evaluates, and those of its answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cerlab.spark.batch.named import answer_types
from cerlab.spark.batch.request import Request

if TYPE_CHECKING:
    from pyspark.sql import Column
    from pyspark.sql.types import StructType


def keys_of(request: Request) -> list[Column]:
    """What orders the stream: ``k0 k1 ..``."""
    return [key.alias(f"k{n}") for n, key in enumerate(request.keys)]


def answer_schema(request: Request) -> StructType:
    """The schema of DESIGN 2.6, with the key where it is asked for.

    Of rows with names and of aggregates, that of their columns.
    """
    from pyspark.sql.types import ArrayType, LongType, StructField, StructType

    if request.names is not None:
        return answer_types(request.source, request.names)
    schema = StructType([StructField("start", LongType()), StructField("end", LongType())])
    schema.add("positions", ArrayType(LongType()))
    if request.with_partition:
        keys = [
            StructField(name, request.source.type_of(name))
            for name in dict.fromkeys(request.plan.partition)
        ]
        schema.add("partition", StructType(keys))
    return schema
