"""Released and late rows, by the definition: row by row, on lists."""

from __future__ import annotations


class Model:
    """The rows of a key, each a pair of time and position."""

    def __init__(self, lateness: int) -> None:
        self.lateness = lateness
        self.on_time: list[tuple[int, int]] = []
        self.released_rows: list[tuple[int, int]] = []
        self.late: list[int] = []

    def take(self, batch: list[tuple[int, int]]) -> None:
        after = max(self.released_rows, default=(-1, -1))
        self.late += [row[1] for row in sorted(batch) if row < after]
        self.on_time += [row for row in batch if row > after]
        newest = max(time for time, _ in self.on_time)
        due = [row for row in self.on_time if newest - row[0] > self.lateness]
        self.released_rows = sorted(due)
