"""Answers of a stream whose rows Spark reads: what it moves are units of many relevant events.

The units are those of `cerlab.spark.tasks.shuffle_units`.
"""

from __future__ import annotations

from functools import partial, reduce
from operator import and_
from typing import TYPE_CHECKING

from cerlab.spark.batch.frame import WHOLE, group_of
from cerlab.spark.batch.relevant_events import RelevantEvents
from cerlab.spark.batch.request import Request, answer_schema, keys_of
from cerlab.spark.batch.writer import TaskAnswers
from cerlab.spark.plan.assignment import RangeAssignment
from cerlab.spark.plan.bit_fields import BitFields, bit_fields
from cerlab.spark.plan.modes import Mode
from cerlab.spark.tasks import shuffle_units as tasks
from cerlab.spark.tasks.shuffle_units import Placing

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ROWS_OF_A_BUCKET = 1 << 22
"""How many rows the keys of a bucket have together, about."""

UNITS = "part int, run int, unit binary"


def answers_in_units(
    request: Request, assignment: RangeAssignment, mode: Mode, events: RelevantEvents
) -> TaskAnswers:
    """The answers; a task gets the units of one range, or of one bucket of keys."""
    is_numbered, buckets = request.is_numbered(mode), None
    if mode is Mode.KEYS:
        buckets = max(request.parts, -(-sum(assignment.rows) // ROWS_OF_A_BUCKET))
    fields = _fields(request, assignment, events, buckets)
    placing = Placing(request.position is not None, is_numbered, events.condition is None, fields)
    schema = answer_schema(request)
    rows = _rows(request, events, is_numbered=is_numbered, buckets=buckets)
    if fields is not None:
        rows, assignment = _with_bit_fields(rows, fields), fields.over(assignment)
    if is_numbered or buckets is None:
        units = rows.mapInArrow(partial(tasks.units_of_ranges, assignment=assignment), UNITS)
        rows = by_part(units, assignment.parts)
    if buckets is None:
        evaluate = partial(
            tasks.evaluate_ranges, job=events.job, assignment=assignment, placing=placing
        )
        return TaskAnswers(rows, evaluate, schema)
    spread = (
        partial(tasks.number_units, assignment=assignment, buckets=buckets, placing=placing)
        if is_numbered
        else partial(tasks.units_of_buckets, assignment=assignment, buckets=buckets, fields=fields)
    )
    units = by_part(rows.mapInArrow(spread, UNITS), buckets)
    return TaskAnswers(
        units, partial(tasks.evaluate_buckets, job=events.job, fields=fields), schema
    )


def _rows(
    request: Request, events: RelevantEvents, *, is_numbered: bool, buckets: int | None
) -> DataFrame:
    """The rows where they lie, those that have to be seen, and what of them.

    Those of other streams are counted where positions are.
    """
    from pyspark.sql import functions as fn

    rows, columns = request.source.frame, [*keys_of(request), *events.columns]
    if events.condition is not None:
        rows = rows.where(events.condition)
    if request.from_filter is not None and not is_numbered:
        rows = rows.where(request.from_filter)
    elif request.from_filter is not None:
        columns.append(request.from_filter.alias("kept"))
    if buckets is not None:
        group, present = group_of(request.source, request.plan.partition)
        bucket = fn.pmod(group, fn.lit(buckets))
        if is_numbered:
            bucket = fn.when(present, bucket)
        else:
            rows = rows.where(present)
        columns.append(bucket.alias("group"))
    return rows.select(*columns)


def _fields(
    request: Request, assignment: RangeAssignment, events: RelevantEvents, buckets: int | None
) -> BitFields | None:
    """What of an event crosses as one integer; None where its columns cross.

    The first pass has seen between what values the first key, the positions and the times lie.
    """
    names, source = request.labels.keys, request.source
    whole = all(source.kind(name) in WHOLE for name in names)
    if request.position is None or request.names is not None or not whole or len(names) > 2:
        return None
    if not assignment.first:
        return None
    ends = zip(assignment.first[0], assignment.last[-1], strict=True)
    others = [("a0", 0, (1 << events.bits) - 1)]
    if buckets is not None:
        others.append(("group", 0, buckets - 1))
    time = request.labels.time
    if time is not None and assignment.times is not None and source.kind(time) == "bigint":
        others.append((f"a{events.job.attributes.index(time)}", *assignment.times))
    return bit_fields([(f"k{n}", *each) for n, each in enumerate(ends)], others)


def _with_bit_fields(rows: DataFrame, fields: BitFields) -> DataFrame:
    """The rows with one column for those in `fields`; NULL where one is outside."""
    from pyspark.sql import functions as fn

    inside = [
        fn.col(field.name).between(field.least, field.greatest)
        for field in fields.fields
        if field.name not in ("a0", "group")  # whose values are made here
    ]
    above = [
        fn.shiftleft(fn.col(field.name) - fn.lit(field.least).cast("bigint"), field.shift)
        for field in fields.fields
    ]
    code = fn.when(reduce(and_, inside), reduce(lambda a, b: a.bitwiseOR(b), above))
    others = [name for name in rows.columns if name not in fields.names]
    return rows.select(code.alias("k0"), *others)


def by_part(units: DataFrame, parts: int) -> DataFrame:
    """The units of each part in a task of its own, in the order of their runs.

    It is not sorted by the part, which is the same in a task: one integer is sorted by its digits.
    """
    return units.repartitionById(max(1, parts), "part").sortWithinPartitions("run")
