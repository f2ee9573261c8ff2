"""A whole machine as flat arrays, for window scans.

Symbols with the same effect are one *action*. An action lists only what it changes: most events
change little, and those that change nothing are not read at all.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from enum import IntEnum
from heapq import heapify, heappop, heappush
from typing import NamedTuple

import numpy as np

from cerlab.automata.deterministic import Deterministic
from cerlab.automata.explicit import DEAD, NOWHERE, Mealy, Move, Step, mealy_of
from cerlab.automata.explore import reachable, successors_by
from cerlab.engine.kernels.arrays import (
    BEGINNING,
    NEVER,
    SPARE,
    Bytes,
    CopySteps,
    Int32s,
    Moves,
    Ops,
    Symbols,
    flat,
)

BUDGET = 20_000
"""The maximum number of cells of a machine for a program."""


class Read(IntEnum):
    """Which events with a symbol have to be read."""

    NEVER = 0
    ALWAYS = 1
    ONCE = 2
    """The first after one that is always read: the next ones change nothing more."""


class Program(NamedTuple):
    """A `Mealy` machine over the symbols so far."""

    action: Symbols  # (symbols,)
    read: Bytes  # (symbols,), a Read
    moves: Moves
    idles: tuple[int, ...]
    """One number of each idle state in the machine."""
    idle_of: dict[int, int]
    """The idle state of each number."""
    waits: Int32s  # (numbers, symbols)
    """The number after each symbol: machines over more symbols may tell more of them apart."""
    is_chained: bool
    """Whether `kernels.windowed.chains` can list its answers."""
    latest_first: bool
    """Whether those list the answers of an end in that order, in which LIMIT takes them."""
    copy_steps: CopySteps | None
    """For chained programs only."""


def program(machine: Deterministic, vectors: Sequence[int]) -> Program | None:
    """The program of a machine over the truth vectors of its symbols; None if it is too large."""
    mealy = mealy_of(machine, vectors, budget=BUDGET)
    if mealy is None:
        return None
    idle_states = len(mealy.begin)
    one_idle = {c: idle for idle, c in reversed(mealy.idle_of.items())}
    columns = [_column(mealy, symbol) for symbol in range(len(vectors))]
    numbers: dict[_Column, int] = {}
    action = [numbers.setdefault(column, len(numbers)) for column in columns]
    actions = list(numbers)
    quiet = action[0] if _is_quiet(actions[action[0]]) else None
    read = [
        Read.ALWAYS if a != quiet else (Read.NEVER if _is_identity(actions[a]) else Read.ONCE)
        for a in action
    ]
    moves = [_moves(column) for column in actions]
    begins = [_begins(column.begin[i]) for i in range(idle_states) for column in actions]
    leaves = [
        [q for q, step in enumerate(column.step) if step.skip != Move(q, False)]
        for column in actions
    ]
    is_chained = (
        idle_states == 1 and not any(leaves) and _is_chained(len(mealy.step), moves, begins)
    )
    leave_first, leave = flat([[(q,) for q in row] for row in leaves], np.int32)
    waits = [column.wait[i] for i in range(idle_states) for column in actions]
    return Program(
        # bytes where they reach: kernels write and read one for each event
        action=np.array(action, np.uint8 if len(actions) <= 256 else np.uint16),
        read=np.array(read, np.uint8),
        moves=Moves(
            states=len(mealy.step),
            actions=len(actions),
            begin=_ops(begins),
            move=_ops(moves),
            leave_first=leave_first,
            leave=leave,
            wait=np.array(waits, np.int32),
        ),
        idles=tuple(one_idle[c] for c in range(idle_states)),
        idle_of=mealy.idle_of,
        waits=_waits(machine, vectors, list(mealy.idle_of)),
        is_chained=is_chained,
        latest_first=all(map(_is_one_to_one, [*moves, *begins])),
        copy_steps=copy_steps(moves, begins) if is_chained else None,
    )


class _Column(NamedTuple):
    """All that a symbol does."""

    begin: tuple[Step, ...]  # by idle state
    wait: tuple[int, ...]  # by idle state
    step: tuple[Step, ...]  # by state


class _Op(NamedTuple):
    source: int
    target: int
    accepts: bool
    marks: bool


def _column(mealy: Mealy, symbol: int) -> _Column:
    return _Column(
        tuple(row[symbol] for row in mealy.begin),
        tuple(row[symbol] for row in mealy.wait),
        tuple(row[symbol] for row in mealy.step),
    )


def _is_quiet(column: _Column) -> bool:
    """Whether doing it twice is doing it once: as a rule so of events that satisfy no predicate.

    It starts and accepts nothing, and leaves a fresh machine as it is.
    """
    nothing = Step(NOWHERE, NOWHERE)
    after = {q: step.skip.target for q, step in enumerate(column.step)} | {DEAD: DEAD}
    return (
        all(step == nothing for step in column.begin)
        and column.wait[0] == 0
        and all(column.wait[i] == i for i in column.wait)
        and all(step.take == NOWHERE and not step.skip.accepts for step in column.step)
        and all(after[target] == target for target in after.values())
    )


def _is_identity(column: _Column) -> bool:
    return all(i == j for i, j in enumerate(column.wait)) and all(
        step.skip.target == q for q, step in enumerate(column.step)
    )


def _moves(column: _Column) -> list[_Op]:
    """The ops of runs that started earlier; of one target the run that stays there comes first."""
    ops = []
    for q, (take, skip) in enumerate(column.step):
        if take != NOWHERE:
            ops.append(_Op(q, take.target, take.accepts, True))
        if skip not in (NOWHERE, Move(q, False)):
            ops.append(_Op(q, skip.target, skip.accepts, False))
    # of a chain the newest record is in front, so the run that stays is put there first
    return sorted(ops, key=lambda op: op.source != op.target)


def _begins(step: Step) -> list[_Op]:
    return [
        _Op(DEAD, move.target, move.accepts, marks)
        for move, marks in ((step.take, True), (step.skip, False))
        if move != NOWHERE
    ]


def _is_chained(
    states: int, moves: Sequence[Sequence[_Op]], begins: Sequence[Sequence[_Op]]
) -> bool:
    """Return whether runs that enter a state never start earlier than the runs in it.

    So it is where, at all times, the latest start in the source of a move is no earlier than the
    latest in its target. For a source p these targets are those that nothing later may come to: no
    beginning that leaves p out, and no move from what it came to, except through p.
    """
    for ops in moves:
        targets = [op.target for op in ops if op.target not in (DEAD, op.source)]
        if len(targets) > len(set(targets)):
            return False
    edges = {(op.source, op.target) for ops in moves for op in ops if op.target != DEAD}
    rows = {frozenset(op.target for op in ops) for ops in begins}
    for p in range(states):
        fresh = {q for row in rows if p not in row for q in row} - {DEAD}
        later = set(reachable(fresh, successors_by((s, t) for s, t in edges if t != p)))
        if any((p, q) in edges for q in later):
            return False
    return True


def _is_one_to_one(ops: Sequence[_Op]) -> bool:
    """Whether no two ops bring runs to one state, or accept: else answers of two chains mix."""
    targets = [op.target for op in ops if op.target != DEAD]
    return len(targets) == len(set(targets)) and sum(op.accepts for op in ops) <= 1


def _waits(machine: Deterministic, vectors: Sequence[int], idles: list[int]) -> Int32s:
    waits = np.full((max(idles) + 1, len(vectors)), DEAD, np.int32)
    for idle in idles:
        waits[idle] = [machine.wait(idle, v) for v in vectors]
    return waits


def _ops(rows: Sequence[Sequence[_Op]]) -> Ops:
    return Ops(*flat(rows, np.int32, np.int32, np.uint8, np.uint8))


Copy = tuple[int, int]
"""From a cell, to a cell."""


def copy_steps(moves: Sequence[Sequence[_Op]], begins: Sequence[Sequence[_Op]]) -> CopySteps | None:
    """Return the copies of each action of a chained program.

    None if an action moves runs round in a circle.
    """
    copies: list[list[Copy]] = []
    accepting: list[list[int]] = []
    for move, begin in zip(moves, begins, strict=True):
        cells = [
            (_cell(op.source, BEGINNING), _cell(op.target, SPARE), op.accepts)
            for op in (*move, *begin)
        ]
        order = _sources_first([(s, t) for s, t, _ in cells if t not in (SPARE, s)])
        if order is None:
            return None
        copies.append(order)
        accepting.append([s for s, _, accepts in cells if accepts])
    width = max(1, *map(len, copies)) if copies else 1
    accepts = max(1, *map(len, accepting)) if accepting else 1
    full_rows = [row + [(SPARE, SPARE)] * (width - len(row)) for row in copies]
    _, source, target = flat(full_rows, np.uint32, np.uint32)
    return CopySteps(
        width,
        source,
        target,
        accepts,
        np.array([row + [NEVER] * (accepts - len(row)) for row in accepting], np.uint32).ravel(),
    )


def _cell(state: int, without: int) -> int:
    """Return the cell of a state, or that for DEAD."""
    return without if state == DEAD else 3 + state


def _sources_first(copies: Sequence[Copy]) -> list[Copy] | None:
    """An order in which each cell is copied before it is written; None for a circle.

    Of two copies into one cell the later start wins, which is that of the later copy as given.
    """
    readers = Counter(source for source, _ in copies)
    writers: dict[int, deque[int]] = {}  # copies into each cell, in their order
    for n, (_, target) in enumerate(copies):
        writers.setdefault(target, deque()).append(n)
    ready = [rest[0] for target, rest in writers.items() if not readers[target]]
    heapify(ready)
    order: list[Copy] = []
    while ready:
        source, target = copy = copies[heappop(ready)]
        order.append(copy)
        writers[target].popleft()
        if writers[target]:
            heappush(ready, writers[target][0])
        readers[source] -= 1
        if not readers[source] and writers.get(source):
            heappush(ready, writers[source][0])
    return order if len(order) == len(copies) else None
