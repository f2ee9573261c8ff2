"""The batch pipeline: a DataFrame of events to a DataFrame of answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypedDict, Unpack, assert_never
from warnings import warn

from cerlab.errors import CerlabWarning
from cerlab.model.clock import time_axis
from cerlab.query import What, as_query
from cerlab.spark import cuts, tasks
from cerlab.spark.first_pass import FirstPass, first_pass, halo_of, part_of, spread
from cerlab.spark.frame import group_of, how_many, source_of
from cerlab.spark.modes import Mode, chosen
from cerlab.spark.request import Request, request

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType


class Options(TypedDict, total=False):
    """What `match` takes besides; `match` says what it means."""

    type: str | None
    time: str | None
    unit: str | None
    mode: str | None
    parts: int | None
    partition: bool


def match(
    df: DataFrame,
    query: What,
    order_by: str | Sequence[str] = (),
    position: str | None = None,
    **options: Unpack[Options],
) -> DataFrame:
    """The answers of a query on the events of a DataFrame, exactly those of the local engine.

    The stream is the rows in the order of the columns `order_by`, numbered from 0; or in that of
    `position`, a column of integers that are then the positions of the answers. With both, the
    positions have to increase along `order_by`. Options:

    ``type``         the event type of all rows, where no column has it
    ``time, unit``   the time attribute for windows in hours, minutes or seconds
    ``mode``         ``"keys"``, ``"ranges"`` or ``"one"``; by default the first that is exact
                     (`cerlab.spark` has the table)
    ``parts``        how many parts the stream is cut into; two for each task that runs at a time
    ``partition``    with True each answer has its key besides, as a struct ``partition``

    Columns ``start``, ``end`` (bigint) and ``positions`` (array<bigint>), in no order. The call
    itself reads the columns that order the stream, to cut it and to check it; answers are
    evaluated when Spark needs them. Raises `BadData` for events without a place in the stream, or
    two in one, and for times that are missing or go back, `Unsupported` for a mode that is not
    exact, `UsageError` for columns that are not there.
    """
    return answers(asked_of(df, query, order_by, position, **options))


def matching(
    query: What,
    order_by: str | Sequence[str] = (),
    position: str | None = None,
    **options: Unpack[Options],
) -> Callable[[DataFrame], DataFrame]:
    """`match` for ``df.transform(matching(query, ..))``; the arguments are the same."""
    return lambda df: match(df, query, order_by, position, **options)


def asked_of(
    df: DataFrame,
    query: What,
    order_by: str | Sequence[str] = (),
    position: str | None = None,
    **options: Unpack[Options],
) -> Request:
    """What `match` is asked, checked; nothing is read yet. Raises as `match`."""
    plan = as_query(query).plan
    time = options.get("time")
    return request(
        source_of(df, options.get("type")),
        plan,
        chosen(plan, options.get("mode")),
        order_by=[order_by] if isinstance(order_by, str) else list(order_by),
        position=position,
        time=time_axis(time, options.get("unit")) if time else None,
        parts=options.get("parts"),
        with_partition=options.get("partition", False),
    )


def answers(asked: Request, found: FirstPass | None = None) -> DataFrame:
    """The DataFrame of the answers; without `found` the first pass is made here."""
    mode, passed_over = asked.choice.mode, asked.choice.passed_over
    if mode is Mode.ONE and passed_over:
        reasons = "; ".join(f"{each.value}: {reason}" for each, reason in passed_over.items())
        message = f"CER0950: all events go through one task, in order ({reasons})"
        warn(CerlabWarning(message), stacklevel=3)
    found = found or first_pass(asked)
    rows = _rows(asked, found)
    match mode:
        case Mode.KEYS:
            return _by_keys(asked, rows)
        case Mode.RANGES:
            return _by_ranges(asked, found, rows)
        case Mode.ONE:
            return _in_one(asked, found, rows)
        case _:
            assert_never(mode)


def _rows(asked: Request, found: FirstPass) -> DataFrame:
    """The rows of the streams in FROM with all that later stages read.

    ``part``, what sorts them (`_order`), ``time``, the attributes ``a0 a1 ..``, and the group.
    """
    columns: list[Column] = [part_of(asked, found.cuts)]
    if asked.position is not None:
        columns.append(asked.position.alias("position"))
    else:
        columns += [key.alias(f"k{n}") for n, key in enumerate(asked.keys)]
    for name, column in (("kept", asked.kept), ("time", asked.clock)):
        if column is not None:
            columns.append(column.alias(name))
    for n, name in enumerate(asked.attributes):
        columns.append(asked.source.column(name).alias(f"a{n}"))
    if asked.choice.mode is Mode.KEYS:
        group, present = group_of(asked.source, asked.plan.partition)
        columns += [group.alias("group"), present.alias("present")]
    rows = asked.source.frame.select(*columns)
    if asked.is_numbered:
        rows = _numbered(asked, found, rows)
    if asked.kept is not None:
        rows = rows.where("kept")
    return rows


def _numbered(asked: Request, found: FirstPass, rows: DataFrame) -> DataFrame:
    """The same rows with their positions: the rows before their part, and those before in it."""
    from pyspark.sql.types import LongType, StructType

    number = partial(
        tasks.number,
        offsets=tuple(cuts.offsets(found.summaries)),
        rows=tuple(each.rows for each in found.summaries),
    )
    schema = StructType([*rows.schema.fields]).add("position", LongType())
    keys = [f"k{n}" for n in range(len(asked.keys))]
    return spread(rows, "part", found.parts, keys).mapInArrow(number, schema)


def _order(asked: Request) -> list[str]:
    """The columns that sort the rows of a part."""
    if asked.position is not None or asked.is_numbered:
        return ["position"]
    return [f"k{n}" for n in range(len(asked.keys))]


def _read(asked: Request, *more: str) -> list[str]:
    """The columns that the engine gets, after some others."""
    has_positions = asked.position is not None or asked.is_numbered
    positions = ["position"] if has_positions else []
    return [*more, *positions, *(f"a{n}" for n in range(len(asked.attributes)))]


def _by_keys(asked: Request, rows: DataFrame) -> DataFrame:
    """Each key in one task: rows by group, and inside a group by position."""
    columns = _read(asked, "group")
    return (
        rows.where("present")
        .select(*columns)
        .repartition(asked.parts, "group")
        .sortWithinPartitions("group", "position")
        .mapInArrow(partial(tasks.evaluate_keys, job=asked.job), _schema(asked, rows))
    )


def _by_ranges(asked: Request, found: FirstPass, rows: DataFrame) -> DataFrame:
    """Each range in one task, with what its window reads before it."""
    from pyspark.sql import functions as fn

    last = fn.greatest(fn.col("part"), _last_range(asked, found))
    dealt = rows.withColumn("range", fn.explode(fn.sequence("part", last)))
    evaluate = partial(
        tasks.evaluate_ranges,
        job=asked.job,
        offsets=tuple(cuts.offsets(found.summaries)),
        kept=tuple(each.kept for each in found.summaries),
    )
    return (
        spread(dealt, "range", found.parts, _order(asked))
        .withColumn("own", fn.col("range") == fn.col("part"))
        .select(fn.col("range").alias("part"), *_read(asked, "own"))
        .mapInArrow(evaluate, _schema(asked, rows))
    )


def _in_one(asked: Request, found: FirstPass, rows: DataFrame) -> DataFrame:
    """The whole stream as the only range."""
    from pyspark.sql import functions as fn

    kept = sum(each.kept for each in found.summaries)
    evaluate = partial(tasks.evaluate_ranges, job=asked.job, offsets=(0,), kept=(kept,))
    return (
        spread(rows.withColumn("part", fn.lit(0)), "part", 1, _order(asked))
        .select("part", fn.lit(True).alias("own"), *_read(asked))
        .mapInArrow(evaluate, _schema(asked, rows))
    )


def _last_range(asked: Request, found: FirstPass) -> Column:
    """The last range that reads a row before its own."""
    from pyspark.sql import functions as fn

    halo = halo_of(asked, found)
    place = fn.col("time").cast("double") if halo.by_time else fn.col("position")
    return how_many(lambda n: place >= fn.lit(halo.bounds[n]), len(halo.bounds))


def _schema(asked: Request, rows: DataFrame) -> StructType:
    """The schema of DESIGN 2.6, with the key where it is asked for."""
    from pyspark.sql.types import ArrayType, LongType, StructField, StructType

    schema = StructType([StructField("start", LongType()), StructField("end", LongType())])
    schema.add("positions", ArrayType(LongType()))
    if asked.with_partition:
        keys = [
            StructField(name, rows.schema[f"a{asked.attributes.index(name)}"].dataType)
            for name in dict.fromkeys(asked.plan.partition)
        ]
        schema.add("partition", StructType(keys))
    return schema
