"""A DataFrame under a schema: its columns as they are declared, its rows checked against it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cerlab.errors import BadData, DataPlace, nearest
from cerlab.model.schema import AttributeType, Schema
from cerlab.spark.batch.frame import quoted

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_TYPES = {
    AttributeType.INT: "bigint",
    AttributeType.DOUBLE: "double",
    AttributeType.STRING: "string",
    AttributeType.BOOLEAN: "boolean",
    AttributeType.TIMESTAMP: "timestamp",
}


def conform(frame: DataFrame, schema: Schema, path: str) -> DataFrame:
    """The same events with the declared types; one pass counts what does not conform.

    Raises `BadData` for columns and event types that are not declared, values that are not of the
    declared type, missing values that are not nullable, and an attribute of two types.
    """
    from pyspark.sql import functions as fn

    types = _attribute_types(schema, path)
    columns, wrong = [], {}
    for name in frame.columns:
        cell = frame[quoted(name)]
        if name in ("type", "stream"):
            columns.append(cell)
            continue
        if name not in types:
            hint = nearest(name, types)
            raise BadData(
                "CER0723", "no event has it", place=DataPlace(path, None, name), hint=hint
            )
        cast = cell.try_cast(_TYPES[types[name]])
        columns.append(cast.alias(name))
        what = f"not every cell is {types[name].value}"
        wrong[("CER0721", name, what)] = cell.isNotNull() & cast.isNull()
    if "type" in frame.columns:
        wrong |= _rows_against(frame, schema)
    aggregates = frame.agg(
        *(fn.count_if(bad).alias(f"n{n}") for n, bad in enumerate(wrong.values()))
    )
    counts = aggregates.first() if wrong else None
    for n, (code, name, what) in enumerate(wrong):
        if counts is not None and counts[n]:
            rows = f"{counts[n]:,} rows: {what}"
            raise BadData(code, rows, place=DataPlace(path, None, name))
    return frame.select(*columns)


def _attribute_types(schema: Schema, path: str) -> dict[str, AttributeType]:
    types: dict[str, AttributeType] = {}
    for event in (event for stream in schema.streams for event in stream.events):
        for attribute in event.attributes:
            if types.setdefault(attribute.name, attribute.type) is not attribute.type:
                place = DataPlace(path, None, attribute.name)
                raise BadData(
                    "CER0784",
                    "it is declared with two types",
                    place=place,
                    hint="declare the attribute with one type",
                )
    return types


def _rows_against(frame: DataFrame, schema: Schema) -> dict[tuple[str, str, str], Column]:
    """What is wrong with rows, by code, column and text."""
    names = schema.event_names()
    kind = frame["type"]
    problems = {("CER0722", "type", "the event type is not declared"): ~kind.isin(*names)}
    for name in dict.fromkeys(names):
        event = schema.event(name)
        assert event is not None
        for attribute in event.attributes:
            if not attribute.nullable and attribute.name in frame.columns:
                missing = frame[quoted(attribute.name)].isNull()
                key = ("CER0724", attribute.name, f"{name} needs it, and it is missing or NULL")
                problems[key] = (kind == name) & missing
    return problems
