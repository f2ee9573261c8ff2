"""Machines that accept on the way: states that differ only in being final become one (CORE 4.3).

Engines that look ahead need all of a machine at once, over the symbols that a stream has shown,
and as few states as there can be. Where acceptance is of the move and not of the state reached,
the state after ``A+`` and the state inside it are the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from cerlab.automata.deterministic import Deterministic
from cerlab.automata.explore import reachable
from cerlab.automata.partition import coarsest

DEAD = -1
"""The state of a run that has no future."""


class Move(NamedTuple):
    """Where a run goes, DEAD for nowhere, and whether it is accepted there."""

    target: int
    accepts: bool


NOWHERE = Move(DEAD, False)


class Step(NamedTuple):
    """What an event does with a run: by •, by ∘."""

    take: Move
    skip: Move


class Mealy(NamedTuple):
    """A machine over the symbols ``0 .. n-1``, whole: the merged states are numbered from 0."""

    begin: tuple[tuple[Step, ...], ...]
    """By idle state and symbol."""
    wait: tuple[tuple[int, ...], ...]
    """By idle state and symbol; the initial idle state is 0."""
    step: tuple[tuple[Step, ...], ...]
    """By state and symbol."""
    idle_of: dict[int, int]
    """The idle state here of each idle state of the machine it was made of."""


def mealy_of(machine: Deterministic, vectors: Sequence[int], *, budget: int) -> Mealy | None:
    """The machine over some truth vectors, or None if it has more than `budget` cells.

    Two states are one if the same marks on the same events have the same answers ahead of them:
    partition refinement from a single class (Moore). That never makes two answers of one.
    """
    most = budget // max(1, len(vectors))
    idles, states = _reachable_states(machine, vectors, most)
    if len(idles) + len(states) > most:
        return None
    steps = {q: [_step(machine, machine.step(q, v)) for v in vectors] for q in states}
    class_of = _classes(steps)

    def to_class(move: Move) -> Move:
        return Move(class_of[move.target], move.accepts)

    def both(step: Step) -> Step:
        return Step(to_class(step.take), to_class(step.skip))

    count = max(class_of.values()) + 1
    one_of = {c: q for q, c in class_of.items() if q != DEAD}
    begin = {
        idle: tuple(both(_step(machine, machine.begin(idle, v))) for v in vectors) for idle in idles
    }
    wait = {idle: [machine.wait(idle, v) for v in vectors] for idle in idles}
    idle_of = _idle_classes(begin, wait)
    one_idle = {c: idle for idle, c in reversed(idle_of.items())}
    return Mealy(
        begin=tuple(begin[one_idle[c]] for c in range(len(one_idle))),
        wait=tuple(
            tuple(idle_of[after] for after in wait[one_idle[c]]) for c in range(len(one_idle))
        ),
        step=tuple(tuple(map(both, steps[one_of[c]])) for c in range(count)),
        idle_of=idle_of,
    )


def _reachable_states(
    machine: Deterministic, vectors: Sequence[int], most: int
) -> tuple[list[int], list[int]]:
    """The idle states and the states that the vectors reach, as found; `most` and one of each."""

    def waits(idle: int) -> Iterator[int]:
        return (machine.wait(idle, v) for v in vectors)

    def steps(q: int) -> Iterator[int]:
        return (p for v in vectors for p in machine.step(q, v) if p is not None)

    idles = list(islice(reachable((machine.idle,), waits), most + 1))
    starts = (q for i in idles for v in vectors for q in machine.begin(i, v) if q is not None)
    return idles, list(islice(reachable(starts, steps), most + 1))


def _step(machine: Deterministic, moves: Sequence[int | None]) -> Step:
    take, skip = (NOWHERE if q is None else Move(q, machine.final[q]) for q in moves)
    return Step(take, skip)


def _classes(steps: dict[int, list[Step]]) -> dict[int, int]:
    """The class of each state, from 0; DEAD for those from which nothing is accepted any more."""
    rows = {q: [move for step in row for move in step] for q, row in steps.items()}
    rows[DEAD] = [NOWHERE] * max(map(len, rows.values()), default=0)
    classes = coarsest(
        dict.fromkeys(rows, 0),
        lambda q, c: tuple((c[move.target], move.accepts) for move in rows[q]),
    )
    alive = dict.fromkeys(c for c in classes.values() if c != classes[DEAD])
    number = {c: n for n, c in enumerate(alive)} | {classes[DEAD]: DEAD}
    return {q: number[c] for q, c in classes.items()}


def _idle_classes(begin: dict[int, tuple[Step, ...]], wait: dict[int, list[int]]) -> dict[int, int]:
    """The class of each idle state, from 0, that of the first one: where the same runs begin."""
    return coarsest(
        dict.fromkeys(begin, 0),
        lambda idle, c: (begin[idle], tuple(c[after] for after in wait[idle])),
    )
