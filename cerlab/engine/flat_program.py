"""A whole machine as flat arrays, which the kernels of window scans and of totals run.

Symbols with the same effect are one *action*. An action lists only what it changes: most events
change little, and events that change nothing are not read.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from enum import IntEnum
from heapq import heapify, heappop, heappush
from typing import NamedTuple

import numpy as np

from cerlab.automata.deterministic import Deterministic
from cerlab.automata.explicit import DEAD, SKIP, Mealy, Move, StepMoves, mealy_of
from cerlab.automata.explore import reachable, successors_by
from cerlab.automata.labelled import LabelledMachine
from cerlab.computed import cached_property
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
"""The maximum number of cells of a machine whose states are merged for a program."""

UNMERGED = 1 << 16
"""The maximum number of cells of a machine whose states are not merged."""


class Read(IntEnum):
    """The events with an action that the scan has to read."""

    NEVER = 0
    ALWAYS = 1
    ONCE = 2
    """Only the first event after one that is always read: further ones change nothing."""


class TooLarge(Exception):
    """Signal that a machine or its totals exceed what the kernels can hold."""


class Program:
    """A machine as flat arrays, for the symbols seen so far."""

    def __init__(
        self,
        machine: Deterministic | LabelledMachine,
        vectors: Sequence[int],
        states: Iterable[int] = (),
        idles: Iterable[int] = (),
        *,
        merges: bool = True,
    ) -> None:
        """Flatten a machine into arrays; the arguments are those of `mealy_of`.

        Raises `TooLarge` for too many cells.
        """
        budget = BUDGET if merges else UNMERGED
        mealy = mealy_of(machine, vectors, states, idles, budget=budget, merges=merges)
        if mealy is None:
            raise TooLarge("the machine has too many states")
        self._machine, self._vectors = machine, vectors
        self.number, self.idle_of = mealy.number, mealy.idle_of
        one_idle = {n: idle for idle, n in reversed(self.idle_of.items())}
        self.idles = tuple(one_idle[n] for n in range(len(mealy.begin)))
        """An idle state of the machine for each number."""
        columns = [_column(mealy, symbol) for symbol in range(len(vectors))]
        numbers: dict[_Column, int] = {}
        action = [numbers.setdefault(column, len(numbers)) for column in columns]
        actions = list(numbers)
        # one byte if possible: kernels write and read one action for each event
        self.action: Symbols = np.array(action, np.uint8 if len(actions) <= 256 else np.uint16)
        """The action of each symbol: (symbols,)."""
        self.read: Bytes = np.array(_reads(actions, action[0]), np.uint8)[self.action]
        """The events with a symbol that must be read, a `Read`: (symbols,)."""
        self._moves = [_moves(column) for column in actions]
        self._begins = [
            [_Op(DEAD, *move) for move in column.begin[i]]
            for i in range(len(self.idles))
            for column in actions
        ]
        leaves = [
            [(q,) for q, step in enumerate(column.step) if not _stays(q, step)]
            for column in actions
        ]
        leave_first, leave = flat(leaves, np.int32)
        waits = [column.wait[i] for i in range(len(self.idles)) for column in actions]
        self.moves = Moves(
            states=len(mealy.step),
            actions=len(actions),
            begin=_ops(self._begins),
            move=_ops(self._moves),
            leave_first=leave_first,
            leave=leave,
            wait=np.array(waits, np.int32),
        )

    @cached_property
    def waits(self) -> Int32s:
        """The next idle state, by idle state and symbol: int32 (idle states, symbols).

        Machines over more symbols may separate more idle states.
        """
        waits = np.full((max(self.idle_of) + 1, len(self._vectors)), DEAD, np.int32)
        for idle in self.idle_of:
            waits[idle] = [self._machine.wait(idle, v) for v in self._vectors]
        return waits

    @cached_property
    def is_chained(self) -> bool:
        """True if `kernels.chains` can list the answers of this program."""
        only_gathers = len(self.idles) == 1 and not len(self.moves.leave)
        return only_gathers and _is_chained(self.moves.states, self._moves, self._begins)

    @cached_property
    def latest_first(self) -> bool:
        """True if chains list the answers of one end in the order that LIMIT needs."""
        return all(map(_is_one_to_one, [*self._moves, *self._begins]))

    @cached_property
    def copy_steps(self) -> CopySteps | None:
        """The copies of latest starts by each action; None for programs that are not chained."""
        return copy_steps(self._moves, self._begins) if self.is_chained else None


class _Column(NamedTuple):
    """The moves of all states at one symbol."""

    begin: tuple[StepMoves, ...]  # by idle state
    wait: tuple[int, ...]  # by idle state
    step: tuple[StepMoves, ...]  # by state


class _Op(NamedTuple):
    source: int
    mark: int
    target: int
    accepts: bool


def _column(mealy: Mealy, symbol: int) -> _Column:
    return _Column(
        tuple(row[symbol] for row in mealy.begin),
        tuple(row[symbol] for row in mealy.wait),
        tuple(row[symbol] for row in mealy.step),
    )


def _reads(actions: Sequence[_Column], first: int) -> list[Read]:
    """Return whether each action's events have to be read; `first` is the action of symbol 0."""
    once = first if _is_quiet(actions[first]) and not _is_nothing(actions[first]) else None
    return [
        Read.ONCE
        if a == once
        # kernels support either ALWAYS with ONCE, or ALWAYS with NEVER
        else (Read.NEVER if once is None and _is_nothing(column) else Read.ALWAYS)
        for a, column in enumerate(actions)
    ]


def _is_quiet(column: _Column) -> bool:
    """Return whether an action starts no run, accepts none, and has no effect the second time.

    As a rule this holds for events that satisfy no predicate. It leaves a fresh machine unchanged.
    """
    skips = all(m.mark == SKIP and not m.accepts for step in column.step for m in step)
    after = {q: step[0].target if step else DEAD for q, step in enumerate(column.step)}
    after[DEAD] = DEAD
    return (
        not any(column.begin)
        and column.wait[0] == 0
        and all(column.wait[i] == i for i in column.wait)
        and skips
        and all(after[target] == target for target in after.values())
    )


def _is_nothing(column: _Column) -> bool:
    """Return whether an action changes no run."""
    return (
        not any(column.begin)
        and all(i == j for i, j in enumerate(column.wait))
        and all(step == (Move(SKIP, q, False),) for q, step in enumerate(column.step))
    )


def _stays(q: int, step: StepMoves) -> bool:
    """Return whether a run in state q stays there without accepting when it skips the event."""
    return Move(SKIP, q, False) in step


def _moves(column: _Column) -> list[_Op]:
    """Return the ops of an action on earlier runs; ops that stay in their state come first."""
    ops = [
        _Op(q, *move)
        for q, step in enumerate(column.step)
        for move in step
        if move.mark != SKIP or not _stays(q, step)
    ]
    # chains begin with the record added last, so the op that stays is added first
    return sorted(ops, key=lambda op: op.source != op.target)


def _is_chained(
    states: int, moves: Sequence[Sequence[_Op]], begins: Sequence[Sequence[_Op]]
) -> bool:
    """Return whether runs that enter a state start no earlier than the runs already there.

    This holds if, at all times, the latest start in the source of a move is no earlier than the
    latest start in its target. For a source p it holds for the targets that no later run can reach:
    by no beginning that leaves p out, and by no move from a state so reached, except through p.
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
    """Return whether the ops of an action enter distinct states and at most one accepts.

    Otherwise answers of chains mix.
    """
    targets = [op.target for op in ops if op.target != DEAD]
    return len(targets) == len(set(targets)) and sum(op.accepts for op in ops) <= 1


def _ops(rows: Sequence[Sequence[_Op]]) -> Ops:
    return Ops(*flat(rows, np.int32, np.int32, np.int32, np.uint8))


Copy = tuple[int, int]
"""A pair of cells: source and target of a copy."""


def copy_steps(moves: Sequence[Sequence[_Op]], begins: Sequence[Sequence[_Op]]) -> CopySteps | None:
    """Return the copies of latest starts that each action of a chained program makes.

    None if an action moves runs in a cycle.
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
    """Return the cell that holds the latest start of a state, or `without` for DEAD."""
    return without if state == DEAD else 3 + state


def _sources_first(copies: Sequence[Copy]) -> list[Copy] | None:
    """Return the copies in an order that reads each cell before overwriting it; None for a cycle.

    Of two copies into one cell the later start wins: the later copy in the given order.
    """
    readers = Counter(source for source, _ in copies)
    writers: dict[int, deque[int]] = {}  # by cell: the indices of the copies into it, in order
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
