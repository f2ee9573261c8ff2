"""Deterministic automata as complete tables: minimised and compared (FOUND Prop. 1; CORE 4.3).

`ExplicitCea` reads letters, which are pairs of a minterm and a mark. Minterms are given by their
symbols, so events that no test separates are one letter. `Mealy` is for engines that look ahead:
acceptance belongs to transitions, so the state after ``A+`` and the state inside it are the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple, TypeAlias

from cerlab.automata.automaton import Mark
from cerlab.automata.deterministic import Deterministic, DeterministicCea, Moves
from cerlab.automata.explore import coarsest, crawl, reachable, successors_by
from cerlab.automata.labelled import LabelledMachine, LabelledMoves
from cerlab.display import drawable
from cerlab.predicates.syntax import Predicate
from cerlab.predicates.text import predicate_text

STUCK = -1
"""The missing move: no run continues."""


@drawable
@dataclass(frozen=True, slots=True, repr=False)
class ExplicitCea:
    """An I/O-deterministic CEA as a table; ``Delta[state][letter]`` is the next state or `STUCK`.

    Letters are numbered: symbol k of `symbols` taken is ``2 k``, skipped ``2 k + 1``. The initial
    state is 0. `Delta` has shape (states, 2 * symbols).
    """

    predicates: tuple[Predicate, ...]
    symbols: tuple[int, ...]
    Delta: tuple[tuple[int, ...], ...]
    F: frozenset[int]

    def __repr__(self) -> str:
        """Return the kind and the size; `str` also lists the transitions."""
        return f"<ExplicitCea, {self.states} states, {len(self.symbols)} symbols>"

    @property
    def states(self) -> int:
        """The number of states."""
        return len(self.Delta)

    @property
    def letters(self) -> tuple[tuple[int, Mark], ...]:
        """The letters in the order of the table's columns."""
        return tuple((symbol, mark) for symbol in self.symbols for mark in Mark)


def table_of(det: DeterministicCea, symbols: Sequence[int]) -> ExplicitCea:
    """Return the table of all states that the symbols reach from the initial state.

    Raises `ResourceLimit` if there are too many states.
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
    """Return the rows of the table for all reachable states, and the set of final states."""
    graph = crawl(initial, follow)
    table = [[STUCK] * letters for _ in graph.states]
    for source, letter, target in graph.edges:
        table[source][letter] = target
    F = frozenset(n for n, state in enumerate(graph.states) if final(state))
    return tuple(map(tuple, table)), F


def minimise(A: ExplicitCea) -> ExplicitCea:
    """Return the smallest table with equal answers (Moore's algorithm).

    Two states are equivalent if the same words lead from them to final states; states that no word
    leads to a final state are left out. States are numbered breadth first, so machines over the
    same letters have the same answers if and only if their results are equal.
    """
    edges = ((r, q) for q, row in enumerate(A.Delta) for r in row)
    alive = {q: int(q in A.F) for q in sorted(reachable(A.F, successors_by(edges)))}
    return _quotient(A, coarsest(alive, lambda q, block: tuple(map(block.get, A.Delta[q]))))


def _quotient(A: ExplicitCea, block: dict[int, int]) -> ExplicitCea:
    """Return the table whose states are classes; `block` maps a state to its class."""
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
    """Return a digest that is equal for equal tables, in every process.

    The digest of a minimised machine identifies its answers, relative to its tests and symbols.
    """
    parts = (
        [predicate_text(P) for P in A.predicates],
        list(A.symbols),
        [list(row) for row in A.Delta],
        sorted(A.F),
    )
    return hashlib.sha256(repr(parts).encode()).hexdigest()


DEAD = -1
"""The state of a run that can no longer accept."""


SKIP = -1
"""The mark of a run that skips an event."""


class Move(NamedTuple):
    """A move at an event: its mark, the next state (DEAD ends the run), and whether it accepts."""

    mark: int
    target: int
    accepts: bool


StepMoves: TypeAlias = tuple[Move, ...]
"""The moves of a run on one event: by each mark that takes the event, then by `SKIP`."""


class Mealy(NamedTuple):
    """A complete machine over symbols ``0 .. N-1``, with numbered states and idle states.

    N-1``; states and idle states are numbers from 0.
    """

    begin: tuple[tuple[StepMoves, ...], ...]
    """The moves of a run that starts, by idle state and symbol."""
    wait: tuple[tuple[int, ...], ...]
    """The next idle state, by idle state and symbol; the initial idle state is 0."""
    step: tuple[tuple[StepMoves, ...], ...]
    """The moves of a run that started earlier, by state and symbol."""
    number: dict[int, int]
    """The number of each state of the machine, except for states that can no longer accept."""
    idle_of: dict[int, int]
    """The number of each idle state of the machine."""


def mealy_of(
    machine: Deterministic | LabelledMachine,
    vectors: Sequence[int],
    states: Iterable[int] = (),
    idles: Iterable[int] = (),
    *,
    budget: int,
    merges: bool = True,
) -> Mealy | None:
    """Return a machine over the given truth vectors; None if it needs more than `budget` cells.

    It contains the states reached from the beginning and from `states` and `idles`, which are
    numbered first. With `merges`, two states are merged if the same marks on the same events have
    the same answers ahead of them: partition refinement from a single class (Moore). Merging never
    merges two answers, although further symbols might separate the states.
    """
    most = budget // max(1, len(vectors))

    def waits(idle: int) -> Iterator[int]:
        return (machine.wait(idle, v) for v in vectors)

    def targets(q: int) -> Iterator[int]:
        return (move.target for v in vectors for move in _step(machine, machine.step(q, v)))

    every_idle = list(islice(reachable((machine.idle, *idles), waits), most + 1))
    begin = {idle: [_step(machine, machine.begin(idle, v)) for v in vectors] for idle in every_idle}
    begun = (move.target for steps in begin.values() for step in steps for move in step)
    every_state = list(islice(reachable((*states, *begun), targets), most + 1))
    if len(every_idle) + len(every_state) > most:
        return None
    wait = {idle: [*waits(idle)] for idle in every_idle}
    steps = {q: [_step(machine, machine.step(q, v)) for v in vectors] for q in every_state}
    number = {q: n for n, q in enumerate(every_state)} | {DEAD: DEAD}
    idle_of = {idle: n for n, idle in enumerate(every_idle)}
    if merges:
        number = _classes(steps)
        rows = {idle: _row(row, number) for idle, row in begin.items()}
        idle_of = coarsest(
            dict.fromkeys(begin, 0),
            lambda idle, c: (rows[idle], tuple(c[after] for after in wait[idle])),
        )
    one_state = {n: q for q, n in number.items() if q != DEAD and n != DEAD}
    one_idle = {n: idle for idle, n in reversed(idle_of.items())}
    return Mealy(
        begin=tuple(_row(begin[one_idle[n]], number) for n in range(len(one_idle))),
        wait=tuple(tuple(map(idle_of.__getitem__, wait[i])) for _, i in sorted(one_idle.items())),
        step=tuple(_row(steps[q], number) for _, q in sorted(one_state.items())),
        number={q: n for q, n in number.items() if n != DEAD},
        idle_of=idle_of,
    )


def _step(machine: Deterministic | LabelledMachine, moves: Moves | LabelledMoves) -> StepMoves:
    skip = () if moves.skip is None else ((SKIP, moves.skip),)
    return tuple(Move(m, q, machine.final[q]) for m, q in (*sorted(moves.takes), *skip))


def _classes(steps: dict[int, list[StepMoves]]) -> dict[int, int]:
    """Return the class of each state, from 0; DEAD for states that never accept."""
    # a row for DEAD, whose class then contains the states that never accept
    rows: dict[int, Sequence[StepMoves]] = {**steps}
    rows[DEAD] = [()] * max(map(len, steps.values()), default=0)
    classes = coarsest(dict.fromkeys(rows, 0), lambda q, c: _row(rows[q], c))
    alive = dict.fromkeys(c for c in classes.values() if c != classes[DEAD])
    number = {c: n for n, c in enumerate(alive)} | {classes[DEAD]: DEAD}
    return {q: number[c] for q, c in classes.items()}


def _row(steps: Sequence[StepMoves], number: Mapping[int, int]) -> tuple[StepMoves, ...]:
    """Return a state's moves with classes as targets, omitting dead targets."""
    dead = number[DEAD]
    return tuple(
        tuple(
            Move(mark, number[q], accepts)
            for mark, q, accepts in step
            if accepts or number[q] != dead
        )
        if step
        else ()
        for step in steps
    )
