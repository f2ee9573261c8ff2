"""Input files as DataFrames of events, checked against a schema if one is declared."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from cerlab.computed import cached_property
from cerlab.errors import BadData, DataPlace, UsageError, keywords_by_name, nearest
from cerlab.io.column_types import typed_keys
from cerlab.io.conversion import Key, duplicate_column, twice, types_differ
from cerlab.io.file import format_of_text
from cerlab.io.formats import COMPRESSED, FORMATS, format_by_magic, format_by_suffix
from cerlab.io.names import Named
from cerlab.model.columns import values_of
from cerlab.model.event import AttributeType, Schema
from cerlab.spark.footers import files_in, is_int96, local_path, parquet_file, why_not_opened
from cerlab.spark.frame import arrow_schema, map_batches
from cerlab.spark.tasks import EventFile, column_file, rows_of_files
from cerlab.spark.texts import opened, spark_type, text_frame

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import StructField, StructType

_SAMPLE = 1 << 16
"""Bytes of a file that are read to recognise its format, if its name does not show it."""


@dataclass(frozen=True)
class Inputs:
    """The input files, found by the names that the user gave."""

    places: tuple[str, ...]
    """The names as the user wrote them."""
    files: tuple[EventFile, ...]
    """The files; empty for an address that only Spark can open."""
    key_kinds: Mapping[str, Any]
    """The types of the folder keys."""
    format: str
    """The format of the first file."""

    @property
    def holds_columns(self) -> bool:
        """True if the files have typed columns rather than text."""
        return FORMATS[self.format].columns is not None

    @cached_property
    def read_by_tasks(self) -> bool:
        """True if tasks read the files instead of Spark.

        Spark reads only plain Parquet on this machine: it has other rules for the types of folder
        keys, and needs a package for most other file systems.
        """
        is_plain = all(
            file.kind == "parquet" and not file.keys and local_path(file.place) is not None
            for file in self.files
        )
        return bool(self.files) and not is_plain

    @property
    def ordered_by_tasks(self) -> tuple[EventFile, ...]:
        """The files, if tasks read them and footers can prove their order."""
        is_parquet = all(file.kind == "parquet" for file in self.files)
        return self.files if self.read_by_tasks and is_parquet else ()


def inputs_of(named: Named, format: str | None = None) -> Inputs:
    """Return the files with these names, by the rules of `cerlab.io.names.files_of`.

    A name may be an address on another file system. Raises `BadData` for no files, and `UsageError`
    for an unknown format, and for a mixture of texts and files of columns.
    """
    if format is not None and format not in FORMATS:
        raise UsageError("CER0811", f"unknown format '{format}'", hint=nearest(format, FORMATS))
    names = [named] if isinstance(named, str | os.PathLike) else [*named]
    places = tuple(os.fspath(name) for name in names)
    alone = [place for place in places if why_not_opened(place) is not None]
    if alone and len(places) > 1:
        hint = "copy the files to one place, or name this place alone"
        raise UsageError(
            "CER0899",
            f"only Spark can open {alone[0]}, and not together with other inputs",
            hint=hint,
        )
    if alone:
        return Inputs(places, (), {}, format or _format_by_name(alone[0]) or "parquet")
    found = [file for place in places for file in files_in(place)]
    columns = typed_keys([file.keys for file in found])
    values = {name: values_of(column, name) for name, column in columns.items()}
    files = tuple(
        EventFile(
            os.fspath(path),
            format or _format_of(os.fspath(path)),
            {
                name: Key(text, text if name in ("type", "stream") else values[name][n])
                for name, text in keys.items()
            },
        )
        for n, (path, keys) in enumerate(found)
    )
    kinds = {file.kind: file.place for file in files}
    holding = {FORMATS[kind].columns is not None: place for kind, place in kinds.items()}
    if len(holding) > 1:
        raise UsageError(
            "CER0811",
            f"{holding[True]} has columns and {holding[False]} is text; one input has one kind",
            hint="convert the files to one format: cerlab convert",
        )
    key_kinds = {name: column.type for name, column in columns.items()}
    return Inputs(places, files, key_kinds, files[0].kind)


def _format_by_name(place: str) -> str | None:
    """Return the format for the suffix of a file's name, ignoring a suffix of compression."""
    name = PurePosixPath(place if local_path(place) else urlsplit(place).path)
    packed = name.suffix.lower() in COMPRESSED
    return format_by_suffix(name.with_suffix("") if packed else name)


def _format_of(place: str) -> str:
    if (known := _format_by_name(place)) is not None:
        return known
    with opened(place) as raw:
        head = bytes(raw.read(_SAMPLE))
    return format_by_magic(head) or format_of_text(head)


@keywords_by_name
def read(
    spark: SparkSession, named: Named, *, format: str | None = None, schema: Schema | None = None
) -> DataFrame:
    """Return the events of files, folders and patterns as a DataFrame.

    Names have the meaning of `cerlab.Stream.read`, and folders named ``key=value`` add columns. A
    name may also be an address such as ``s3://bucket/folder``.

    Args:
        spark: the session.
        named: a name, or several.
        format: ``parquet``, ``arrow``, ``csv``, ``ndjson`` or ``core`` (default: by each file).
        schema: the declared types.

    Raises:
        BadData: for files that cannot be read as events with one type for each column.
    """
    return frame_of(spark, inputs_of(named, format), schema)


def frame_of(spark: SparkSession, found: Inputs, schema: Schema | None = None) -> DataFrame:
    """Return the events of some files as a DataFrame, as `read` does."""
    paths = [file.place for file in found.files]
    types = None
    if found.holds_columns and not found.read_by_tasks:
        types = footer_schema(paths)
    if not found.holds_columns:
        frame = frame_of_texts(spark, found, untyped=schema is not None)
    elif types is not None:
        with _listed_by_driver(spark, len(paths)):
            frame = spark.read.schema(types).parquet(*map(as_it_is, paths))
    elif not found.read_by_tasks and _are_alike(paths):
        reader = spark.read.option("mergeSchema", not found.files)
        with _listed_by_driver(spark, len(paths)):
            frame = reader.parquet(*map(as_it_is, paths or found.places))
    else:  # Spark cannot unite types of different widths
        types = schema_for_tasks(found, as_text=schema is not None)
        read_all = partial(rows_of_files, files=found.files, schema=arrow_schema(types))
        numbers = spark.range(0, len(paths), 1, len(paths))
        frame = map_batches(numbers, read_all, types)
    return frame if schema is None else conform(frame, schema, found.places[0])


@contextmanager
def _listed_by_driver(spark: SparkSession, files: int) -> Iterator[None]:
    """Let the driver look up some local files: Spark would start a task for each of over 32 files.

    The driver looks up 2,000 files in 0.6 CPU seconds, tasks in 11 to 17.
    """
    threshold = "spark.sql.sources.parallelPartitionDiscovery.threshold"
    before = str(spark.conf.get(threshold))
    spark.conf.set(threshold, str(max(files, int(before))))
    try:
        yield
    finally:
        spark.conf.set(threshold, before)


def frame_of_texts(spark: SparkSession, found: Inputs, *, untyped: bool) -> DataFrame:
    """Return the events of text files as a DataFrame; `untyped` cells stay text."""
    return text_frame(spark, found.files, found.places[0], found.format, untyped=untyped)


def as_it_is(path: str) -> str:
    """Return an existing path with characters escaped that Spark reads as a pattern (``[1]``)."""
    place = local_path(path)
    if place is None or not place.exists():
        return path
    return re.sub(r"([\\{}\[\]*?])", r"\\\1", path)


_TYPES = {
    AttributeType.INT: "bigint",
    AttributeType.DOUBLE: "double",
    AttributeType.STRING: "string",
    AttributeType.BOOLEAN: "boolean",
    AttributeType.TIMESTAMP: "timestamp",
}


def conform(frame: DataFrame, schema: Schema, path: str) -> DataFrame:
    """Return the events with their declared types; one pass counts rows that do not fit.

    Raises `BadData` for undeclared columns and event types, values of other types, missing values
    that are not nullable, and an attribute declared with two types.
    """
    from pyspark.sql import functions as fn

    types = _attribute_types(schema, path)
    columns, wrong = [], {}
    names, frame = frame.columns, frame.toDF(*(f"c{n}" for n in range(len(frame.columns))))
    cells = {name: frame[f"c{n}"] for n, name in enumerate(names)}  # distinguishes 'v' and 'V'
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
        message = f"not every cell is {types[name].value}"
        wrong[("CER0721", name, message)] = cell.isNotNull() & cast.isNull()
    if "type" in cells:
        wrong |= _rows_against(cells, schema)
    aggregates = frame.agg(
        *(fn.count_if(bad).alias(f"n{n}") for n, bad in enumerate(wrong.values()))
    )
    counts = aggregates.first() if wrong else None
    for n, (code, name, message) in enumerate(wrong):
        if counts is not None and counts[n]:
            rows = f"{counts[n]:,} rows: {message}"
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
                    "the attribute is declared with two types",
                    place=place,
                    hint="declare the attribute with one type",
                )
    return types


def _rows_against(cells: dict[str, Column], schema: Schema) -> dict[tuple[str, str, str], Column]:
    """Return conditions for rows that break the schema, by error code, column and text."""
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


def footer_schema(paths: Sequence[str]) -> StructType | None:
    """Return the schema that Spark would find in footers, or None if Spark must look.

    This covers files whose columns are numbers, text, booleans, days and moments. The schema has
    the columns of all files. Raises `BadData` for a file that is not Parquet.
    """
    from pyspark.sql.types import StructType

    schemas = [schema for schema in map(_of_file, paths) if schema is not None]
    if len(schemas) < len(paths) or not paths:
        return None
    fields: dict[str, StructField] = {}
    for field in (field for schema in schemas for field in schema):
        fields[field.name] = _wider(fields.get(field.name, field), field)
    return StructType([*fields.values()])


def _are_alike(paths: Sequence[str]) -> bool:
    """Return whether files have equal columns of equal types."""
    schemas = [parquet_file(path).schema_arrow for path in paths]
    return all(schema.equals(schemas[0]) for schema in schemas)


def _wider(before: StructField, field: StructField) -> StructField:
    """Return the wider of two numeric fields; `before` if neither holds the other's numbers."""
    from pyspark.sql.types import DoubleType, FloatType, IntegralType, LongType, StructField

    kinds = before.dataType, field.dataType
    if kinds[0] == kinds[1]:
        return before
    if all(isinstance(kind, IntegralType) for kind in kinds):
        return StructField(field.name, LongType())
    if all(isinstance(kind, FloatType | DoubleType) for kind in kinds):
        return StructField(field.name, DoubleType())
    return before


def _of_file(file: str) -> StructType | None:
    import pyarrow as pa
    from pyspark.sql.pandas.types import from_arrow_type
    from pyspark.sql.types import StructType

    opened_file = parquet_file(file)
    schema = opened_file.schema_arrow
    if len(set(schema.names)) < len(schema.names):
        raise duplicate_column(schema.names, file)
    if (spark_schema := (schema.metadata or {}).get(_WRITTEN_BY_SPARK)) is not None:
        return StructType.fromJson(json.loads(spark_schema))
    for field in schema:
        if pa.types.is_duration(field.type):  # Spark would read durations as Parquet's integers
            raise _no_durations(f"column '{field.name}' is {field.type}")
        _check_digits(field.type, field.name)
    if not all(_is_plain(field.type) for field in schema):
        return None
    struct = StructType()
    for field in schema:
        without_zone = getattr(field.type, "tz", None) is None
        if without_zone and is_int96(opened_file, field.name):
            without_zone = False  # Spark reads INT96 as moments in UTC
        struct.add(field.name, from_arrow_type(field.type, prefer_timestamp_ntz=without_zone))
    return struct


def _no_durations(values: str) -> BadData:
    message = f"Spark has no durations of nanoseconds, and {values}"
    hint = "cast it to integers and compare numbers, or run the query without Spark"
    return BadData("CER0741", message, hint=hint)


def _check_digits(kind: Any, name: str) -> None:
    """Raise `BadData` for decimals with more digits than Spark supports."""
    from pyarrow import types

    if types.is_decimal(kind) and kind.precision > _MOST_DIGITS:
        raise BadData(
            "CER0741",
            f"decimals of Spark have up to {_MOST_DIGITS} digits, and column '{name}' is {kind}",
            hint="cast the column to doubles or to text, or drop it",
        )


_MOST_DIGITS = 38
"""Most digits of a decimal in Spark."""


def schema_for_tasks(found: Inputs, *, as_text: bool) -> StructType:
    """Return the Spark types of the columns and folder keys of files that tasks read.

    Keys stay text if `as_text`. Raises `BadData` for unreadable files, for a column without a type
    in Spark or with two types, and for a key that is also a column.
    """
    from pyspark.sql.types import StructType

    struct = StructType()
    kinds: dict[str, Any] = {}
    for file in found.files:
        fields = column_file(file).fields
        if len({*fields.names, *file.keys}) < len(fields) + len(file.keys):
            raise duplicate_column([*fields.names, *file.keys], file.place)
        for field in fields:
            kinds[field.name] = _joined(kinds.get(field.name), field, file.place)
    for name, kind in kinds.items():
        struct.add(name, _spark_type(kind, name))
    for name, kind in found.key_kinds.items():
        if name in kinds:
            raise twice(name, DataPlace(found.places[0]))
        is_text = as_text or name in ("type", "stream")
        struct.add(name, "string" if is_text else spark_type(str(kind)))
    return struct


def _joined(before: Any, field: Any, place: str) -> Any:
    """Return a common type for the values of two types; raises `BadData` if there is none."""
    import pyarrow as pa

    kind = field.type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_string_view(kind):
        kind = pa.large_string()  # Arrow cannot unite string views and strings
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        kind = pa.timestamp(kind.unit, "UTC")  # the zone affects only the display of a moment
    if before is None or before == kind:
        return kind
    both = (pa.schema([(field.name, each)]) for each in (before, kind))
    try:
        return pa.unify_schemas([*both], promote_options="permissive").field(0).type
    except pa.ArrowException:
        raise types_differ(kind, before, DataPlace(place, None, field.name)) from None


def _spark_type(kind: Any, name: str) -> Any:
    """Return Spark's type for the values of an Arrow type; raises `BadData` if there is none."""
    from pyarrow import types
    from pyspark.errors import PySparkTypeError
    from pyspark.sql import types as spark_types
    from pyspark.sql.pandas.types import from_arrow_type

    if types.is_duration(kind):
        raise _no_durations(f"column '{name}' is {kind}")
    _check_digits(kind, name)
    if types.is_unsigned_integer(kind):
        wide = spark_types.DecimalType(20, 0)
        return wide if kind.bit_width == 64 else spark_types.LongType()
    if types.is_float16(kind):
        return spark_types.FloatType()
    if types.is_date64(kind):
        return spark_types.DateType()
    try:
        return from_arrow_type(kind)
    except PySparkTypeError:
        raise BadData(
            "CER0741",
            f"column '{name}' is {kind}, which Spark does not support",
            hint="cast the column to numbers, text, booleans or timestamps, or drop it",
        ) from None


def _is_plain(kind: Any) -> bool:
    from pyarrow import types

    if types.is_timestamp(kind):
        return bool(kind.unit != "s")  # Parquet has no seconds
    tests = (
        types.is_signed_integer,
        types.is_float32,
        types.is_float64,
        types.is_boolean,
        types.is_string,
        types.is_date32,
    )
    return any(holds(kind) for holds in tests)
