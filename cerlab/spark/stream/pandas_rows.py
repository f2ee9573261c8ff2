"""The transfer of rows through pandas, which confuses NULL and NaN."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cerlab.spark.frame import MOMENTS, Source, order_key

if TYPE_CHECKING:
    from pyspark.sql import Column
    from pyspark.sql.types import DataType

_KINDS = {
    "tinyint": "int64",
    "smallint": "int64",
    "int": "int64",
    "bigint": "int64",
    "float": "double",
    "double": "double",
    "boolean": "bool",
} | dict.fromkeys(MOMENTS, "timestamp[us]")


def kind_of(source: Source, name: str) -> str:
    """Return the Arrow type of an attribute in tasks, as text; ``string`` for a missing column."""
    spark_kind = source.kind(name) or "string"
    if spark_kind == "decimal":
        kind = source.frame.schema[source.names.index(name)].dataType
        return f"decimal128({kind.precision}, {kind.scale})"
    return _KINDS.get(spark_kind, "string")


def attribute_columns(
    source: Source, attributes: Sequence[str], *, exact: bool
) -> Iterator[Column]:
    """Yield the columns ``a0``, ``a1``, .. of attributes, with masks ``m0``, .. if needed.

    The engine treats NaN like NULL, and pandas does not distinguish them; if they must be `exact`,
    NULL among floats has a mask too.
    """
    for n, name in enumerate(attributes):
        kind = kind_of(source, name)
        column = source.column(name)
        if kind == "timestamp[us]":
            column = order_key(source, name)
        yield from column_and_mask(column, kind, f"a{n}", f"m{n}")
        if exact and kind == "double":
            yield column.isNull().alias(f"m{n}")


def column_and_mask(column: Column, kind: str, name: str, mask: str) -> Iterator[Column]:
    """Yield a column, and a mask of its NULLs if pandas would change its type for them."""
    from pyspark.sql import functions as fn

    if kind in ("int64", "timestamp[us]"):
        yield fn.coalesce(column.cast("bigint"), fn.lit(0)).alias(name)
        yield column.isNull().alias(mask)
    elif kind.startswith("decimal"):
        yield column.alias(name)
    else:
        spark_kinds = {"double": "double", "bool": "boolean", "string": "string"}
        yield column.cast(spark_kinds[kind]).alias(name)


def table_of_frames(frames: Iterable[Any], kinds: Mapping[str, tuple[str, str]]) -> Any:
    """Return all rows of some pandas frames as one Arrow table.

    `kinds` are types and masks by column.
    """
    import pyarrow as pa

    tables = []
    for frame in frames:
        arrays = [_array(frame, name, kind, mask) for name, (kind, mask) in kinds.items()]
        tables.append(pa.table(arrays, schema=schema_of(kinds)))
    return pa.concat_tables(tables) if tables else schema_of(kinds).empty_table()


def _array(frame: Any, name: str, kind: str, mask: str) -> Any:
    import pyarrow as pa

    values = frame[name]
    if mask in frame:
        sent_type = pa.float64() if kind == "double" else pa.int64()
        cells = values.to_numpy()
        return pa.array(cells, sent_type, mask=frame[mask].to_numpy(dtype=bool)).cast(_type(kind))
    return pa.array(values, _type(kind), from_pandas=True)


def schema_of(kinds: Mapping[str, tuple[str, str]]) -> Any:
    """Return the Arrow schema of the rows."""
    import pyarrow as pa

    return pa.schema([(name, _type(kind)) for name, (kind, _) in kinds.items()])


def _type(kind: str) -> Any:
    import pyarrow as pa

    if kind.startswith("decimal128("):
        precision, scale = kind.removeprefix("decimal128(").rstrip(")").split(",")
        return pa.decimal128(int(precision), int(scale))
    return pa.type_for_alias(kind)


def pandas_column(column: Any) -> Any:
    """Return a column of answers for pandas: moments as integers, floats as text.

    So no value is read as NULL; `restore` converts them back.
    """
    import pandas as pd

    return pd.Series(column.cast(_arrow_type_for_pandas(column.type)).to_pylist(), dtype=object)


def _arrow_type_for_pandas(kind: Any) -> Any:
    import pyarrow as pa

    if pa.types.is_list(kind):
        return pa.list_(_arrow_type_for_pandas(kind.value_type))
    if pa.types.is_floating(kind):
        return pa.string()
    return pa.int64() if pa.types.is_timestamp(kind) or pa.types.is_integer(kind) else kind


def pandas_type(kind: DataType) -> DataType:
    """Return the Spark type of a `pandas_column` with values of an Arrow type."""
    from pyspark.sql import types as ty

    match kind:
        case ty.ArrayType(elementType=inside):
            return ty.ArrayType(pandas_type(inside))
        case ty.FloatType() | ty.DoubleType():
            return ty.StringType()
        case ty.IntegralType() | ty.DateType() | ty.TimestampType() | ty.TimestampNTZType():
            return ty.LongType()
        case _:
            return kind


def restore(column: Column, kind: DataType) -> Column:
    """Return a column of type `pandas_type(kind)` converted back to the type `kind`."""
    from pyspark.sql import functions as fn
    from pyspark.sql import types as ty

    match kind:
        case ty.TimestampType():
            return fn.timestamp_micros(column)
        case ty.TimestampNTZType():
            return fn.timestamp_micros(column).cast("timestamp_ntz")
        case ty.DateType():
            return fn.date_from_unix_date((column / fn.lit(86_400_000_000)).cast("int"))
        case ty.ArrayType(elementType=inside):
            return fn.transform(column, lambda value: restore(value, inside))
        case _:
            return column.cast(kind)
