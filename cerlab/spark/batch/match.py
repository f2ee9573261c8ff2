"""The batch pipeline: a DataFrame of events to a DataFrame of answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Unpack, assert_never

from cerlab.compile.text_to_pattern import What, as_pattern
from cerlab.spark.batch.aggregates import merged_groups
from cerlab.spark.batch.by_shuffle_units import answers_in_units
from cerlab.spark.batch.correlated import correlated_answers, refuse_correlated
from cerlab.spark.batch.files import answers_in_files
from cerlab.spark.batch.first_pass import FirstPass, RowRanges, first_pass
from cerlab.spark.batch.frame import source_of
from cerlab.spark.batch.request import (
    Options,
    Request,
    names_of,
    parts_of,
    request_of,
    time_of,
)
from cerlab.spark.batch.writer import TaskAnswers, refuse_input
from cerlab.spark.plan.files import FileRanges
from cerlab.spark.plan.modes import Mode, warn_of_one_task
from cerlab.spark.plan.places import local_path
from cerlab.spark.tasks.aggregates import GroupRows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def match(
    df: DataFrame,
    query: What,
    order_by: str | Sequence[str] = (),
    position: str | None = None,
    **options: Unpack[Options],
) -> DataFrame:
    """The answers of a query on the events of a DataFrame, exactly those of the local engine.

    The stream is the rows in the order of the columns `order_by`, numbered from 0; or in that of
    `position`, a column of integers that are then the positions of the answers. With both, the
    positions have to increase along `order_by`. Options:

    ``type``         the event type of all rows, where no column has it
    ``time, unit``   the time attribute for windows in hours, minutes or seconds
    ``mode``         ``"keys"``, ``"ranges"`` or ``"one"``; by default the first that is exact
                     (`cerlab.spark` has the table)
    ``parts``        how many parts the stream is cut into; two for each task that runs at a time
    ``partition``    with True each answer has its key besides, as a struct ``partition``
    ``columns``      rows with names instead of positions: ``["a.price", "first(b.price)"]``, or
                     ``"*"`` for what SELECT names; as those of ``Matches.table``

    Columns ``start``, ``end`` (bigint) and ``positions`` (array<bigint>), in no order. Of rows with
    names ``start``, ``end``, the attributes of PARTITION BY, then `columns`; a task makes them of
    the events of one window, which it keeps, or of all its events where no window bounds them. The
    call itself reads the columns that order the stream, to cut it and to check it; answers are
    evaluated when Spark needs them.

    Where SELECT asks for aggregates, ``SELECT COUNT(*), SUM(b.price) .. GROUP BY b.name``, these
    are the rows: those of ``Matches.aggregate``, a bigint for each count and sum of integers, a
    double for others. Answers are not listed; tasks keep the events of their part, and give exact
    sums that are put together by group, or whole rows of the ends in their part (GROUP BY end).

    Raises `BadData` for events without a place in the stream, or
    two in one, and for times that are missing or go back, `Unsupported` for a mode that is not
    exact, `UsageError` for columns that are not there.
    """
    pattern = as_pattern(query)
    if pattern.has_automaton or not pattern.has_registers or pattern.ast.aggregates:
        return answers(request_of(df, pattern, order_by, position, **options))
    source = source_of(df, options.get("type"))
    if options.get("mode") not in (None, Mode.KEYS.value):
        refuse_correlated(pattern)
    return correlated_answers(
        source,
        pattern,
        position,
        time_of(options),
        parts_of(source, options),
        names_of(pattern, source, options),
    )


def matching(
    query: What,
    order_by: str | Sequence[str] = (),
    position: str | None = None,
    **options: Unpack[Options],
) -> Callable[[DataFrame], DataFrame]:
    """`match` for ``df.transform(matching(query, ..))``; the arguments are the same."""
    return lambda df: match(df, query, order_by, position, **options)


def write(
    request: Request,
    ranges: FirstPass,
    output: str,
    *,
    overwrite: bool = False,
    events: Sequence[str] = (),
) -> int:
    """The answers as a folder of Parquet files, and how many rows they are.

    Raises `UsageError` where there is something at `output`, unless it is to be overwritten, and
    where the files of the events lie: those that Spark reads, and `events`.
    """
    if local_path(output) is not None:
        refuse_input(output, filter(local_path, request.source.frame.inputFiles()))
    return _answers(request, ranges).write(output, events, overwrite=overwrite)


def answers(request: Request, ranges: FirstPass | None = None) -> DataFrame:
    """The DataFrame of the answers; without `ranges` the first pass is made here."""
    return _answers(request, ranges or first_pass(request)).frame


def _answers(request: Request, ranges: FirstPass) -> TaskAnswers:
    warn_of_one_task(request.choice, stacklevel=4)
    match ranges:
        case FileRanges():
            task_answers = answers_in_files(request, ranges)
        case RowRanges(mode=mode, assignment=assignment, events=events):
            task_answers = answers_in_units(request, assignment, mode, events)
        case _:
            assert_never(ranges)
    rows = request.names
    if isinstance(rows, GroupRows) and not rows.are_final:  # tasks give parts of aggregates
        return merged_groups(task_answers.frame, request.source, rows)
    return task_answers
