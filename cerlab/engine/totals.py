"""Totals over the answers of each end, without listing them.

By the kernel where the numbers fit (`engine.kernels.totals`); else, and on short streams, by the
reference, whose integers have any size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
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
from cerlab.engine.answers import double_room, events_of_streams, paces
from cerlab.engine.general import CONSUMES
from cerlab.engine.kernels import totals as k
from cerlab.engine.kernels.arrays import DONE, FULL, NEED_SCRATCH, NONE, Bytes, Int64s, firsts
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
from cerlab.engine.windows import WindowStarts
from cerlab.errors import ResourceLimit
from cerlab.model.clauses import EventWindow
from cerlab.model.columns import order_of
from cerlab.model.stream import Stream, TimeAxis
from cerlab.predicates.columns import SymbolStage
from cerlab.predicates.columns.key_codes import KeyCodes

SHORT = 256
"""Up to this many events, totals run without kernels: loading them would cost more."""

BUDGET = 1 << 16
"""The maximum number of cells of a machine for the kernel: states times symbols."""

MOST_CELLS = 1 << 25
"""The maximum number of integers that the kernel keeps."""

# so small that 2^37 runs, the most that the kernel counts, gain less than 2^61 each
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
            # an eighth of the budget, a quarter of a second: loading the kernels takes no longer
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
        self._program = program_of(machine, stage.vectors)
        indices = np.flatnonzero(self._program.matters[symbols] & (codes != NONE))
        self._positions = positions[indices]
        self._digits = [limbs(x[self._positions], LIMB) for _, x in inputs.sums]
        self._read = k.Read(
            symbols=symbols[indices].astype(np.int64),
            codes=codes[indices],
            order=order[indices],
            lowest=lowest[indices],
            **gains_of_runs(machine.marks, inputs, self._digits, self._positions),
        )
        separate = by_start or plan.window is not None
        self._options = k.Options(CONSUMES[plan.consume], separate, by_start)
        self._groups = prod(size for _, _, size in inputs.groups)

    def totals(self) -> EndTotals:
        """The totals; raises `TooLarge`."""
        places = 64 if self._options.separate else 1
        program, shape = self._program, (self._partitions, places, self._groups)
        rows = run_kernel(program, self._read, shape, self._options).rows
        start = np.full(len(rows.start), ANY_START, np.int64)
        if self._options.by_start:
            start = self._positions[rows.start]
        sums = sums_of_digits(rows.sums, [*map(len, self._digits)])
        least = tuple(rows.least[:, n] for n in range(rows.least.shape[1]))
        return EndTotals(self._positions[rows.event], start, rows.group, rows.runs, sums, least)


def gains_of_runs(
    marks: Sequence[frozenset[str]],
    inputs: AggregateInputs,
    digits: Sequence[Sequence[Int64s]],
    positions: Int64s,
) -> dict[str, Any]:
    """The gains of runs by the events at some positions, as fields of `k.Read`.

    `digits` are those of each column of ``inputs.sums``, of these events only.
    """
    length, groups = len(positions), zip(inputs.groups, inputs.strides, strict=True)
    labels = [label for (label, _), of in zip(inputs.sums, digits, strict=True) for _ in of]
    return {
        "sums": _rows([digit for of in digits for digit in of], length),
        "least": _rows([x[positions] for _, x in inputs.least], length),
        "groups": _rows([x[positions] * stride for (_, x, _), stride in groups], length),
        "adds": _has(marks, labels),
        "lessens": _has(marks, [label for label, _ in inputs.least]),
        "divides": _has(marks, [label for label, _, _ in inputs.groups]),
    }


def sums_of_digits(digits: Int64s, widths: Sequence[int]) -> tuple[Any, ...]:
    """The sums of the digits, shape (rows, digits), that each column was cut into."""
    sums, first = [], 0
    for width in widths:
        parts = [digits[:, first + n] for n in range(width)]
        sizes = (largest(part) << LIMB * n for n, part in enumerate(parts))
        if sum(sizes) > MOST_INTEGER:
            parts = [part.astype(object) for part in parts]
        sums.append(sum(part << LIMB * n for n, part in enumerate(parts)))
        first += width
    return tuple(sums)


class KernelRun(NamedTuple):
    """Results of the kernel on some events."""

    rows: k.Rows
    state: k.RunTotals
    epoch: int
    """The number of times that all partitions were reset."""


def run_kernel(
    program: Program,
    read: k.Read,
    shape: tuple[int, int, int],
    options: k.Options,
    begin: Callable[[k.RunTotals], None] | None = None,
) -> KernelRun:
    """Read some events; raises `TooLarge`.

    `shape` has the number of partitions, of places for starts at first, and of groups. `begin`
    writes the totals to go on from, for which there must be places.
    """
    partitions, places, groups = shape
    sums, least = len(read.sums), len(read.least)
    width = groups * (1 + sums + least)
    ops = int(np.diff(program.moves.move.first).max(initial=0)) + 1
    while True:
        if (partitions * program.states + ops) * places * width > MOST_CELLS:
            raise TooLarge("there are too many starts in the window, partitions and groups")
        poll(8 * (partitions * program.states + ops) * places * width)

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
        totals = totals_of_states(partitions, program.states)
        if begin is not None:
            begin(totals)
        scratch = totals_of_states(1, ops)
        out = totals_of_states(1, 1, places if options.by_start else 1)
        for part in paces(len(read.symbols), careful=True):
            some = read._replace(symbols=read.symbols[: part.stop])
            state = totals, scratch, out
            while (status := k.total_ends(program.moves, some, *state, rows, reg, options)) == FULL:
                rows = double_room(rows)
            if status != DONE:
                break
        else:
            listed = k.Rows(*(column[: reg[k.ROWS]] for column in rows))
            return KernelRun(listed, totals, int(reg[k.EPOCH]))
        if status != NEED_SCRATCH:
            raise TooLarge("a sum needs more than 64 bits")
        # the ring of starts was full: from the beginning, since the kernel keeps no old totals
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
    order = order_of(codes)
    sorted_codes = codes[order]
    first = np.searchsorted(sorted_codes, sorted_codes, side="left")
    number = np.empty(len(codes), np.int64)
    number[order] = np.arange(len(codes)) - first
    return number


class Program(NamedTuple):
    """A labelled machine over some symbols, as the kernel runs it."""

    moves: k.Moves
    matters: NDArray[np.bool_]
    """Which symbols change something: (symbols,)."""
    number: dict[int, int]
    """The numbers of the machine's states that may still lead to an answer."""
    idles: dict[int, int]
    """The numbers of its idle states."""
    reached: frozenset[int]
    """All states of the machine that were looked at."""

    @property
    def states(self) -> int:
        """Count of the numbers of states, at least one."""
        return max(1, len(self.number))


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
    kept = states if more else reachable(ending, along(edges))
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
    moves = k.Moves(
        begin=_ops(begin),
        move=_ops(move),
        leave_first=firsts(leave),
        leave=np.array([n for row in leave for n in row], np.int32),
        wait=wait,
    )
    matters = np.array([bool(row) for row in begin]).reshape(wait.shape).any(axis=0)
    matters |= np.array([bool(row or left) for row, left in zip(move, leave, strict=True)])
    matters |= (wait != np.arange(len(at))[:, np.newaxis]).any(axis=0)
    return Program(moves, matters, number, at, frozenset(states))


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
