"""I/O-determinisation, on the fly with a cache (CORE Sec. 3; CORE Sec. 4.4; FOUND Prop. 1)."""

from __future__ import annotations

from cerlab.automata.automaton import AnchoredCea, IntervalCea, Mark
from cerlab.automata.deterministic import Numbering
from cerlab.automata.successors import Moves, States, Successors
from cerlab.display import drawable


@drawable
class DeterministicCea:
    """The I/O-deterministic automaton of a CEA, made while events are read.

    A macro-state is the set of the states that all runs with the same start and the same marks
    are in; so two different runs of this automaton are two different (start, marks). Macro-states
    are numbered in the order of discovery and ``q0`` is 0; it is never entered again if the CEA is
    an `IntervalCea`. There is nothing to remember before a run starts: ``q0`` is the idle state.
    """

    idle = 0

    def __init__(self, cea: IntervalCea | AnchoredCea) -> None:
        self.cea = cea
        self._successors = Successors(cea.Delta)
        self.predicates, self.symbol = self._successors.predicates, self._successors.symbol
        numbering = Numbering[States](lambda states: not states.isdisjoint(cea.F))
        self.macro_states, self.final = numbering.states, numbering.final
        self.number_of = numbering.of
        self._cache: dict[tuple[int, int], Moves] = {}
        self.q0 = self.number_of(cea.I)

    def wait(self, idle: int, symbol: int) -> int:
        """Nothing changes."""
        return idle

    def step(self, state: int, symbol: int) -> Moves:
        """The moves of a macro-state on a truth vector, determinised when first asked for."""
        key = (state, symbol)
        moves = self._cache.get(key)
        if moves is None:
            states = self.macro_states[state]
            after_take, after_skip = (self._successors.after(states, symbol, mark) for mark in Mark)
            moves = self._cache[key] = Moves(
                self.number_of(after_take) if after_take else None,
                self.number_of(after_skip) if after_skip else None,
            )
        return moves

    begin = step
    """Where the run that starts at this event goes, from the idle state, which is ``q0``."""

    def __repr__(self) -> str:
        return f"<DeterministicCea, {len(self.macro_states)} macro-states so far>"
