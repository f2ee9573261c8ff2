"""Row patterns on a stream: MATCH_RECOGNIZE by key, in the order of `match_stream`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from cerlab.compile.pattern import QueryInput, as_pattern, is_row_pattern
from cerlab.engine.late_events import Length
from cerlab.errors import Unsupported, lists_options, refuse_misspelt
from cerlab.model.stream import TimeAxis
from cerlab.rows.recognise import column_kinds, recognise
from cerlab.rows.syntax import RowPattern
from cerlab.rows.text import row_pattern_text
from cerlab.rows.types import Binding, bind
from cerlab.spark import frame
from cerlab.spark.failures import failures
from cerlab.spark.frame import Source
from cerlab.spark.plan import Choice, Mode
from cerlab.spark.row_patterns import local_row_pattern
from cerlab.spark.stream.match import started
from cerlab.spark.stream.pandas_rows import kind_of
from cerlab.spark.stream.request import (
    OrderOptions,
    StreamOptions,
    StreamRequest,
    check_decimals,
    clock_of,
    order_of_job,
    refuse_batch,
    refuse_own_names,
    stream_explanation,
    stream_request_of,
)
from cerlab.spark.stream.step import BUCKETS, StreamJob

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@lists_options(OrderOptions, buckets=BUCKETS)
def match_recognize_stream(
    sdf: DataFrame,
    query: str | RowPattern,
    *,
    position: str,
    lateness: Length,
    **options: Unpack[OrderOptions],
) -> DataFrame:
    """Return the result of a MATCH_RECOGNIZE clause on a streaming DataFrame, for an append sink.

    The clause needs PARTITION BY, and ORDER BY a time, in ascending order; rows of one time are in
    the order of `position`. The rows of each partition are read in this order, which `lateness`
    and `lag` decide as in `match_stream`. A match is given when it is certain: when it is the match
    whatever rows follow. So a match whose last quantifier is greedy waits for the row after it, and
    the last match of a partition may wait for ever. The rows given are those that
    `cerlab.match_recognize` gives on all rows read, as far as they are certain.

    Args:
        position: A column of different integers, increasing with the time.
        lateness: `"10 seconds"`, a `timedelta`, or a number in the unit of the time. The first
            column of ORDER BY is the time.
        lag: How far a partition may be behind the newest row of all partitions. Rows that all
            partitions have passed then stop to wait. The state of a partition is kept for ever.
        checkpoint, output, quarantine, buckets: As in `match_stream`.

    Returns: The columns of the result, with the types that `match_recognize` gives them, and
    ``late``: NULL for a row of the result. A late row leaves as a row with its position in
    ``late``, its key under ONE ROW PER MATCH, and NULL in the others.

    Raises `Unsupported` for a clause without PARTITION BY or with another ORDER BY, `UsageError`
    for a DataFrame that is not a stream, and as `match_stream`. The streaming query fails with
    `BadData` for a match that AFTER MATCH cannot leave.
    """
    refuse_misspelt(options, OrderOptions.__optional_keys__)
    with failures():
        request = _request_of(sdf, query, position, lateness, options)
        return started(sdf.sparkSession, request, options.get("checkpoint"), options.get("output"))


@lists_options(StreamOptions, buckets=BUCKETS)
def explain_stream(
    sdf: DataFrame,
    query: QueryInput | RowPattern,
    *,
    position: str,
    lateness: Length,
    **options: Unpack[StreamOptions],
) -> str:
    """Return a description of how `match_stream` would run with the same arguments.

    For a row pattern, describe `match_recognize_stream`. Nothing runs.
    """
    if isinstance(query, RowPattern) or (isinstance(query, str) and is_row_pattern(query)):
        refuse_misspelt(options, OrderOptions.__optional_keys__)
        request = _request_of(sdf, query, position, lateness, options)
        return stream_explanation(request, request.job.query)
    refuse_misspelt(options, StreamOptions.__optional_keys__)
    pattern, sdf = as_pattern(query), frame.with_types(sdf, options.get("type_column"))
    request = stream_request_of(sdf, pattern, position=position, lateness=lateness, **options)
    return stream_explanation(request, pattern.text)


def _request_of(
    sdf: DataFrame,
    query: str | RowPattern,
    position: str,
    lateness: Length,
    options: OrderOptions,
) -> StreamRequest:
    refuse_batch(sdf, "match_recognize")
    frame.refuse_same_names(sdf.columns)
    pattern = local_row_pattern(query)
    empty = frame.arrow_schema(sdf.schema).empty_table()
    binding = bind(pattern, column_kinds(empty))
    source = _source(sdf)
    place = frame.position_column(source, position)
    time = _time_of(pattern, binding, position)
    # the columns of the result have the order of the input
    attributes = ("", *(name for name in sdf.columns if name in binding.read))
    frame.check_values(source, attributes)
    check_decimals(source, attributes, "row patterns")
    axis, clock, kind = None, place, "int64"
    if time != position:
        axis = TimeAxis(time)
        clock, kind = clock_of(source, None, axis)
    keys = dict.fromkeys(binding.names[column.name] for column in pattern.partition_by)
    job = StreamJob(
        plan=b"",
        query=row_pattern_text(pattern),
        result=_types_for_spark(recognise(pattern, empty).schema),
        attributes=attributes,
        kinds=tuple(kind_of(source, name) for name in attributes),
        keys=tuple(attributes.index(name) for name in keys),
        by_key=True,
        with_partition=False,
        **order_of_job(source, position, axis, kind, lateness, options),
    )
    refuse_own_names(job, job.result.names, "give the measure another name")
    return StreamRequest(source, None, Choice(Mode.KEYS, {}), place, clock, None, job)


def _source(sdf: DataFrame) -> Source:
    """Return the rows with an added column of one event type, as a stream of events needs."""
    from pyspark.sql import functions as fn

    names = ("", *sdf.columns)
    rows = sdf.toDF(*(f"c{n}" for n in range(1, len(names))))
    return Source(rows.select(fn.lit("row").alias("c0"), "*"), names, None)


def _time_of(pattern: RowPattern, binding: Binding, position: str) -> str:
    """Return the column of ORDER BY that is the time; raises `Unsupported` for another order."""
    items = pattern.order_by
    names = [binding.names[item.column.name] for item in items]
    if any(item.descending for item in items) or (names[1:] and names[1:] != [position]):
        raise Unsupported(
            "CER0494",
            "a stream of rows needs ORDER BY one time, ascending, then at most the position",
            hint=f"ORDER BY {names[0]}",
        )
    return names[0]


def _types_for_spark(schema: Any) -> Any:
    """Return the Arrow types of a result, as Spark uses them."""
    from pyspark.sql.pandas.types import from_arrow_schema

    return frame.arrow_schema(from_arrow_schema(schema))
