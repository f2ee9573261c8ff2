"""The symbols of events for a machine, and whether a symbol can change its state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from cerlab.automata.automaton import Mark
from cerlab.automata.plan import (
    CorrelatedPlan,
    Plan,
)
from cerlab.budget import poll
from cerlab.engine.kernels import arrays as k
from cerlab.engine.kernels.arrays import NONE, Int64s
from cerlab.engine.registers.evaluation import MAX_RULES, why_not
from cerlab.engine.registers.program import NotTaken, register_program
from cerlab.engine.registers.rules import event_atoms, names_of
from cerlab.engine.registers.rules import tables as tables_of_runs
from cerlab.engine.state_checks import expect, is_whole
from cerlab.engine.symbol_tables import LearnedTables
from cerlab.errors import ResourceLimit
from cerlab.model.event import Event
from cerlab.predicates.columns import SymbolStage
from cerlab.predicates.syntax import EVERYTHING


class AutomatonTests:
    """The symbols of events for an automaton, and whether each can change a state."""

    def __init__(self, plan: Plan, tables: LearnedTables) -> None:
        self._tables = tables
        self.vectors = tables.vectors
        """The truth vector of each symbol seen so far."""
        self._matters: list[bool] = []
        self._cea = plan.cea
        self._bits = {P: bit for bit, P in enumerate(tables.machine.predicates)}

    def symbols(self, columns: Mapping[str, Any], length: int) -> k.Symbols:
        """Return the symbol of each event of a batch."""
        return self._tables.symbols(columns, length)

    def symbol(self, event: Event) -> int:
        """Return the symbol of an event."""
        return self._tables.symbol(event)

    def end(self, event: Event) -> int:
        """Return an event's symbol if it may end answers or change a state; otherwise NONE."""
        symbol = self.symbol(event)
        return symbol if self.matters()[symbol] else NONE

    def symbol_of(self, vector: Any) -> int:
        """Return the symbol of a truth vector in a saved state; raises `BadData`."""
        expect(is_whole(vector, 0, 1 << len(self._bits)), "the symbol of an event")
        return self._tables.know(vector)

    def matters(self) -> list[bool]:
        """Return, for each symbol seen, whether it can change some state."""
        if len(self._matters) < len(self.vectors):
            self._look()
        return self._matters

    def _look(self) -> None:
        # not from a `Program`, which drops states that only symbols not seen yet can leave
        for vector in self.vectors[len(self._matters) :]:
            self._matters.append(self._changes(vector))

    def _changes(self, vector: int) -> bool:
        """Return whether a truth vector can make a run start, move, accept or end."""
        goes_on, stays = set[int](), set[int]()
        for t in self._cea.Delta:
            goes_on.add(t.source)
            bit = self._bits.get(t.predicate)
            if bit is None and t.predicate != EVERYTHING:
                return True
            if bit is None or vector >> bit & 1:
                if t.mark is Mark.TAKE or t.target != t.source or t.source in self._cea.F:
                    return True
                stays.add(t.source)
        return self._cea.q0 in stays or not goes_on - {self._cea.q0} <= stays

    def ends(self, columns: Mapping[str, Any], keys: Int64s) -> tuple[Int64s, Int64s]:
        """Return the indices and symbols of the events that may end answers or change a state."""
        symbols = self.symbols(columns, len(keys))
        at = np.flatnonzero((keys != NONE) & np.array(self.matters(), np.bool_)[symbols])
        return at, symbols[at].astype(np.int64)


class TransducerTests(AutomatonTests):
    """The symbols of events for a transducer, and whether each can change a state."""

    def __init__(self, plan: CorrelatedPlan) -> None:
        self._program, self._matters = None, []
        try:
            self._program = register_program(plan) if why_not(plan) is None else None
        except ResourceLimit:
            poll()
        self._atoms = () if self._program is None else event_atoms(self._program)
        self._stage = SymbolStage(self._atoms)
        self.vectors = self._stage.vectors

    def symbols(self, columns: Mapping[str, Any], length: int) -> k.Symbols:
        """Return the symbol of each event of a batch."""
        return self._stage.symbols(columns, length)

    def symbol(self, event: Event) -> int:
        """Return the symbol of an event."""
        return self._stage.symbol(event)

    def symbol_of(self, vector: Any) -> int:
        """Return the symbol of a truth vector in a saved state; raises `BadData`."""
        expect(is_whole(vector, 0, 1 << len(self._atoms)), "the symbol of an event")
        self._stage.know((vector,))
        return self._stage.vectors.index(vector)

    def _look(self) -> None:
        program, vectors = self._program, self.vectors
        self._matters = [True] * len(vectors)
        if program is None or len(program.moves) * len(vectors) > MAX_RULES:
            return
        try:
            keep = tables_of_runs(program, names_of(program), self._atoms, vectors).keep
        except NotTaken:
            return
        self._matters = keep.tolist()
