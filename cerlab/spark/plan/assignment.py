"""Range assignments: to which part of the stream a run belongs, and which ranges read it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Any

from cerlab.automata.plan import Plan
from cerlab.model.clauses import EventWindow
from cerlab.model.clock import TimeAxis
from cerlab.spark.plan.modes import Mode
from cerlab.spark.plan.reads import window_width
from cerlab.spark.plan.runs import Run


@dataclass(frozen=True, slots=True)
class RangeAssignment:
    """The runs of a stream by number, in order, as tasks get them: a tuple has one item for each.

    A run is read by the ranges from its `part` to `reader`; the answers that end in it belong to
    the first of those.
    """

    first: tuple[tuple[Any, ...], ...]
    """The keys of its first row."""
    last: tuple[tuple[Any, ...], ...]
    rows: tuple[int, ...]
    rows_in_from: tuple[int, ...]
    """How many of its rows are of a stream in FROM."""
    before: tuple[int, ...]
    """How many rows of the stream are before it."""
    part: tuple[int, ...]
    reader: tuple[int, ...]
    times: tuple[Any, Any] | None = None
    """The first and the last time of the stream, where the query has a window in time."""

    @property
    def parts(self) -> int:
        """How many ranges there are."""
        return self.part[-1] + 1 if self.part else 0

    @property
    def read_again(self) -> int:
        """How many rows are read by another range than their own, each time."""
        runs = zip(self.rows, self.part, self.reader, strict=True)
        return sum(rows * (last - own) for rows, own, last in runs)


def range_assignment(
    runs: Sequence[Run], part: Sequence[int], begins: Sequence[int]
) -> RangeAssignment:
    """The runs by `part`, where range ``p`` reads from run ``begins[p]`` on."""
    rows = tuple(run.rows for run in runs)
    firsts = (run.first_time for run in runs if run.first_time is not None)
    lasts = (run.last_time for run in reversed(runs) if run.last_time is not None)
    return RangeAssignment(
        first=tuple(run.first for run in runs),
        last=tuple(run.last for run in runs),
        rows=rows,
        rows_in_from=tuple(run.rows_in_from for run in runs),
        before=tuple(accumulate(rows, initial=0))[:-1],
        part=tuple(part),
        reader=tuple(bisect_right(begins, number) - 1 for number in range(len(runs))),
        times=next(zip(firsts, lasts, strict=False), None),
    )


def assign_ranges(
    runs: Sequence[Run], plan: Plan, time: TimeAxis | None, mode: Mode, parts: int, moment: int
) -> RangeAssignment:
    """The runs in at most so many ranges, each with one window before it; or all in one.

    Moments are integers of `moment` nanoseconds.
    """
    part = parts_of(runs, 1 if mode is Mode.ONE else parts)
    begins = starts = starts_of(part)
    if mode is Mode.RANGES and isinstance(plan.window, EventWindow):
        begins = begins_in_events(runs, starts, plan.window.width)
    elif mode is Mode.RANGES:
        begins = begins_in_time(runs, starts, window_width(plan, time, moment))
    return range_assignment(runs, part, begins)


def coarser(runs: Sequence[Run], rows: int) -> list[Run]:
    """The runs, those next to each other taken together until they have so many rows.

    >>> [run.rows for run in coarser([Run((n,), (n,), 2, 2) for n in range(5)], 4)]
    [4, 4, 2]
    """
    result: list[Run] = []
    for run in runs:
        if result and result[-1].rows < rows:
            result[-1] = _together(result[-1], run)
        else:
            result.append(run)
    return result


def _together(run: Run, after: Run) -> Run:
    first_time = after.first_time if run.first_time is None else run.first_time
    last_time = run.last_time if after.last_time is None else after.last_time
    rows, in_from = run.rows + after.rows, run.rows_in_from + after.rows_in_from
    return Run(run.first, after.last, rows, in_from, first_time, last_time)


def parts_of(runs: Sequence[Run], parts: int) -> list[int]:
    """The part of each run: at most so many parts, of about equally many rows, none without runs.

    >>> parts_of([Run((n,), (n,), 1, 1) for n in range(6)], 3)
    [0, 0, 1, 1, 2, 2]
    """
    total = sum(run.rows for run in runs)
    before = accumulate((run.rows for run in runs), initial=0)
    shares = [rows * parts // total for rows, _ in zip(before, runs, strict=False)]
    numbers = {share: number for number, share in enumerate(dict.fromkeys(shares))}
    return [numbers[share] for share in shares]


def starts_of(part: Sequence[int]) -> list[int]:
    """The first run of each part."""
    return [bisect_left(part, number) for number in range(part[-1] + 1)] if part else []


def begins_in_time(runs: Sequence[Run], starts: Sequence[int], width: Fraction) -> list[int]:
    """The first run that each range reads, for a window of that width in the unit of the times.

    That is the first run with an event in the window of the first event of the part.
    """
    candidates = [number for number, run in enumerate(runs) if run.rows_in_from]
    ends: list[Any] = [runs[number].last_time for number in candidates]
    begins = []
    for start in starts:
        own = bisect_left(candidates, start)
        if own == len(candidates):
            begins.append(start)
            continue
        first = runs[candidates[own]].first_time
        assert first is not None
        begins.append(min(start, candidates[bisect_left(ends, Fraction(first) - width)]))
    return begins


def begins_in_events(runs: Sequence[Run], starts: Sequence[int], width: int) -> list[int]:
    """The same for ``WITHIN width EVENTS``: so many events at least are before the part."""
    begins = []
    for start in starts:
        missing = width
        while start > 0 and missing > 0:
            start -= 1
            missing -= runs[start].rows_in_from
        begins.append(start)
    return begins
