"""Totals over the answers of each end, without listing them.

By the kernel where the numbers fit (`engine.kernels.totals`); else, and on short streams, by the
reference, whose integers have any size.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from functools import cache
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cerlab.automata.explore import along, reachable
from cerlab.automata.labelled import LabelledMachine, LabelledMoves
from cerlab.automata.plan import Plan
from cerlab.automata.strategy import Machine
from cerlab.budget import poll, step_budget
from cerlab.engine.answers import double_room, events_of_streams, firsts, paces
from cerlab.engine.clock import WindowStarts
from cerlab.engine.general import CONSUMES
from cerlab.engine.kernels import totals as k
from cerlab.engine.kernels.arrays import DONE, FULL, NEED_SCRATCH, NONE, Bytes, Int64s
from cerlab.engine.measures import (
    MOST_INTEGER,
    AggregateInputs,
    EndTotals,
    columns_of,
    largest,
    limbs,
)
from cerlab.engine.reference import totals as reference
from cerlab.engine.reference.totals import ANY_START, FEWER, Gain, Gains, Place, Total
from cerlab.errors import ResourceLimit
from cerlab.model.clauses import EventWindow
from cerlab.model.stream import Stream, TimeAxis
from cerlab.predicates.columns import SymbolStage
from cerlab.predicates.columns.key_codes import KeyCodes

SHORT = 256
"""Up to this many events, totals run without kernels: loading them would cost more."""

BUDGET = 1 << 16
"""The maximum number of cells of a machine for the kernel: states times symbols."""

MOST_CELLS = 1 << 25
"""The maximum number of integers that the kernel keeps."""

LIMB = 24
"""Integers that are summed are cut into digits of so many bits."""


class TooLarge(Exception):
    """The machine or the numbers are too large, or too many, for the kernel."""


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
            return exactly(8)
        except ResourceLimit as error:
            if error.code != "CER0605":
                raise
    try:
        return _KernelTotals(plan, with_labels, stream, time, inputs, by_start=by_start).totals()
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
    gains = _gains(machine, inputs)
    totals_by_end = reference.end_totals(
        plan, machine, lambda _, n: vectors[n], gains, stream, time, by_start=separate
    )
    for end, totals in totals_by_end:
        yield end, totals if by_start else _without_starts(totals)


def _without_starts(totals: dict[Place, Total]) -> dict[Place, Total]:
    groups: dict[Place, Total] = {}
    for (_, group), total in totals.items():
        place = (ANY_START, group)
        groups[place] = reference.add_totals(groups[place], total) if place in groups else total
    return groups


def _gains(machine: LabelledMachine, inputs: AggregateInputs) -> Gains:
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

    return Gains(lambda _, n, mark: of(n, mark), len(inputs.sums), len(inputs.least))


class _Op(NamedTuple):
    source: int
    target: int
    mark: int
    accepts: bool


class _KernelTotals:
    """Totals by the kernel."""

    def __init__(
        self,
        plan: Plan,
        machine: LabelledMachine,
        stream: Stream,
        time: TimeAxis | None,
        inputs: AggregateInputs,
        *,
        by_start: bool,
    ) -> None:
        columns, positions = events_of_streams(plan.streams, stream.columns, len(stream))
        count = len(positions)
        stage = SymbolStage(machine.predicates)
        symbols = stage.symbols(columns, count)
        codes, self._partitions = np.zeros(count, np.int64), 1
        if plan.partition:
            keys = KeyCodes(plan.partition)
            codes = keys.codes(columns, count)
            self._partitions = max(1, keys.count)
        order = positions
        lowest = WindowStarts(plan.window, time).read(columns, positions)
        if isinstance(plan.window, EventWindow):
            order = _order_in_partition(codes)
            lowest = order - min(plan.window.width, count)
        self._moves, matters = _program(machine, stage.vectors)
        ops = (self._moves.begin, self._moves.move)
        self._states = 1 + max(int(each.target.max(initial=0)) for each in ops)
        indices = np.flatnonzero(matters[symbols] & (codes != NONE))
        self._positions = positions[indices]
        self._digits = [limbs(x[self._positions], LIMB) for _, x in inputs.sums]
        marks = machine.marks
        self._read = k.Read(
            symbols=symbols[indices].astype(np.int64),
            codes=codes[indices],
            order=order[indices],
            lowest=lowest[indices],
            sums=_rows([digit for digits in self._digits for digit in digits], len(indices)),
            least=_rows([x[self._positions] for _, x in inputs.least], len(indices)),
            groups=_rows(
                [
                    x[self._positions] * stride
                    for (_, x, _), stride in zip(inputs.groups, inputs.strides, strict=True)
                ],
                len(indices),
            ),
            adds=_has(
                marks,
                [
                    label
                    for (label, _), digits in zip(inputs.sums, self._digits, strict=True)
                    for _ in digits
                ],
            ),
            lessens=_has(marks, [label for label, _ in inputs.least]),
            divides=_has(marks, [label for label, _, _ in inputs.groups]),
        )
        separate = by_start or plan.window is not None
        self._options = k.Options(CONSUMES[plan.consume], separate, by_start)
        self._groups = prod(size for _, _, size in inputs.groups)

    def totals(self) -> EndTotals:
        """The totals; raises `TooLarge`."""
        rows = self._all_rows(64 if self._options.separate else 1)
        start = np.full(len(rows.start), ANY_START, np.int64)
        if self._options.by_start:
            start = self._positions[rows.start]
        least = tuple(rows.least[:, n] for n in range(rows.least.shape[1]))
        end = self._positions[rows.event]
        return EndTotals(end, start, rows.group, rows.runs, self._sums_of_digits(rows.sums), least)

    def _sums_of_digits(self, digits: Int64s) -> tuple[Any, ...]:
        """The sums of the digits that each column was cut into."""
        sums, first = [], 0
        for cut in self._digits:
            parts = [digits[:, first + n] for n in range(len(cut))]
            sizes = (largest(part) << LIMB * n for n, part in enumerate(parts))
            if sum(sizes) > MOST_INTEGER:
                parts = [part.astype(object) for part in parts]
            sums.append(sum(part << LIMB * n for n, part in enumerate(parts)))
            first += len(cut)
        return tuple(sums)

    def _all_rows(self, places: int) -> k.Rows:
        """All rows, with so many places for starts at first."""
        read, groups = self._read, self._groups
        sums, least = len(read.sums), len(read.least)
        width = groups * (1 + sums + least)
        ops = int(np.diff(self._moves.move.first).max(initial=0)) + 1
        while True:
            if (self._partitions * self._states + ops) * places * width > MOST_CELLS:
                raise TooLarge("there are too many starts in the window, partitions and groups")
            poll(8 * (self._partitions * self._states + ops) * places * width)

            def totals_of_states(partitions: int, states: int, places: int = places) -> k.RunTotals:
                shape = (partitions, states, places, groups)
                return k.RunTotals(
                    np.zeros(shape, np.int64),
                    np.zeros((*shape, sums), np.int64),
                    np.full((*shape, least), k.NOTHING, np.int64),
                    np.zeros((partitions, places), np.int64),
                    np.zeros((partitions, places), np.int64),
                    np.zeros((partitions, 2), np.int64),
                    np.full(partitions, NONE, np.int64),
                    np.zeros(partitions, np.int32),
                )

            reg = np.zeros(k.REGISTERS, np.int64)
            rows = _room(max(1 << 10, 2 * places * groups), sums, least)
            state = totals_of_states(self._partitions, self._states), totals_of_states(1, ops)
            out = totals_of_states(1, 1, places if self._options.by_start else 1)
            for part in paces(len(read.symbols), careful=True):
                some = read._replace(symbols=read.symbols[: part.stop])
                while (
                    status := k.total_ends(self._moves, some, *state, out, rows, reg, self._options)
                ) == FULL:
                    rows = double_room(rows)
                if status != DONE:
                    break
            else:
                return k.Rows(*(column[: reg[k.ROWS]] for column in rows))
            if status != NEED_SCRATCH:
                raise TooLarge("a sum needs more than 64 bits")
            places *= 2


def _room(rows: int, sums: int, least: int) -> k.Rows:
    event, start, group, runs = (np.zeros(rows, np.int64) for _ in range(4))
    totals = np.zeros((rows, sums), np.int64), np.zeros((rows, least), np.int64)
    return k.Rows(event, start, group, runs, *totals)


def _rows(columns: Sequence[Any], length: int) -> Int64s:
    return np.array(columns, np.int64).reshape(len(columns), length)


def _has(marks: Sequence[frozenset[str]], labels: Sequence[str]) -> Bytes:
    cells = [label in mark for mark in marks for label in labels]
    return np.array(cells, np.uint8).reshape(len(marks), len(labels))


def _order_in_partition(codes: Int64s) -> Int64s:
    """Return the number of earlier events of the same partition, by event."""
    order = np.argsort(codes, kind="stable")
    sorted_codes = codes[order]
    first = np.searchsorted(sorted_codes, sorted_codes, side="left")
    number = np.empty(len(codes), np.int64)
    number[order] = np.arange(len(codes)) - first
    return number


def _program(machine: LabelledMachine, vectors: Sequence[int]) -> tuple[k.Moves, NDArray[np.bool_]]:
    """The moves over some symbols, and which symbols change something: bool (symbols,).

    Of the states those that may still lead to an answer; raises `TooLarge` for too many.
    """
    steps: dict[int, list[LabelledMoves]] = {}

    def after(q: int) -> list[int]:
        if len(steps) * len(vectors) > BUDGET:
            raise TooLarge("the machine has too many states")
        steps[q] = [machine.step(q, v) for v in vectors]
        return [p for moves in steps[q] for p in _targets(moves)]

    idles = tuple(reachable((machine.idle,), lambda idle: [machine.wait(idle, v) for v in vectors]))
    begins = [machine.begin(idle, v) for idle in idles for v in vectors]
    states = tuple(reachable([q for moves in begins for q in _targets(moves)], after))
    edges = [(p, q) for q in states for moves in steps[q] for p in _targets(moves)]
    ending = [q for p, q in edges if machine.final[p]]
    number = {q: n for n, q in enumerate(reachable(ending, along(edges)))}

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
    at = {idle: n for n, idle in enumerate(idles)}
    wait = np.array([[at[machine.wait(idle, v)] for v in vectors] for idle in idles], np.int32)
    moves = k.Moves(
        begin=_ops(begin),
        move=_ops(move),
        leave_first=firsts(leave),
        leave=np.array([n for row in leave for n in row], np.int32),
        wait=wait,
    )
    matters = np.array([bool(row) for row in begin]).reshape(wait.shape).any(axis=0)
    matters |= np.array([bool(row or left) for row, left in zip(move, leave, strict=True)])
    return moves, matters | (wait != np.arange(len(idles))[:, np.newaxis]).any(axis=0)


def _targets(moves: LabelledMoves) -> list[int]:
    return [q for _, q in moves.takes] + ([] if moves.skip is None else [moves.skip])


def _stays(machine: LabelledMachine, q: int, moves: LabelledMoves) -> bool:
    """Return whether runs in a state that skip an event stay there without an answer."""
    return moves.skip == q and not machine.final[q]


def _loops(op: _Op, q: int, symbol: int, stays: set[tuple[int, int]]) -> bool:
    return op.mark == NONE and (q, symbol) in stays


def _ops(rows: Sequence[Sequence[_Op]]) -> k.Ops:
    flat = [op for row in rows for op in row]
    return k.Ops(
        firsts(rows),
        np.array([op.source for op in flat], np.int32),
        np.array([op.target for op in flat], np.int32),
        np.array([op.mark for op in flat], np.int32),
        np.array([op.accepts for op in flat], np.uint8),
    )
