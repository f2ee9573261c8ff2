"""Text files as DataFrames: tasks read files as `cerlab.io` does, with equal values and errors.

Spark's own readers accept other cells as numbers, fill short rows, replace bytes that are not UTF-8
and use the header of one file. One task reads a file, block by block: once for the types of its
columns, then for its rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from io import BytesIO, TextIOWrapper
from typing import TYPE_CHECKING, Any, TypeAlias
from uuid import uuid4

from cerlab.errors import BadData, DataPlace, by_door
from cerlab.io.arrow import unreadable
from cerlab.io.conversion import Key, RowReading, types_differ
from cerlab.io.delimited import read_header
from cerlab.io.formats import FORMATS
from cerlab.io.names import keys_in
from cerlab.io.options import empty
from cerlab.io.parts import Part, column_names, column_of
from cerlab.io.text_reader import Blocks, text_parts
from cerlab.model.columns import decoded, is_arrow, values_of
from cerlab.spark.failures import failures
from cerlab.spark.footers import gone, local_path, resolve
from cerlab.spark.frame import arrow_schema, map_batches
from cerlab.spark.request import parallelism
from cerlab.spark.tasks import EventFile, spending

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

EVENTS = "cerlab_events"
"""Prefix of observed metrics: the number of rows of texts, since Spark counts files."""

_NO_TYPE = "\0"
"""Type of rows without a type until they are in a DataFrame: no text file contains a NUL."""

_SPARK_TYPES = {
    "null": "string",
    "int64": "long",
    "double": "double",
    "bool": "boolean",
    "string": "string",
    "timestamp[ns]": "timestamp_ntz",
    "timestamp[ns, tz=UTC]": "timestamp",
    # types of far moments, and of integers beyond 64 bits (`cerlab.io.column_types`)
    "timestamp[us]": "timestamp_ntz",
    "timestamp[us, tz=UTC]": "timestamp",
    "large_string": "string",
}
"""JSON names of Spark's types, by Arrow types."""

_WIDER = {
    ("int64", "double"),
    ("int64", "large_string"),
    ("large_string", "double"),
    ("timestamp[ns]", "timestamp[us]"),
    ("timestamp[ns, tz=UTC]", "timestamp[us, tz=UTC]"),
}
"""Types of cells with a common wider type, as in `cerlab.io.column_types.join`."""

_Source: TypeAlias = "tuple[EventFile, Callable[[], Any]]"
"""A file, and a function that opens it."""

_Sources: TypeAlias = "Callable[[Iterable[Any]], Iterator[_Source]]"
"""A function from the rows of a task to the files that these name."""


def text_frame(
    spark: SparkSession, files: Sequence[EventFile], path: str, kind: str, *, untyped: bool
) -> DataFrame:
    """Return the events of text files; Spark itself opens a `path` that cerlab cannot open.

    Cells stay text if `untyped`. Tasks raise `BadData` with file, row and column, as `cerlab.io`
    does; the driver raises it for a key with values of two types.
    """
    if files:
        sources = spark.range(0, len(files), 1, len(files))
    else:  # Spark reads addresses that only it can open, as whole files
        sources = spark.read.format("binaryFile").load(path).select("path", "content")
    files_of_tasks = partial(_sources, files=files, kind=kind)
    look = partial(_kinds, sources=files_of_tasks, untyped=untyped)
    with failures(path):
        found = map_batches(sources, look, "file string, name string, kind string").collect()
    formats = {file.place: file.kind for file in files}
    kinds: dict[str, str] = {}
    for file, name, one in found:
        if name is not None:
            place = DataPlace(file, None, name)
            kinds[name] = _join(kinds.get(name, "null"), one, formats.get(file, kind), place)
    if not kinds:
        raise empty(path)
    has_rows = any(name is None for _, name, _ in found)
    if has_rows and kinds.get("type") == "null":
        del kinds["type"]
    schema = _schema(kinds, has_rows=has_rows)
    read = partial(_rows, sources=files_of_tasks, schema=arrow_schema(schema))
    return map_batches(sources, read, schema)


def _join(before: str, kind: str, format: str, place: DataPlace) -> str:
    """Return the type that fits the values of both types; text fits all cells of a text."""
    if kind == before or "null" in (before, kind):
        return before if kind == "null" else kind
    for pair in ((before, kind), (kind, before)):
        if pair in _WIDER:
            return pair[1]
    if FORMATS[format].has_cells:
        return "string"
    raise types_differ(kind, before, place)


def _schema(kinds: dict[str, str], *, has_rows: bool) -> StructType:
    from pyspark.sql.types import StructType

    schema = StructType()
    for name, kind in kinds.items():
        # a column without rows must fit any use in a query, as a time or as a position
        is_number = not has_rows and name not in ("type", "stream")
        schema.add(name, "long" if is_number else spark_type(kind))
    return schema


def spark_type(kind: str) -> str:
    """Return the JSON name of Spark's type for an Arrow type of cells."""
    return _SPARK_TYPES[kind]


def text_stream(
    spark: SparkSession, path: str, kind: str, schema: StructType, files: int
) -> DataFrame:
    """Return the events of a folder's texts as they arrive, at most `files` in a micro-batch.

    Tasks raise `BadData` as for `text_frame`, and for a CSV with other columns than the schema.
    """
    from pyspark.sql import functions as fn

    reader = spark.readStream.format("binaryFile").option("maxFilesPerTrigger", files)
    reader = reader.schema("path string, modificationTime timestamp, length long, content binary")
    reader = reader.option("recursiveFileLookup", True)
    columns = ["path"] if local_path(path) is not None else ["path", "content"]
    names = arrow_schema(schema)
    sources = partial(_arrived, kind=kind, folder=path, schema=names)
    read = partial(_rows, sources=sources, schema=names, exact=kind == "csv")
    paths = reader.load(path).select(*columns)
    # Spark names the last file of a task for all of its rows, and none after a shuffle
    paths = paths.repartition(min(files, parallelism(paths)))
    events = map_batches(paths, read, schema)
    return events.observe(f"{EVENTS}-{uuid4().hex}", fn.count(fn.lit(1)).alias("events"))


def _sources(batches: Iterable[Any], files: Sequence[EventFile], kind: str) -> Iterator[_Source]:
    """Yield `files` by the numbers in batches; without `files`, texts that Spark has read."""
    for batch in batches:
        names, *contents = (column.to_pylist() for column in batch.columns)
        for n, name in enumerate(names):
            if files:
                yield files[name], partial(opened, files[name].place)
            else:
                yield EventFile(_without_scheme(name), kind, {}), partial(BytesIO, contents[0][n])


def _arrived(batches: Iterable[Any], kind: str, folder: str, schema: Any) -> Iterator[_Source]:
    """Yield a folder's files by their names in Spark, or with contents that Spark has read."""
    import pyarrow as pa

    from cerlab.io.column_types import text_array, typed_rows

    root = str(local_path(folder) or folder.partition("?")[0])
    for batch in batches:
        names, *contents = (column.to_pylist() for column in batch.columns)
        for n, name in enumerate(names):
            place = _without_scheme(name)
            keys = {}
            for key, text in keys_in(place.removeprefix(root).lstrip("/"), place).items():
                column = text_array([text])
                is_text = key not in schema.names or pa.types.is_string(schema.field(key).type)
                keys[key] = Key(text, values_of(column if is_text else typed_rows(column), key)[0])
            file = EventFile(place, kind, keys)
            yield file, partial(BytesIO, contents[0][n]) if contents else partial(opened, place)


def _without_scheme(name: str) -> str:
    """Return the path of a local file given by its name in Spark; other names are unchanged."""
    return re.sub(r"^file:(//)?(?=/)", "", name)


def opened(place: str) -> Any:
    """Return a file opened through pyarrow, decompressed by its suffix."""
    files, path = resolve(place)
    try:
        return files.open_input_stream(path)
    except FileNotFoundError:
        raise gone(place) from None
    except OSError as error:
        raise unreadable(place, "text", error) from None


def _parts(source: _Source, kinds: dict[str, Any] | None = None) -> Iterator[Part]:
    """Yield the events of a file; `kinds` are the cells' Arrow types, determined here if None."""
    from cerlab.io.column_types import ColumnTypes

    file, open_text = source
    types = ColumnTypes()
    if kinds is not None:
        types.kinds, types.settled = kinds, True
    with open_text() as raw:

        def read(size: int) -> bytes:
            try:
                return bytes(raw.read(size))
            except OSError as error:
                raise unreadable(file.place, "compressed", error) from None

        try:
            yield from text_parts(Blocks(read), file.kind, _reading(file), types)
        except BadData as error:
            if error.code != "CER0744":  # a file of a folder may have no rows
                raise


def _reading(file: EventFile) -> RowReading:
    return RowReading(file.place, type_name=_NO_TYPE, keys=file.keys)


def _kinds(batches: Iterable[Any], sources: _Sources, *, untyped: bool) -> Iterator[Any]:
    """Yield the columns of each file with their types, and a NULL name if the file has rows."""
    import pyarrow as pa

    schema = pa.schema([(name, pa.string()) for name in ("file", "name", "kind")])
    with spending("reading"):
        for file, open_text in sources(batches):
            names = _names(file, open_text) if file.kind == "csv" else ()
            as_text = untyped and FORMATS[file.kind].has_cells
            kinds: dict[str | None, str] = dict.fromkeys(names, "string" if as_text else "null")
            if names and as_text:
                kinds[None] = "null"
            for part in () if names and as_text else _parts((file, open_text)):
                kinds[None] = "null"
                for name in column_names(part):
                    place = DataPlace(file.place, None, name)
                    one = "string" if as_text else _kind(column_of(part, name), place)
                    kinds[name] = _join(kinds.get(name, "null"), one, file.kind, place)
            columns = [{"file": file.place, "name": n, "kind": one} for n, one in kinds.items()]
            yield pa.RecordBatch.from_pylist(columns, schema)


def _names(file: EventFile, open_text: Callable[[], Any]) -> tuple[str, ...]:
    with open_text() as raw:
        text = TextIOWrapper(raw, "utf-8", "surrogateescape", newline="")
        try:
            return read_header(text, _reading(file)).names
        except BadData as error:
            if error.code != "CER0744":
                raise
            return ()


def _kind(column: Any, place: DataPlace) -> str:
    """Return the Arrow type of some values as text."""
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
    batches: Iterable[Any], sources: _Sources, schema: Any, *, exact: bool = False
) -> Iterator[Any]:
    """Yield the rows of each file as record batches of a schema."""
    import pyarrow as pa

    with spending("reading"):
        for file, open_text in sources(batches):
            names = _names(file, open_text) if exact else ()
            if names and {*names, "type"} != {*schema.names, "type"}:
                raise BadData(
                    "CER0742",
                    f"expected the columns {', '.join(schema.names)}, got {', '.join(names)}",
                    place=DataPlace(file.place),
                    hint="all files of a stream must have the same columns",
                )
            for part in _parts((file, open_text), _cells(schema)):
                columns = (_values(column_of(part, f.name), f, file.place) for f in schema)
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
    """Return values as a column of a schema; NULL for a missing type."""
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
            hint=by_door(
                "an attribute has one type in Spark; schema= declares text as string",
                "an attribute has one type in Spark; --schema FILE declares text as string",
            ),
        ) from None
