"""The first pass on Spark: how the rows of a stream lie, and who reads which of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from cerlab.spark.batch.files import file_ranges
from cerlab.spark.batch.relevant_events import RelevantEvents, relevant_events
from cerlab.spark.batch.request import Request
from cerlab.spark.batch.runs import RUNS_OF_A_PART, lying_runs, runs_in_files, surveyed_runs
from cerlab.spark.plan.assignment import RangeAssignment, assign_ranges, coarser
from cerlab.spark.plan.files import FileRanges
from cerlab.spark.plan.footers import NoProof
from cerlab.spark.plan.modes import Mode, why_not
from cerlab.spark.plan.reads import MICROSECOND
from cerlab.spark.plan.runs import Run

MUCH = 4
"""Ranges that read one row in so many again, or more, are worse than buckets of keys."""


@dataclass(frozen=True)
class RowRanges:
    """A stream whose rows Spark reads: how it is spread, and which range reads which run."""

    mode: Mode
    assignment: RangeAssignment
    events: RelevantEvents
    in_order: bool = True
    """Whether the rows lie in order."""
    some: bool = False
    """Whether they are some rows of files, all of whose rows the assignment counts."""


FirstPass: TypeAlias = FileRanges | RowRanges


def first_pass(request: Request) -> FirstPass:
    """Where the rows of the stream lie: by the footers of its files, if it is no more than those.

    Else the columns that order the stream are read: by tasks where it is some rows of files in
    order, else by Spark, once if its rows lie in order and twice if not. Raises `BadData` for
    events without a place, two in one, and times that are missing or go back.
    """
    try:
        return file_ranges(request)
    except NoProof:
        pass
    events = relevant_events(request)
    if events.condition is not None:  # else the rows of a run have to be counted
        try:
            runs, lie_in_order = runs_in_files(request)
            return RowRanges(*_spread(request, runs), events, lie_in_order, some=True)
        except NoProof:
            pass
    if (lying := lying_runs(request)) is None:
        return RowRanges(*_spread(request, surveyed_runs(request)), events, in_order=False)
    return RowRanges(*_spread(request, lying), events)


def _spread(request: Request, runs: Sequence[Run]) -> tuple[Mode, RangeAssignment]:
    """The runs by range; by key if the user says so, or if windows are wide for the stream."""
    runs = coarser(runs, sum(run.rows for run in runs) // (RUNS_OF_A_PART * request.parts))
    mode = request.choice.mode
    if (
        mode is Mode.KEYS
        and request.choice.is_default
        and why_not(request.plan, Mode.RANGES) is None
    ):
        by_ranges = _assignment(request, runs, Mode.RANGES)
        if by_ranges.read_again * MUCH <= sum(by_ranges.rows):
            return Mode.RANGES, by_ranges
    return mode, _assignment(request, runs, mode)


def _assignment(request: Request, runs: Sequence[Run], mode: Mode) -> RangeAssignment:
    return assign_ranges(runs, request.plan, request.time, mode, request.parts, MICROSECOND)
