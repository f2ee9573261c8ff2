"""CSV and NDJSON as DataFrames: tasks read files as `cerlab.io` does, so values and errors agree.

Spark's own readers take other cells for numbers, fill up short rows, replace bytes that are not
UTF-8 and go by the header of one file. One task reads a file, block by block: once for the types
of its columns, then for its rows.
"""

from __future__ import annotations

import glob
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from io import BytesIO, TextIOWrapper
from typing import TYPE_CHECKING, Any, TypeAlias
from uuid import uuid4

from cerlab.errors import BadData, DataPlace
from cerlab.io.arrow import unreadable
from cerlab.io.conversion import Reading
from cerlab.io.delimited import read_header
from cerlab.io.options import empty
from cerlab.io.parts import Part, column_names, column_of
from cerlab.io.text_reader import Blocks, text_parts
from cerlab.model.columns import decoded, is_arrow
from cerlab.spark.failures import failures
from cerlab.spark.footers import files_in, gone, local_path, resolve, why_not_opened
from cerlab.spark.frame import arrow_schema, map_batches
from cerlab.spark.request import parallelism
from cerlab.spark.tasks import spending

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

EVENTS = "cerlab_events"
"""Names of observed metrics begin with it: rows of texts, since Spark's own count is of files."""

_NO_TYPE = "\0"
"""The type of rows without one until they are in a DataFrame: no file of text has a NUL."""

_SPARK_TYPES = {
    "null": "string",
    "int64": "long",
    "double": "double",
    "bool": "boolean",
    "string": "string",
    "timestamp[ns]": "timestamp_ntz",
    "timestamp[ns, tz=UTC]": "timestamp",
    # moments far away, and integers beyond 64 bits (`cerlab.io.column_types`)
    "timestamp[us]": "timestamp_ntz",
    "timestamp[us, tz=UTC]": "timestamp",
    "large_string": "string",
}
"""The JSON names of Spark's types, by those of Arrow."""

_WIDER = {
    ("int64", "double"),
    ("int64", "large_string"),
    ("large_string", "double"),
    ("timestamp[ns]", "timestamp[us]"),
    ("timestamp[ns, tz=UTC]", "timestamp[us, tz=UTC]"),
}
"""The types of cells that have a wider one in common, as `cerlab.io.column_types.join` has it."""

_Source: TypeAlias = "tuple[str, Callable[[], Any]]"
"""A name of a file, and a way to open it."""


def text_frame(spark: SparkSession, path: str, kind: str, *, untyped: bool) -> DataFrame:
    """Return the events of a text, of all texts in a folder or of those with names of a pattern.

    Cells of a CSV stay text if it is `untyped`. Tasks raise `BadData` with file, row and column, as
    `cerlab.io` does; the driver raises it for a key with values of two types, and for no files.
    """
    files = _files(path)
    if files:
        sources = spark.range(0, len(files), 1, len(files))
    else:  # places that only Spark knows: whole files, by its packages
        sources = spark.read.format("binaryFile").load(path).select("path", "content")
    look = partial(_kinds, files=files, kind=kind, untyped=untyped)
    with failures(path):
        found = map_batches(sources, look, "file string, name string, kind string").collect()
    kinds: dict[str, str] = {}
    for file, name, one in found:
        if name is not None:
            kinds[name] = _join(kinds.get(name, "null"), one, kind, DataPlace(file, None, name))
    if not kinds:
        raise empty(path)
    has_rows = any(name is None for _, name, _ in found)
    if has_rows and kinds.get("type") == "null":
        del kinds["type"]
    schema = _schema(kinds, has_rows=has_rows)
    read = partial(_rows, files=files, kind=kind, schema=arrow_schema(schema))
    return map_batches(sources, read, schema)


def _files(path: str) -> tuple[str, ...]:
    """Return the files that tasks open through pyarrow; none where Spark has to."""
    if (local := local_path(path)) is None:
        return () if why_not_opened(path) is not None else files_in(path)
    if local.exists():
        return files_in(str(local))  # tasks have folders of their own
    return tuple(sorted(glob.glob(str(local), recursive=True)))


def _join(before: str, kind: str, format: str, place: DataPlace) -> str:
    """Return the type that fits the values of two; CSV has text for all."""
    if kind == before or "null" in (before, kind):
        return before if kind == "null" else kind
    for pair in ((before, kind), (kind, before)):
        if pair in _WIDER:
            return pair[1]
    if format == "csv":
        return "string"
    raise BadData(
        "CER0784",
        f"some values are {before}, others {kind}",
        place=place,
        hint="an attribute has one type in Spark",
    )


def _schema(kinds: dict[str, str], *, has_rows: bool) -> StructType:
    from pyspark.sql.types import StructType

    schema = StructType()
    for name, kind in kinds.items():
        # without rows a column fits wherever a query needs it, as a time or as a position
        is_number = not has_rows and name not in ("type", "stream")
        schema.add(name, "long" if is_number else _SPARK_TYPES[kind])
    return schema


def text_stream(
    spark: SparkSession, path: str, kind: str, schema: StructType, files: int
) -> DataFrame:
    """Return the events of texts of a folder as they arrive, at most `files` in a micro-batch.

    Tasks raise `BadData` as for `text_frame`, and for a CSV with other columns than the schema.
    """
    from pyspark.sql import functions as fn

    reader = spark.readStream.format("binaryFile").option("maxFilesPerTrigger", files)
    reader = reader.schema("path string, modificationTime timestamp, length long, content binary")
    is_local = local_path(path) is not None and _files(path)
    columns = ["path"] if is_local else ["path", "content"]
    names = arrow_schema(schema)
    read = partial(_rows, files=(), kind=kind, schema=names, exact=kind == "csv")
    paths = reader.load(path).select(*columns)
    # Spark would name the last file of a task for all of its rows, and after a shuffle names none
    paths = paths.repartition(min(files, parallelism(paths)))
    events = map_batches(paths, read, schema)
    return events.observe(f"{EVENTS}-{uuid4().hex}", fn.count(fn.lit(1)).alias("events"))


def _sources(batches: Iterable[Any], files: Sequence[str]) -> Iterator[_Source]:
    """Yield files by number, by their names in Spark, or with what Spark has read of them."""
    for batch in batches:
        names, *contents = (column.to_pylist() for column in batch.columns)
        for n, name in enumerate(names):
            file = files[name] if files else re.sub(r"^file:(//)?(?=/)", "", name)
            yield file, partial(BytesIO, contents[0][n]) if contents else partial(_opened, file)


def _opened(place: str) -> Any:
    """Return a file opened through pyarrow, decompressed by its suffix."""
    files, path = resolve(place)
    try:
        return files.open_input_stream(path)
    except FileNotFoundError:
        raise gone(place) from None
    except OSError as error:
        raise unreadable(place, "text", error) from None


def _parts(source: _Source, kind: str, kinds: dict[str, Any] | None = None) -> Iterator[Part]:
    """Yield the events of a file; `kinds` are the Arrow types of cells, found here if not known."""
    from cerlab.io.column_types import ColumnTypes

    file, opened = source
    types = ColumnTypes()
    if kinds is not None:
        types.kinds, types.settled = kinds, True
    with opened() as raw:

        def read(size: int) -> bytes:
            try:
                return bytes(raw.read(size))
            except OSError as error:
                raise unreadable(file, "compressed", error) from None

        try:
            yield from text_parts(Blocks(read), kind, Reading(file, type_name=_NO_TYPE), types)
        except BadData as error:
            if error.code != "CER0744":  # a folder may have a file without rows
                raise


def _kinds(
    batches: Iterable[Any], files: Sequence[str], kind: str, *, untyped: bool
) -> Iterator[Any]:
    """Yield the columns of each file with their types, and one without a name if it has rows."""
    import pyarrow as pa

    schema = pa.schema([(name, pa.string()) for name in ("file", "name", "kind")])
    with spending("reading"):
        for file, opened in _sources(batches, files):
            names = _names(file, opened) if kind == "csv" else ()
            kinds: dict[str | None, str] = dict.fromkeys(names, "string" if untyped else "null")
            if names and untyped:
                kinds[None] = "null"
            for part in () if names and untyped else _parts((file, opened), kind):
                kinds[None] = "null"
                for name in column_names(part):
                    place = DataPlace(file, None, name)
                    one = _kind(column_of(part, name), place)
                    kinds[name] = _join(kinds.get(name, "null"), one, kind, place)
            columns = [{"file": file, "name": name, "kind": one} for name, one in kinds.items()]
            yield pa.RecordBatch.from_pylist(columns, schema)


def _names(file: str, opened: Callable[[], Any]) -> tuple[str, ...]:
    with opened() as raw:
        text = TextIOWrapper(raw, "utf-8", "surrogateescape", newline="")
        try:
            return read_header(text, Reading(file, type_name=_NO_TYPE)).names
        except BadData as error:
            if error.code != "CER0744":
                raise
            return ()


def _kind(column: Any, place: DataPlace) -> str:
    """Return the type of some values in Arrow's words."""
    import pyarrow as pa

    if is_arrow(column):
        if pa.types.is_dictionary(column.type):
            return "null" if column.dictionary.to_pylist() == [_NO_TYPE] else "string"
        return str(column.type)
    kind = "null"
    for one in {type(value) for value in column if value is not None}:
        kind = _join(kind, str(pa.scalar(one()).type), "ndjson", place)
    return kind


def _rows(
    batches: Iterable[Any], files: Sequence[str], kind: str, schema: Any, *, exact: bool = False
) -> Iterator[Any]:
    """Yield the rows of each file as record batches of a schema."""
    import pyarrow as pa

    with spending("reading"):
        for file, opened in _sources(batches, files):
            names = _names(file, opened) if exact else ()
            if names and {*names, "type"} != {*schema.names, "type"}:
                raise BadData(
                    "CER0742",
                    f"its columns are {', '.join(names)}, not {', '.join(schema.names)}",
                    place=DataPlace(file),
                    hint="the files of a stream have the same columns",
                )
            for part in _parts((file, opened), kind, _cells(schema)):
                columns = (_values(column_of(part, f.name), f, file) for f in schema)
                yield pa.RecordBatch.from_arrays([*columns], schema=schema)


def _cells(schema: Any) -> dict[str, Any]:
    """Return the types of cells for a schema: moments are read in nanoseconds."""
    import pyarrow as pa

    return {
        field.name: pa.timestamp("ns", field.type.tz)
        if pa.types.is_timestamp(field.type)
        else field.type
        for field in schema
        if field.name not in ("type", "stream")
    }


def _values(column: Any, field: Any, file: str) -> Any:
    """Return values as a column of a schema, NULL for a type that is not there."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if is_arrow(column) and pa.types.is_dictionary(column.type):
        column = decoded(column)
        if field.name == "type":
            missing = pc.equal(column, _NO_TYPE)
            column = pc.if_else(missing, pa.scalar(None, column.type), column)
    try:
        if not is_arrow(column):
            return pa.array(column, field.type)
        kind = column.type
        tests = (pa.types.is_boolean, pa.types.is_string, pa.types.is_timestamp)
        if not pa.types.is_null(kind) and any(is_a(kind) != is_a(field.type) for is_a in tests):
            raise pa.ArrowInvalid(f"there are values of {kind}")
        return column.cast(field.type)
    except (pa.ArrowException, OverflowError) as error:
        raise BadData(
            "CER0784",
            f"not all values are {field.type}: {error}",
            place=DataPlace(file, None, field.name),
            hint="an attribute has one type in Spark; a schema (--schema) declares text as string",
        ) from None
