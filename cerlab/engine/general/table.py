"""The table of a machine for the kernels: cells are determinised when a stream first needs them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from cerlab.automata.deterministic import Deterministic
from cerlab.engine.kernels.arrays import NONE, UNKNOWN, Table


class GrowingTable:
    """A `Table` that follows a `Deterministic` machine and grows; for one thread at a time.

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
        """Make room for all states of the machine and for the symbols of some truth vectors.

        States have other tables too, so this is told of all that were found through them.
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
        """Determinise the cells of some states and of an idle state for a symbol."""
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
        """The same cells in arrays of another size."""
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
