"""The transition tables of a query, which streams extend and later streams reuse."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from threading import Lock
from typing import Any

import numpy as np

from cerlab.automata.deterministic import Deterministic
from cerlab.automata.strategy import Machine
from cerlab.engine.flat_program import Program, TooLarge
from cerlab.engine.kernels.arrays import NONE, UNKNOWN, Table
from cerlab.model.event import Event
from cerlab.predicates.columns import SymbolStage
from cerlab.predicates.columns.lookup_tables import Codes
from cerlab.predicates.columns.pieces import narrowest


class GrowingTable:
    """The transitions computed so far, as a `Table` that grows; used by one thread at a time.

    Columns are symbols, small numbers of truth vectors. Rows are the machine's numbers of states
    and of idle states.
    """

    def __init__(self, machine: Deterministic) -> None:
        self._machine = machine
        self._vectors: list[int] = []
        self._states = 0
        self._size = (0, 0)
        self.arrays = _table(16, 4, 16)

    def follow(self, vectors: list[int], idle_states: int) -> None:
        """Enlarge the table for the machine's states and for the symbols of truth vectors.

        States are also found through other tables, so this call passes all truth vectors known so
        far.
        """
        self._vectors = vectors
        final = self._machine.final
        states = len(final)
        have = (len(self.arrays.take), len(self.arrays.wait), len(self.arrays.silent))
        if (states, len(vectors)) == self._size and idle_states <= have[1]:
            return
        self._size = (states, len(vectors))
        need = (states, idle_states, len(vectors))
        if any(h < n for h, n in zip(have, need, strict=True)):
            self._grow(*(h if h >= n else 2 * n for h, n in zip(have, need, strict=True)))
        self.arrays.final[self._states : states] = final[self._states : states]
        self._states = states

    def fill(self, symbol: int, states: list[int], idle: int) -> None:
        """Compute the transitions of some states and of an idle state at a symbol."""
        machine, vector = self._machine, self._vectors[symbol]
        moves = {q: machine.step(q, vector) for q in states}
        begin, after = machine.begin(idle, vector), machine.wait(idle, vector)
        self.follow(self._vectors, after + 1)
        table = self.arrays
        for q, (take, skip) in moves.items():
            table.take[q, symbol] = NONE if take is None else take
            table.skip[q, symbol] = NONE if skip is None else skip
            if q < 63 and take is None and skip == q and not table.final[q]:
                table.silent[symbol] |= 1 << q
        table.begin_take[idle, symbol] = NONE if begin.take is None else begin.take
        table.begin_skip[idle, symbol] = NONE if begin.skip is None else begin.skip
        table.wait[idle, symbol] = after

    def _grow(self, states: int, idle: int, symbols: int) -> None:
        """Copy the table into larger arrays."""
        larger = _table(states, idle, symbols)
        pairs: Iterable[tuple[Any, Any]] = zip(self.arrays, larger, strict=True)
        for before, after in pairs:
            after[tuple(slice(n) for n in before.shape)] = before
        self.arrays = larger


def _table(states: int, idle: int, symbols: int) -> Table:
    rows = (states, states, idle, idle, idle)
    cells: list[Any] = [np.full((count, symbols), UNKNOWN, np.int32) for count in rows]
    flat = np.zeros(states, np.uint8), np.zeros(symbols, np.int64)
    return Table._make((*cells, *flat))


class LearnedTables:
    """All that the compiled engine has computed for a machine: symbols, transitions, program.

    Several threads may share it. The machine numbers its states under its lock; one thread at a
    time reads symbols; a program never changes; and a table, which kernels read and write, belongs
    to one thread until it is given back. Threads that read symbols in parallel use `for_threads`.
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
        """Return `count` objects that share the machine; each numbers symbols itself."""
        with self._lock:
            while len(self._others) < count - 1:
                self._others.append(LearnedTables(self.machine))
            return [self, *self._others[: count - 1]]

    @property
    def seen(self) -> int:
        """The number of symbols seen, not counting that of events which satisfy no predicate."""
        return len(self._stage.vectors) - 1

    @property
    def vectors(self) -> Sequence[int]:
        """The truth vector of each symbol seen so far."""
        return self._stage.vectors

    def symbols(self, columns: Mapping[str, Any], length: int) -> Codes:
        """Return the symbol of each event of a batch."""
        with self._reading:
            return self._stage.symbols(columns, length)

    def symbol(self, event: Event) -> int:
        """Return the symbol of an event."""
        with self._reading:
            return self._stage.symbol(event)

    def know(self, vector: int) -> int:
        """Return the symbol of a truth vector, which is added if new."""
        with self._reading:
            self._stage.know((vector,))
            return self._stage.vectors.index(vector)

    @property
    def symbol_type(self) -> Any:
        """The array type of `symbols`."""
        return narrowest(self.seen)

    def take_table(self, idle_states: int) -> GrowingTable:
        """Return a table for this thread alone, with room for all known states and symbols."""
        try:
            # list.pop is atomic, so two threads never get one table
            table = self._tables.pop()
        except IndexError:
            table = GrowingTable(self.machine)
        table.follow(self._stage.vectors, idle_states)
        return table

    def give_back(self, table: GrowingTable) -> None:
        """Return a transition table to the pool, for other threads."""
        self._tables.append(table)

    def program(self) -> Program | None:
        """Return the machine as flat arrays for the symbols seen; None if it is too large."""
        with self._lock:
            symbols, latest = self._program
            vectors = list(self._stage.vectors)
            if symbols != len(vectors):
                try:
                    latest = Program(self.machine, vectors)
                except TooLarge:
                    latest = None
                self._program = (len(vectors), latest)
            return latest


def learned_tables(machine: Machine | LearnedTables) -> LearnedTables:
    """Return the tables that the caller has, or new ones for the machine."""
    return machine if isinstance(machine, LearnedTables) else LearnedTables(machine)
