"""What is released and what is late, by the definition: row by row, on lists."""

from __future__ import annotations


class Model:
    """The rows of a key, each a pair of time and position."""

    def __init__(self, lateness: int) -> None:
        self.lateness = lateness
        self.seen: list[tuple[int, int]] = []
        self.released: list[tuple[int, int]] = []
        self.late: list[int] = []

    def take(self, batch: list[tuple[int, int]]) -> None:
        after = max(self.released, default=(-1, -1))
        self.late += [row[1] for row in sorted(batch) if row < after]
        self.seen += [row for row in batch if row > after]
        newest = max(time for time, _ in self.seen)
        due = [row for row in self.seen if newest - row[0] > self.lateness]
        self.released = sorted(due)
