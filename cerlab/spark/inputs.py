"""Files as DataFrames of events, under a schema where one is declared."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from cerlab.errors import BadData, DataPlace, UsageError, nearest
from cerlab.io.conversion import duplicate_column
from cerlab.model.event import AttributeType, Schema
from cerlab.spark.footers import files_in, local_path, parquet_file, why_not_opened
from cerlab.spark.frame import arrow_schema, map_batches
from cerlab.spark.tasks import rows_of_files
from cerlab.spark.texts import text_frame

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import StructField, StructType


FORMATS = ("parquet", "csv", "ndjson")

_SUFFIXES = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".ndjson": "ndjson",
    ".jsonl": "ndjson",
    ".json": "ndjson",
}


def read(
    spark: SparkSession,
    path: str,
    *,
    format: str | None = None,
    schema: Schema | None = None,
    files: Sequence[str] = (),
) -> DataFrame:
    """The events of a file, or of all files in a folder.

    The format is that of the suffix, and Parquet for a path without one. Columns of text are read
    once for their types. Tasks read text, and `files` if that is not empty (`files_elsewhere`), and
    Spark other Parquet. Raises `BadData` for what cannot be read as events of one type a column.
    """
    match format or format_of(path):
        case "parquet" if files:
            types = schema_for_tasks(files[0])
            read_all = partial(rows_of_files, files=files, schema=arrow_schema(types))
            numbers = spark.range(0, len(files), 1, len(files))
            frame = map_batches(numbers, read_all, types)
        case "parquet":
            footer_types = footer_schema(path)
            # else a column that the file lacks that Spark looks into would be NULL in all rows
            merged = spark.read.option("mergeSchema", True)
            reader = merged if footer_types is None else spark.read.schema(footer_types)
            frame = reader.parquet(as_it_is(path))
        case "csv" | "ndjson" as kind:
            frame = text_frame(spark, path, kind, untyped=schema is not None)
        case unknown:
            hint = nearest(unknown, FORMATS)
            raise UsageError("CER0811", f"unknown format '{unknown}'", hint=hint)
    return frame if schema is None else conform(frame, schema, path)


def as_it_is(path: str) -> str:
    """A place for Spark, which takes ``[1]`` for a pattern, as it is where something is there."""
    place = local_path(path)
    if place is None or not place.exists():
        return path
    return re.sub(r"([\\{}\[\]*?])", r"\\\1", path)


def files_elsewhere(path: str, format: str | None = None) -> tuple[str, ...]:
    """The Parquet files at a place that is not on this machine, where pyarrow opens it.

    Spark needs a package for most of those. None where Spark is to read them, or text. Raises as
    `files_in` and `why_not_opened`.
    """
    is_parquet = (format or format_of(path)) == "parquet"
    if local_path(path) is not None or not is_parquet or why_not_opened(path) is not None:
        return ()
    return files_in(path)


def format_of(path: str) -> str:
    """That of the suffix, and Parquet for a path without one."""
    suffix = PurePosixPath(path if local_path(path) else urlsplit(path).path).suffix
    return _SUFFIXES.get(suffix.lower(), "parquet")


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
    names, frame = frame.columns, frame.toDF(*(f"c{n}" for n in range(len(frame.columns))))
    cells = {name: frame[f"c{n}"] for n, name in enumerate(names)}  # 'v' beside 'V', too
    for name, cell in cells.items():
        if name in ("type", "stream"):
            columns.append(cell.alias(name))
            continue
        if name not in types:
            hint = nearest(name, types)
            raise BadData(
                "CER0723", "no event has it", place=DataPlace(path, None, name), hint=hint
            )
        if types[name] is AttributeType.DURATION:
            raise _no_durations(f"the schema declares '{name}' so")
        cast = cell.try_cast(_TYPES[types[name]])
        columns.append(cast.alias(name))
        what = f"not every cell is {types[name].value}"
        wrong[("CER0721", name, what)] = cell.isNotNull() & cast.isNull()
    if "type" in cells:
        wrong |= _rows_against(cells, schema)
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


def _rows_against(cells: dict[str, Column], schema: Schema) -> dict[tuple[str, str, str], Column]:
    """Return the faults of rows, by code, column and text."""
    names = schema.event_names()
    kind = cells["type"]
    problems = {("CER0722", "type", "the event type is not declared"): ~kind.isin(*names)}
    for name in dict.fromkeys(names):
        event = schema.event(name)
        assert event is not None
        for attribute in event.attributes:
            if not attribute.nullable and attribute.name in cells:
                missing = cells[attribute.name].isNull()
                key = ("CER0724", attribute.name, f"{name} needs it, and it is missing or NULL")
                problems[key] = (kind == name) & missing
    return problems


_WRITTEN_BY_SPARK = b"org.apache.spark.sql.parquet.row.metadata"


def footer_schema(path: str) -> StructType | None:
    """Return the schema that Spark would find, or None where Spark has to look itself.

    Plain are a file, or a folder of files, whose columns are numbers, text, booleans, days and
    moments; it has the columns of all files. Raises `BadData` for a file that is no Parquet.
    """
    from pyspark.sql.types import StructType

    place = local_path(path)
    if place is None or not place.exists():
        return None
    files = [place] if place.is_file() else _files(place)
    if not files:
        return None
    schemas = [schema for schema in map(_of_file, files) if schema is not None]
    if len(schemas) < len(files):
        return None
    fields: dict[str, StructField] = {}
    for field in (field for schema in schemas for field in schema):
        fields[field.name] = _wider(fields.get(field.name, field), field)
    return StructType([*fields.values()])


def _wider(before: StructField, field: StructField) -> StructField:
    """The field that holds the numbers of both; `before` for types that have no such."""
    from pyspark.sql.types import DoubleType, FloatType, IntegralType, LongType, StructField

    kinds = before.dataType, field.dataType
    if kinds[0] == kinds[1]:
        return before
    if all(isinstance(kind, IntegralType) for kind in kinds):
        return StructField(field.name, LongType())
    if all(isinstance(kind, FloatType | DoubleType) for kind in kinds):
        return StructField(field.name, DoubleType())
    return before


def _files(folder: Path) -> list[Path]:
    """The files that Spark would read of a folder; none where folders are in it."""
    entries = [each for each in folder.iterdir() if each.name[0] not in "._"]
    return sorted(entries) if all(each.is_file() for each in entries) else []


def _of_file(file: Path) -> StructType | None:
    import pyarrow as pa
    from pyspark.sql.pandas.types import from_arrow_type
    from pyspark.sql.types import StructType

    schema = parquet_file(str(file)).schema_arrow
    if len(set(schema.names)) < len(schema.names):
        raise duplicate_column(schema.names, str(file))
    if (spark_schema := (schema.metadata or {}).get(_WRITTEN_BY_SPARK)) is not None:
        return StructType.fromJson(json.loads(spark_schema))
    for field in schema:
        if pa.types.is_duration(field.type):  # Spark reads the integers that Parquet has there
            raise _no_durations(f"column '{field.name}' is {field.type}")
    if not all(_is_plain(field.type) for field in schema):
        return None
    struct = StructType()
    for field in schema:
        without_zone = getattr(field.type, "tz", None) is None
        struct.add(field.name, from_arrow_type(field.type, prefer_timestamp_ntz=without_zone))
    return struct


def _no_durations(what: str) -> BadData:
    message = f"Spark has no durations of nanoseconds, and {what}"
    hint = "cast it to integers and compare numbers, or run the query without Spark"
    return BadData("CER0741", message, hint=hint)


def schema_for_tasks(place: str) -> StructType:
    """The types that Spark has for the columns of a file that tasks read.

    Raises `BadData` for what is no Parquet, and for a column that Spark has no type for.
    """
    from pyspark.errors import PySparkTypeError
    from pyspark.sql.pandas.types import from_arrow_type
    from pyspark.sql.types import StructType

    schema = parquet_file(place).schema_arrow
    struct = StructType()
    for field in schema:
        try:
            struct.add(field.name, from_arrow_type(field.type))
        except PySparkTypeError:
            raise BadData(
                "CER0741",
                f"Spark has no {field.type}, which column '{field.name}' is",
                hint="cast it to numbers, text, booleans or moments, or drop it",
            ) from None
    return struct


def _is_plain(kind: Any) -> bool:
    from pyarrow import types

    if types.is_timestamp(kind):
        return bool(kind.unit != "s")  # which Parquet has not
    tests = (
        types.is_signed_integer,
        types.is_float32,
        types.is_float64,
        types.is_boolean,
        types.is_string,
        types.is_date32,
    )
    return any(holds(kind) for holds in tests)
