"""Requests for a stream: a query, an order, a lateness in units of time."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from cerlab.automata.plan import Plan, PlanClauses, plan_to_bytes
from cerlab.compile.pattern import Pattern, QueryInput, as_pattern
from cerlab.engine.late_events import Length, length_in, length_of
from cerlab.engine.reorder import Instant
from cerlab.engine.row_order import MICROSECOND, ColumnNames
from cerlab.errors import BadData, Unsupported, UsageError, nearest
from cerlab.evaluate.runs import not_taken
from cerlab.logic.ceql.syntax import query_text
from cerlab.model.clauses import AttributeWindow, EventWindow, TimeWindow, Window
from cerlab.model.stream import TimeAxis, clock_for, time_axis
from cerlab.rows.recognise import parse_rows
from cerlab.rows.session import rows_before_match
from cerlab.spark import frame
from cerlab.spark.batch import in_columns, of_plan
from cerlab.spark.frame import FLOATS, MOMENTS, WHOLE, Source
from cerlab.spark.plan import (
    SHORT_DECIMALS,
    Choice,
    Mode,
    attributes_of_job,
    choose_mode,
    time_attribute,
    why_not,
)
from cerlab.spark.request import (
    attributes_of_groups,
    check_count,
    check_partition,
    refuse_aggregates,
    refuse_correlated,
    row_names,
)
from cerlab.spark.stream.pandas_rows import kind_of
from cerlab.spark.stream.step import BUCKETS, StreamJob, by_sequence, reach
from cerlab.spark.stream.waits import clauses_of, why_not_by_watermark
from cerlab.spark.task_outputs import RowNames

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


_GRAIN = 1_000
"""Number of instants in one `lag` that the watermark distinguishes, if its unit allows it."""

_NO_RANGES = "the range in which an answer ends is not over while rows still arrive"


class OrderOptions(TypedDict, total=False):
    """Options for the order and the state of a stream."""

    lag: Length | None
    checkpoint: str | None
    output: str | None
    quarantine: bool
    buckets: int


class StreamOptions(OrderOptions, total=False):
    """Further options of `match_stream`, described there."""

    time: str | None
    unit: str | None
    type: str | None
    type_column: str | None
    mode: str | None
    partition: bool
    columns: str | Iterable[str] | None


@dataclass(frozen=True)
class StreamRequest:
    """A plan for a stream that is still arriving; its expressions use columns of `source`."""

    source: Source
    plan: PlanClauses | None
    """The plan of a query; None for a row pattern."""
    choice: Choice
    position: Column
    clock: Column
    """The times that order the rows of a key."""
    from_filter: Column | None
    """The condition that an event is in a stream of FROM; None if every event is."""
    job: StreamJob

    @property
    def keys(self) -> list[str]:
        """The columns of PARTITION BY."""
        return [self.job.attributes[n] for n in self.job.keys]

    @property
    def is_ordered_by_time(self) -> bool:
        """True if a column of times orders the stream, rather than positions alone."""
        time, position = self.job.labels.keys
        return time != position


def stream_request_of(
    sdf: DataFrame,
    query: QueryInput,
    *,
    position: str,
    lateness: Length,
    **options: Unpack[StreamOptions],
) -> StreamRequest:
    """Return the request of `match_stream` with the same arguments; raises as it does."""
    pattern, with_partition = as_pattern(query), options.get("partition", False)
    refuse_aggregates(pattern)
    kinds = ("automaton", "registers", "waits")
    if pattern.machine_kind not in kinds:
        refuse_correlated(pattern, "only batches take them")
    plan: PlanClauses = clauses_of(pattern)
    if pattern.machine_kind == "automaton":
        plan = pattern.plan
    elif pattern.machine_kind == "waits":
        has_lag = options.get("lag") is not None
        if (reason := why_not_by_watermark(pattern, ends=has_lag)) is not None:
            refuse_correlated(pattern, reason)
    columns = options.get("columns")
    names = row_names(pattern, sdf.columns, columns, with_partition=with_partition)
    source = _source(sdf, options.get("type"))
    check_partition(plan, with_partition=with_partition)
    place = frame.position_column(source, position)
    axis = _axis(source, plan, options.get("time"), options.get("unit"))
    attributes = attributes_of_stream(pattern, plan, axis, names)
    frame.check_values(source, attributes)
    clock, kind = place, "int64"
    if axis is not None:
        clock, kind = clock_of(source, next(iter(_in_time(plan)), None), axis)
        if isinstance(plan.throttle, AttributeWindow | TimeWindow):
            # times that round to one double are ordered by position, not by their exact value
            check_decimals(source, [axis.attribute], "THROTTLE")
    order = order_of_job(source, position, axis, kind, lateness, options)
    choice = _choice(plan, options.get("mode"))
    if pattern.machine_kind == "registers":
        refuse_runs(pattern, by_key=choice.mode is Mode.KEYS)
    job = StreamJob(
        plan=plan_to_bytes(replace(plan, streams=())) if isinstance(plan, Plan) else b"",
        query="" if isinstance(plan, Plan) else query_text(replace(pattern.ast, streams=())),
        attributes=attributes,
        kinds=tuple(kind_of(source, name) for name in attributes),
        keys=tuple(attributes.index(name) for name in dict.fromkeys(plan.partition)),
        by_key=choice.mode is Mode.KEYS,
        with_partition=with_partition,
        names=names,
        **order,
        waits=pattern.machine_kind == "waits",
    )
    named = () if names is None else (*names.key, *(column.name for column in names.columns))
    refuse_own_names(job, named, "rename the attribute, or the label, of that name")
    from_filter = frame.from_filter(source, plan.streams)
    return StreamRequest(source, plan, choice, place, clock, from_filter, job)


def order_of_job(
    source: Source,
    position: str,
    axis: TimeAxis | None,
    kind: str,
    lateness: Length,
    options: OrderOptions,
) -> dict[str, Any]:
    """Return the parts of a `StreamJob` for order and state; `kind` is the Arrow type of times.

    Raises `UsageError` for an option with a wrong value or without effect.
    """
    lag, unit = options.get("lag"), None
    if axis is not None and source.kind(axis.attribute) in MOMENTS:
        unit = MICROSECOND
        _refuse_numbers(lateness=lateness, lag=0 if lag is None else lag)
    elif axis is not None and axis.unit is not None:
        unit = axis.unit.value
    tolerance = length_in(unit, lateness, "lateness")
    tick, behind = _ticks(None if lag is None else length_in(unit, lag, "lag"), tolerance)
    check_count("buckets", buckets := options.get("buckets", BUCKETS))
    if options.get("output") is not None and options.get("checkpoint") is None:
        hint = "give checkpoint= too, the place that the streaming query gets"
        raise UsageError("CER0820", "output= needs checkpoint=", hint=hint)
    return {
        "time": axis,
        "time_kind": kind,
        "labels": _labels(source, axis, position),
        "lateness": _in_kind(tolerance, kind),
        "tick": tick,
        "lag": None if behind is None else _in_kind(behind, kind),
        "buckets": buckets,
        "quarantine": options.get("quarantine", False),
    }


def check_decimals(source: Source, attributes: Iterable[str], user: str) -> None:
    """Raise `BadData` for decimals with more digits than a double holds; `user` reads them."""
    for name in attributes:
        if source.kind(name) != "decimal":
            continue
        precision = source.schema[source.names.index(name)].dataType.precision
        if precision > SHORT_DECIMALS:
            raise BadData(
                "CER0741",
                f"on a stream {user} can read decimals of up to {SHORT_DECIMALS} digits: '{name}' "
                f"has {precision}",
                hint="cast it to double, or to a decimal of fewer digits",
            )


def refuse_own_names(job: StreamJob, names: Iterable[str], hint: str) -> None:
    """Raise `UsageError` for answers with a column whose name a stream adds itself."""
    own = ("late", *job.marks)
    if taken := [name for name in names if name in own]:
        message = f"rows of a stream have a column '{taken[0]}' of their own"
        raise UsageError("CER0862", message, hint=hint)


def _refuse_numbers(**lengths: Length) -> None:
    """Raise `UsageError` for a length without a unit, except 0, if times are moments."""
    for option, length in lengths.items():
        number, has_unit = length_of(length, option)
        if number and not has_unit:
            message = f"{option}={length}: a number has no unit, and times are moments"
            raise UsageError("CER0882", message, hint="give the unit: '10 seconds', or a timedelta")


def refuse_batch(df: DataFrame, verb: str) -> None:
    """Raise `UsageError` for a DataFrame that is not a stream."""
    if not df.isStreaming:
        hint = f"cerlab.spark.{verb} takes a batch"
        raise UsageError("CER0881", "this DataFrame is not a stream", hint=hint)


def _source(df: DataFrame, type_name: str | None) -> Source:
    """Return the stream of a streaming DataFrame, with the checks of a batch."""
    refuse_batch(df, "match")
    empty = frame.source_of(df.sparkSession.createDataFrame([], df.schema), type_name)
    return replace(empty, frame=df.toDF(*(f"c{n}" for n in range(len(empty.names)))))


def attributes_of_stream(
    pattern: Pattern, plan: PlanClauses, axis: TimeAxis | None, names: RowNames | None
) -> tuple[str, ...]:
    """Return the attributes that a task reads, ``type`` first."""
    of_rows = None if names is None else names.attributes
    if isinstance(plan, Plan):
        return attributes_of_job(plan, axis, of_rows)
    clocks = (time_attribute(length, axis) for length in _in_time(plan))
    return attributes_of_groups(pattern, plan, next(clocks, None), names)


def refuse_runs(pattern: Pattern, *, by_key: bool) -> None:
    """Raise `Unsupported` for comparisons of labels that cannot run batch by batch."""
    from cerlab.engine.registers.evaluation import why_not as why_no_run  # Numba loads here

    if (reason := why_no_run(by_sequence(pattern, by_key=by_key).registers)) is not None:
        raise not_taken(reason, pattern)


def _choice(plan: PlanClauses, mode: str | None) -> Choice:
    """Return the mode: by key if that is exact, otherwise one task for all keys."""
    if mode == Mode.RANGES.value:
        exact = [each.value for each in (Mode.KEYS, Mode.ONE) if why_not(plan, each) is None]
        raise Unsupported(
            "CER0490", f"a stream cannot be cut into ranges: {_NO_RANGES}", hint=f"use {exact[0]}"
        )
    if plan.throttle is not None and plan.partition:
        if (reason := why_not(plan, Mode.KEYS)) is not None:
            hint = "use CONSUME BY PARTITION"
            raise Unsupported("CER0490", f"on streams THROTTLE runs by key: {reason}", hint=hint)
        if mode == Mode.ONE.value:
            message = "mode 'one' is not exact for this query: on streams THROTTLE runs by key"
            raise Unsupported("CER0490", message, hint="exact modes: keys")
    if mode is not None or (reason := why_not(plan, Mode.KEYS)) is None:
        return choose_mode(plan, mode or Mode.KEYS.value)
    return Choice(Mode.ONE, {Mode.KEYS: reason, Mode.RANGES: _NO_RANGES})


def _axis(source: Source, plan: PlanClauses, time: str | None, unit: str | None) -> TimeAxis | None:
    """Return the column that orders the stream in time: as requested, or that of the window.

    Without a window in time, that of THROTTLE. None if nothing is given, so that the positions
    order it. Raises `UsageError` for two different columns.
    """
    axis = None if time is None else time_axis(time, unit)
    for length in _in_time(plan):
        if axis is None and isinstance(length, AttributeWindow):
            axis = time_axis(length.attribute, unit)
        if axis is None:
            axis = frame.only_moment(source)
        if axis is None:
            clock_for(length, axis)  # raises the error that the time is unknown
    axis = frame.axis_of(source, axis)
    for length in _in_time(plan):
        measure = time_attribute(length, axis)
        if axis is not None and measure != axis.attribute:
            name = "the window" if length is plan.window else "THROTTLE"
            raise UsageError(
                "CER0884",
                f"the stream is ordered by '{axis.attribute}', {name} is measured on '{measure}'",
                hint=f"time='{measure}'",
            )
    return axis


def _in_time(plan: PlanClauses) -> list[AttributeWindow | TimeWindow]:
    """Return the lengths of WITHIN and THROTTLE that are measured in time."""
    lengths = (plan.window, plan.throttle)
    return [each for each in lengths if isinstance(each, AttributeWindow | TimeWindow)]


def clock_of(source: Source, window: Window | None, axis: TimeAxis) -> tuple[Column, str]:
    """Return the column of times, with moments in microseconds, and its Arrow type."""
    if isinstance(window, AttributeWindow | TimeWindow):
        column, whole = frame.time_column(source, window, axis)
        return column, "int64" if whole else "double"
    column, kind = frame.order_key(source, axis.attribute), source.kind(axis.attribute)
    if kind in (*FLOATS, "decimal"):
        return column.cast("double"), "double"
    if kind not in (*WHOLE, *MOMENTS):
        hint = nearest("time", source.names)
        raise UsageError("CER0885", f"time='{axis.attribute}': a column of {kind}", hint=hint)
    return column, "int64"


def _labels(source: Source, axis: TimeAxis | None, position: str) -> ColumnNames:
    time = position if axis is None else axis.attribute
    return frame.column_names(source, (time, position), time)


def _in_kind(length: Fraction, kind: str) -> Instant:
    """Return a length as a number that compares with differences of times of type `kind`."""
    return float(length) if kind == "double" else math.floor(length)


def _ticks(lag: Fraction | None, lateness: Fraction) -> tuple[int | None, Fraction | None]:
    """Return the time units in a millisecond of Spark's watermark, and the lag in time units."""
    if lag is None:
        return None, None
    if lag < lateness:
        raise UsageError(
            "CER0883",
            f"lag is {lag}, less than the lateness {lateness}",
            hint="give a lag of at least the lateness",
        )
    tick = max(1, math.floor(lag / _GRAIN))
    return tick, Fraction(math.ceil(lag / tick) * tick)


def stream_explanation(request: StreamRequest, query: str) -> str:
    """Return the description of a request; `query` is the text of the query or row pattern."""
    choice, plan = request.choice, request.plan
    machine = "registers: filters compare labels"
    if request.job.waits:
        machine = "waits: the events of one window, one wait and the look-backs of a key are "
        machine += "evaluated again"
    elif plan is None:
        machine = "row pattern: a match is given when no later row can change it"
    lines = [*of_plan(plan, query, machine), ("mode", choice.mode.value)]
    lines += [("not by", f"{mode.value}: {why}") for mode, why in choice.reasons.items()]
    time, position = request.job.labels.keys
    lines.append(("order", position if not request.is_ordered_by_time else f"{time}, {position}"))
    lines += [
        ("waits", _waits(request)),
        ("late", _late(request)),
        ("kept", _state_lifetime(request)),
    ]
    lines.append(("stage", f"read {', '.join(name for name in request.job.attributes if name)}"))
    if request.from_filter is not None and plan is not None:
        lines.append(("stage", f"events of {', '.join(plan.streams)}"))
    where, message = "in one task", "all rows"
    if request.choice.mode is Mode.KEYS:
        where, message = f"in {request.job.buckets} buckets by a hash of the key", "each key"
    engine = "engine" if plan is not None else "search"
    stage = f"{where}; {message} put in order, then the {engine}, from state to state"
    lines.append(("stage", stage))
    return in_columns(lines)


def _unit(request: StreamRequest) -> str:
    time = request.job.labels.time
    moments = request.is_ordered_by_time and request.source.kind(time or "") in MOMENTS
    return " microseconds" if moments else f" [{time}]"


def _waits(request: StreamRequest) -> str:
    lateness = f"{request.job.lateness}{_unit(request)}"
    own = f"a row, for one of its key that is more than {lateness} after it"
    if request.job.lag is None:
        return own
    return f"{own}, or one of any key that is more than {request.job.lag} after it"


def _late(request: StreamRequest) -> str:
    own = "a row that belongs before one of its key that was read"
    if request.job.lag is None:
        return own
    return f"{own}, or is more than {request.job.lag} older than the newest of all keys"


def _state_lifetime(request: StreamRequest) -> str:
    if request.plan is None:
        rows = "the rows of each key from its oldest open match on, for ever"
        before = rows_before_match(parse_rows(request.job.query))
        return f"{rows}, and {before} before them for PREV" if before else rows
    if isinstance(request.plan.throttle, EventWindow):
        return "the state of each key, for ever: THROTTLE n EVENTS counts its events"
    if request.job.lag is None:
        return "the state of each key, for ever (lag= lets those go whose window has passed)"
    if (width := reach(request.job)) is None:
        return "the state of each key, for ever: no window in time bounds what it needs"
    over = f"{float(request.job.lag + width):g}{_unit(request)}"
    return f"the state of a key, until one of any key is {over} after its last row"
