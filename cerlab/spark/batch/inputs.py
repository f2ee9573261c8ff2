"""Files as DataFrames of events: Parquet, CSV and NDJSON, with the values that `cerlab.io` reads.

A column of Spark has one type, while text without a schema has a type in each cell. A column of
text is read as booleans, integers or decimals where all of its cells look like that (an integer
among decimals is a decimal), and as text where none does. Where some do and some do not the answers
could differ from those of the local engine, so that is an error, with the way out: a schema.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from cerlab.errors import BadData, DataPlace, UsageError, nearest
from cerlab.model.schema import Schema
from cerlab.spark.batch.declared import conform
from cerlab.spark.batch.footer_schema import footer_schema, schema_for_tasks
from cerlab.spark.batch.frame import arrow_schema, quoted
from cerlab.spark.plan.places import files_in, local_path, why_not_opened
from cerlab.spark.tasks.files import rows_of_files

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

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
    once for their types. Tasks read `files`, if that is not empty (`files_elsewhere`), and Spark
    all else. Raises `BadData` for what cannot be read as events of one type a column.
    """
    match format or format_of(path):
        case "parquet" if files:
            types = schema_for_tasks(files[0])
            read_all = partial(rows_of_files, files=files, schema=arrow_schema(types))
            numbers = spark.range(0, len(files), 1, len(files))
            frame = numbers.mapInArrow(read_all, types)
        case "parquet":
            footer_types = footer_schema(path)
            reader = spark.read if footer_types is None else spark.read.schema(footer_types)
            frame = reader.parquet(path)
        case "csv":
            frame = _csv(spark, path, schema)
        case "ndjson":
            frame = _ndjson(spark, path)
        case unknown:
            hint = nearest(unknown, FORMATS)
            raise UsageError("CER0811", f"unknown format '{unknown}'", hint=hint)
    return frame if schema is None else conform(frame, schema, path)


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


def _csv(spark: SparkSession, path: str, schema: Schema | None) -> DataFrame:
    """Cells as `cerlab.io.delimited` has them; as text where a schema says what they are."""
    from pyspark.sql import functions as fn

    cells = spark.read.csv(
        path, header=True, quote='"', escape='"', mode="FAILFAST", encoding="UTF-8"
    )
    cells = cells.toDF(*(name.strip() for name in cells.columns))
    plain = cells.select(*(fn.nullif(cells[quoted(n)], fn.lit("")).alias(n) for n in cells.columns))
    if schema is not None:
        return plain
    attributes = [name for name in plain.columns if name not in ("type", "stream")]
    kinds = plain.agg(
        *(fn.collect_set(_look(plain[quoted(name)])).alias(name) for name in attributes)
    ).first()
    looks = {} if kinds is None else kinds.asDict()
    return plain.select(
        *(
            _of_kind(plain[quoted(name)], _kind(set(looks[name]), path, name)).alias(name)
            if name in looks
            else plain[quoted(name)]
            for name in plain.columns
        )
    )


_LOOKS = {
    "integer": r"^[+-]?\d+$",
    "decimal": r"^[+-]?(\d+\.\d*|\.\d+|\d+(?=[eE]))([eE][+-]?\d+)?$",
    "boolean": r"^(?i)(true|false)$",
}


def _look(cell: Column) -> Column:
    """What a cell looks like, NULL if it is none, as `cerlab.io.conversion.infer` reads it."""
    from pyspark.sql import functions as fn

    look = fn.when(cell.isNull() | (fn.upper(cell) == "NULL"), fn.lit(None))
    for name, pattern in _LOOKS.items():
        look = look.when(cell.rlike(pattern), fn.lit(name))
    return look.otherwise(fn.lit("text"))


def _kind(looks: set[str], path: str, name: str) -> str:
    """The one type of a column whose cells look like that."""
    if looks == {"integer", "decimal"}:
        return "decimal"
    if len(looks) > 1:
        raise BadData(
            "CER0784",
            f"some cells are {', others '.join(sorted(looks))}",
            place=DataPlace(path, None, name),
            hint="declare its type in a schema (on the command line: --schema)",
        )
    return looks.pop() if looks else "text"


def _of_kind(cell: Column, kind: str) -> Column:
    from pyspark.sql import functions as fn

    plain = fn.when(fn.upper(cell) != "NULL", cell)
    types = {"integer": "bigint", "decimal": "double", "boolean": "boolean", "text": "string"}
    return plain.cast(types[kind])


def _ndjson(spark: SparkSession, path: str) -> DataFrame:
    """One column for each key of the objects."""
    from pyspark.sql import functions as fn

    lines = spark.read.text(path).where(fn.trim("value") != "")
    objects = lines.select(fn.parse_json("value").alias("v"))
    row = objects.agg(fn.schema_of_variant_agg("v")).first()
    schema_text = "" if row is None or row[0] is None else str(row[0])
    if not schema_text.startswith("OBJECT"):
        raise BadData(
            "CER0734",
            "an event is a JSON object",
            place=DataPlace(path),
            hint='for example {"type": "BUY", "price": 27.85}',
        )
    kinds = spark.createDataFrame([], f"v {schema_text.replace('OBJECT<', 'STRUCT<')}").schema
    columns = []
    for field in kinds["v"].dataType.fields:
        key = field.name.replace("\\", "\\\\").replace("'", "\\'")
        kind = _of_json(field.dataType.simpleString(), path, field.name)
        columns.append(fn.variant_get("v", f"$['{key}']", kind).alias(field.name))
    return objects.select(*columns)


def _of_json(kind: str, path: str, name: str) -> str:
    """The type of a column, of that which all values of a key have."""
    plain = kind.partition("(")[0]
    if plain in ("bigint", "boolean", "string", "double"):
        return kind
    if plain == "void":
        return "string"
    if plain == "decimal" and not kind.endswith(",0)"):
        return "double"
    what = "values of several types, or nested" if plain != "decimal" else "more than 64 bits"
    raise BadData(
        "CER0784" if plain != "decimal" else "CER0720",
        f"the key holds {what}",
        place=DataPlace(path, None, name),
        hint="an attribute has one type in Spark",
    )
