"""Deterministic automata as tables: written out, minimised, compared (FOUND Prop. 1; CORE 4.3).

`ExplicitCea` reads letters, which are pairs of a minterm and a mark. Where a minterm is listed by
its symbol only, events that no test tells apart are one letter. `Mealy` is for engines that look
ahead: it accepts on the way, so the state after ``A+`` and the state inside it are the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from cerlab.automata.automaton import Mark
from cerlab.automata.deterministic import Deterministic, DeterministicCea
from cerlab.automata.explore import coarsest, crawl, reachable, successors_by
from cerlab.display import drawable
from cerlab.predicates.syntax import Predicate
from cerlab.predicates.text import predicate_text

STUCK = -1
"""No run goes on."""


@drawable
@dataclass(frozen=True, slots=True, repr=False)
class ExplicitCea:
    """An I/O-deterministic CEA as a table: ``Delta[state][letter]`` is a state or `STUCK`.

    Letters are numbered: symbol k of `symbols` taken is ``2 k``, skipped ``2 k + 1``. The initial
    state is 0. `Delta` has shape (states, 2 * symbols).
    """

    predicates: tuple[Predicate, ...]
    symbols: tuple[int, ...]
    Delta: tuple[tuple[int, ...], ...]
    F: frozenset[int]

    def __repr__(self) -> str:
        """Return the size: `str` has the transitions."""
        return f"<ExplicitCea, {self.states} states, {len(self.symbols)} symbols>"

    @property
    def states(self) -> int:
        """The number of states."""
        return len(self.Delta)

    @property
    def letters(self) -> tuple[tuple[int, Mark], ...]:
        """The letters by number."""
        return tuple((symbol, mark) for symbol in self.symbols for mark in Mark)


def table_of(det: DeterministicCea, symbols: Sequence[int]) -> ExplicitCea:
    """All of a deterministic machine that the symbols reach, numbered breadth first.

    Raises `ResourceLimit` where that is too much.
    """

    def follow(state: int) -> Iterable[tuple[int, int]]:
        for k, symbol in enumerate(symbols):
            take, skip = det.step(state, symbol)
            if take is not None:
                yield 2 * k, take
            if skip is not None:
                yield 2 * k + 1, skip

    Delta, F = _table(det.q0, follow, det.final.__getitem__, 2 * len(symbols))
    return ExplicitCea(det.predicates, tuple(symbols), Delta, F)


def _table(
    initial: int,
    follow: Callable[[int], Iterable[tuple[int, int]]],
    final: Callable[[int], bool],
    letters: int,
) -> tuple[tuple[tuple[int, ...], ...], frozenset[int]]:
    """The states that are reached and their moves, as rows, and which states are final."""
    graph = crawl(initial, follow)
    table = [[STUCK] * letters for _ in graph.states]
    for source, letter, target in graph.edges:
        table[source][letter] = target
    F = frozenset(n for n, state in enumerate(graph.states) if final(state))
    return tuple(map(tuple, table)), F


def minimise(A: ExplicitCea) -> ExplicitCea:
    """The smallest machine with the same answers: a state is a set of states alike (Moore).

    Two states are alike if the same words lead from them to final states; states from which none
    does are left out. States are numbered breadth first, so machines over the same letters have
    the same answers if and only if this makes them equal.
    """
    edges = ((r, q) for q, row in enumerate(A.Delta) for r in row)
    alive = {q: int(q in A.F) for q in sorted(reachable(A.F, successors_by(edges)))}
    return _quotient(A, coarsest(alive, lambda q, block: tuple(map(block.get, A.Delta[q]))))


def _quotient(A: ExplicitCea, block: dict[int, int]) -> ExplicitCea:
    """Return the machine of the reachable classes; dead states have no class."""
    member = {b: q for q, b in reversed(block.items())}
    if 0 not in block:
        return ExplicitCea(A.predicates, A.symbols, ((STUCK,) * (2 * len(A.symbols)),), frozenset())

    def follow(b: int) -> Iterable[tuple[int, int]]:
        for letter, r in enumerate(A.Delta[member[b]]):
            if r in block:
                yield letter, block[r]

    Delta, F = _table(block[0], follow, lambda b: member[b] in A.F, 2 * len(A.symbols))
    return ExplicitCea(A.predicates, A.symbols, Delta, F)


def digest(A: ExplicitCea) -> str:
    """A name for the structure: equal machines have equal digests, in every run of Python.

    The digest of a minimised machine names its answers, as far as the tests and symbols are those.
    """
    parts = (
        [predicate_text(P) for P in A.predicates],
        list(A.symbols),
        [list(row) for row in A.Delta],
        sorted(A.F),
    )
    return hashlib.sha256(repr(parts).encode()).hexdigest()


DEAD = -1
"""The state of a run that has no future."""


class Move(NamedTuple):
    """The next state of a run (DEAD ends it), and whether it accepts."""

    target: int
    accepts: bool


NOWHERE = Move(DEAD, False)


class Step(NamedTuple):
    """The moves of a run on one event, by • and by ∘."""

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
    # a row of its own, so that states without a future fall into its class
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
