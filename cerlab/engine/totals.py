"""Totals over the answers of each end, without listing them.

By the kernel (`engine.kernels.totals`); on short streams by the reference, whose integers have any
size.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from copy import copy
from functools import cache
from itertools import pairwise, product
from math import prod
from typing import Any, NamedTuple

import numpy as np

from cerlab.automata.explore import reachable, successors_by
from cerlab.automata.labelled import LabelledMachine, LabelledMoves
from cerlab.automata.plan import Plan
from cerlab.automata.strategy import Machine
from cerlab.budget import poll, step_budget
from cerlab.engine.answers import (
    double_room,
    events_of_streams,
    join_arrays,
    paces,
)
from cerlab.engine.kernels import blocks as b
from cerlab.engine.kernels import totals as k
from cerlab.engine.kernels.arrays import (
    DONE,
    FULL,
    NEED_ARENA,
    NEED_SCRATCH,
    NONE,
    Bytes,
    Int64s,
    Moves,
    Ops,
    Symbols,
    flat,
    row_offsets,
)
from cerlab.engine.kernels.limbs import BITS
from cerlab.engine.kernels.windowed import relevant
from cerlab.engine.measures import (
    MOST_INTEGER,
    AggregateInputs,
    EndTotals,
    columns_of,
    join_totals,
    largest,
    limbs,
)
from cerlab.engine.reference import totals as reference
from cerlab.engine.reference.driver import Clauses
from cerlab.engine.reference.totals import ANY_START, FEWER, Gain, Place, Total
from cerlab.engine.state_checks import MOST_EVENTS
from cerlab.engine.symbol_tables import LearnedTables
from cerlab.engine.tecs_run import CONSUMES
from cerlab.engine.windows import WindowStarts, list_of, take_instants
from cerlab.errors import ResourceLimit
from cerlab.model.clauses import EventWindow
from cerlab.model.columns import order_of, take_columns
from cerlab.model.event import Value
from cerlab.model.stream import Instant, Stream, TimeAxis
from cerlab.predicates.columns import SymbolStage
from cerlab.predicates.columns.key_codes import KeyCodes
from cerlab.predicates.columns.pieces import narrowest

SHORT = 256
"""Up to this many events, totals run without kernels: loading them would cost more."""

BUDGET = 1 << 16
"""The maximum number of cells of a machine for the kernel: states times symbols."""

FEW_CELLS = 1_500
"""Up to so many cells of open starts in a state, two stacks cost more: vector instructions read
2,000 counts, or 200 sums of doubles with extremes, in the time of one event of stacks (2026-11-28).
"""

FIRST_CELLS = 1 << 10
"""The kernel has room for so many integers from the beginning."""

MOST_CELLS = 1 << 25
"""The maximum number of integers that the kernel keeps."""


class TooLarge(Exception):
    """The machine is too large, or the totals are too many, for the kernel."""


def totals_of_ends(
    plan: Plan,
    machine: Machine,
    stream: Stream,
    time: TimeAxis | None,
    inputs: AggregateInputs,
    *,
    by_start: bool,
) -> EndTotals:
    """The totals of the ends of a stream, by start and group.

    They are over rows: a row is an answer with the labels of `inputs`; an answer whose labels can
    be given in several ways is a row for each. Starts are told apart if `by_start`; the number of a
    group has mixed digits, one for each column of `inputs.groups`, the first one lowest.
    """
    with_labels = LabelledMachine(machine, plan.vcea, inputs.labels)
    short = len(stream) <= SHORT

    def exactly(share: int) -> EndTotals:
        with step_budget("totals by start and group", FEWER, own=share) if short else nullcontext():
            totals_by_end = _exactly(plan, with_labels, stream, time, inputs, by_start=by_start)
            return columns_of(totals_by_end, inputs)

    if short:
        try:
            # an eighth of the budget, a quarter of a second: loading the kernels takes no longer
            return exactly(8)
        except ResourceLimit as error:
            if error.code != "CER0605":
                raise
    try:
        return _totals_by_kernel(plan, with_labels, stream, time, inputs, by_start=by_start)
    except TooLarge:
        return exactly(1)


def _exactly(
    plan: Plan,
    machine: LabelledMachine,
    stream: Stream,
    time: TimeAxis | None,
    inputs: AggregateInputs,
    *,
    by_start: bool,
) -> Iterator[tuple[int, dict[Place, Total]]]:
    stage = SymbolStage(machine.predicates)
    symbols = stage.symbols(stream.columns, len(stream)).tolist()
    vectors = [stage.vectors[s] for s in symbols]
    separate = by_start or plan.window is not None
    algebra = reference.sums(_gain_of(machine, inputs), len(inputs.sums), len(inputs.least))
    totals_by_end = reference.end_totals(
        plan, machine, lambda _, n: vectors[n], algebra, stream, time, by_start=separate
    )
    for end, totals in totals_by_end:
        yield end, totals if by_start else _without_starts(totals)


def _without_starts(totals: dict[Place, Total]) -> dict[Place, Total]:
    groups: dict[Place, Total] = {}
    for (_, group), total in totals.items():
        place = (ANY_START, group)
        groups[place] = reference.add_totals(groups[place], total) if place in groups else total
    return groups


def _gain_of(machine: LabelledMachine, inputs: AggregateInputs) -> reference.GainOf:
    """The gain of a run that takes an event with a mark, by event."""
    groups = list(zip(inputs.groups, inputs.strides, strict=True))

    @cache
    def of(position: int, mark: int) -> Gain:
        labels = machine.marks[mark]
        sums = [int(x[position]) if label in labels else 0 for label, x in inputs.sums]
        least = [
            int(x[position]) if label in labels and x[position] >= 0 else None
            for label, x in inputs.least
        ]
        grows = (int(x[position]) * stride for (label, x, _), stride in groups if label in labels)
        return Gain(sums, least, sum(grows))

    return lambda _, n, mark: of(n, mark)


class _Op(NamedTuple):
    source: int
    target: int
    mark: int
    accepts: bool


class ArrayTotals:
    """The totals of runs as arrays, carried from batch to batch; read by the kernel."""

    def __init__(self, options: k.Options, *, sums: int = 0, least: int = 0) -> None:
        self.options = options
        self._limbs = [1] * sums
        """The number of limbs of the gains of each sum, so far."""
        self._wide = 1
        """The number of limbs of the number of runs."""
        at = np.arange(sums + 2, dtype=np.int64)
        self._layout = b.Layout(1, 1, least, at)
        self._cells = _empty(0)
        self._stacks = _no_stacks(0, 0)
        self._scratch = np.zeros(1 << 10, np.int64)
        self._reg = np.zeros(b.REGISTERS, np.int64)

    def read(
        self,
        moves: Moves,
        read: b.Read,
        *,
        partitions: int,
        groups: int = 1,
        more: bool = False,
    ) -> EndTotals:
        """Read events; the totals of the ends, with indices of events.

        Say whether `more` will come. Raises `TooLarge` where there are too many totals, and then
        this cannot go on.
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
        parts, reg = list[EndTotals](), self._reg
        reg[b.FEW] = FEW_CELLS
        reg[b.AT] = reg[b.STACKED] = reg[b.SETTLES] = 0
        for part in paces(len(read.actions), careful=True):
            rows = self._total(moves, read._replace(actions=read.actions[: part.stop]), rows, parts)
        if more and reg[b.STACKED]:
            reg[b.AT], reg[b.SETTLES] = 0, 1
            rows = self._total(moves, read, rows, parts)
        parts.append(self._listed(rows))
        reg[b.ROWS] = 0
        return join_totals(parts)

    def _total(self, moves: Moves, read: b.Read, rows: k.Rows, parts: list[EndTotals]) -> k.Rows:
        """Read on until the last event; return the rows since the last of `parts`."""
        reg = self._reg
        while True:
            cells, state = self._cells, (self._scratch, rows, reg, self.options)
            status = k.total_ends(moves, read, self._layout, cells, self._stacks, *state)
            if status == DONE:
                return rows
            if status == FULL:
                rows = double_room(rows)
            elif status == NEED_SCRATCH:
                (self._scratch,) = double_room(_Scratch(self._scratch))
            elif status == NEED_ARENA:
                self._move(self._layout)
            else:
                parts.append(self._listed(rows))
                self._wide, reg[b.WIDER], reg[b.ROWS] = self._wide + 1, 0, 0
                self._follow(self._layout.states, self._layout.groups)
                rows = self._rows(len(rows.event))

    @property
    def steps(self) -> int:
        """The number of cells that events have read so far."""
        return int(self._reg[b.STEPS])

    def _make_room(self, partitions: int) -> None:
        """Make room for partitions."""
        have = len(self._cells.base)
        if partitions > have:
            poll(100 * max(partitions - have, have))
            self._cells = join_arrays(self._cells, _empty(max(partitions - have, have)))

    def _layout_of(self, states: int, groups: int) -> b.Layout:
        widths = [self._wide, *(n + self._wide - 1 for n in self._limbs)]
        at = np.concatenate(([0], np.cumsum(widths)))
        return b.Layout(states, groups, self._layout.least, at)

    def _follow(self, states: int, groups: int) -> None:
        """Have the layout for so many states and groups, and numbers as wide as they are now."""
        layout, before = self._layout_of(states, groups), self._layout
        alike = layout[:3] == before[:3] and np.array_equal(layout.at, before.at)
        if not alike or not len(self._cells.pool):
            self._move(layout)

    def _move(self, layout: b.Layout) -> None:
        """Move the open starts into a pool with room for as many again; raises `TooLarge`."""
        cells, before = self._cells, self._layout
        height = 2 + layout.states * layout.groups * (int(layout.at[-1]) + layout.least)
        open_starts = np.diff(cells.live)[:, 0] * (cells.epoch == self._reg[b.EPOCH])
        used = cells.size.copy()
        while (large := used > 4 * open_starts).any():
            used[large] //= 2
        total, most = int(used.sum()), int(used.max(initial=1))
        size = max(FIRST_CELLS, height * (2 * total + 2 * most + len(used)))
        if size > MOST_CELLS:
            raise TooLarge("there are too many starts in the window, partitions and groups")
        size += (height - 2) * self._cells_of_stacks(most, layout.states)
        poll(8 * size)
        pool, epoch = np.zeros(size, np.int64), self._reg[b.EPOCH]
        self._reg[b.END] = b.move_cells(cells, self._stacks, before, pool, layout, epoch)
        self._cells, self._layout = cells._replace(pool=pool), layout

    def _cells_of_stacks(self, most: int, states: int) -> int:
        """Return the cells for all stacks, and for new ones of the largest partition twice."""
        if not self.options.separate or self.options.by_start:
            return 0
        parts, here = self._stacks.parts, 0
        if self._reg[b.STACKED]:
            stacked = parts[:, b.FIRST] > 0
            here = int((parts[:, b.LAST] - parts[:, b.FIRST] + states + 1)[stacked].sum())
        cells = most * (int(self._layout.at[-1]) + self._layout.least)
        return here + (2 * (most + states + 1) if cells > FEW_CELLS else 0)

    def copy(self) -> ArrayTotals:
        """Return another one that goes on from here."""
        other = copy(self)
        other._cells = join_arrays(self._cells, _empty(0))
        other._reg = self._reg.copy()
        return other

    def begin(self, runs: OpenRuns, idle: Sequence[int], states: int, groups: int) -> None:
        """Begin with some runs, of partitions with these idle states; raises `TooLarge`."""
        totals = runs.totals
        width = [limbs(x, BITS) for x in (totals.runs, *totals.sums)]
        self._wide = len(width[0])
        self._limbs = [max(1, len(of) - self._wide + 1) for of in width[1:]]
        self._make_room(len(idle))
        cells, reg = self._cells, self._reg
        cells.idle[: len(idle)], cells.epoch[: len(idle)] = idle, reg[b.EPOCH]
        first, place = _starts_of(totals.end, totals.start)
        of = totals.end[first]
        cells.live[:, 1] = counts = np.bincount(of, minlength=len(cells.base))
        cells.size[:] = np.where(counts, 1 << np.frexp(counts - 0.5)[1].astype(np.int64), 0)
        layout = self._layout = self._layout_of(states, groups)
        columns, size = int(layout.at[-1]) + layout.least, cells.size
        height = 2 + states * groups * columns
        end = reg[b.END] = height * int(size.sum())
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
        """Return all open runs."""
        cells, layout = self._cells, self._layout
        count = np.diff(cells.live)[:, 0] * (cells.epoch == self._reg[b.EPOCH])
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
        idles: list[int] = np.where(cells.epoch == self._reg[b.EPOCH], cells.idle, 0).tolist()
        return idles[:partitions]

    def _rows(self, count: int) -> k.Rows:
        columns = int(self._layout.at[-1]) + len(self._layout.at) - 1 + self._layout.least
        poll(8 * count * (3 + columns))
        event, start, group = (np.zeros(count, np.int64) for _ in range(3))
        return k.Rows(event, start, group, np.zeros((count, columns), np.int64))

    def _listed(self, rows: k.Rows) -> EndTotals:
        """The rows that the kernel listed."""
        count = int(self._reg[b.ROWS])
        event, start, group, columns = (each[:count] for each in rows)
        start = start if self.options.by_start else np.full(count, ANY_START, np.int64)
        at = self._layout.at + np.arange(len(self._layout.at))
        return self._totals_of(event, start, group, columns, at)

    def _totals_of(
        self, end: Int64s, start: Int64s, group: Int64s, columns: Int64s, at: Int64s
    ) -> EndTotals:
        """The totals that columns of limbs and least values are, with these first columns."""
        parts = (columns[:, first:last] for first, last in pairwise(at.tolist()))
        runs, *sums = map(numbers_of_limbs, parts)
        return EndTotals(end, start, group, runs, tuple(sums), tuple(columns[:, at[-1] :].T))


def _no_stacks(partitions: int, events: int) -> b.Stacks:
    """Return no stacks of some partitions, with room for some events."""
    earlier, opened, occupied = (np.empty(events, np.int64) for _ in range(3))
    return b.Stacks(np.zeros((partitions, b.PARTS), np.int64), earlier, opened, occupied)


class OpenRuns(NamedTuple):
    """The totals of runs that are open, by partition in place of the end."""

    state: Int64s
    order: Int64s
    """The place of the start in the order that the window counts."""
    totals: EndTotals


def _starts_of(partition: Int64s, start: Int64s) -> tuple[Int64s, Int64s]:
    """Return a row of each start, and for each row the number of its start in its partition."""
    order = np.lexsort((start, partition))
    partitions, starts = partition[order], start[order]
    is_first = np.ones(len(order), np.bool_)
    is_first[1:] = (partitions[1:] != partitions[:-1]) | (starts[1:] != starts[:-1])
    number, place = np.cumsum(is_first) - 1, np.empty(len(order), np.int64)
    place[order] = number - number[np.searchsorted(partitions, partitions)]
    return order[is_first], place


class _Scratch(NamedTuple):
    cells: Int64s


def _empty(partitions: int) -> b.Cells:
    """No runs of so many partitions."""
    base, size = (np.zeros(partitions, np.int64) for _ in range(2))
    live, epoch = np.zeros((partitions, 2), np.int64), np.full(partitions, NONE, np.int64)
    nothing = np.zeros(0, np.int64)
    return b.Cells(nothing, base, size, live, epoch, np.zeros(partitions, np.int32))


def numbers_of_limbs(limbs: Int64s) -> Any:
    """The numbers that limbs of shape (numbers, limbs) are, the lowest one first."""
    parts = [limbs[:, n] for n in range(limbs.shape[1])]
    while len(parts) > 1 and not parts[-1].any():
        parts.pop()
    if sum(largest(part) << BITS * n for n, part in enumerate(parts)) > MOST_INTEGER:
        parts = [part.astype(object) for part in parts]
    return sum(part << BITS * n for n, part in enumerate(parts))


def read_of(
    events: Mapping[str, Any],
    marks: Sequence[frozenset[str]],
    inputs: AggregateInputs,
    positions: Int64s,
) -> b.Read:
    """What the kernel reads: fields of `b.Read`, and the gains by the events at some positions."""
    length, groups = len(positions), zip(inputs.groups, inputs.strides, strict=True)
    digits = [limbs(x[positions], BITS) for _, x in inputs.sums]
    least = [x[positions] for _, x in inputs.least]
    return b.Read(
        **events,
        sums=_rows([digit for of in digits for digit in of], length),
        limbs=np.concatenate(([0], np.cumsum([*map(len, digits)], dtype=np.int64))),
        least=_rows([np.where(x < 0, b.NOTHING, x) for x in least], length),
        groups=_rows([x[positions] * stride for (_, x, _), stride in groups], length),
        adds=_has(marks, [label for label, _ in inputs.sums]),
        lessens=_has(marks, [label for label, _ in inputs.least]),
        divides=_has(marks, [label for label, _, _ in inputs.groups]),
    )


class Places:
    """The partitions of events, and their places in the order that a window counts, by batch."""

    def __init__(self, plan: Clauses, time: TimeAxis | None) -> None:
        self._window = plan.window
        self._starts = WindowStarts(plan.window, time)
        """The events inside a window in time that have mattered."""
        self._keys = KeyCodes(plan.partition)
        self._seen = np.zeros(0, np.int64)

    @property
    def partitions(self) -> int:
        """The number of partitions so far."""
        return max(1, self._keys.count)

    @property
    def last(self) -> Instant | None:
        """The instant of the last event, where a window asks for it."""
        return None if self._starts.clock is None else self._starts.clock.last

    def keys(self) -> list[tuple[Value, ...]]:
        """Return the key of each partition."""
        return self._keys.keys() if self._keys.attributes else [()]

    def copy(self) -> Places:
        """Return another one that goes on from here."""
        other = copy(self)
        other._starts = self._starts.copy()
        return other

    def resume(
        self, keys: Sequence[tuple[Value, ...]], pointers: Sequence[Any], last: Instant | None
    ) -> None:
        """Go on after the events of some partitions, with the states of their `WindowPointer`s."""
        if self._keys.attributes:
            columns = dict(zip(self._keys.attributes, zip(*keys, strict=True), strict=False))
            self._keys.codes(columns, len(keys))
        self._seen = np.array([seen for seen, _ in pointers], np.int64)
        self._ordinal = {
            (n, position): at for n, (_, inside) in enumerate(pointers) for at, position in inside
        }
        if self._starts.clock is not None:
            inside = sorted({p: t for _, some in pointers for t, p in some}.items())
            self._starts.resume([time for _, time in inside], [p for p, _ in inside])
            self._starts.clock.last = last

    def order(self, partitions: Sequence[int], starts: Sequence[int]) -> Int64s:
        """Return the places of some starts, after `resume`."""
        if not isinstance(self._window, EventWindow):
            return np.array(starts, np.int64)
        pairs = zip(partitions, starts, strict=True)
        return np.array([self._ordinal[pair] for pair in pairs], np.int64)

    def is_inside(self, start: int) -> bool:
        """Return whether the window of the last event has a start that it had once."""
        return self._starts.clock is None or start >= self._starts.lowest

    def state(self, partitions: Int64s, starts: Int64s, order: Int64s) -> list[Any]:
        """Return for each partition the state of a `WindowPointer` with these starts inside."""
        count = len(self.keys())
        seen = [*self._seen.tolist(), *([0] * count)][:count]
        inside: list[dict[int, Instant]] = [{} for _ in seen]
        times, inside_now = self._starts.inside()
        instants = dict(zip(inside_now.tolist(), list_of(times), strict=True))
        cells = zip(partitions.tolist(), starts.tolist(), order.tolist(), strict=True)
        for n, start, at in sorted(cells):
            if self.is_inside(start):
                inside[n][start] = at if self._starts.clock is None else instants[start]
        pairs = ([(at, start) for start, at in some.items()] for some in inside)
        return list(zip(seen, pairs, strict=True))

    def read(
        self,
        columns: Mapping[str, Any],
        positions: Int64s,
        symbols: Symbols,
        action: Symbols,
        matters: Bytes,
    ) -> dict[str, Int64s]:
        """The events that matter and are in a partition, as fields of `b.Read`.

        The columns and `symbols` are of all events of a batch, `positions` those in the stream;
        `action` and `matters` are by symbol. Raises `BadData` for a time that is missing or goes
        back.
        """
        count = len(positions)
        indices, actions = np.empty(count + 1, np.int32), np.empty(count + 1, action.dtype)
        found = relevant(symbols, matters, action, indices, actions)
        some, actions = indices[:found], actions[:found]
        of_some, codes = np.zeros(found, np.int64), None
        if self._keys.attributes:
            if isinstance(self._window, EventWindow):
                codes = self._keys.codes(columns, count)
                of_some = codes[some]
            else:
                present = {a: columns[a] for a in self._keys.attributes if a in columns}
                of_some = self._keys.codes(take_columns(present, some), found)
            if len(some) and of_some.min() == NONE:
                inside = of_some != NONE
                some, actions, of_some = some[inside], actions[inside], of_some[inside]
        order = at = positions[some]
        if isinstance(self._window, EventWindow):
            order = self._ordinals(codes, count)[some]
            lowest = order - min(self._window.width, MOST_EVENTS)
        elif self._starts.clock is not None:
            times = self._starts.clock.read(columns, count, lambda n: int(positions[n]))
            lowest = self._starts.take(take_instants(times, some), at)
        else:
            lowest = np.full(len(some), NONE, np.int64)
        return {
            "actions": actions.astype(np.int64),
            "codes": of_some,
            "order": order,
            "lowest": lowest,
            "positions": at,
        }

    def _ordinals(self, codes: Int64s | None, count: int) -> Int64s:
        """For each event the number of earlier events of its partition."""
        more = np.zeros(max(0, self.partitions - len(self._seen)), np.int64)
        self._seen = np.concatenate((self._seen, more))
        if codes is None:
            self._seen = self._seen + count
            return np.arange(int(self._seen[0]) - count, int(self._seen[0]))
        order: Int64s = _order_in_partition(codes) + self._seen[codes]
        self._seen = self._seen + np.bincount(codes[codes != NONE], minlength=len(self._seen))
        return order


def _totals_by_kernel(
    plan: Plan,
    machine: LabelledMachine,
    stream: Stream,
    time: TimeAxis | None,
    inputs: AggregateInputs,
    *,
    by_start: bool,
) -> EndTotals:
    """The totals by the kernel; raises `TooLarge`."""
    columns, positions = events_of_streams(plan.streams, stream.columns, len(stream))
    stage, places = SymbolStage(machine.predicates), Places(plan, time)
    symbols = stage.symbols(columns, len(positions))
    program = program_of(machine, stage.vectors)
    events = places.read(columns, positions, symbols, program.action, program.matters)
    read = read_of(events, machine.marks, inputs, events["positions"])
    separate = by_start or plan.window is not None
    options = k.Options(CONSUMES[plan.consume], separate, by_start)
    totals = ArrayTotals(options, sums=len(inputs.sums), least=len(inputs.least))
    groups = prod(size for _, _, size in inputs.groups)
    ends = totals.read(program.moves, read, partitions=places.partitions, groups=groups)
    return ends._replace(end=read.positions[ends.end])


def total_of(numbers: Any) -> int:
    """Return the exact sum of integers."""
    fits = largest(numbers) * len(numbers) <= MOST_INTEGER
    return int(numbers.sum()) if fits else sum(numbers.tolist())


NO_INPUTS = AggregateInputs((), (), ())


def counts_of_ends(
    plan: Plan, tables: LearnedTables, stream: Stream, time: TimeAxis | None
) -> tuple[Int64s, Any]:
    """The ends of a stream, and how many answers each has; at most the LIMIT.

    Raises `TooLarge` where there are too many counts.
    """
    columns, positions = events_of_streams(plan.streams, stream.columns, len(stream))
    symbols, places = tables.symbols(columns, len(positions)), Places(plan, time)
    if (program := tables.program()) is None:
        raise TooLarge("the machine is too large for a program")
    events = places.read(columns, positions, symbols, program.action, program.read)
    options = k.Options(CONSUMES[plan.consume], plan.window is not None, False)
    ends = counts(options, program.moves, events, places.partitions)
    numbers = ends.runs
    if plan.limit is not None:
        numbers = np.minimum(numbers, plan.limit.per_end)
    return events["positions"][ends.end], numbers


def counts(
    options: k.Options, moves: Moves, events: Mapping[str, Int64s], partitions: int
) -> EndTotals:
    """The numbers of answers at ends; raises `TooLarge`."""
    read = read_of(events, [frozenset()] * 2, NO_INPUTS, events["positions"])
    marked = [ops._replace(marks=ops.marks.astype(np.int32)) for ops in (moves.begin, moves.move)]
    of_counts = moves._replace(begin=marked[0], move=marked[1])
    return ArrayTotals(options).read(of_counts, read, partitions=partitions)


def _rows(columns: Sequence[Any], length: int) -> Int64s:
    return np.array(columns, np.int64).reshape(len(columns), length)


def _has(marks: Sequence[frozenset[str]], labels: Sequence[str]) -> Bytes:
    cells = [label in mark for mark in marks for label in labels]
    return np.array(cells, np.uint8).reshape(len(marks), len(labels))


def _order_in_partition(codes: Int64s) -> Int64s:
    """Return the number of earlier events of the same partition, by event."""
    order = order_of(codes)
    sorted_codes = codes[order]
    first = np.searchsorted(sorted_codes, sorted_codes, side="left")
    number = np.empty(len(codes), np.int64)
    number[order] = np.arange(len(codes)) - first
    return number


class Program(NamedTuple):
    """A labelled machine over some symbols, as the kernel runs it; actions are symbols."""

    moves: Moves
    action: Symbols  # (symbols,), all different
    matters: Bytes
    """Which symbols change something: (symbols,)."""
    number: dict[int, int]
    """The numbers of the machine's states that may still lead to an answer."""
    idles: dict[int, int]
    """The numbers of its idle states."""


def program_of(
    machine: LabelledMachine,
    vectors: Sequence[int],
    states: Iterable[int] = (),
    idles: Iterable[int] = (),
    *,
    more: bool = False,
) -> Program:
    """The program over the symbols with these truth vectors.

    Of the states those that are reached from the beginning, or from some `states` and `idles`, and
    that may still lead to an answer; all that are reached if `more` symbols may come. Raises
    `TooLarge` for too many.
    """
    steps: dict[int, list[LabelledMoves]] = {}

    def after(q: int) -> list[int]:
        if len(steps) * len(vectors) > BUDGET:
            raise TooLarge("the machine has too many states")
        steps[q] = [machine.step(q, v) for v in vectors]
        return [p for moves in steps[q] for p in _targets(moves)]

    first = (machine.idle, *idles)
    waits = reachable(first, lambda idle: [machine.wait(idle, v) for v in vectors])
    at = {idle: n for n, idle in enumerate(waits)}
    begins = [machine.begin(idle, v) for idle in at for v in vectors]
    begun = (q for moves in begins for q in _targets(moves))
    states = tuple(reachable([*states, *begun], after))
    edges = [(p, q) for q in states for moves in steps[q] for p in _targets(moves)]
    ending = [q for p, q in edges if machine.final[p]]
    kept = states if more else reachable(ending, successors_by(edges))
    number = {q: n for n, q in enumerate(kept)}

    def ops(source: int, moves: LabelledMoves) -> list[_Op]:
        skip = [] if moves.skip is None else [(NONE, moves.skip)]
        all_ops = [
            _Op(source, number.get(q, NONE), mark, machine.final[q])
            for mark, q in (*moves.takes, *skip)
        ]
        return [op for op in all_ops if op.accepts or op.target != NONE]

    stays = {(q, a) for q in number for a, m in enumerate(steps[q]) if _stays(machine, q, m)}
    move = [
        [op for q, n in number.items() for op in ops(n, steps[q][a]) if not _loops(op, q, a, stays)]
        for a in range(len(vectors))
    ]
    leave = [[n for q, n in number.items() if (q, a) not in stays] for a in range(len(vectors))]
    begin = [ops(NONE, moves) for moves in begins]
    wait = np.array([[at[machine.wait(idle, v)] for v in vectors] for idle in at], np.int32)
    moves = Moves(
        states=len(number),
        actions=len(vectors),
        begin=_ops(begin),
        move=_ops(move),
        leave_first=row_offsets(leave),
        leave=np.array([n for row in leave for n in row], np.int32),
        wait=wait.reshape(-1),
    )
    matters = np.array([bool(row) for row in begin]).reshape(wait.shape).any(axis=0)
    matters |= np.array([bool(row or left) for row, left in zip(move, leave, strict=True)])
    matters |= (wait != np.arange(len(at))[:, np.newaxis]).any(axis=0)
    action = np.arange(len(vectors)).astype(narrowest(len(vectors)))
    return Program(moves, action, matters.astype(np.uint8), number, at)


def _targets(moves: LabelledMoves) -> list[int]:
    return [q for _, q in moves.takes] + ([] if moves.skip is None else [moves.skip])


def _stays(machine: LabelledMachine, q: int, moves: LabelledMoves) -> bool:
    """Return whether runs in a state that skip an event stay there without an answer."""
    return moves.skip == q and not machine.final[q]


def _loops(op: _Op, q: int, symbol: int, stays: set[tuple[int, int]]) -> bool:
    return op.mark == NONE and (q, symbol) in stays


def _ops(rows: Sequence[Sequence[_Op]]) -> Ops:
    columns = [[(op.source, op.target, op.accepts, op.mark) for op in row] for row in rows]
    return Ops(*flat(columns, np.int32, np.int32, np.uint8, np.int32))
