"""The positions of the events that an engine has read, which counts from 0 by itself."""

from __future__ import annotations

from typing import Any

import numpy as np


class Positions:
    """Positions by index, kept as stretches: events whose positions follow one another are one.

    Where few do, each event is a stretch, which is then found without a search.

    >>> positions = Positions()
    >>> positions.append(np.array([10, 11, 12, 40, 41]))
    >>> positions.of(np.array([0, 2, 3])).tolist(), positions.stretches
    ([10, 12, 40], 2)
    """

    def __init__(self) -> None:
        self._first = np.empty(16, np.int64)  # the first index of each stretch
        self._shift = np.empty(16, np.int64)  # position minus index, all along it
        self.stretches = 0
        self._read = 0

    def append(self, positions: Any) -> None:
        """Add the positions of the next events, int64, increasing."""
        if not len(positions):
            return
        shifts = positions - np.arange(self._read, self._read + len(positions))
        last = self._shift[self.stretches - 1] if self.stretches else None
        begins = np.flatnonzero(np.diff(shifts)) + 1
        if last is None or shifts[0] != last:
            begins = np.concatenate(([0], begins))
        if 2 * len(begins) > len(positions):
            begins = np.arange(len(positions))
        self._make_room(len(begins))
        new = slice(self.stretches, self.stretches + len(begins))
        self._first[new] = begins + self._read
        self._shift[new] = shifts[begins]
        self.stretches += len(begins)
        self._read += len(positions)

    def of(self, indices: Any) -> Any:
        """The positions at some indices, int64, none of them forgotten."""
        first = self._first[: self.stretches]
        if self.stretches and self._read - first[0] == self.stretches:
            return indices + self._shift[indices - first[0]]
        low = int(np.searchsorted(first, indices.min(initial=self._read), side="right")) - 1
        near = np.searchsorted(first[low:], indices, side="right") + low - 1
        return indices + self._shift[near]

    def forget(self, before: int) -> None:
        """Give up the positions of events before an index that has been read."""
        first = self._first[: self.stretches]
        over = max(0, int(np.searchsorted(first, before, side="right")) - 1)
        if over > self.stretches // 2:  # moved at most once for each that is given up
            self._first, self._shift = self._first[over:].copy(), self._shift[over:].copy()
            self.stretches -= over

    def _make_room(self, more: int) -> None:
        room = max(self.stretches + more, 2 * self.stretches)
        if self.stretches + more > len(self._first):
            self._first = _enlarged(self._first, self.stretches, room)
            self._shift = _enlarged(self._shift, self.stretches, room)


def _enlarged(values: Any, used: int, room: int) -> Any:
    made = np.empty(room, np.int64)
    made[:used] = values[:used]
    return made
