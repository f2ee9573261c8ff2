"""What is asked of a DataFrame: a query, the order of its events, and what follows from both."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypedDict, Unpack

from cerlab.automata.plan import Plan
from cerlab.automata.plan_json import plan_to_bytes
from cerlab.compile.pattern import Pattern
from cerlab.compile.text_to_pattern import What, as_pattern
from cerlab.errors import UsageError
from cerlab.model.clauses import EventWindow, TimeWindow
from cerlab.model.clock import TimeAxis, time_axis
from cerlab.spark.batch import frame
from cerlab.spark.batch.aggregates import group_rows
from cerlab.spark.batch.correlated import refuse_correlated
from cerlab.spark.batch.frame import Source, arrow_schema, source_of
from cerlab.spark.batch.named import answer_types, row_names
from cerlab.spark.plan.modes import Choice, Mode, choose_mode
from cerlab.spark.plan.order import Labels
from cerlab.spark.plan.reads import attributes_of_job, time_attribute
from cerlab.spark.tasks.aggregates import GroupRows
from cerlab.spark.tasks.evaluation import Job
from cerlab.spark.tasks.named_rows import RowNames

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType


class Options(TypedDict, total=False):
    """What `cerlab.spark.match` takes besides, which says what it means."""

    type: str | None
    time: str | None
    unit: str | None
    mode: str | None
    parts: int | None
    partition: bool
    columns: str | Iterable[str] | None


@dataclass(frozen=True)
class Request:
    """A plan on the stream of a DataFrame; the expressions are over the columns of `source`."""

    source: Source
    plan: Plan
    choice: Choice
    time: TimeAxis | None
    keys: tuple[Column, ...]
    """What orders the stream; the positions are the last of them, if there is a column of those."""
    labels: Labels
    position: Column | None
    from_filter: Column | None
    """Whether an event is of a stream in FROM; None if all are."""
    clock: Column | None
    """What a window in time is measured on."""
    whole_times: bool
    """Whether that is int64, else float64."""
    attributes: tuple[str, ...]
    """What the engine reads of an event."""
    parts: int
    with_partition: bool
    names: RowNames | GroupRows | None
    """The columns of rows with names, or aggregates, where those are asked for, not positions."""

    @property
    def job(self) -> Job:
        """The job of the tasks; the other streams are left out before them."""
        plan = replace(self.plan, streams=())
        return Job(plan_to_bytes(plan), self.time, self.attributes, self.with_partition, self.names)

    def is_numbered(self, mode: Mode) -> bool:
        """Whether positions have to be made before rows are left out or spread by key.

        Otherwise there is a column of them, or the rows of a range are consecutive.
        """
        return self.position is None and (mode is Mode.KEYS or self.from_filter is not None)


def request_of(
    df: DataFrame,
    query: What,
    order_by: str | Sequence[str] = (),
    position: str | None = None,
    *,
    files: Sequence[str] = (),
    **options: Unpack[Options],
) -> Request:
    """The request of `cerlab.spark.match` with the same arguments; nothing is read for it.

    `files` are the places of those that the DataFrame is, where tasks read them for it. Raises as
    `match`, by the schema of the DataFrame.
    """
    pattern, source = as_pattern(query), source_of(df, options.get("type"), files)
    names: RowNames | GroupRows | None
    if pattern.ast.aggregates:
        others = {name: options.get(name) for name in ("columns", "partition")}
        names = group_rows(pattern, source, **others)
    else:
        refuse_correlated(pattern)
        names = names_of(pattern, source, options)
    plan, with_partition = pattern.plan, options.get("partition", False)
    order_by = (order_by,) if isinstance(order_by, str) else tuple(order_by)
    if not order_by and position is None:
        raise UsageError(
            "CER0871",
            "the rows of a DataFrame have no order",
            hint="give order_by= or position= (on the command line: --order-by, --position)",
        )
    check_partition(plan, with_partition=with_partition)
    parts = parts_of(source, options)
    time = time_of(options)
    if isinstance(plan.window, TimeWindow):
        time = time or frame.only_moment(source)
    attributes = attributes_of_job(plan, time, None if names is None else names.attributes)
    if names is not None:
        names = replace(names, schema=arrow_schema(answer_types(source, names)))
    frame.check_values(source, attributes)
    clock, whole_times = None, True
    if plan.window is not None and not isinstance(plan.window, EventWindow):
        clock, whole_times = frame.time_column(source, plan.window, time)
    keys = [frame.order_key(source, name) for name in order_by]
    places = None if position is None else frame.position_column(source, position)
    if places is not None:
        keys.append(places)
    label_of_time = None if clock is None else time_attribute(plan, time)
    return Request(
        source=source,
        plan=plan,
        choice=choose_mode(plan, options.get("mode")),
        time=time,
        keys=tuple(keys),
        labels=Labels((*order_by, *(() if position is None else (position,))), label_of_time),
        position=places,
        from_filter=frame.from_filter(source, plan.streams),
        clock=clock,
        whole_times=whole_times,
        attributes=attributes,
        parts=parts,
        with_partition=with_partition,
        names=names,
    )


def time_of(options: Options) -> TimeAxis | None:
    """The time axis that is asked for."""
    time = options.get("time")
    return time_axis(time, options.get("unit")) if time else None


def names_of(pattern: Pattern, source: Source, options: Options) -> RowNames | None:
    """The columns of rows with names that are asked for. Raises as `row_names`."""
    with_partition, columns = options.get("partition", False), options.get("columns")
    return row_names(pattern, source.names, columns, with_partition=with_partition)


def parts_of(source: Source, options: Options) -> int:
    """Into how many parts a stream is cut: as asked, else by the tasks that run at a time.

    Raises `UsageError` for less than one.
    """
    if (parts := options.get("parts")) is not None and parts < 1:
        raise UsageError(
            "CER0877",
            f"parts is {parts}: 1 is the least",
            hint="leave parts out for one that fits the data",
        )
    return parts or PARTS_PER_CORE * parallelism(source.frame)


def check_partition(plan: Plan, *, with_partition: bool) -> None:
    """Raise `UsageError` where answers are to have a key, and have none."""
    if with_partition and not plan.partition:
        raise UsageError(
            "CER0876",
            "the query has no PARTITION BY, so no answer has a key",
            hint="leave partition out",
        )


def keys_of(request: Request) -> list[Column]:
    """What orders the stream: ``k0 k1 ..``."""
    return [key.alias(f"k{n}") for n, key in enumerate(request.keys)]


def answer_schema(request: Request) -> StructType:
    """The schema of DESIGN 2.6, with the key where it is asked for.

    Of rows with names and of aggregates, that of their columns.
    """
    from pyspark.sql.types import ArrayType, LongType, StructField, StructType

    if request.names is not None:
        return answer_types(request.source, request.names)
    schema = StructType([StructField("start", LongType()), StructField("end", LongType())])
    schema.add("positions", ArrayType(LongType()))
    if request.with_partition:
        keys = [
            StructField(name, request.source.type_of(name))
            for name in dict.fromkeys(request.plan.partition)
        ]
        schema.add("partition", StructType(keys))
    return schema


PARTS_PER_CORE = 2
"""Into how many parts the stream is cut for each task that runs at a time."""


def parallelism(df: DataFrame) -> int:
    """How many tasks Spark runs at a time; where a server does not say, its shuffle partitions."""
    from pyspark.errors import PySparkException

    try:
        return int(df.sparkSession.sparkContext.defaultParallelism)
    except (PySparkException, AttributeError):  # Spark Connect has no context
        return int(df.sparkSession.conf.get("spark.sql.shuffle.partitions") or 1)
