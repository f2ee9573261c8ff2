"""The batch pipeline: a DataFrame of events to a DataFrame of answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypedDict, Unpack, assert_never
from warnings import warn

from cerlab.compile.text_to_pattern import What, as_pattern
from cerlab.errors import CerlabWarning
from cerlab.model.clock import time_axis
from cerlab.spark.batch.by_rows import answers_by_rows
from cerlab.spark.batch.by_shuffle_units import answers_by_packs
from cerlab.spark.batch.files import answers_in_files, local_folder, write_answers
from cerlab.spark.batch.first_pass import FirstPass, Sorted, first_pass
from cerlab.spark.batch.frame import source_of
from cerlab.spark.batch.request import Request, request
from cerlab.spark.plan.assignment import Dealing
from cerlab.spark.plan.files import FileRanges
from cerlab.spark.plan.modes import Mode, chosen

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Options(TypedDict, total=False):
    """What `match` takes besides; `match` says what it means."""

    type: str | None
    time: str | None
    unit: str | None
    mode: str | None
    parts: int | None
    partition: bool


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

    Columns ``start``, ``end`` (bigint) and ``positions`` (array<bigint>), in no order. The call
    itself reads the columns that order the stream, to cut it and to check it; answers are
    evaluated when Spark needs them. Raises `BadData` for events without a place in the stream, or
    two in one, and for times that are missing or go back, `Unsupported` for a mode that is not
    exact, `UsageError` for columns that are not there.
    """
    return answers(asked_of(df, query, order_by, position, **options))


def matching(
    query: What,
    order_by: str | Sequence[str] = (),
    position: str | None = None,
    **options: Unpack[Options],
) -> Callable[[DataFrame], DataFrame]:
    """`match` for ``df.transform(matching(query, ..))``; the arguments are the same."""
    return lambda df: match(df, query, order_by, position, **options)


def asked_of(
    df: DataFrame,
    query: What,
    order_by: str | Sequence[str] = (),
    position: str | None = None,
    **options: Unpack[Options],
) -> Request:
    """What `match` is asked, checked; nothing is read yet. Raises as `match`."""
    plan = as_pattern(query).plan
    time = options.get("time")
    return request(
        source_of(df, options.get("type")),
        plan,
        chosen(plan, options.get("mode")),
        order_by=[order_by] if isinstance(order_by, str) else list(order_by),
        position=position,
        time=time_axis(time, options.get("unit")) if time else None,
        parts=options.get("parts"),
        with_partition=options.get("partition", False),
    )


def write(asked: Request, found: FirstPass, output: str, *, overwrite: bool = False) -> None:
    """The answers as a folder of Parquet files; by the tasks where those read the files too.

    Raises `UsageError` where there is something at `output`, unless it is to be overwritten.
    """
    if isinstance(found, FileRanges) and (folder := local_folder(output)) is not None:
        _warn_of_one_task(asked)
        write_answers(asked, found, folder, overwrite=overwrite)
    else:
        mode = "overwrite" if overwrite else "error"
        answers(asked, found).write.mode(mode).parquet(output)


def _warn_of_one_task(asked: Request) -> None:
    mode, passed_over = asked.choice.mode, asked.choice.passed_over
    if mode is Mode.ONE and passed_over:
        reasons = "; ".join(f"{each.value}: {reason}" for each, reason in passed_over.items())
        message = f"CER0950: all events go through one task, in order ({reasons})"
        warn(CerlabWarning(message), stacklevel=4)


def answers(asked: Request, found: FirstPass | None = None) -> DataFrame:
    """The DataFrame of the answers; without `found` the first pass is made here."""
    _warn_of_one_task(asked)
    found = found or first_pass(asked)
    match found:
        case FileRanges():
            return answers_in_files(asked, found)
        case Dealing():
            return answers_by_packs(asked, found)
        case Sorted():
            return answers_by_rows(asked, found)
        case _:
            assert_never(found)
