"""Aggregates on Spark: their types, and parts put together by group."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from cerlab.compile.pattern import Pattern
from cerlab.engine.measures import no_sum
from cerlab.errors import UsageError
from cerlab.evaluate.aggregates import PLACES, Measure, check_attributes, selected_request
from cerlab.spark.batch.frame import FLOATS, WHOLE, Source, arrow_schema
from cerlab.spark.batch.writer import TaskAnswers
from cerlab.spark.tasks.aggregates import GroupRows, merge_parts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType, StructType


def group_rows(pattern: Pattern, source: Source, **others: object) -> GroupRows:
    """What SELECT COUNT(*) and sums ask for; raises `UsageError` where `others` are given besides.

    And `Unsupported` for queries without an automaton and under LIMIT, `UsageError` for columns
    that there are not, `TypeMismatch` for sums of what is no number.
    """
    for option in (name for name, value in others.items() if value):
        message = f"{option} does not go with SELECT COUNT(*) and sums"
        raise UsageError("CER0865", message, hint=f"leave {option} out")
    request = check_attributes(selected_request(pattern), pattern, source.names)
    for _, attribute in request.summands:
        if (kind := source.kind(attribute)) not in (*WHOLE, *FLOATS, "void"):
            raise no_sum(attribute, kind)
    return GroupRows(request)


def group_types(source: Source, rows: GroupRows) -> StructType:
    """The schema of aggregates, as `cerlab.evaluate.aggregates` has them on one machine."""
    from pyspark.sql.types import LongType, StructType

    request, schema = rows.request, StructType()
    for name in request.groups:
        schema.add(name, _group_type(source, rows, name))
    if request.count:
        schema.add("count", LongType())
    for measure in request.measures:
        schema.add(measure.name, _measure_type(source, measure))
    return schema


def part_types(source: Source, rows: GroupRows) -> StructType:
    """The schema of the parts of `cerlab.spark.tasks.aggregates`."""
    from pyspark.sql.types import BinaryType, StructType

    request, schema = rows.request, StructType()
    for n, name in enumerate(request.groups):
        schema.add(f"g{n}", _group_type(source, rows, name))
    for name in ("runs", *_sums(rows)):
        schema.add(name, BinaryType())
    for n, measure in enumerate(request.extremes):
        schema.add(f"m{n}", _measure_type(source, measure))
    return schema


def merged_groups(parts: DataFrame, source: Source, rows: GroupRows) -> TaskAnswers:
    """The rows of all groups, of their parts; without groups one row, also of no part."""
    from pyspark.sql import functions as fn

    request, types = rows.request, group_types(source, rows)
    lists = [fn.collect_list(name).alias(name) for name in ("runs", *_sums(rows))]
    extremes = [
        (fn.min if measure.function == "min" else fn.max)(f"m{n}").alias(f"m{n}")
        for n, measure in enumerate(request.extremes)
    ]
    by_group = parts.groupBy(*(f"g{n}" for n in range(len(request.groups)))).agg(*lists, *extremes)
    merge = partial(merge_parts, rows=GroupRows(request, arrow_schema(types)))
    return TaskAnswers(by_group, merge, types)


def _sums(rows: GroupRows) -> list[str]:
    return [f"{name}{n}" for n in range(len(rows.request.summands)) for name in "sp"]


def _group_type(source: Source, rows: GroupRows, name: str) -> DataType:
    from pyspark.sql.types import LongType

    if name in PLACES:
        return LongType()
    attribute_of = {column.name: str(column.attribute) for column in rows.request.labelled}
    return _by_code_point(source.type_of(attribute_of.get(name, name)))


def _measure_type(source: Source, measure: Measure) -> DataType:
    from pyspark.sql.types import DoubleType, LongType

    attribute = measure.place[1]
    if measure.function in ("min", "max"):
        return _by_code_point(source.type_of(attribute))
    whole = measure.function == "sum" and source.kind(attribute) not in FLOATS
    return LongType() if whole else DoubleType()


def _by_code_point(kind: DataType) -> DataType:
    """The type of values, text being compared as it is here and not by a collation."""
    from pyspark.sql.types import CharType, StringType, VarcharType

    return StringType() if isinstance(kind, StringType | CharType | VarcharType) else kind
