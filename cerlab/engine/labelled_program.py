"""A labelled machine as flat arrays, for totals: its moves tell labels apart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from cerlab.automata.explore import reachable, successors_by
from cerlab.automata.labelled import LabelledMachine, LabelledMoves
from cerlab.engine.kernels.arrays import (
    NONE,
    Bytes,
    Moves,
    Ops,
    Symbols,
    flat,
    row_offsets,
)
from cerlab.predicates.columns.pieces import narrowest

BUDGET = 1 << 16
"""The maximum number of cells of a machine for the kernel: states times symbols."""


class TooLarge(Exception):
    """The machine is too large, or the totals are too many, for the kernel."""


class _Op(NamedTuple):
    source: int
    target: int
    mark: int
    accepts: bool


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
