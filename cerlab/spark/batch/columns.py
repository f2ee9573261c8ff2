"""The columns that the batch pipeline evaluates, and those of its answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cerlab.spark.batch.frame import group_of
from cerlab.spark.batch.named import answer_types
from cerlab.spark.batch.request import Request
from cerlab.spark.plan.modes import Mode

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType


def keys_of(asked: Request) -> list[Column]:
    """What orders the stream: ``k0 k1 ..``."""
    return [key.alias(f"k{n}") for n, key in enumerate(asked.keys)]


def key_names(asked: Request) -> list[str]:
    """Their names."""
    return [f"k{n}" for n in range(len(asked.keys))]


def values_of(asked: Request) -> Iterator[Column]:
    """What is read of an event: ``kept``, ``a0 a1 ..``, and by key ``group`` and ``present``."""
    if asked.kept is not None:
        yield asked.kept.alias("kept")
    for n, name in enumerate(asked.attributes):
        yield asked.source.column(name).alias(f"a{n}")
    if asked.choice.mode is Mode.KEYS:
        group, present = group_of(asked.source, asked.plan.partition)
        yield group.alias("group")
        yield present.alias("present")


def value_names(asked: Request) -> list[str]:
    """The names of the attributes that the engine reads."""
    return [f"a{n}" for n in range(len(asked.attributes))]


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
