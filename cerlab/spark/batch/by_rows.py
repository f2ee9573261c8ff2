"""Answers of a stream whose rows have to be sorted: Spark moves and sorts them one by one."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, assert_never

from cerlab.spark.batch.columns import answer_schema, key_names, keys_of, value_names, values_of
from cerlab.spark.batch.first_pass import Sorted, halo_of, part_of, spread
from cerlab.spark.batch.frame import how_many
from cerlab.spark.batch.request import Request
from cerlab.spark.plan import cuts
from cerlab.spark.plan.modes import Mode
from cerlab.spark.tasks import ranges_and_keys as tasks

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def answers_by_rows(asked: Request, found: Sorted) -> DataFrame:
    """The answers in the mode that is asked for."""
    rows = _rows(asked, found)
    match asked.choice.mode:
        case Mode.KEYS:
            return answers_by_keys(asked, rows)
        case Mode.RANGES:
            return _by_ranges(asked, found, rows)
        case Mode.ONE:
            return _in_one(asked, found, rows)
        case unknown:
            assert_never(unknown)


def _rows(asked: Request, found: Sorted) -> DataFrame:
    """The rows of the streams in FROM with all that later stages read.

    ``part``, what sorts them (`_order`), ``time``, and `values_of`.
    """
    columns: list[Column] = [part_of(asked, found.cuts)]
    if asked.position is not None:
        columns.append(asked.position.alias("position"))
    else:
        columns += keys_of(asked)
    if asked.clock is not None:
        columns.append(asked.clock.alias("time"))
    rows = asked.source.frame.select(*columns, *values_of(asked))
    if asked.is_numbered:
        rows = _numbered(asked, found, rows)
    if asked.kept is not None:
        rows = rows.where("kept")
    return rows


def _numbered(asked: Request, found: Sorted, rows: DataFrame) -> DataFrame:
    """The same rows with their positions: the rows before their part, and those before in it."""
    from pyspark.sql.types import LongType, StructType

    number = partial(
        tasks.number,
        offsets=tuple(cuts.offsets(found.summaries)),
        rows=tuple(each.rows for each in found.summaries),
    )
    schema = StructType([*rows.schema.fields]).add("position", LongType())
    return spread(rows, "part", found.parts, key_names(asked)).mapInArrow(number, schema)


def _order(asked: Request) -> list[str]:
    """The columns that sort the rows of a part."""
    return ["position"] if _has_positions(asked) else key_names(asked)


def _has_positions(asked: Request) -> bool:
    return asked.position is not None or asked.is_numbered


def _read(asked: Request, *more: str) -> list[str]:
    """The columns that the engine gets, after some others."""
    return [*more, *(["position"] if _has_positions(asked) else []), *value_names(asked)]


def answers_by_keys(asked: Request, rows: DataFrame) -> DataFrame:
    """Each key in one task: rows with positions by group, and inside a group by position."""
    return (
        rows.where("present")
        .select("group", "position", *value_names(asked))
        .repartition(asked.parts, "group")
        .sortWithinPartitions("group", "position")
        .mapInArrow(partial(tasks.evaluate_keys, job=asked.job), answer_schema(asked, rows))
    )


def _by_ranges(asked: Request, found: Sorted, rows: DataFrame) -> DataFrame:
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
        .mapInArrow(evaluate, answer_schema(asked, rows))
    )


def _in_one(asked: Request, found: Sorted, rows: DataFrame) -> DataFrame:
    """The whole stream as the only range."""
    from pyspark.sql import functions as fn

    kept = sum(each.kept for each in found.summaries)
    evaluate = partial(tasks.evaluate_ranges, job=asked.job, offsets=(0,), kept=(kept,))
    return (
        spread(rows.withColumn("part", fn.lit(0)), "part", 1, _order(asked))
        .select("part", fn.lit(True).alias("own"), *_read(asked))
        .mapInArrow(evaluate, answer_schema(asked, rows))
    )


def _last_range(asked: Request, found: Sorted) -> Column:
    """The last range that reads a row before its own."""
    from pyspark.sql import functions as fn

    halo = halo_of(asked, found)
    place = fn.col("time").cast("double") if halo.by_time else fn.col("position")
    return how_many(lambda n: place >= fn.lit(halo.bounds[n]), len(halo.bounds))
