"""The positions of the events that an engine has read, which counts from 0 by itself."""

from __future__ import annotations

from typing import Any

import numpy as np


class Positions:
    """Positions by index; nothing is kept of them as long as each is one more than the last.

    >>> positions = Positions()
    >>> positions.append(np.array([10, 11, 12, 40, 41]))
    >>> positions.of(np.array([0, 2, 3])).tolist(), positions.size
    ([10, 12, 40], 5)
    """

    def __init__(self) -> None:
        self._shift = 0  # position minus index, while they are consecutive
        self._values: Any = None  # then the positions from the index `_first` on, and room for more
        self._first = self._read = 0

    @property
    def size(self) -> int:
        """How many positions are in memory."""
        return 0 if self._values is None else self._read - self._first

    def append(self, positions: Any) -> None:
        """Add the positions of the next events, int64, increasing."""
        count = len(positions)
        if not count:
            return
        shift = int(positions[0]) - self._read
        follows = not self._read or shift == self._shift
        if self._values is None and follows and positions[-1] - positions[0] == count - 1:
            self._shift, self._read = shift, self._read + count
            return
        if self._values is None:
            self._values = np.arange(self._first, self._read) + self._shift
        length = self._read - self._first
        if length + count > len(self._values):
            before = self._values[:length]
            self._values = np.empty(max(length + count, 2 * length), np.int64)
            self._values[:length] = before
        self._values[length : length + count] = positions
        self._read += count

    def of(self, indices: Any) -> Any:
        """The positions at some indices, int64, none of them forgotten."""
        return (
            indices + self._shift if self._values is None else self._values[indices - self._first]
        )

    def forget(self, before: int) -> None:
        """Give up the positions of events before an index that has been read."""
        over = before - self._first
        if self._values is None:
            self._first = before
        elif over > self.size // 2:  # moved at most once for each that is given up
            self._values = self._values[over : self._read - self._first].copy()
            self._first = before
