"""Assignments of rows to ranges, by runs, row groups or bits of events."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import accumulate
from typing import Any

import numpy as np

from cerlab.automata.plan import Plan
from cerlab.engine.row_order import ColumnNames
from cerlab.model.arrays import array_from, numbers_of
from cerlab.model.clauses import EventWindow
from cerlab.model.stream import TimeAxis
from cerlab.spark.footers import Columns, Layout, RowGroup
from cerlab.spark.plan import Mode, window_width
from cerlab.spark.runs import SortedRun, is_whole


@dataclass(frozen=True, slots=True)
class RangeAssignment:
    """The runs of a stream in order, and their ranges; each tuple has one item per run.

    A run is read by the ranges from its `part` to `reader`; the answers that end in it belong to
    the first of these.
    """

    first: tuple[tuple[Any, ...], ...]
    """The ordering keys of the first row of each run."""
    last: tuple[tuple[Any, ...], ...]
    rows: tuple[int, ...]
    rows_in_from: tuple[int, ...]
    """The number of rows of each run that belong to a stream in FROM."""
    before: tuple[int, ...]
    """The number of rows of the stream before each run."""
    part: tuple[int, ...]
    reader: tuple[int, ...]
    times: tuple[Any, Any] | None = None
    """The first and last time of each run, if the query has a window in time."""

    @property
    def parts(self) -> int:
        """The number of ranges."""
        return self.part[-1] + 1 if self.part else 0

    @property
    def read_again(self) -> int:
        """The number of rows that ranges read without owning them, added up over ranges."""
        runs = zip(self.rows, self.part, self.reader, strict=True)
        return sum(rows * (last - own) for rows, own, last in runs)


def range_assignment(
    runs: Sequence[SortedRun], part: Sequence[int], begins: Sequence[int], before: int = 0
) -> RangeAssignment:
    """Return the runs by `part`; range ``p`` reads from run ``begins[p]`` on.

    `before` rows of the stream precede them.
    """
    rows = tuple(run.rows for run in runs)
    firsts = (run.first_time for run in runs if run.first_time is not None)
    lasts = (run.last_time for run in reversed(runs) if run.last_time is not None)
    return RangeAssignment(
        first=tuple(run.first for run in runs),
        last=tuple(run.last for run in runs),
        rows=rows,
        rows_in_from=tuple(run.rows_in_from for run in runs),
        before=tuple(accumulate(rows, initial=before))[:-1],
        part=tuple(part),
        reader=tuple(bisect_right(begins, number) - 1 for number in range(len(runs))),
        times=next(zip(firsts, lasts, strict=False), None),
    )


def assign_ranges(
    runs: Sequence[SortedRun],
    plan: Plan,
    time: TimeAxis | None,
    mode: Mode,
    parts: int,
    moment: int,
    before: int = 0,
) -> RangeAssignment:
    """Return the runs in at most `parts` ranges, each with the window before it, or in one.

    Moments are integers of `moment` nanoseconds. `before` rows of the stream precede the runs.
    """
    part = parts_of(runs, 1 if mode is Mode.ONE else parts)
    begins = starts = starts_of(part)
    if mode is Mode.RANGES and isinstance(plan.window, EventWindow):
        begins = begins_in_events(runs, starts, plan.window.width)
    elif mode is Mode.RANGES:
        begins = begins_in_time(runs, starts, window_width(plan.window, time, moment))
    return range_assignment(runs, part, begins, before)


def coarser(runs: Sequence[SortedRun], rows: int) -> list[SortedRun]:
    """Return the runs, merging neighbours until each has at least `rows` rows.

    >>> [run.rows for run in coarser([SortedRun((n,), (n,), 2, 2) for n in range(5)], 4)]
    [4, 4, 2]
    """
    result: list[SortedRun] = []
    for run in runs:
        if result and result[-1].rows < rows:
            result[-1] = _together(result[-1], run)
        else:
            result.append(run)
    return result


def _together(run: SortedRun, after: SortedRun) -> SortedRun:
    first_time = after.first_time if run.first_time is None else run.first_time
    last_time = run.last_time if after.last_time is None else after.last_time
    rows, in_from = run.rows + after.rows, run.rows_in_from + after.rows_in_from
    return SortedRun(run.first, after.last, rows, in_from, first_time, last_time)


def parts_of(runs: Sequence[SortedRun], parts: int) -> list[int]:
    """Return the part of each run: at most `parts` parts of about equal size, none empty.

    >>> parts_of([SortedRun((n,), (n,), 1, 1) for n in range(6)], 3)
    [0, 0, 1, 1, 2, 2]
    """
    total = sum(run.rows for run in runs)
    before = accumulate((run.rows for run in runs), initial=0)
    shares = [rows * parts // total for rows, _ in zip(before, runs, strict=False)]
    numbers = {share: number for number, share in enumerate(dict.fromkeys(shares))}
    return [numbers[share] for share in shares]


def starts_of(part: Sequence[int]) -> list[int]:
    """Return the first run of each part."""
    return [bisect_left(part, number) for number in range(part[-1] + 1)] if part else []


def begins_in_time(runs: Sequence[SortedRun], starts: Sequence[int], width: Fraction) -> list[int]:
    """Return the first run that each range reads, for a window in units of the times.

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
        # times do not go back, so the last times ascend; compared as fractions, since doubles round
        begins.append(min(start, candidates[bisect_left(ends, Fraction(first) - width)]))
    return begins


def begins_in_events(runs: Sequence[SortedRun], starts: Sequence[int], width: int) -> list[int]:
    """Return the first run that each range reads for ``WITHIN width EVENTS``."""
    begins = []
    for start in starts:
        missing = width
        while start > 0 and missing > 0:
            start -= 1
            # WITHIN EVENTS does not count events of other streams
            missing -= runs[start].rows_in_from
        begins.append(start)
    return begins


BITS = 63
"""Number of bits in a non-negative int64."""


@dataclass(frozen=True, slots=True)
class BitField:
    """A column of integers from `least` to `greatest`, shifted by a number of bits."""

    name: str
    least: int
    greatest: int
    shift: int


@dataclass(frozen=True, slots=True)
class BitFields:
    """Columns combined in the integer column ``k0``; the first ones are the `keys`."""

    fields: tuple[BitField, ...]
    keys: int

    @property
    def names(self) -> list[str]:
        """The combined columns by name."""
        return [field.name for field in self.fields]

    def least_at(self, place: Sequence[int]) -> int:
        """Return the least combined value of events with these keys."""
        pairs = zip(place, self.fields, strict=False)
        return sum((key - field.least) << field.shift for key, field in pairs)

    def greatest_at(self, place: Sequence[int]) -> int:
        """Return the greatest combined value of events with these keys."""
        return self.least_at(place) + (1 << self.fields[self.keys - 1].shift) - 1

    def over(self, assignment: RangeAssignment) -> RangeAssignment:
        """Return the runs with combined keys, for rows whose only key is the combined column."""
        first = tuple((self.least_at(place),) for place in assignment.first)
        last = tuple((self.greatest_at(place),) for place in assignment.last)
        return replace(assignment, first=first, last=last)

    def encode(self, columns: Mapping[str, Any]) -> Any:
        """Return Arrow arrays combined in one int64 array; NULL if one is NULL or out of range."""
        first = columns[self.fields[0].name]
        values, outside = np.zeros(len(first), np.int64), np.zeros(len(first), bool)
        for field in self.fields:
            column = columns[field.name]
            if column.null_count:
                outside |= column.is_null().to_numpy(zero_copy_only=False)
                column = column.fill_null(field.least)
            numbers = numbers_of(column)
            if len(numbers) and (numbers.min() < field.least or numbers.max() > field.greatest):
                outside |= (numbers < field.least) | (numbers > field.greatest)
            values |= (numbers - field.least) << field.shift
        return array_from(values, outside)

    def decode(self, rows: Any) -> Any:
        """Return rows with the combined columns separated again; NULL for rows without a key."""
        import pyarrow as pa

        values = rows.column("k0")
        columns = {}
        for n, field in enumerate(self.fields):
            above = self.fields[n - 1].shift if n else BITS
            if is_whole(values):
                mask = (1 << (above - field.shift)) - 1
                columns[field.name] = array_from(
                    ((numbers_of(values) >> field.shift) & mask) + field.least
                )
            else:
                columns[field.name] = pa.nulls(len(values), pa.int64())
        others = [name for name in rows.schema.names if name != "k0"]
        return pa.RecordBatch.from_pydict(
            {**columns, **{name: rows.column(name) for name in others}}
        )


def bit_fields(
    keys: Sequence[tuple[str, int, int]], others: Iterable[tuple[str, int, int]]
) -> BitFields | None:
    """Return bit fields for the keys, and for those other columns that fit.

    A column is its name, its least and its greatest value. None if the keys and one more do not
    fit.

    >>> bit_fields([("k0", 100, 107)], [("a", 0, 1), ("b", 0, 2**62)]).names
    ['k0', 'a']
    """
    columns = list(keys)
    for column in others:
        if sum(map(_width, (*columns, column))) <= BITS:
            columns.append(column)
    widths = [*map(_width, columns)]
    if len(columns) < 2 or sum(widths) > BITS:
        return None
    # the first key is leftmost, so the integers have the order of the keys
    shifts = [*accumulate(reversed(widths), initial=0)][-2::-1]
    fields = tuple(BitField(*column, shift) for column, shift in zip(columns, shifts, strict=True))
    return BitFields(fields, len(keys))


def _width(column: tuple[str, int, int]) -> int:
    _, least, greatest = column
    return (greatest - least).bit_length()


@dataclass(frozen=True, slots=True)
class FileRanges:
    """The clusters of a stream as tasks read them, and which range reads each cluster."""

    mode: Mode
    clusters: tuple[tuple[RowGroup, ...], ...]
    assignment: RangeAssignment
    columns: Columns
    labels: ColumnNames

    @property
    def parts(self) -> int:
        """The number of ranges."""
        return self.assignment.parts


@dataclass(frozen=True, slots=True)
class UnorderedFiles:
    """Row groups that overlap, and the columns that order their rows."""

    groups: tuple[RowGroup, ...]
    columns: Columns
    before: int = 0
    """Number of the stream's rows before these, in row groups that no task reads."""

    @property
    def fields(self) -> BitFields | None:
        """The keys and the time of rows, combined in one integer; None if they do not fit."""
        if not self.groups or self.columns.time in (None, *self.columns.keys):
            return self.key_fields
        time = min(g.first_time for g in self.groups), max(g.last_time for g in self.groups)
        fields = bit_fields(self._keys, [("time", *time)])
        return fields if fields is not None and "time" in fields.names else None

    @property
    def key_fields(self) -> BitFields | None:
        """Several keys combined in one integer, as footers allow; None if they do not fit."""
        return bit_fields(self._keys, ()) if self.groups else None

    @property
    def _keys(self) -> list[tuple[str, int, int]]:
        """The keys by name, with their least and greatest values."""
        firsts, lasts = (
            zip(*ends, strict=True)
            for ends in ((g.first for g in self.groups), (g.last for g in self.groups))
        )
        ends = zip(map(min, firsts), map(max, lasts), strict=True)
        return [(f"k{n}", *each) for n, each in enumerate(ends)]


def ranges_in_files(
    lie: Layout,
    columns: Columns,
    labels: ColumnNames,
    plan: Plan,
    time: TimeAxis | None,
    mode: Mode,
    parts: int,
) -> FileRanges:
    """Return the clusters in at most `parts` ranges, each with the window before it."""
    assignment = assign_ranges(lie.runs, plan, time, mode, parts, lie.unit, lie.before)
    return FileRanges(mode, lie.clusters, assignment, columns, labels)
