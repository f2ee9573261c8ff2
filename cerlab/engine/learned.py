"""The tables of a query that streams fill, kept for the next stream."""

from __future__ import annotations

from collections.abc import Mapping
from threading import Lock
from typing import Any

from cerlab.automata.machine import Machine
from cerlab.engine.general.table import GrowingTable
from cerlab.engine.windowed.program import Program, program
from cerlab.model.event import Event
from cerlab.predicates.columns import SymbolStage
from cerlab.predicates.columns.arrays import narrowest
from cerlab.predicates.columns.lookup_tables import Codes


class LearnedTables:
    """The predicate stage, the tables and the program of a machine, as far as streams needed them.

    Several threads may share it. The machine numbers its states under a lock of its own; one thread
    at a time reads symbols; a program does not change; and a table, which kernels read and write
    side by side with other threads, is in one thread's hands until it is given back. Threads that
    are to read symbols at once have `for_threads`.
    """

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self._stage = SymbolStage(machine.predicates)
        self._reading = Lock()
        self._tables: list[GrowingTable] = []
        self._lock = Lock()
        self._program: tuple[int, Program | None] = (0, None)
        self._others: list[LearnedTables] = []

    def __repr__(self) -> str:
        tests = len(self.machine.predicates)
        return f"<LearnedTables: {self.seen:,} outcomes of {tests:,} tests seen>"

    def for_threads(self, count: int) -> list[LearnedTables]:
        """So many of them with the same machine, each with symbols of its own; kept here."""
        with self._lock:
            while len(self._others) < count - 1:
                self._others.append(LearnedTables(self.machine))
            return [self, *self._others[: count - 1]]

    @property
    def seen(self) -> int:
        """How many symbols streams have had so far, the one of no predicate not counted."""
        return len(self._stage.vectors) - 1

    def symbols(self, columns: Mapping[str, Any], length: int) -> Codes:
        """The symbol of each event, as `SymbolStage.symbols`."""
        with self._reading:
            return self._stage.symbols(columns, length)

    def symbol(self, event: Event) -> int:
        """The symbol of one event, as `SymbolStage.symbol`."""
        with self._reading:
            return self._stage.symbol(event)

    @property
    def symbol_type(self) -> Any:
        """The dtype of `symbols`."""
        return narrowest(self.seen)

    def take_table(self, idle_states: int) -> GrowingTable:
        """A table that nobody else uses, with room for all states and symbols so far."""
        try:
            table = self._tables.pop()
        except IndexError:
            table = GrowingTable(self.machine)
        table.follow(self._stage.vectors, idle_states)
        return table

    def give_back(self, table: GrowingTable) -> None:
        """Let others use a table that was taken."""
        self._tables.append(table)

    def program(self) -> Program | None:
        """The program over the symbols so far; None where the machine is too large for one."""
        with self._lock:
            symbols, latest = self._program
            vectors = list(self._stage.vectors)
            if symbols != len(vectors):
                latest = program(self.machine, vectors)
                self._program = (len(vectors), latest)
            return latest


def learned_tables(machine: Machine | LearnedTables) -> LearnedTables:
    """The tables of a machine: those of the caller, or empty ones."""
    return machine if isinstance(machine, LearnedTables) else LearnedTables(machine)
