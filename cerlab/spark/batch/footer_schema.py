"""The schema of Parquet files by their footers, for which Spark would start a job."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cerlab.errors import BadData
from cerlab.io.arrow import unreadable
from cerlab.spark.plan.places import local_path, parquet_file

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

MOST = 64
"""So many files are opened; of more Spark looks at one."""

_WRITTEN_BY_SPARK = b"org.apache.spark.sql.parquet.row.metadata"


def footer_schema(path: str) -> StructType | None:
    """What Spark would find, where that is plain; None where Spark is to look itself.

    Plain are a file, or a folder of files that all have the same columns, of numbers, text,
    booleans, days and moments.
    """
    place = local_path(path)
    if place is None or not place.exists():
        return None
    files = [place] if place.is_file() else _files(place)
    if not files or len(files) > MOST:
        return None
    first, *others = (_of_file(file) for file in files)
    return first if all(other == first for other in others) else None


def _files(folder: Path) -> list[Path]:
    """The files that Spark would read of a folder; none where folders are in it."""
    entries = [each for each in folder.iterdir() if each.name[0] not in "._"]
    return sorted(entries) if all(each.is_file() for each in entries) else []


def _of_file(file: Path) -> StructType | None:
    import pyarrow as pa
    import pyarrow.parquet as pq
    from pyspark.sql.pandas.types import from_arrow_type
    from pyspark.sql.types import StructType

    try:
        schema = pq.read_schema(file)
    except (pa.ArrowException, OSError):
        return None
    if (spark_schema := (schema.metadata or {}).get(_WRITTEN_BY_SPARK)) is not None:
        return StructType.fromJson(json.loads(spark_schema))
    if not all(_is_plain(field.type) for field in schema):
        return None
    struct = StructType()
    for field in schema:
        without_zone = getattr(field.type, "tz", None) is None
        struct.add(field.name, from_arrow_type(field.type, prefer_timestamp_ntz=without_zone))
    return struct


def schema_for_tasks(place: str) -> StructType:
    """The types that Spark has for the columns of a file that tasks read.

    Raises `BadData` for what is no Parquet, and for a column that Spark has no type for.
    """
    import pyarrow as pa
    from pyspark.errors import PySparkTypeError
    from pyspark.sql.pandas.types import from_arrow_type
    from pyspark.sql.types import StructType

    try:
        schema = parquet_file(place).schema_arrow
    except pa.ArrowInvalid as error:
        raise unreadable(place, "Parquet", error) from None
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
        return kind.unit in ("ms", "us")
    tests = (
        types.is_signed_integer,
        types.is_float32,
        types.is_float64,
        types.is_boolean,
        types.is_string,
        types.is_date32,
    )
    return any(holds(kind) for holds in tests)
