"""The first pass over a stream on Spark: its runs, and the runs that each range reads.

Rows are moved in three shapes. Row groups in order are read by the tasks that evaluate them. Other
files are read by tasks, which send packets. Other DataFrames are read by Spark, which sends rows to
tasks that make packets of them. The second shape stays beside the third for its cost: 5 million
rows by key take 5 to 6 CPU seconds, and 30 through the JVM. Where a filter leaves some rows of
files, tasks read only the order of these files: 5 million rows by position take 2.4 CPU seconds,
and 4.0 where Spark reads their order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from cerlab.engine.row_order import MICROSECOND
from cerlab.errors import BadData
from cerlab.spark.files import (
    PACKETS,
    all_groups,
    by_part,
    check_files,
    file_ranges,
    files_below,
    numbers_of,
)
from cerlab.spark.footers import NoProof
from cerlab.spark.frame import map_batches
from cerlab.spark.packets import packets_of_cuts, survey_packets
from cerlab.spark.plan import Mode, why_not
from cerlab.spark.ranges import (
    BitFields,
    FileRanges,
    RangeAssignment,
    UnorderedFiles,
    assign_ranges,
    coarser,
)
from cerlab.spark.relevant_events import RelevantEvents, relevant_events
from cerlab.spark.request import Request, keys_of
from cerlab.spark.runs import (
    SURVEY,
    SortedRun,
    in_order,
    quantiles,
    runs_in,
    runs_of,
    runs_of_survey,
)
from cerlab.spark.tasks import packets_of_files, runs_of_files, sample_of_files

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType


RUNS_OF_A_PART = 16
"""Approximate number of runs in a part: a range reads whole runs before its own."""

SAMPLE = 16
"""Rows of the sample for each run."""


def runs_in_files(request: Request) -> tuple[tuple[SortedRun, ...], bool]:
    """Return the runs of a DataFrame that selects rows of Parquet files, without using Spark.

    Also return whether no two row groups overlap, so that few rows must be sorted. The driver reads
    footers, and tasks the columns that order the files, which proves the order of every selection
    of their rows. Raises `NoProof` with the reason why Spark must read the rows.
    """
    ranges = files_below(request)
    if isinstance(ranges, UnorderedFiles):
        try:
            return _runs_of_unordered(request, ranges), False
        except BadData as error:  # the bad row may be outside the DataFrame's selection
            raise NoProof(str(error)) from None
    schema = _schema(request).add("text", "string")
    find = partial(runs_of_files, ranges=ranges)
    rows = map_batches(numbers_of(request.source, ranges.parts), find, schema).toArrow().to_pylist()
    if wrong := [row["text"] for row in rows if row["text"] is not None]:
        raise NoProof(wrong[0])
    runs = in_order(runs_in(rows, len(request.keys)) or [], positions=request.position is not None)
    if runs is None:
        raise NoProof("the files are not in order")
    return runs, all(len(cluster) == 1 for cluster in ranges.clusters)


def _runs_of_unordered(request: Request, files: UnorderedFiles) -> tuple[SortedRun, ...]:
    """Return the runs between quantiles of a sample of the files, which are not in order.

    Spark moves the ordering columns in packets that tasks make of files. Raises `BadData` for rows
    that are not a stream.
    """
    runs, tasks = RUNS_OF_A_PART * request.parts, min(len(files.groups), request.parts)
    cuts = quantiles(sample_of_files(files, SAMPLE * runs), runs)
    send = partial(packets_of_files, files=files, tasks=tasks, cuts=cuts, parts=request.parts)
    return _runs_of_packets(
        request, map_batches(numbers_of(request.source, tasks), send, PACKETS), files.fields
    )


def lying_runs(request: Request) -> tuple[SortedRun, ...] | None:
    """Return the runs of rows in their present order.

    None if they need a sort or are not a stream.
    """
    from pyspark.sql import functions as fn

    positions = request.position is not None
    rows = request.rows.select(*_columns(request))
    # an event without a type gets no key, which ends this search; the survey reports the reason
    rows = rows.withColumn("k0", fn.when(fn.col("named"), fn.col("k0"))).drop("named")
    batches = map_batches(rows, partial(runs_of, positions=positions), _schema(request))
    runs = runs_in(batches.toArrow().to_pylist(), len(request.keys))
    moments = request.labels.moments
    return None if runs is None else in_order(runs, positions=positions, moments=moments)


def surveyed_runs(request: Request) -> tuple[SortedRun, ...]:
    """Return the runs between quantiles; raises `BadData` for rows that break the order."""
    rows = request.rows.select(*_columns(request))
    send = partial(packets_of_cuts, cuts=_cuts(request), parts=request.parts)
    return _runs_of_packets(request, map_batches(rows, send, PACKETS))


def _runs_of_packets(
    request: Request, packets: DataFrame, fields: BitFields | None = None
) -> tuple[SortedRun, ...]:
    """Return the runs of some packets; raises `BadData` for rows that break the order."""
    positions = request.position is not None
    survey = partial(survey_packets, labels=request.labels, positions=positions, fields=fields)
    schema = _schema(request)
    for name, kind in SURVEY:
        schema.add(name, kind)
    survey_rows = map_batches(by_part(packets, request.parts), survey, schema).toArrow().to_pylist()
    return runs_of_survey(survey_rows, request.labels, positions=positions)


def _cuts(request: Request) -> list[tuple[Any, ...]]:
    """Return quantiles of a sample of rows with the smallest hashes, equal in every execution."""
    from pyspark.sql import functions as fn

    runs = RUNS_OF_A_PART * request.parts
    if runs == 1:
        return []
    names = [f"k{n}" for n in range(len(request.keys))]
    keys = request.rows.select(*keys_of(request)).dropna()
    least = keys.select("*", fn.xxhash64(*names).alias("h")).orderBy("h").limit(SAMPLE * runs)
    return quantiles([tuple(row)[:-1] for row in least.orderBy(*names).collect()], runs)


def _columns(request: Request) -> Iterator[Column]:
    """Yield the columns that `cerlab.spark.runs` needs."""
    from pyspark.sql import functions as fn

    yield from keys_of(request)
    yield (fn.length(request.source.column("type")) > 0).alias("named")
    for name, column in (("kept", request.from_filter), ("time", request.clock)):
        if column is not None:
            yield column.alias(name)


def _schema(request: Request) -> StructType:
    """Return the schema of `cerlab.spark.runs.runs_of`."""
    from pyspark.sql.types import DoubleType, LongType, StructType

    keys = request.source.frame.select(*keys_of(request)).schema
    struct = StructType()
    for end in "fl":
        for n, key in enumerate(keys):
            struct.add(f"{end}{n}", key.dataType)
    struct.add("rows", LongType()).add("kept", LongType())
    time = LongType() if request.whole_times else DoubleType()
    return struct.add("first_time", time).add("last_time", time)


MUCH = 4
"""Share of rows read twice from which buckets of keys are faster than ranges."""


@dataclass(frozen=True)
class RowRanges:
    """A stream whose rows Spark reads: its mode, and the runs that each range reads."""

    mode: Mode
    assignment: RangeAssignment
    events: RelevantEvents
    in_order: bool = True
    """True if the rows are in order."""
    some: bool = False
    """True if the rows are a selection of rows of files, all of which the assignment counts."""
    files: UnorderedFiles | None = None
    """The files that tasks read directly, if they contain all rows."""


FirstPass: TypeAlias = FileRanges | RowRanges


def first_pass(request: Request) -> FirstPass:
    """Return where the rows of the stream are: by footers, if the DataFrame is Parquet files.

    Otherwise the columns that order the stream are read: by tasks if it is a selection of rows of
    sorted files; otherwise by Spark, once if its rows are in order and twice if not. Raises
    `BadData` for events without a place, two in one place, and times that are missing or go back;
    and for files that have two types for a column. Warns of a column that some files lack.
    """
    try:
        return file_ranges(request)
    except NoProof:
        check_files(request)
    events = relevant_events(request)
    try:
        files = all_groups(request)
    except NoProof:
        files = None
    # 5 million ordered rows take 4.4 CPU seconds by position, and 6.1 with a survey.
    # If the rows of a run must be counted, all of them are moved.
    if files is not None or events.condition is not None:
        try:
            runs, lie_in_order = runs_in_files(request)
            some, before = events.condition is not None, 0 if files is None else files.before
            return RowRanges(*_spread(request, runs, before), events, lie_in_order, some, files)
        except NoProof:
            pass
    before = request.count_before()
    if (lying := lying_runs(request)) is None:
        runs = surveyed_runs(request)
        return RowRanges(*_spread(request, runs, before), events, in_order=False)
    return RowRanges(*_spread(request, lying, before), events)


def _spread(
    request: Request, runs: Sequence[SortedRun], before: int
) -> tuple[Mode, RangeAssignment]:
    """Assign runs to ranges, or to buckets of keys if requested or if windows are wide."""
    runs = coarser(runs, sum(run.rows for run in runs) // (RUNS_OF_A_PART * request.parts))
    mode = request.choice.mode
    if (
        mode is Mode.KEYS
        and request.choice.is_default
        and why_not(request.plan, Mode.RANGES) is None
    ):
        by_ranges = _assignment(request, runs, Mode.RANGES, before)
        if by_ranges.read_again * MUCH <= sum(by_ranges.rows):
            return Mode.RANGES, by_ranges
    return mode, _assignment(request, runs, mode, before)


def _assignment(
    request: Request, runs: Sequence[SortedRun], mode: Mode, before: int
) -> RangeAssignment:
    plan, time = request.plan, request.time
    return assign_ranges(runs, plan, time, mode, request.parts, MICROSECOND, before)
