"""Counting answers without listing them.

The runs of an I/O-deterministic CEA are its answers, so it is enough to count, for each active
macro-state and each start, the runs that are there: exact integers of any size. The cost per
event is the number of starts inside the window times the active states.
"""

from __future__ import annotations

from cerlab.automata.deterministic import Deterministic
from cerlab.model.event import Event


class RunCounts:
    """How many runs are in each macro-state, by start."""

    def __init__(self, automaton: Deterministic) -> None:
        self._automaton = automaton
        self._counts: dict[int, dict[int, int]] = {}
        self._idle = automaton.idle

    def advance(self, event: Event, position: int) -> None:
        """Move every count along the transitions of the event."""
        symbol = self._automaton.symbol(event)
        moved: dict[int, dict[int, int]] = {}
        rows = [(self._automaton.begin(self._idle, symbol), {position: 1})]
        rows += [(self._automaton.step(p, symbol), starts) for p, starts in self._counts.items()]
        for moves, starts in rows:
            for q in moves:
                if q is not None:
                    there = moved.setdefault(q, {})
                    for start, count in starts.items():
                        there[start] = there.get(start, 0) + count
        self._counts = moved
        self._idle = self._automaton.wait(self._idle, symbol)

    def count(self, lowest_start: int) -> int:
        """How many answers end at the event just read and start at `lowest_start` or later."""
        return sum(
            count
            for q, starts in self._counts.items()
            if self._automaton.final[q]
            for start, count in starts.items()
            if start >= lowest_start
        )

    def forget(self, before: int) -> None:
        """Drop the runs that started earlier."""
        kept = (
            (q, {start: n for start, n in starts.items() if start >= before})
            for q, starts in self._counts.items()
        )
        self._counts = {q: starts for q, starts in kept if starts}

    def reset(self) -> None:
        """Drop all runs."""
        self._counts = {}
        self._idle = self._automaton.idle
