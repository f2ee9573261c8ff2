"""The totals of runs (counts, sums, minima) in arrays that kernels update batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from itertools import pairwise, product
from typing import Any, NamedTuple

import numpy as np

from cerlab.budget import poll
from cerlab.engine.answers import (
    double_room,
    join_arrays,
    paces,
)
from cerlab.engine.flat_program import TooLarge
from cerlab.engine.kernels import blocks as b
from cerlab.engine.kernels import totals as k
from cerlab.engine.kernels.arrays import (
    DONE,
    FULL,
    NEED_ARENA,
    NEED_SCRATCH,
    NONE,
    Int64s,
    Moves,
)
from cerlab.engine.kernels.limbs import BITS
from cerlab.engine.measures import (
    MOST_INTEGER,
    EndTotals,
    join_totals,
    largest,
    limbs,
)
from cerlab.engine.reference.totals import ANY_START
from cerlab.model.arrays import order_of

FEW_CELLS = 1_500
"""Up to this many cells of open starts in a state, two stacks cost more: vector instructions read
2,000 counts, or 200 sums of doubles with extremes, in the time of one event of stacks (2026-11-28).
"""

FIRST_CELLS = 1 << 10
"""The number of integers in the kernel's first pool."""

MOST_CELLS = 1 << 25
"""The maximum number of integers that the kernel keeps."""


class ArrayTotals:
    """Counts, sums and minima of all open runs, in arrays that a kernel updates batch by batch."""

    def __init__(self, options: k.Options, *, sums: int = 0, least: int = 0) -> None:
        self.options = options
        self._limbs = [1] * sums
        """The number of limbs of the gains of each sum so far."""
        self._wide = 1
        """The number of limbs of the number of runs."""
        at = np.arange(sums + 2, dtype=np.int64)
        self._layout = b.Layout(1, 1, least, at)
        self._cells = _empty(0)
        self._stacks = _no_stacks(0, 0)
        self._scratch = np.zeros(1 << 10, np.int64)
        self._counters = np.zeros(b.REGISTERS, np.int64)

    def read(
        self,
        moves: Moves,
        read: b.Read,
        *,
        partitions: int,
        groups: int = 1,
        more: bool = False,
    ) -> EndTotals:
        """Read a batch; return the totals of the answers at each event that ends some.

        `more`: further events will come. Raises `TooLarge` for too many totals; this object cannot
        be used afterwards.
        """
        for ops in (moves.begin, moves.move):
            if np.diff(ops.first).max(initial=0) > k.MOST_OPS:
                raise TooLarge("a symbol moves too many runs")
        self._limbs = [max(x, y) for x, y in zip(self._limbs, np.diff(read.limbs), strict=True)]
        self._make_room(partitions)
        events = len(read.actions) if self.options.separate else 0
        self._stacks = _no_stacks(len(self._cells.base), events)
        self._follow(max(1, moves.states), groups)
        one_each = groups == 1 and not self.options.by_start
        rows = self._rows(max(1 << 10, len(read.actions) if one_each else 0))
        parts, counters = list[EndTotals](), self._counters
        counters[b.FEW] = FEW_CELLS
        counters[b.AT] = counters[b.STACKED] = counters[b.SETTLES] = 0
        for part in paces(len(read.actions), careful=True):
            rows = self._total(moves, read._replace(actions=read.actions[: part.stop]), rows, parts)
        if more and counters[b.STACKED]:
            counters[b.AT], counters[b.SETTLES] = 0, 1
            rows = self._total(moves, read, rows, parts)
        parts.append(self._listed(rows))
        counters[b.ROWS] = 0
        return join_totals(parts)

    def _total(
        self, moves: Moves, read: b.Read, rows: k.TotalRows, parts: list[EndTotals]
    ) -> k.TotalRows:
        """Run the kernel to the last event; append full blocks to `parts`; return the last one."""
        counters = self._counters
        while True:
            cells, state = self._cells, (self._scratch, rows, counters, self.options)
            status = k.total_ends(moves, read, self._layout, cells, self._stacks, *state)
            if status == DONE:
                return rows
            if status == FULL:
                parts.append(self._listed(rows))
                counters[b.ROWS] = 0
                # one event may need more rows than the old block has
                rows = self._rows(2 * len(rows.event))
            elif status == NEED_SCRATCH:
                (self._scratch,) = double_room(_Scratch(self._scratch))
            elif status == NEED_ARENA:
                self._move(self._layout)
            else:
                parts.append(self._listed(rows))
                self._wide, counters[b.WIDER], counters[b.ROWS] = self._wide + 1, 0, 0
                self._follow(self._layout.states, self._layout.groups)
                rows = self._rows(len(rows.event))

    @property
    def steps(self) -> int:
        """The number of cells that events have read, which measures the cost."""
        return int(self._counters[b.STEPS])

    def _make_room(self, partitions: int) -> None:
        """Make room for `partitions` partitions."""
        have = len(self._cells.base)
        if partitions > have:
            poll(100 * max(partitions - have, have))
            self._cells = join_arrays(self._cells, _empty(max(partitions - have, have)))

    def _layout_of(self, states: int, groups: int) -> b.Layout:
        widths = [self._wide, *(n + self._wide - 1 for n in self._limbs)]
        at = np.concatenate(([0], np.cumsum(widths)))
        return b.Layout(states, groups, self._layout.least, at)

    def _follow(self, states: int, groups: int) -> None:
        """Change the layout to these numbers of states and groups, if it differs."""
        layout, before = self._layout_of(states, groups), self._layout
        alike = layout[:3] == before[:3] and np.array_equal(layout.at, before.at)
        if not alike or not len(self._cells.pool):
            self._move(layout)

    def _move(self, layout: b.Layout) -> None:
        """Copy the open runs into a pool with twice the room that they need; raise `TooLarge`."""
        cells, before = self._cells, self._layout
        height = 2 + layout.states * layout.groups * (int(layout.at[-1]) + layout.least)
        open_starts = np.diff(cells.live)[:, 0] * (cells.epoch == self._counters[b.EPOCH])
        used = cells.size.copy()
        while (large := used > 4 * open_starts).any():
            used[large] //= 2
        total, most = int(used.sum()), int(used.max(initial=1))
        size = max(FIRST_CELLS, height * (2 * total + 2 * most + len(used)))
        if size > MOST_CELLS:
            raise TooLarge("there are too many starts in the window, partitions and groups")
        size += (height - 2) * self._cells_of_stacks(most, layout.states)
        poll(8 * size)
        # copy the columns: `mark` keeps the old ones for undoing
        others: list[Any] = [*cells[1:]]
        cells = b.Cells(cells.pool, *(column.copy() for column in others))
        pool, epoch = np.zeros(size, np.int64), self._counters[b.EPOCH]
        self._counters[b.END] = b.move_cells(cells, self._stacks, before, pool, layout, epoch)
        self._cells, self._layout = cells._replace(pool=pool), layout

    def _cells_of_stacks(self, most: int, states: int) -> int:
        """Return the number of cells that stacks need if the largest partition doubles."""
        if not self.options.separate or self.options.by_start:
            return 0
        parts, tree_cells = self._stacks.parts, 0
        if self._counters[b.STACKED]:
            stacked = parts[:, b.FIRST] > 0
            tree_cells = int((parts[:, b.LAST] - parts[:, b.FIRST] + states + 1)[stacked].sum())
        cells = most * (int(self._layout.at[-1]) + self._layout.least)
        return tree_cells + (2 * (most + states + 1) if cells > FEW_CELLS else 0)

    def mark(self, partitions: Int64s) -> Callable[[], None]:
        """Return a function that restores the totals of these partitions as they are now.

        The cost depends on the contents of these partitions, not on the number of other ones.
        """
        before, cells, counters = copy(self), self._cells, self._counters.copy()
        known = partitions[partitions < len(cells.base)]
        columns: list[Any] = [*cells[1:]]
        rows = [column[known] for column in columns]
        height = 2 + self._layout.states * self._layout.groups * self._columns
        length = height * cells.size[known]
        ends = np.cumsum(length)
        at = np.arange(ends[-1] if len(ends) else 0) + np.repeat(
            cells.base[known] - (ends - length), length
        )
        block = cells.pool[at]

        def undo() -> None:
            for column, row in zip(columns, rows, strict=True):
                column[known] = row
            cells.pool[at] = block
            vars(self).update(vars(before), _counters=counters)

        return undo

    @property
    def _columns(self) -> int:
        """The number of columns for one group in one state."""
        return int(self._layout.at[-1]) + self._layout.least

    def begin(self, runs: OpenRuns, idle: Sequence[int], states: int, groups: int) -> None:
        """Start with open runs from a saved state, and the idle state of each partition."""
        totals = runs.totals
        width = [limbs(x, BITS) for x in (totals.runs, *totals.sums)]
        self._wide = len(width[0])
        self._limbs = [max(1, len(of) - self._wide + 1) for of in width[1:]]
        self._make_room(len(idle))
        cells, counters = self._cells, self._counters
        cells.idle[: len(idle)], cells.epoch[: len(idle)] = idle, counters[b.EPOCH]
        first, place = _starts_of(totals.end, totals.start)
        of = totals.end[first]
        cells.live[:, 1] = counts = np.bincount(of, minlength=len(cells.base))
        cells.size[:] = np.where(counts, 1 << np.frexp(counts - 0.5)[1].astype(np.int64), 0)
        layout = self._layout = self._layout_of(states, groups)
        columns, size = int(layout.at[-1]) + layout.least, cells.size
        height = 2 + states * groups * columns
        end = counters[b.END] = height * int(size.sum())
        cells.base[:] = height * (np.cumsum(size) - size)
        if 2 * end + height > MOST_CELLS:
            raise TooLarge("there are too many starts in the window, partitions and groups")
        poll(16 * end)
        pool = np.zeros(2 * end + height, np.int64)
        self._cells = cells._replace(pool=pool)
        at, size = cells.base[totals.end] + place, size[totals.end]
        pool[at[first]], pool[at[first] + size[first]] = runs.order[first], totals.start[first]
        row = 2 + (runs.state * groups + totals.group) * columns
        for first_column, numbers in zip(layout.at, (*width, totals.least), strict=True):
            for n, column in enumerate(numbers, int(first_column)):
                pool[at + (row + n) * size] = column

    def runs(self) -> OpenRuns:
        """Return the totals of all open runs, by state, start and group."""
        cells, layout = self._cells, self._layout
        count = np.diff(cells.live)[:, 0] * (cells.epoch == self._counters[b.EPOCH])
        of = np.repeat(np.arange(len(count)), count)
        slot = np.arange(len(of)) - np.repeat(np.cumsum(count) - count, count) + cells.live[of, 0]
        at, size = cells.base[of] + slot, cells.size[of]
        height, parts = int(layout.at[-1]) + layout.least, list[OpenRuns]()
        for q, g in product(range(layout.states), range(layout.groups)):
            rows = 2 + (q * layout.groups + g) * height + np.arange(height)
            columns = cells.pool[at[:, np.newaxis] + rows * size[:, np.newaxis]]
            some = columns[:, : layout.at[1]].any(axis=1)
            if some.any():
                partition, place, row = of[some], at[some], size[some]
                start = cells.pool[place + row]
                group, state = (np.full(len(start), n, np.int64) for n in (g, q))
                totals = self._totals_of(partition, start, group, columns[some], layout.at)
                parts.append(OpenRuns(state, cells.pool[place], totals))
        if not parts:
            no = np.zeros(0, np.int64)
            nothing = np.zeros((0, height), np.int64)
            return OpenRuns(no, no, self._totals_of(no, no, no, nothing, layout.at))
        state, order = (np.concatenate([each[n] for each in parts]) for n in range(2))
        return OpenRuns(state, order, join_totals([each.totals for each in parts]))

    def idles(self, partitions: int) -> list[int]:
        """Return the idle state of each partition."""
        self._make_room(partitions)
        cells = self._cells
        idles: list[int] = np.where(cells.epoch == self._counters[b.EPOCH], cells.idle, 0).tolist()
        return idles[:partitions]

    def _rows(self, count: int) -> k.TotalRows:
        columns = int(self._layout.at[-1]) + len(self._layout.at) - 1 + self._layout.least
        poll(8 * count * (3 + columns))
        event, start, group = (np.zeros(count, np.int64) for _ in range(3))
        return k.TotalRows(event, start, group, np.zeros((count, columns), np.int64))

    def _listed(self, rows: k.TotalRows) -> EndTotals:
        """Return the totals in the rows that the kernel wrote."""
        count = int(self._counters[b.ROWS])
        event, start, group, columns = (each[:count] for each in rows)
        start = start if self.options.by_start else np.full(count, ANY_START, np.int64)
        at = self._layout.at + np.arange(len(self._layout.at))
        return self._totals_of(event, start, group, columns, at)

    def _totals_of(
        self, end: Int64s, start: Int64s, group: Int64s, columns: Int64s, at: Int64s
    ) -> EndTotals:
        """Return totals from rows of limbs; number r is in columns ``at[r]`` to ``at[r + 1]``."""
        parts = (columns[:, first:last] for first, last in pairwise(at.tolist()))
        runs, *sums = map(numbers_of_limbs, parts)
        return EndTotals(end, start, group, runs, tuple(sums), tuple(columns[:, at[-1] :].T))


def _no_stacks(partitions: int, events: int) -> b.Stacks:
    """Return empty two-stack windows for some partitions and events."""
    earlier, opened, occupied = (np.empty(events, np.int64) for _ in range(3))
    return b.Stacks(np.zeros((partitions, b.PARTS), np.int64), earlier, opened, occupied)


class OpenRuns(NamedTuple):
    """The totals of open runs; `totals.end` holds the partition of each."""

    state: Int64s
    order: Int64s
    """The place of the start, in the order that the window counts."""
    totals: EndTotals


def _starts_of(partition: Int64s, start: Int64s) -> tuple[Int64s, Int64s]:
    """Return the first row of each start, and for each row the number of its start."""
    order = order_of(partition, start)
    partitions, starts = partition[order], start[order]
    is_first = np.ones(len(order), np.bool_)
    is_first[1:] = (partitions[1:] != partitions[:-1]) | (starts[1:] != starts[:-1])
    number, place = np.cumsum(is_first) - 1, np.empty(len(order), np.int64)
    place[order] = number - number[np.searchsorted(partitions, partitions)]
    return order[is_first], place


class _Scratch(NamedTuple):
    cells: Int64s


def _empty(partitions: int) -> b.Cells:
    """Return cells for `partitions` partitions, without any runs."""
    base, size = (np.zeros(partitions, np.int64) for _ in range(2))
    live, epoch = np.zeros((partitions, 2), np.int64), np.full(partitions, NONE, np.int64)
    nothing = np.zeros(0, np.int64)
    return b.Cells(nothing, base, size, live, epoch, np.zeros(partitions, np.int32))


def numbers_of_limbs(limbs: Int64s) -> Any:
    """Return the integers whose limbs are the rows of an array, lowest limb first."""
    parts = [limbs[:, n] for n in range(limbs.shape[1])]
    while len(parts) > 1 and not parts[-1].any():
        parts.pop()
    if sum(largest(part) << BITS * n for n, part in enumerate(parts)) > MOST_INTEGER:
        parts = [part.astype(object) for part in parts]
    return sum(part << BITS * n for n, part in enumerate(parts))
