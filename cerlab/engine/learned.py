"""What is learnt of a query while streams are read, kept for the next stream."""

from __future__ import annotations

from collections.abc import Mapping
from threading import Lock, RLock
from typing import Any

from cerlab.automata.naming import Machine
from cerlab.engine.general.table import GrowingTable
from cerlab.engine.windowed.program import Program, program
from cerlab.predicates.columns import SymbolStage


class LearnedTables:
    """The predicate stage, the table and the program of a machine, as far as streams needed them.

    Runs share it, also those of several threads; but one thread at a time reads symbols, so that
    threads which work side by side have `twins`.
    """

    def __init__(self, machine: Machine, lock: RLock | None = None) -> None:
        self.machine = machine
        self._lock = lock or RLock()
        self.table = GrowingTable(machine, self._lock)
        self._stage = SymbolStage(machine.predicates)
        self._reading = Lock()
        self._program: tuple[int, Program | None] = (0, None)
        self._twins: list[LearnedTables] = [self]

    def __repr__(self) -> str:
        tests = len(self.machine.predicates)
        return f"<LearnedTables: {self.seen:,} outcomes of {tests:,} tests seen>"

    def for_threads(self, count: int) -> list[LearnedTables]:
        """So many of them with the same machine, each with symbols of its own; kept here."""
        with self._lock:
            while len(self._twins) < count:
                self._twins.append(LearnedTables(self.machine, self._lock))
            return self._twins[:count]

    @property
    def seen(self) -> int:
        """How many symbols streams have had so far, the one of no predicate not counted."""
        return len(self._stage.vectors) - 1

    def symbols(self, columns: Mapping[str, Any], length: int) -> Any:
        """The symbol of each event, as `SymbolStage.symbols`; the table then knows all of them."""
        with self._reading:
            symbols = self._stage.symbols(columns, length)
            self.table.know(self._stage.vectors)
            return symbols

    def program(self) -> Program | None:
        """The program over the symbols so far; None where the machine is too large for one."""
        with self._lock:
            known, made = self._program
            vectors = list(self._stage.vectors)
            if known != len(vectors):
                made = program(self.machine, vectors)
                self._program = (len(vectors), made)
            return made


def learned_tables(machine: Machine | LearnedTables) -> LearnedTables:
    """What is known of a machine; nothing yet, unless it is kept by who asks."""
    return machine if isinstance(machine, LearnedTables) else LearnedTables(machine)
