"""A DataFrame as a stream: columns under internal names, and expressions over them.

Columns get the names ``c0``, ``c1``, ..: so every column can be referred to, whatever its name, and
upper and lower case stay distinct.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias
from warnings import catch_warnings

from cerlab.computed import cached_property
from cerlab.engine.row_order import MICROSECOND, ColumnNames
from cerlab.errors import BadData, UsageError, by_door, nearest
from cerlab.evaluate.missing_names import idle_unit, warn_of
from cerlab.model.clauses import AttributeWindow, TimeWindow
from cerlab.model.event import Event, Timestamp, Value
from cerlab.model.stream import TimeAxis, clock_for
from cerlab.spark.launch import clocks_of
from cerlab.spark.tasks import EventFile, timed

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType, StructType


WHOLE = ("tinyint", "smallint", "int", "bigint")

FLOATS = ("float", "double")

MOMENTS = ("timestamp", "timestamp_ntz", "date")

Task: TypeAlias = "Callable[[Iterable[Any]], Iterator[Any]]"
"""The function of a task, from input batches to result batches."""


def map_batches(rows: DataFrame, task: Task, schema: StructType | str) -> DataFrame:
    """Return the rows that tasks compute from the rows of a DataFrame.

    `cerlab.spark.time_spent` measures their cost.
    """
    if (clocks := clocks_of(rows.sparkSession)) is not None:
        task = partial(timed, function=task, clocks=clocks)
    return rows.mapInArrow(task, schema)


_EPOCH = "TIMESTAMP_NTZ'1970-01-01 00:00:00'"


@dataclass(frozen=True)
class Source:
    """A DataFrame with columns ``c0``, ``c1``, .. for the attributes `names`."""

    frame: DataFrame
    names: tuple[str, ...]
    type: str | None
    """The type of all events, if no column contains types."""
    files: tuple[EventFile, ...] = ()
    """The Parquet files of the DataFrame, if tasks read them instead of Spark."""
    measured: dict[tuple[str, int], dict[str, Any]] = field(default_factory=dict, compare=False)
    """Least and greatest values of columns that footers lack, as far as tasks computed them."""
    type_column: str | None = None
    """The name of the column ``type`` in `files`, if it differs."""

    @cached_property
    def schema(self) -> StructType:
        """The column types, cached because each look-up would ask Spark."""
        return self.frame.schema

    @property
    def names_in_files(self) -> list[str]:
        """The names that the columns have in `files`."""
        types = self.type_column or "type"
        return [types if name == "type" else name for name in self.names]

    @property
    def keys(self) -> list[dict[str, Any]]:
        """The folder keys of each file, as Arrow scalars."""
        import pyarrow as pa

        fields = zip(arrow_schema(self.schema), self.names_in_files, strict=True)
        schema = pa.schema([field.with_name(name) for field, name in fields])
        return [file.scalars(schema) for file in self.files]

    def kind(self, name: str) -> str | None:
        """Return a column's type in Spark's words, without parameters; None without a column."""
        if name not in self.names:
            return "string" if name == "type" and self.type is not None else None
        text: str = self.schema[self.names.index(name)].dataType.simpleString()
        return text.partition("(")[0].partition("<")[0].partition(" ")[0]

    def type_of(self, name: str) -> DataType:
        """Return the Spark type of the column of an attribute."""
        from pyspark.sql.types import NullType, StringType

        kind = self.schema[self.names.index(name)].dataType if name in self.names else None
        return StringType() if kind is None or isinstance(kind, NullType) else kind

    def is_plain_text(self, name: str) -> bool:
        """Return whether an attribute contains text that Spark compares byte by byte."""
        from pyspark.sql.types import StringType

        if name not in self.names:
            return self.kind(name) == "string"
        field = self.schema[self.names.index(name)]
        # CHAR and VARCHAR are strings marked in their metadata, and CHAR pads with blanks
        is_padded = any("char_varchar" in key.lower() for key in field.metadata)
        return field.dataType == StringType() and not is_padded

    def column(self, name: str) -> Column:
        """Return the column of an attribute, or NULL if no column has it."""
        from pyspark.sql import functions as fn

        if name in self.names and self.kind(name) != "void":
            return fn.col(f"c{self.names.index(name)}")
        constant = self.type if name == "type" and name not in self.names else None
        return fn.lit(constant).cast("string")


def source_of(
    frame: DataFrame,
    type_name: str | None,
    files: Sequence[EventFile] = (),
    type_column: str | None = None,
) -> Source:
    """Return a DataFrame as a stream; raises `BadData` or `UsageError` if that is impossible."""
    names = tuple(frame.columns)
    refuse_same_names(names)
    refuse_stream(frame, "match")
    if "type" not in names and type_name is None:
        raise BadData(
            "CER0736",
            "there is no column 'type'",
            hint=by_door(
                "give type= if all rows are of one type",
                "give --type NAME if all rows are of one type",
            ),
        )
    renamed_frame = frame.toDF(*(f"c{n}" for n in range(len(names))))
    source = Source(renamed_frame, names, type_name, tuple(files), type_column=type_column)
    for name in ("type", "stream"):
        if source.kind(name) not in (None, "string", "char", "varchar", "void"):
            raise BadData(
                "CER0701",
                f"column '{name}' is {source.kind(name)}, not text",
                hint="cast it to string",
            )
    return source


def with_types(frame: DataFrame, type_column: str | None) -> DataFrame:
    """Return a DataFrame whose column `type_column`, if given, is renamed to ``type``.

    The frame may be one of pandas-on-Spark. Raises `UsageError` for a missing column, or if a
    column
    ``type`` exists too.
    """
    frame = spark_frame(frame)
    if type_column in (None, "type"):
        return frame
    if type_column not in frame.columns:
        message = f"there is no column '{type_column}' to hold the event types"
        raise BadData("CER0736", message, hint=nearest(str(type_column), frame.columns))
    if "type" in frame.columns:
        hint = f"drop 'type', or leave type_column='{type_column}' out"
        raise BadData("CER0732", "'type' occurs twice", hint=hint)
    return frame.toDF(*("type" if name == type_column else name for name in frame.columns))


def spark_frame(frame: Any) -> DataFrame:
    """Return a Spark DataFrame; named index levels of a pandas-on-Spark frame become columns.

    Args:
        frame: A DataFrame of Spark, also of Spark Connect, or of `pyspark.pandas`.
    """
    # in Spark Connect each unknown attribute of a DataFrame is a column
    if not hasattr(type(frame), "to_spark"):
        spark: DataFrame = frame
        return spark
    names = list(frame.index.names)
    # Spark warns otherwise: "an index without a name is dropped"
    with catch_warnings(action="ignore"):
        has_names = all(isinstance(name, str) and name not in frame.columns for name in names)
        of_pandas: DataFrame = frame.to_spark(index_col=names if has_names else None)
    return of_pandas


OrderBy: TypeAlias = "str | Column | Sequence[str | Column]"
"""Columns that order a stream: names, nested fields such as ``user.ts``, or Spark columns."""


def with_order(frame: DataFrame, order_by: OrderBy) -> tuple[DataFrame, tuple[str, ...]]:
    """Return a DataFrame that contains all ordering columns, and the names of these columns.

    A nested field or an expression becomes a further column, named by its alias or its text. Raises
    `UsageError` for a column in descending order.
    """
    from pyspark.errors import AnalysisException
    from pyspark.sql import Column
    from pyspark.sql import functions as fn

    several = [order_by] if isinstance(order_by, str | Column) else order_by
    names: list[str] = []
    for each in several:
        text = each if isinstance(each, str) else _text_of_column(each)
        if text in frame.columns:
            names.append(text)
            continue
        name = text.rpartition(" AS ")[2].replace("`", "")
        if name in frame.columns:
            name = text
        try:
            more = frame.withColumn(name, fn.col(each) if isinstance(each, str) else each)
            _ = more.schema  # reading the schema forces the check: Spark Connect is lazy
        except AnalysisException:
            if not isinstance(each, str):
                raise
            more = frame  # `order_key` refuses the name
        frame = more
        names.append(name)
    return frame, tuple(names)


def _text_of_column(column: Column) -> str:
    """Return a Spark column as text, which is its name if the DataFrame has this column."""
    text = str(column).removeprefix("Column<'").removesuffix("'>")
    if re.search(r" (ASC|DESC) NULLS (FIRST|LAST)$", text):
        message = f"order_by={text}: the events of a stream are read in ascending order"
        hint = "give the column without asc() and desc()"
        raise UsageError("CER0874", message, hint=hint)
    return text


def refuse_same_names(names: Sequence[str]) -> None:
    """Raise `UsageError` for two columns with one name."""
    if len(set(names)) < len(names):
        double = next(name for name in names if names.count(name) > 1)
        message, hint = (
            f"two columns are called '{double}'",
            "rename or drop one of the two columns",
        )
        raise UsageError("CER0872", message, hint=hint)


def refuse_stream(frame: DataFrame, verb: str) -> None:
    """Raise `UsageError` for a streaming DataFrame."""
    if frame.isStreaming:
        hint = f"{verb} takes a batch, {verb}_stream takes streams"
        raise UsageError("CER0873", "this DataFrame is a stream", hint=hint)


def check_values(source: Source, attributes: Sequence[str]) -> None:
    """Raise `BadData` for columns whose types cannot be values of events."""
    others = ("decimal", "boolean", "string", "char", "varchar", "void")
    kinds = (*WHOLE, *FLOATS, *MOMENTS, *others)
    for name in attributes:
        if (kind := source.kind(name)) is not None and kind not in kinds:
            raise BadData(
                "CER0741",
                f"column '{name}' of {kind} holds no values of events",
                hint="cast the column to numbers, text, booleans or timestamps, or drop it",
            )


def order_key(source: Source, name: str) -> Column:
    """Return an ordering column as values that tasks can compare and transfer."""
    from pyspark.sql.types import StringType

    kind = source.kind(name)
    if kind is None:
        hint = nearest(name, source.names)
        raise UsageError("CER0874", f"there is no column '{name}' to order by", hint=hint)
    check_values(source, [name])
    if kind == "string" and source.schema[source.names.index(name)].dataType != StringType():
        raise UsageError(
            "CER0894",
            f"'{name}' is collated: only Spark knows the order of its values",
            hint="order by collate(.., 'UTF8_BINARY'), or by a number",
        )
    if kind in MOMENTS:
        return _micros(source, name)
    if kind in WHOLE:
        return source.column(name).cast("bigint")
    return source.column(name).cast("double") if kind in FLOATS else source.column(name)


def position_column(source: Source, name: str) -> Column:
    """Return the column of positions, as int64."""
    if source.kind(name) not in WHOLE:
        kind = source.kind(name)
        message = "there is no such column" if kind is None else f"it is {kind}, not an integer"
        hint = nearest(name, source.names) if kind is None else "positions are integers"
        raise UsageError("CER0875", f"position='{name}': {message}", hint=hint)
    return source.column(name).cast("bigint")


def only_moment(source: Source) -> TimeAxis | None:
    """Return the axis of the only column of moments, or None."""
    names = [name for name in source.names if source.kind(name) in MOMENTS]
    return TimeAxis(names[0]) if len(names) == 1 else None


def axis_of(source: Source, axis: TimeAxis | None) -> TimeAxis | None:
    """Return the time axis, without its unit if its column has moments; warn about such a unit.

    So every distance computed from the axis is in the unit of the column.
    """
    if axis is None or axis.unit is None or source.kind(axis.attribute) not in MOMENTS:
        return axis
    warn_of([idle_unit(axis, "moments")])
    return TimeAxis(axis.attribute)


def time_column(
    source: Source, window: AttributeWindow | TimeWindow, axis: TimeAxis | None
) -> tuple[Column, bool]:
    """Return the column that a time window measures, and whether it is int64 (else float64).

    Moments are in microseconds. Raises as `clock_for` and its clocks do.
    """
    clock = clock_for(window, axis)
    name = (
        window.attribute if isinstance(window, AttributeWindow) else getattr(axis, "attribute", "")
    )
    kind = source.kind(name)
    # called only because the clock raises an error for such values
    clock(Event("?", {name: _example(kind)}), 0)
    if kind in MOMENTS:
        return _micros(source, name), True
    if kind in WHOLE:
        return source.column(name).cast("bigint"), True
    return source.column(name).cast("double"), False


def _example(kind: str | None) -> Value:
    """Return a value of a Spark type, to find the error that a clock raises for the type."""
    if kind in MOMENTS:
        return Timestamp(0)
    if kind in (*WHOLE, *FLOATS, "decimal"):
        return 0 if kind in WHOLE else 0.0
    if kind == "boolean":
        return False
    return None if kind in (None, "void") else "text"


def column_names(source: Source, keys: Sequence[str], time: str | None) -> ColumnNames:
    """Return the names of the columns that order a stream.

    `_micros` turns moments into integers.
    """
    names = dict.fromkeys((*keys, *(() if time is None else (time,))))
    moments = (name for name in names if source.kind(name) in MOMENTS)
    return ColumnNames(tuple(keys), time, tuple((name, MICROSECOND) for name in moments))


def _micros(source: Source, name: str) -> Column:
    """Return moments as microseconds since 1970, independent of the session's time zone."""
    from pyspark.sql import functions as fn

    place = f"c{source.names.index(name)}"
    match source.kind(name):
        case "timestamp":
            return fn.unix_micros(fn.col(place))
        case "date":
            return fn.unix_date(fn.col(place)).cast("bigint") * 86_400_000_000
        case _:
            return fn.expr(f"timestampdiff(MICROSECOND, {_EPOCH}, {place})")


def from_filter(source: Source, streams: Sequence[str]) -> Column | None:
    """Return a condition that an event is in a stream of FROM; None if every event is."""
    if not streams or "stream" not in source.names:
        return None
    stream = source.column("stream")
    return stream.isNull() | stream.isin(*streams)


def group_of(source: Source, attributes: Sequence[str]) -> tuple[Column, Column]:
    """Return a number that equal keys share, and a condition that an event has a key.

    Spark shuffles rows by this number, so it may be coarser than the equality of keys
    (`cerlab.predicates.truth`) but never finer: both zeros are equal, and decimals become the
    nearest float, as some of them equal floats.
    """
    from pyspark.sql import functions as fn

    parts, present = [], fn.lit(True)
    for name in dict.fromkeys(attributes):
        column, kind = source.column(name), source.kind(name)
        present = present & column.isNotNull()
        if kind in (*FLOATS, "decimal"):
            column = column.cast("double")
            present = present & ~fn.isnan(column)
            column = fn.when(column == 0, fn.lit(0.0)).otherwise(column)
        parts.append(column)
    return fn.xxhash64(*parts), present


def arrow_schema(schema: StructType) -> Any:
    """Return the Arrow types with which Spark accepts rows of a schema."""
    from pyspark.sql.pandas.types import to_arrow_schema

    return to_arrow_schema(schema, timezone="UTC")
