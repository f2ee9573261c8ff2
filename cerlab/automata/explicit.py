"""Deterministic automata written out, made smallest, and told apart by a digest (FOUND Prop. 1).

A machine reads letters, which are pairs of a minterm and a mark. Where a minterm is listed by its
symbol only, events that no test tells apart are one letter.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from cerlab.automata.automaton import Mark
from cerlab.automata.determinise import DeterministicCea
from cerlab.automata.explore import along, crawl, reachable
from cerlab.automata.partition import coarsest
from cerlab.display import drawable
from cerlab.predicates.syntax import Predicate
from cerlab.predicates.text import predicate_text

STUCK = -1
"""No run goes on."""


@drawable
@dataclass(frozen=True, slots=True)
class ExplicitCea:
    """An I/O-deterministic CEA as a table: ``Delta[state][letter]`` is a state or `STUCK`.

    Letters are numbered: symbol k of `symbols` taken is ``2 k``, skipped ``2 k + 1``. The initial
    state is 0. `Delta` has shape (states, 2 * symbols).
    """

    predicates: tuple[Predicate, ...]
    symbols: tuple[int, ...]
    Delta: tuple[tuple[int, ...], ...]
    F: frozenset[int]

    @property
    def states(self) -> int:
        """How many states the table has."""
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
    alive = {q: int(q in A.F) for q in sorted(reachable(A.F, along(edges)))}
    return _quotient(A, coarsest(alive, lambda q, block: tuple(map(block.get, A.Delta[q]))))


def _quotient(A: ExplicitCea, block: dict[int, int]) -> ExplicitCea:
    """The classes as states, those that can be reached; only states that are alive have one."""
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
