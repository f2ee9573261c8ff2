"""Totals of ends as columns: put together by group, and over windows that slide."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from cerlab.automata.plan import Plan
from cerlab.engine.clock import WindowStarts
from cerlab.engine.columns import events_of_streams
from cerlab.engine.kernels import totals as k
from cerlab.engine.kernels.arrays import Int64s
from cerlab.engine.measures import Integers
from cerlab.engine.reference.totals import Place, Sliding, Total
from cerlab.model.clauses import EventWindow, Window
from cerlab.model.stream import Stream, TimeAxis

MOST_INTEGER = (1 << 62) - 1
"""Integers up to this size are kept in 64 bits: so is the sum of any two of them."""

NOTHING: int = k.NOTHING
"""The least of no values."""


class AggregateInputs(NamedTuple):
    """What runs carry: integers of the events of a stream, each for the events of one label.

    `groups` are numbers of values, 0 for NULL, each with how many numbers there are; a label there
    holds one event at most.
    """

    sums: tuple[tuple[str, Integers], ...]  # (events,)
    least: tuple[tuple[str, Int64s], ...]  # (events,), -1 for none
    groups: tuple[tuple[str, Int64s, int], ...]  # (events,)

    @property
    def labels(self) -> frozenset[str]:
        """The labels whose events are told apart."""
        of_groups = (label for label, _, _ in self.groups)
        return frozenset((*(label for label, _ in (*self.sums, *self.least)), *of_groups))

    @property
    def strides(self) -> list[int]:
        """By how much a group grows for each number, by column of `groups`."""
        sizes = [size for _, _, size in self.groups]
        return [prod(sizes[:n]) for n in range(len(sizes))]


class EndTotals(NamedTuple):
    """Totals of ends, by start and group, in the order of the ends: one row for each.

    Arrays of int64, or of Python's integers where 64 bits are too few.
    """

    end: Int64s  # (rows,)
    start: Int64s  # (rows,), `ANY_START` where starts are not told apart
    group: Int64s  # (rows,)
    runs: Int64s  # (rows,)
    sums: tuple[Integers, ...]  # one of (rows,) for each sum
    least: tuple[Integers, ...]  # the same for least values, `NOTHING` for none

    def since(self, first: int) -> EndTotals:
        """Those of the ends from a position on."""
        at = slice(int(np.searchsorted(self.end, first)), None)
        end, start, group, runs = (x[at] for x in (self.end, self.start, self.group, self.runs))
        sums, least = (tuple(x[at] for x in of) for of in (self.sums, self.least))
        return EndTotals(end, start, group, runs, sums, least)


def columns_of(
    totals_by_end: Iterable[tuple[int, dict[Place, Total]]], inputs: AggregateInputs
) -> EndTotals:
    """The totals of ends as columns."""
    rows = [(end, place, total) for end, of in totals_by_end for place, total in of.items()]
    totals = [total for _, _, total in rows]
    end = integers([end for end, _, _ in rows])
    start, group = (integers([place[n] for _, place, _ in rows]) for n in range(2))
    return EndTotals(
        end,
        start,
        group,
        integers([total.runs for total in totals]),
        tuple(integers([total.sums[n] for total in totals]) for n in range(len(inputs.sums))),
        tuple(
            integers([NOTHING if (x := total.least[n]) is None else x for total in totals])
            for n in range(len(inputs.least))
        ),
    )


def integers(values: Sequence[int]) -> Integers:
    """Integers as an array: int64, or Python's own where 64 bits are too few."""
    fit = all(-MOST_INTEGER <= value <= MOST_INTEGER for value in values)
    return np.array(values, np.int64 if fit else object)


def slide(
    totals: EndTotals, by: Sequence[Int64s], lowest: Int64s, inputs: AggregateInputs
) -> EndTotals:
    """The same rows, each with all before it that agree in all of `by` and do not end too early.

    `lowest` is by position the first end that counts at an end there.
    """
    queues: dict[tuple[Any, ...], Sliding] = {}
    groups = list(zip(*(column.tolist() for column in by), strict=True)) or [()] * len(totals.end)

    def totals_by_end() -> Iterator[tuple[int, dict[Place, Total]]]:
        sums, least = (
            list(zip(*(column.tolist() for column in of), strict=True))
            for of in (totals.sums, totals.least)
        )
        places = zip(totals.end.tolist(), totals.start.tolist(), totals.group.tolist(), strict=True)
        for n, (end, start, group) in enumerate(places):
            minima = [None if x == NOTHING else x for x in (least[n] if least else ())]
            total = Total(int(totals.runs[n]), tuple(sums[n] if sums else ()), tuple(minima))
            queue = queues.setdefault(groups[n], Sliding())
            yield end, {(start, group): queue.add(end, total, int(lowest[end]))}

    return columns_of(totals_by_end(), inputs)


def first_ends(window: Window, plan: Plan, stream: Stream, time: TimeAxis | None) -> Int64s:
    """By position the first one inside a window that ends there: int64 (events,).

    Of events outside FROM it says nothing. Events are counted in the whole stream.
    """
    length = len(stream)
    if isinstance(window, EventWindow):
        return np.arange(length) - min(window.width, length)
    columns, positions = events_of_streams(plan.streams, stream.columns, length)
    lowest = np.zeros(length, np.int64)
    lowest[positions] = WindowStarts(window, time).read(columns, positions)
    return lowest


def group_rows(totals: EndTotals, by: Sequence[Int64s]) -> EndTotals:
    """The totals of the rows that agree in all of `by`, in the order of their first ends."""
    code = np.zeros(len(totals.end), np.int64)
    for column in by:
        values, number = np.unique(column, return_inverse=True)
        code = np.unique(code * len(values) + number, return_inverse=True)[1]
    _, first, number = np.unique(code, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    order = np.argsort(rank[number], kind="stable")
    begins = np.searchsorted(rank[number][order], np.arange(len(first)))

    def sums_of(column: Integers) -> Integers:
        fits = largest(column) * len(column) <= MOST_INTEGER
        column = column if fits else column.astype(object)
        return np.add.reduceat(column[order], begins) if len(begins) else column

    def least(column: Integers) -> Integers:
        return np.minimum.reduceat(column[order], begins) if len(begins) else column

    end, start, group = (x[order][begins] for x in (totals.end, totals.start, totals.group))
    sums, lowest = (tuple(map(f, of)) for f, of in ((sums_of, totals.sums), (least, totals.least)))
    return EndTotals(end, start, group, sums_of(totals.runs), sums, lowest)


def nothing(inputs: AggregateInputs) -> EndTotals:
    """One row, of no answers."""
    zero = np.zeros(1, np.int64)
    least = np.full(1, NOTHING, np.int64)
    return EndTotals(
        zero, zero, zero, zero, (zero,) * len(inputs.sums), (least,) * len(inputs.least)
    )


def largest(integers: Integers) -> int:
    """The largest size of some integers."""
    return max(abs(int(integers.max())), abs(int(integers.min()))) if len(integers) else 0
