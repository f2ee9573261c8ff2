"""Which end an answer has, from how many answers each end has."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator

from cerlab.engine.random_access.budget import bytes_of, check_budget, fits


class Ends:
    """The ends with answers, and how many answers there are up to each: counted as far as needed.

    `counts` gives (end, count), by end. The sums are kept while they fit the budget; what comes
    after is still counted, so that `find` can say how much it would have needed.
    """

    def __init__(self, counts: Callable[[], Iterator[tuple[int, int]]]) -> None:
        self._from_the_first = counts
        self._start()

    def _start(self) -> None:
        self._counts = self._from_the_first()
        self._ends: list[int] = []
        self._sums: list[int] = []
        self._size = 0
        self.total = 0

    def find(self, k: int) -> tuple[int, int] | None:
        """The end of the k-th answer, and its number among those of that end; None without one.

        After None, `total` is the number of all answers. Raises `ResourceLimit`, and what
        counting raises; it then starts again.
        """
        while self.total <= k:
            try:
                following = next(self._counts, None)
            except BaseException:
                self._start()
                raise
            if following is None:
                return None
            end, count = following
            self.total += count
            self._size += bytes_of(self.total.bit_length())
            if fits(self._size):
                self._ends.append(end)
                self._sums.append(self.total)
        at = bisect_right(self._sums, k)
        if at == len(self._sums):
            check_budget(self._size, "the numbers of answers up to each end")
        return self._ends[at], k - (self._sums[at - 1] if at else 0)
