"""Requests for a batch: a query on a DataFrame, with its mode and order."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, TypedDict, Unpack

from cerlab.automata.plan import Plan, PlanClauses, plan_to_bytes
from cerlab.compile.pattern import Pattern, QueryInput, as_pattern
from cerlab.computed import cached_property
from cerlab.engine.measures import no_sum
from cerlab.engine.row_order import MICROSECOND, ColumnNames
from cerlab.errors import Unsupported, UsageError, by_door
from cerlab.evaluate.aggregates import (
    PLACES,
    Measure,
    check_attributes,
    check_running,
    selected_request,
)
from cerlab.evaluate.labelled import named_columns, repeatable_labels
from cerlab.evaluate.missing_names import requirements_of
from cerlab.evaluate.separation import warn_of_pairs
from cerlab.io.named_columns import NamedColumn
from cerlab.logic.cel.syntax import waits, windows
from cerlab.logic.ceql.syntax import partition_attributes, plan_clauses, query_text
from cerlab.model.clauses import AttributeWindow, EventWindow, TimeWindow
from cerlab.model.event import Timestamp, Value
from cerlab.model.stream import TimeAxis, axis_of_options
from cerlab.spark import frame
from cerlab.spark.ends import EndsIn, EndTimes, ends_of, refuse_unbounded, rows_of_ends
from cerlab.spark.evaluation import GroupJob, Job, evaluate_groups, way_of
from cerlab.spark.frame import FLOATS, WHOLE, Source, arrow_schema, source_of
from cerlab.spark.plan import Choice, Mode, attributes_of_job, choose_mode, time_attribute, why_not
from cerlab.spark.task_outputs import GroupRows, RowNames, merge_parts
from cerlab.spark.tasks import EventFile
from cerlab.spark.writer import TaskAnswers

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType, StructType


class Options(TypedDict, total=False):
    """Further options of `cerlab.spark.match`, described there."""

    type: str | None
    type_column: str | None
    time: str | None
    unit: str | None
    mode: str | None
    parts: int | None
    partition: bool
    columns: str | Iterable[str] | None
    ends_in: EndTimes | None


@dataclass(frozen=True)
class Request:
    """A plan for the stream of a DataFrame; its expressions use the columns of `source`."""

    source: Source
    plan: Plan
    choice: Choice
    time: TimeAxis | None
    keys: tuple[Column, ...]
    """The columns that order the stream; the last is the position, if there is one."""
    labels: ColumnNames
    position: Column | None
    from_filter: Column | None
    """The condition that an event is in a stream of FROM; None if every event is."""
    clock: Column | None
    """The column that a time window measures."""
    whole_times: bool
    """True if the clock is int64; otherwise it is float64."""
    attributes: tuple[str, ...]
    """The attributes of an event that the engine reads."""
    parts: int
    with_partition: bool
    names: RowNames | GroupRows | None
    """The requested columns of rows, or aggregates; None for positions."""
    ends: EndsIn | None

    @property
    def job(self) -> Job:
        """The part of the request that tasks need; they receive only events of streams in FROM."""
        plan = plan_to_bytes(replace(self.plan, streams=()))
        names, ends = self.names, self.ends
        return Job(plan, self.time, self.attributes, self.with_partition, names, ends)

    @cached_property
    def _of_ends(self) -> tuple[Column, Column] | None:
        if self.ends is None or self.clock is None:
            return None
        return rows_of_ends(self.ends, self.clock, whole=self.whole_times)

    @property
    def rows(self) -> DataFrame:
        """The rows that Spark reads: those of events that may be in an answer."""
        if self._of_ends is None:
            return self.source.frame
        inside, _ = self._of_ends
        if self.position is None and self.from_filter is not None:
            # rows of other streams count too, and their times need not be in order
            inside = inside | ~self.from_filter
        return self.source.frame.where(inside)

    def count_before(self) -> int:
        """Return the number of rows that precede `rows`, to count positions."""
        if self._of_ends is None or self.position is not None:
            return 0
        _, before = self._of_ends
        if self.from_filter is not None:
            before = before & self.from_filter
        return int(self.source.frame.where(before).count())

    def is_numbered(self, mode: Mode) -> bool:
        """Return whether rows must be numbered before they are dropped or distributed by key.

        Otherwise a column has positions, or the rows of a range are consecutive.
        """
        return self.position is None and (mode is Mode.KEYS or self.from_filter is not None)


def request_of(
    df: DataFrame,
    query: QueryInput,
    order_by: str | Sequence[str] = (),
    position: str | None = None,
    *,
    files: Sequence[EventFile] = (),
    **options: Unpack[Options],
) -> Request:
    """Return the request of `cerlab.spark.match` with the same arguments, without reading data.

    `files` are those of the DataFrame, if tasks read them. Raises as `match`, by the schema of the
    DataFrame.
    """
    pattern = as_pattern(query)
    source = source_of(df, options.get("type"), files, options.get("type_column"))
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
        raise no_order()
    check_partition(plan, with_partition=with_partition)
    parts = parts_of(source, options)
    time = time_of(source, options)
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
    ordering = (*order_by, *(() if position is None else (position,)))
    label_of_time = None if clock is None else time_attribute(plan.window, time)
    are_moments = source.kind(label_of_time or "") in frame.MOMENTS
    return Request(
        source=source,
        plan=plan,
        choice=choose_mode(plan, options.get("mode")),
        time=time,
        keys=tuple(keys),
        labels=frame.column_names(source, ordering, label_of_time),
        position=places,
        from_filter=frame.from_filter(source, plan.streams),
        clock=clock,
        whole_times=whole_times,
        attributes=attributes,
        parts=parts,
        with_partition=with_partition,
        names=names,
        ends=ends_of(options.get("ends_in"), pattern, plan, time, are_moments=are_moments),
    )


def no_order() -> UsageError:
    """Return the error for events without a given order."""
    hint = by_door("give order_by= or position=", "give --order-by or --position")
    return UsageError("CER0871", "the rows of a DataFrame have no order", hint=hint)


def check_count(name: str, count: int | None) -> None:
    """Raise `UsageError` for a number of parts, buckets or files below 1; None is the default."""
    if count is not None and count < 1:
        message, hint = f"{name} is {count}: 1 is the least", f"leave {name} out for one that fits"
        raise UsageError("CER0877", message, hint=hint)


def time_of(source: Source, options: Options) -> TimeAxis | None:
    """Return the requested time axis; raises as `axis_of_options`."""
    return frame.axis_of(source, axis_of_options(options.get("time"), options.get("unit")))


def names_of(pattern: Pattern, source: Source, options: Options) -> RowNames | None:
    """Return the requested columns of rows; raises the errors of `row_names`."""
    with_partition, columns = options.get("partition", False), options.get("columns")
    return row_names(pattern, source.names, columns, with_partition=with_partition)


def parts_of(source: Source, options: Options) -> int:
    """Return the number of parts of a stream, as requested or by the parallel tasks.

    Raises `UsageError` for less than one.
    """
    check_count("parts", parts := options.get("parts"))
    return parts or PARTS_PER_CORE * parallelism(source.frame)


def check_partition(plan: PlanClauses, *, with_partition: bool) -> None:
    """Raise `UsageError` if keys are requested but the query has no PARTITION BY."""
    if with_partition and not plan.partition:
        raise UsageError(
            "CER0876",
            "the query has no PARTITION BY, so no answer has a key",
            hint="leave partition out",
        )


def keys_of(request: Request) -> list[Column]:
    """Return the columns that order the stream: ``k0 k1 ..``."""
    return [key.alias(f"k{n}") for n, key in enumerate(request.keys)]


def answer_schema(request: Request) -> StructType:
    """Return the schema of answers, with the key if requested.

    For rows with names and for aggregates, the schema of their columns.
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
"""Parts of the stream for each parallel task."""


def parallelism(df: DataFrame) -> int:
    """Return the number of tasks that Spark runs in parallel.

    Spark Connect does not report it, so a job counts the parts into which Spark cuts a range.
    """
    from pyspark.errors import PySparkException
    from pyspark.sql import functions as fn

    try:
        return int(df.sparkSession.sparkContext.defaultParallelism)
    except (PySparkException, AttributeError):  # Spark Connect has no SparkContext
        numbers = df.sparkSession.range(1 << 12).select(fn.spark_partition_id().alias("part"))
        return 1 + int(numbers.agg(fn.max("part")).toArrow().column(0)[0].as_py())


OF_SELECT = "*"
"""Text that denotes the columns of SELECT."""


def row_names(
    pattern: Pattern,
    source_names: Collection[str],
    columns: str | Iterable[str] | None,
    *,
    with_partition: bool,
) -> RowNames | None:
    """Return the requested columns of rows; None if positions are requested.

    Raises `UsageError` for unknown columns, and for a request of the key as well.
    """
    if columns is None:
        return None
    if with_partition:
        raise UsageError(
            "CER0897",
            "rows with names already contain the attributes of PARTITION BY",
            hint=by_door("leave partition= out", "leave --partition out"),
        )
    texts = None if columns == OF_SELECT else [columns] if isinstance(columns, str) else columns
    selection = named_columns(pattern, texts, source_names)
    key = tuple(dict.fromkeys(partition_attributes(pattern.ast)))
    return RowNames(tuple(selection), key, repeatable_labels(pattern))


def answer_types(source: Source, names: RowNames | GroupRows) -> StructType:
    """Return the schema of rows with columns, or of a task's parts of aggregates."""
    from pyspark.sql.types import LongType, StructType

    if isinstance(names, GroupRows):
        return (group_types if names.are_final else part_types)(source, names)
    schema = StructType().add("start", LongType()).add("end", LongType())
    for name in names.key:
        schema.add(name, source.type_of(name))
    for column in names.columns:
        schema.add(column.name, _type(source, names, column))
    return schema


def _type(source: Source, names: RowNames, column: NamedColumn) -> DataType:
    from pyspark.sql.types import ArrayType, LongType

    if column.function == "count":
        return LongType()
    one = LongType() if column.attribute is None else source.type_of(column.attribute)
    return ArrayType(one) if column in names.lists else one


def group_rows(pattern: Pattern, source: Source, **others: object) -> GroupRows:
    """Return the rows of SELECT COUNT(*) and sums; other given options raise `UsageError`.

    Also raises `Unsupported` for queries without an automaton and under LIMIT, `UsageError` for
    unknown columns, `TypeMismatch` for sums of values that are not numbers.
    """
    for option in (name for name, value in others.items() if value):
        message = f"{option} cannot be combined with SELECT COUNT(*) and sums"
        raise UsageError("CER0865", message, hint=f"leave {option} out")
    refuse_correlated(pattern, "they give rows with names, to be grouped there")
    check_running(pattern)
    request = check_attributes(selected_request(pattern), pattern, source.names)
    for _, attribute in request.summands:
        if (kind := source.kind(attribute)) not in (*WHOLE, *FLOATS, "decimal", "void"):
            raise no_sum(attribute, kind)
    return GroupRows(request)


def group_types(source: Source, rows: GroupRows) -> StructType:
    """Return the schema of aggregates, with the types of `cerlab.evaluate.aggregates`."""
    from pyspark.sql.types import LongType, StructType

    request, schema = rows.request, StructType()
    for name in request.groups:
        schema.add(name, _group_type(source, rows, name))
    if request.count:
        schema.add("count", LongType())
    for measure in request.measures:
        schema.add(measure.name, _measure_type(source, measure))
    return schema


def part_types(source: Source, rows: GroupRows) -> StructType:
    """Return the schema of the parts of `cerlab.spark.task_outputs`."""
    from pyspark.sql.types import BinaryType, StructType

    request, schema = rows.request, StructType()
    for n, name in enumerate(request.groups):
        schema.add(f"g{n}", _group_type(source, rows, name))
    for name in ("runs", *_sums(rows)):
        schema.add(name, BinaryType())
    for n, measure in enumerate(request.extremes):
        schema.add(f"m{n}", _measure_type(source, measure))
    return schema


def merged_groups(parts: DataFrame, source: Source, rows: GroupRows) -> TaskAnswers:
    """Return one row for each group, from parts; without groups one row, even for no part."""
    from pyspark.sql import functions as fn

    request, types = rows.request, group_types(source, rows)
    lists = [fn.collect_list(name).alias(name) for name in ("runs", *_sums(rows))]
    extremes = [
        (fn.min if measure.function == "min" else fn.max)(f"m{n}").alias(f"m{n}")
        for n, measure in enumerate(request.extremes)
    ]
    by_group = parts.groupBy(*(f"g{n}" for n in range(len(request.groups)))).agg(*lists, *extremes)
    merge = partial(merge_parts, rows=GroupRows(request, arrow_schema(types)))
    return TaskAnswers(by_group, merge, types)


def _sums(rows: GroupRows) -> list[str]:
    return [f"{name}{n}" for n in range(len(rows.request.summands)) for name in "sp"]


def _group_type(source: Source, rows: GroupRows, name: str) -> DataType:
    from pyspark.sql.types import LongType

    if name in PLACES:
        return LongType()
    attribute_of = {column.name: str(column.attribute) for column in rows.request.labelled}
    return _by_code_point(source.type_of(attribute_of.get(name, name)))


def _measure_type(source: Source, measure: Measure) -> DataType:
    from pyspark.sql.types import DoubleType, LongType

    attribute, kind = measure.place[1], source.type_of(measure.place[1])
    is_decimal = source.kind(attribute) == "decimal"
    doubles = kind.scale > 0 if is_decimal else source.kind(attribute) in FLOATS
    if measure.function in ("min", "max") and not is_decimal:
        return _by_code_point(kind)
    whole = measure.function != "avg" and not doubles
    return LongType() if whole else DoubleType()


def _by_code_point(kind: DataType) -> DataType:
    """Return the type of values with text compared by code point, not by a collation."""
    from pyspark.sql.types import CharType, StringType, VarcharType

    return StringType() if isinstance(kind, StringType | CharType | VarcharType) else kind


def refuse_aggregates(pattern: Pattern) -> None:
    """Raise `Unsupported` for SELECT COUNT(*) and sums on a stream."""
    if pattern.ast.aggregates:
        raise Unsupported(
            "CER0493",
            "streams on Spark do not support aggregates in SELECT",
            hint="list rows with columns= and group them, or use cerlab.spark.match",
        )


def runs_in_groups(pattern: Pattern) -> bool:
    """Return whether tasks evaluate a query key by key in memory, without an automaton."""
    return pattern.machine_kind != "automaton" or pattern.ast.throttle is not None


_WITHOUT_PLAN = {
    "registers": "filters that compare labels have no automaton",
    "waits": "waits, look-backs and windows in time inside a formula have no automaton",
    "listed": "filters on groups of events are tested on listed answers",
    "automaton": "queries with THROTTLE have to see earlier answers of a key",
    None: "strategies inside a formula have no automaton on intervals alone",
}
"""Why tasks evaluate a query key by key, by its `MachineKind`."""


def refuse_correlated(pattern: Pattern, why: str = "they run by key, in batches") -> None:
    """Raise `Unsupported` for a query that `runs_in_groups`.

    For a query that no machine evaluates, raise the error of the engine.
    """
    if not runs_in_groups(pattern):
        return
    way_of(pattern)
    raise Unsupported(
        "CER0496",
        f"{_WITHOUT_PLAN[pattern.machine_kind]}; on Spark {why}",
        hint="use cerlab.spark.match with PARTITION BY and position=, or cerlab.evaluate",
    )


def attributes_of_groups(
    pattern: Pattern, plan: PlanClauses, clock: str | None, names: RowNames | None
) -> tuple[str, ...]:
    """Return the attributes that tasks read for a query without plan, ``type`` first."""
    needs = requirements_of(pattern)
    read = ["type", *needs.attributes, *plan.partition, *(["stream"] if needs.streams else ())]
    read += [] if clock is None else [clock]
    return tuple(dict.fromkeys((*read, *(names.attributes if names else ()))))


def correlated_answers(
    source: Source,
    pattern: Pattern,
    position: str | None,
    time: TimeAxis | None,
    parts: int,
    names: RowNames | None,
    ends_in: EndTimes | None = None,
) -> DataFrame:
    """Return the answers of a query by key; one task holds all events of a key in memory.

    Raises `Unsupported` for a query that is not local to a key, or without a column of positions,
    and as `cerlab.spark.match`.
    """
    from pyspark.sql import functions as fn

    plan = PlanClauses(**plan_clauses(pattern.ast))
    if pattern.machine_kind == "registers" and pattern.separated is not None:
        compared = {x.attribute for C in pattern.separated.changed for x in C.attributes}
        if any(source.kind(name) in (*FLOATS, "decimal") for name in compared):
            warn_of_pairs(pattern)
    if (reason := why_not(plan, Mode.KEYS)) is not None:
        refuse_correlated(pattern, f"they run by key: {reason}")
    if position is None:
        refuse_correlated(pattern, "their positions are given, not counted")
    assert position is not None
    way_of(pattern)
    lengths = waits(pattern.formula)
    if ends_in is not None:
        refuse_unbounded(pattern, plan)
    for length in (plan.window, plan.throttle, *windows(pattern.formula)):
        if isinstance(length, TimeWindow):
            time = time or frame.only_moment(source)
        if isinstance(length, AttributeWindow | TimeWindow):
            frame.time_column(source, length, time)
    are_moments = source.kind(time_attribute(plan.window, time) or "") in frame.MOMENTS
    ends = ends_of(ends_in, pattern, plan, time, are_moments=are_moments)
    clock = None if time is None else time.attribute
    attributes = attributes_of_groups(pattern, plan, clock, names)
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
    until = _last_time(source, pattern, lengths, time, from_filter) if lengths else None
    if ends is not None and isinstance(plan.window, AttributeWindow | TimeWindow):
        column, whole = frame.time_column(source, plan.window, time)
        present = present & rows_of_ends(ends, column, whole=whole)[0]
    job = GroupJob(text, time, attributes, names, until, ends)
    rows = (
        source.frame.where(present if from_filter is None else present & from_filter)
        .select(group.alias("group"), place, *columns)
        .repartition(parts, fn.col("group"))
        .sortWithinPartitions("group", "position")
    )
    evaluate = partial(evaluate_groups, job=job)
    return frame.map_batches(rows, evaluate, schema if names is None else types)


def _last_time(
    source: Source,
    pattern: Pattern,
    lengths: Sequence[TimeWindow | AttributeWindow],
    time: TimeAxis | None,
    from_filter: Column | None,
) -> Value | None:
    """Return the largest time of the streams in FROM over all keys, at which WAIT's clock ends.

    Spark reads the column of times once for it. Raises `Unsupported` for waits on two axes.
    """
    from pyspark.sql import functions as fn

    clocks = {x.attribute if isinstance(x, AttributeWindow) else None for x in lengths}
    if len(clocks) > 1:
        refuse_correlated(pattern, "they run by key, and waits on two axes have two clocks")
    column, whole = frame.time_column(source, lengths[0], time)
    if not whole:
        column = fn.when(~fn.isnan(column), column)
    rows = source.frame if from_filter is None else source.frame.where(from_filter)
    last = rows.agg(fn.max(column).alias("last")).toArrow().column("last")[0].as_py()
    (attribute,) = clocks
    if attribute is None and time is not None:
        attribute = time.attribute
    are_moments = source.kind(attribute or "") in frame.MOMENTS
    return Timestamp(last * MICROSECOND) if are_moments and last is not None else last
