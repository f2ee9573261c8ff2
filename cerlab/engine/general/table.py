"""The table of a machine for the kernels: cells are determinised when a stream first needs them."""

from __future__ import annotations

from threading import RLock
from typing import Any

import numpy as np

from cerlab.automata.deterministic import Deterministic
from cerlab.engine.kernels.arrays import NONE, UNKNOWN, Table


class GrowingTable:
    """A `Table` that follows a `Deterministic` machine, with room to grow.

    Columns are small symbols: `vector` of a symbol is the machine's own. Rows are the machine's
    numbers of states and idle states.
    """

    def __init__(self, machine: Deterministic, lock: RLock | None = None) -> None:
        """`lock` is held while the machine is asked, which others may do too."""
        self.machine = machine
        self._lock = lock or RLock()
        self._vectors: list[int] = []
        self._idle_states = 1
        self.arrays = self._made(16, 4, 16)

    def _made(self, states: int, idle: int, symbols: int) -> Table:
        def cells(rows: int) -> Any:
            return np.full((rows, symbols), UNKNOWN, np.int32)

        return Table(
            take=cells(states),
            skip=cells(states),
            begin_take=cells(idle),
            begin_skip=cells(idle),
            wait=cells(idle),
            final=np.zeros(states, np.uint8),
            silent=np.zeros(symbols, np.int64),
        )

    def know(self, vectors: list[int]) -> None:
        """Take note of the truth vectors of all small symbols so far."""
        self._vectors = vectors
        self._room(len(self.machine.final), self._idle_states, len(vectors))

    def meet(self, idle: int) -> None:
        """Make room for an idle state that did not come from a cell."""
        self._idle_states = max(self._idle_states, idle + 1)
        self._room(len(self.machine.final), self._idle_states, len(self._vectors))

    def fill(self, symbol: int, states: list[int], idle: int) -> None:
        """Determinise the cells of some states and of an idle state for a small symbol."""
        vector = self._vectors[symbol]
        with self._lock:
            moves = {q: self.machine.step(q, vector) for q in states}
            begin = self.machine.begin(idle, vector)
            after = self.machine.wait(idle, vector)
        self._idle_states = max(self._idle_states, after + 1)
        self._room(len(self.machine.final), self._idle_states, len(self._vectors))
        table = self.arrays
        for q, (take, skip) in moves.items():
            table.take[q, symbol] = NONE if take is None else take
            table.skip[q, symbol] = NONE if skip is None else skip
            if q < 63 and take is None and skip == q and not self.machine.final[q]:
                table.silent[symbol] |= 1 << q
        table.begin_take[idle, symbol] = NONE if begin.take is None else begin.take
        table.begin_skip[idle, symbol] = NONE if begin.skip is None else begin.skip
        table.wait[idle, symbol] = after
        final = self.machine.final
        table.final[: len(final)] = final

    def _room(self, states: int, idle: int, symbols: int) -> None:
        """Make the arrays at least that large, twice as large where they grow."""
        old = self.arrays
        have = (old.take.shape[0], old.wait.shape[0], old.silent.shape[0])
        need = (states, idle, symbols)
        if all(h >= n for h, n in zip(have, need, strict=True)):
            return
        grown = self._made(*(h if h >= n else 2 * n for h, n in zip(have, need, strict=True)))
        for before, after in zip(old, grown, strict=True):
            after[tuple(slice(n) for n in before.shape)] = before
        self.arrays = grown
