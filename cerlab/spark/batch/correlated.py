"""Queries whose filters compare labels: on Spark they run by key, each key as a whole."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from cerlab.compile.pattern import Pattern
from cerlab.errors import Unsupported
from cerlab.evaluate.requirements import requirements_of
from cerlab.logic.ceql.text import query_text
from cerlab.model.clauses import AttributeWindow, TimeWindow
from cerlab.model.clock import TimeAxis
from cerlab.spark.batch import frame
from cerlab.spark.batch.frame import Source, arrow_schema
from cerlab.spark.batch.named import answer_types
from cerlab.spark.plan.modes import Mode, why_not
from cerlab.spark.tasks.groups import GroupJob, evaluate_groups
from cerlab.spark.tasks.named_rows import RowNames

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def refuse_aggregates(pattern: Pattern) -> None:
    """Raise `Unsupported` for SELECT COUNT(*) and sums, on a stream."""
    if pattern.ast.aggregates:
        raise Unsupported(
            "CER0493",
            "on streams of Spark answers are listed, and SELECT asks for aggregates over them",
            hint="list rows with names by columns= and group those, or take cerlab.spark.match",
        )


def refuse_correlated(pattern: Pattern, why: str = "they run by key, in batches") -> None:
    """Raise `Unsupported` for a query that compares labels."""
    if pattern.has_automaton or not pattern.has_registers:
        return
    raise Unsupported(
        "CER0496",
        f"filters that compare labels have no automaton; on Spark {why}",
        hint="cerlab.spark.match takes them with PARTITION BY and position=, "
        "cerlab.evaluate all of them",
    )


def correlated_answers(
    source: Source,
    pattern: Pattern,
    position: str | None,
    time: TimeAxis | None,
    parts: int,
    names: RowNames | None,
) -> DataFrame:
    """The answers of a query by key, or rows with names: of each key in the memory of one task.

    Raises `Unsupported` for what is not local to a key, or without a column of positions, and as
    `cerlab.spark.match`.
    """
    from pyspark.sql import functions as fn

    plan = pattern.registers
    if (reason := why_not(plan, Mode.KEYS)) is not None:
        refuse_correlated(pattern, f"they run by key: {reason}")
    if position is None:
        refuse_correlated(pattern, "their positions are given, not counted")
    assert position is not None
    if isinstance(plan.window, TimeWindow):
        time = time or frame.only_moment(source)
    if isinstance(plan.window, AttributeWindow | TimeWindow):
        frame.time_column(source, plan.window, time)
    read = ["type", *requirements_of(pattern).attributes, *plan.partition]
    read += [] if time is None else [time.attribute]
    attributes = tuple(dict.fromkeys((*read, *(names.attributes if names else ()))))
    frame.check_values(source, attributes)
    schema = "start bigint, end bigint, positions array<bigint>"
    if names is not None:
        types = answer_types(source, names)
        names = replace(names, schema=arrow_schema(types))
    group, present = frame.group_of(source, plan.partition)
    from_filter = frame.from_filter(source, plan.streams)
    columns = [source.column(name).alias(f"a{n}") for n, name in enumerate(attributes)]
    place = frame.position_column(source, position).alias("position")
    text = query_text(replace(pattern.ast, streams=()))
    job = GroupJob(text, time, attributes, names)
    return (
        source.frame.where(present if from_filter is None else present & from_filter)
        .select(group.alias("group"), place, *columns)
        .repartition(parts, fn.col("group"))
        .sortWithinPartitions("group", "position")
        .mapInArrow(partial(evaluate_groups, job=job), schema if names is None else types)
    )
