"""What is asked of a stream that is still arriving: a query, an order, and how late rows may be."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, TypedDict, Unpack

from cerlab.automata.plan import Plan
from cerlab.automata.plan_json import plan_to_bytes
from cerlab.compile.text_to_pattern import What, as_pattern
from cerlab.errors import Unsupported, UsageError, nearest
from cerlab.model.clauses import AttributeWindow, TimeWindow
from cerlab.model.clock import TimeAxis, clock_for, time_axis
from cerlab.spark.batch import frame
from cerlab.spark.batch.correlated import refuse_aggregates, refuse_correlated
from cerlab.spark.batch.frame import FLOATS, MOMENTS, WHOLE, Source
from cerlab.spark.batch.named import row_names
from cerlab.spark.batch.request import check_partition
from cerlab.spark.plan.modes import Choice, Mode, choose_mode, why_not
from cerlab.spark.plan.order import Labels
from cerlab.spark.plan.reads import MICROSECOND, attributes_of_job, time_attribute
from cerlab.spark.stream.columns import kind_of
from cerlab.spark.stream.durations import Length, length_in
from cerlab.spark.stream.reorder import Instant
from cerlab.spark.stream.step import StreamJob

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_GRAIN = 1_000
"""The watermark tells so many instants apart in one `lag`, if its unit allows it."""

_NO_RANGES = "the range in which an answer ends is not over while rows still arrive"


class StreamOptions(TypedDict, total=False):
    """What `match_stream` takes besides; `match_stream` says what it means."""

    time: str | None
    unit: str | None
    lag: Length | None
    type: str | None
    mode: str | None
    partition: bool
    columns: str | Iterable[str] | None
    checkpoint: str | None


@dataclass(frozen=True)
class StreamRequest:
    """A plan on a stream that is still arriving; the expressions are over columns of `source`."""

    source: Source
    plan: Plan
    choice: Choice
    position: Column
    clock: Column
    """The times that order a key."""
    from_filter: Column | None
    """Whether an event is of a stream in FROM; None if all are."""
    job: StreamJob

    @property
    def is_ordered_by_time(self) -> bool:
        """Whether a column of times orders the stream, not the positions alone."""
        time, position = self.job.labels.keys
        return time != position


def stream_request_of(
    sdf: DataFrame,
    query: What,
    *,
    position: str,
    lateness: Length,
    **options: Unpack[StreamOptions],
) -> StreamRequest:
    """The request of `match_stream` with the same arguments. Raises as it does."""
    pattern, with_partition = as_pattern(query), options.get("partition", False)
    refuse_aggregates(pattern)
    refuse_correlated(pattern)
    plan, columns = pattern.plan, options.get("columns")
    names = row_names(pattern, sdf.columns, columns, with_partition=with_partition)
    source = _source(sdf, options.get("type"))
    check_partition(plan, with_partition=with_partition)
    place = frame.position_column(source, position)
    axis = _axis(source, plan, options.get("time"), options.get("unit"))
    attributes = attributes_of_job(plan, axis, None if names is None else names.attributes)
    frame.check_values(source, attributes)
    clock, kind, unit_of_time = place, "int64", None
    if axis is not None:
        clock, kind = _clock(source, plan, axis)
        unit_of_time = MICROSECOND if source.kind(axis.attribute) in MOMENTS else None
        if axis.unit is not None and unit_of_time is None:
            unit_of_time = axis.unit.value
    tolerance = length_in(unit_of_time, lateness, "lateness")
    lag = options.get("lag")
    tick, behind = _ticks(None if lag is None else length_in(unit_of_time, lag, "lag"), tolerance)
    choice = _choice(plan, options.get("mode"))
    job = StreamJob(
        plan=plan_to_bytes(replace(plan, streams=())),
        time=axis,
        attributes=attributes,
        kinds=tuple(kind_of(source, name) for name in attributes),
        time_kind=kind,
        labels=_labels(axis, position),
        lateness=_in_kind(tolerance, kind),
        keys=tuple(attributes.index(name) for name in dict.fromkeys(plan.partition)),
        by_key=choice.mode is Mode.KEYS,
        with_partition=with_partition,
        names=names,
        tick=tick,
        lag=None if behind is None else _in_kind(behind, kind),
    )
    from_filter = frame.from_filter(source, plan.streams)
    return StreamRequest(source, plan, choice, place, clock, from_filter, job)


def _source(df: DataFrame, type_name: str | None) -> Source:
    """The stream that a streaming DataFrame holds, under the checks of one that is not."""
    if not df.isStreaming:
        raise UsageError(
            "CER0881", "this DataFrame is no stream", hint="cerlab.spark.match takes a batch"
        )
    empty = frame.source_of(df.sparkSession.createDataFrame([], df.schema), type_name)
    return replace(empty, frame=df.toDF(*(f"c{n}" for n in range(len(empty.names)))))


def _choice(plan: Plan, mode: str | None) -> Choice:
    """By key where that is exact, else one task for all keys."""
    if mode == Mode.RANGES.value:
        exact = [each.value for each in (Mode.KEYS, Mode.ONE) if why_not(plan, each) is None]
        raise Unsupported(
            "CER0490", f"no stream is cut into ranges: {_NO_RANGES}", hint=f"use {exact[0]}"
        )
    if mode is not None or (reason := why_not(plan, Mode.KEYS)) is None:
        return choose_mode(plan, mode or Mode.KEYS.value)
    return Choice(Mode.ONE, {Mode.KEYS: reason, Mode.RANGES: _NO_RANGES})


def _axis(source: Source, plan: Plan, time: str | None, unit: str | None) -> TimeAxis | None:
    """What orders the stream in time: as asked, else what the window is measured on.

    None where neither says, and the positions order it. Raises `UsageError` for two different ones.
    """
    window = plan.window
    axis = None if time is None else time_axis(time, unit)
    if axis is None and isinstance(window, AttributeWindow):
        axis = time_axis(window.attribute, unit)
    if axis is None and isinstance(window, TimeWindow):
        axis = frame.only_moment(source)
    if axis is None and isinstance(window, TimeWindow):
        clock_for(window, axis)  # raises: nothing says what the time is
    measure = time_attribute(plan, axis)
    if axis is not None and measure not in (None, axis.attribute):
        raise UsageError(
            "CER0884",
            f"the stream is ordered by '{axis.attribute}', the window is measured on '{measure}'",
            hint=f"time='{measure}'",
        )
    return axis


def _clock(source: Source, plan: Plan, axis: TimeAxis) -> tuple[Column, str]:
    """The column of times, moments in microseconds, and its Arrow type."""
    if isinstance(plan.window, AttributeWindow | TimeWindow):
        column, whole = frame.time_column(source, plan.window, axis)
        return column, "int64" if whole else "double"
    column, kind = frame.order_key(source, axis.attribute), source.kind(axis.attribute)
    if kind in (*FLOATS, "decimal"):
        return column.cast("double"), "double"
    if kind not in (*WHOLE, *MOMENTS):
        hint = nearest("time", source.names)
        raise UsageError("CER0885", f"time='{axis.attribute}': a column of {kind}", hint=hint)
    return column, "int64"


def _labels(axis: TimeAxis | None, position: str) -> Labels:
    time = position if axis is None else axis.attribute
    return Labels((time, position), time)


def _in_kind(length: Fraction, kind: str) -> Instant:
    """A length as it is compared with differences of times of a type."""
    return float(length) if kind == "double" else math.floor(length)


def _ticks(lag: Fraction | None, lateness: Fraction) -> tuple[int | None, Fraction | None]:
    """The units of a millisecond of Spark's watermark, and the lag in units of time."""
    if lag is None:
        return None, None
    if lag < lateness:
        raise UsageError(
            "CER0883",
            f"lag is {lag}, less than the lateness {lateness}",
            hint="a key may be behind other keys by the lateness at least",
        )
    tick = max(1, math.floor(lag / _GRAIN))
    return tick, Fraction(math.ceil(lag / tick) * tick)
