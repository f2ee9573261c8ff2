"""Counting answers without listing them.

The runs of an I/O-deterministic CEA are its answers, so it is enough to count the runs that are in
each active macro-state: exact integers of any size. Only a window needs to know where they started.
Without one an event costs one number for each transition that is followed, however many events came
before; with one, at most one for each of these and each start inside the window.
"""

from __future__ import annotations

from collections import deque
from typing import TypeAlias

from cerlab.automata.deterministic import Deterministic, Moves
from cerlab.model.event import Event

Runs: TypeAlias = dict[int, int]
"""How many runs there are, by start; where starts do not matter, all are under `ANY_START`."""

ANY_START = 0


class RunCounts:
    """How many runs are in each macro-state; by start if there is a window to apply.

    `copies` counts the numbers that were copied or added so far, which is what the time goes to.
    """

    def __init__(self, automaton: Deterministic, *, by_start: bool) -> None:
        self._automaton = automaton
        self._by_start = by_start
        self._runs: dict[int, Runs] = {}
        self._idle = automaton.idle
        self._starts: deque[int] = deque()
        self._forgotten = 0
        self.copies = 0

    def advance(self, event: Event, position: int) -> None:
        """Move every count along the transitions of the event."""
        symbol = self._automaton.symbol(event)
        before, self._runs = self._runs, {}
        starting = self._automaton.begin(self._idle, symbol)
        self._move({position if self._by_start else ANY_START: 1}, starting)
        for p, runs in before.items():
            self._move(runs, self._automaton.step(p, symbol))
        self._idle = self._automaton.wait(self._idle, symbol)
        if self._by_start:
            self._starts.append(position)

    def _move(self, runs: Runs, moves: Moves) -> None:
        """Into the states of both moves: a copy by the first if there is a second, then `runs`."""
        targets = [q for q in moves if q is not None]
        for n, q in enumerate(targets, 1):
            if q in self._runs:
                self._add(runs, self._runs[q])
            elif n < len(targets):
                self._runs[q] = runs.copy()
                self.copies += len(runs)
            else:
                self._runs[q] = runs

    def _add(self, runs: Runs, there: Runs) -> None:
        for start, n in runs.items():
            there[start] = there.get(start, 0) + n
        self.copies += len(runs)

    def count(self, lowest_start: int) -> int:
        """How many answers end at the event just read and start at `lowest_start` or later."""
        return sum(
            n
            for q, runs in self._runs.items()
            if self._automaton.final[q]
            for start, n in runs.items()
            if start >= lowest_start
        )

    def forget(self, before: int) -> None:
        """Drop the runs that started earlier, once half of the starts did: amortised O(1)."""
        starts = self._starts
        while starts and starts[0] < before:
            starts.popleft()
            self._forgotten += 1
        if self._forgotten > len(starts):
            self._forgotten = 0
            live = (
                (q, {start: n for start, n in runs.items() if start >= before})
                for q, runs in self._runs.items()
            )
            self._runs = {q: runs for q, runs in live if runs}

    def reset(self) -> None:
        """Drop all runs."""
        self._runs = {}
        self._starts.clear()
        self._forgotten = 0
        self._idle = self._automaton.idle
