"""I/O-determinisation, on the fly with a cache (CORE Sec. 3; CORE Sec. 4.4)."""

from __future__ import annotations

from typing import NamedTuple

from cerlab.automata.cea import IntervalCea, Mark
from cerlab.display import shown
from cerlab.errors import ResourceLimit
from cerlab.model.event import Event
from cerlab.predicates.syntax import EVERYTHING, Predicate
from cerlab.predicates.truth import satisfies

MAX_STATES = 100_000
"""How many macro-states are determinised before giving up."""


class Moves(NamedTuple):
    """Where one event leads from a macro-state: by •, by ∘; None where no run goes on."""

    take: int | None
    skip: int | None


@shown
class DeterministicCea:
    """The I/O-deterministic automaton of an `IntervalCea`, made while events are read.

    A macro-state is the set of the states that all runs with the same start and the same marks
    are in; so two different runs of this automaton are two different (start, marks). Macro-states
    are numbered in the order of discovery, ``q0`` is 0 and, as in the CEA, never entered again.
    """

    def __init__(self, cea: IntervalCea) -> None:
        self.cea = cea
        self.predicates: tuple[Predicate, ...] = tuple(
            dict.fromkeys(t.predicate for t in cea.Delta if t.predicate != EVERYTHING)
        )
        number = {P: bit for bit, P in enumerate(self.predicates)}
        self._by_source: list[list[tuple[int | None, Mark, int]]] = [[] for _ in range(cea.states)]
        for t in cea.Delta:
            self._by_source[t.source].append((number.get(t.predicate), t.mark, t.target))
        self.macro_states: list[frozenset[int]] = []
        self.final: list[bool] = []
        self._numbers: dict[frozenset[int], int] = {}
        self._cache: dict[tuple[int, int], Moves] = {}
        self.q0 = self._numbered(frozenset({cea.q0}))

    def symbol(self, event: Event) -> int:
        """The truth vector of an event: bit k is set if it satisfies ``predicates[k]``."""
        vector = 0
        for bit, P in enumerate(self.predicates):
            if satisfies(event, P):
                vector |= 1 << bit
        return vector

    def step(self, state: int, symbol: int) -> Moves:
        """The moves of a macro-state on a truth vector, determinised when first asked for."""
        key = (state, symbol)
        moves = self._cache.get(key)
        if moves is None:
            moves = self._cache[key] = self._determinise(state, symbol)
        return moves

    def _determinise(self, state: int, symbol: int) -> Moves:
        reached: dict[Mark, set[int]] = {Mark.TAKE: set(), Mark.SKIP: set()}
        for q in self.macro_states[state]:
            for bit, mark, target in self._by_source[q]:
                if bit is None or symbol >> bit & 1:
                    reached[mark].add(target)
        take, skip = (
            self._numbered(frozenset(reached[mark])) if reached[mark] else None
            for mark in (Mark.TAKE, Mark.SKIP)
        )
        return Moves(take, skip)

    def _numbered(self, states: frozenset[int]) -> int:
        number = self._numbers.get(states)
        if number is None:
            if len(self.macro_states) >= MAX_STATES:
                raise ResourceLimit(
                    "CER0605", f"determinisation needs more than {MAX_STATES:,} states"
                )
            number = self._numbers[states] = len(self.macro_states)
            self.macro_states.append(states)
            self.final.append(not states.isdisjoint(self.cea.F))
        return number

    def __repr__(self) -> str:
        return f"<DeterministicCea, {len(self.macro_states)} macro-states so far>"
