"""Answers of a stream whose rows Spark reads: what it moves are units of many relevant events.

The units are those of `cerlab.spark.tasks.shuffle_units`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from cerlab.spark.batch.columns import answer_schema, keys_of
from cerlab.spark.batch.frame import group_of
from cerlab.spark.batch.relevant_events import RelevantEvents
from cerlab.spark.batch.request import Request
from cerlab.spark.plan.assignment import RangeAssignment
from cerlab.spark.plan.modes import Mode
from cerlab.spark.tasks import shuffle_units as tasks
from cerlab.spark.tasks.shuffle_units import Placing

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ROWS_OF_A_BUCKET = 1 << 22
"""How many rows the keys of a bucket have together, about."""

UNITS = "part int, run int, unit binary"


def answers_in_units(
    request: Request, assignment: RangeAssignment, mode: Mode, sent: RelevantEvents
) -> DataFrame:
    """The answers; a task gets the units of one range, or of one bucket of keys."""
    numbered = request.is_numbered(mode)
    placing = Placing(request.position is not None, numbered, whole=sent.condition is None)
    schema = answer_schema(request)
    rows = _rows(request, sent, numbered=numbered, with_group=mode is Mode.KEYS)
    by_range = partial(tasks.units_of_ranges, assignment=assignment)
    if mode is Mode.KEYS:
        buckets = max(request.parts, -(-sum(assignment.rows) // ROWS_OF_A_BUCKET))
        if numbered:
            in_ranges = by_part(rows.mapInArrow(by_range, UNITS), assignment.parts)
            spread = partial(
                tasks.number_units, assignment=assignment, buckets=buckets, placing=placing
            )
            units = in_ranges.mapInArrow(spread, UNITS)
        else:
            spread = partial(tasks.units_of_buckets, assignment=assignment, buckets=buckets)
            units = rows.where("`group` IS NOT NULL").mapInArrow(spread, UNITS)
        evaluate = partial(tasks.evaluate_buckets, job=sent.job)
        return by_part(units, buckets).mapInArrow(evaluate, schema)
    evaluate = partial(tasks.evaluate_ranges, job=sent.job, assignment=assignment, placing=placing)
    units = rows.mapInArrow(by_range, UNITS)
    return by_part(units, assignment.parts).mapInArrow(evaluate, schema)


def _rows(request: Request, sent: RelevantEvents, *, numbered: bool, with_group: bool) -> DataFrame:
    """The rows where they lie, those that have to be seen, and what of them.

    Those of other streams are counted where positions are.
    """
    from pyspark.sql import functions as fn

    rows, columns = request.source.frame, [*keys_of(request), *sent.columns]
    if sent.condition is not None:
        rows = rows.where(sent.condition)
    if request.kept is not None and not numbered:
        rows = rows.where(request.kept)
    elif request.kept is not None:
        columns.append(request.kept.alias("kept"))
    if with_group:
        group, present = group_of(request.source, request.plan.partition)
        columns.append(fn.when(present, group).alias("group"))
    return rows.select(*columns)


def by_part(units: DataFrame, parts: int) -> DataFrame:
    """The units of each part in a task of its own, in the order of their runs.

    It is not sorted by the part, which is the same in a task: one integer is sorted by its digits.
    """
    return units.repartitionById(max(1, parts), "part").sortWithinPartitions("run")
