"""The first pass on Spark where the rows of a stream lie in order: no row is moved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from cerlab.model.clauses import EventWindow
from cerlab.spark.batch.columns import keys_of
from cerlab.spark.batch.frame import MICROSECOND
from cerlab.spark.batch.request import Request
from cerlab.spark.plan.assignment import (
    Dealing,
    begins_in_events,
    begins_in_time,
    dealing,
    parts_of,
    starts_of,
)
from cerlab.spark.plan.modes import Mode
from cerlab.spark.plan.reads import window_width
from cerlab.spark.plan.runs import Run, in_order, runs_in, runs_of

if TYPE_CHECKING:
    from pyspark.sql import Column
    from pyspark.sql.types import StructType


def runs_pass(asked: Request) -> Dealing | None:
    """The runs that the rows lie in, dealt out; None if they have to be sorted, or are no stream.

    Reads the columns that order the stream once.
    """
    runs = _runs(asked)
    if runs is None:
        return None
    part = parts_of(runs, 1 if asked.choice.mode is Mode.ONE else asked.parts)
    return dealing(runs, part, _begins(asked, runs, starts_of(part)))


def _runs(asked: Request) -> tuple[Run, ...] | None:
    keys = asked.source.frame.select(*keys_of(asked)).schema
    if any(" collate " in key.dataType.simpleString() for key in keys):
        return None  # an order that only Spark knows
    positions = asked.position is not None
    find = partial(runs_of, positions=positions)
    told = asked.source.frame.select(*_columns(asked)).mapInArrow(find, _schema(asked, keys))
    runs = runs_in(told.toArrow().to_pylist(), len(asked.keys))
    return None if runs is None else in_order(runs, positions=positions)


def _begins(asked: Request, runs: Sequence[Run], starts: Sequence[int]) -> list[int]:
    """The first run that each part reads; its own where the stream is not cut into ranges."""
    if asked.choice.mode is not Mode.RANGES:
        return list(starts)
    if isinstance(asked.plan.window, EventWindow):
        return begins_in_events(runs, starts, asked.width)
    return begins_in_time(runs, starts, window_width(asked.plan, asked.time, MICROSECOND))


def _columns(asked: Request) -> Iterator[Column]:
    """The columns of `cerlab.spark.plan.runs`."""
    from pyspark.sql import functions as fn

    yield from keys_of(asked)
    named = fn.length(asked.source.column("type")) > 0
    yield fn.coalesce(named, fn.lit(False)).alias("named")
    for name, column in (("kept", asked.kept), ("time", asked.clock)):
        if column is not None:
            yield column.alias(name)


def _schema(asked: Request, keys: StructType) -> StructType:
    """That of `cerlab.spark.plan.runs.runs_of`."""
    from pyspark.sql.types import DoubleType, LongType, StructType

    made = StructType()
    for end in "fl":
        for n, key in enumerate(keys):
            made.add(f"{end}{n}", key.dataType)
    made.add("rows", LongType()).add("kept", LongType())
    time = LongType() if asked.whole_times else DoubleType()
    return made.add("first_time", time).add("last_time", time)
