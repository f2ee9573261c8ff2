"""What running a transducer costs, counted: the terms of the paper's cost model (SRT Alg. 1)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class OperationCounts:
    """Operations since the start.

    A run that leaves its state by n of its p transitions evaluates p guards, is updated n times,
    and copied n - 1 times, as one of the n goes on in its place. The model of the paper takes
    n = p for the worst case: ``|Run| (p c_p + (p - 1) c_c + p c_u)`` for each event.
    """

    evaluations: int = 0
    copies: int = 0
    updates: int = 0
    arrivals: int = 0
    """Runs or configurations that the last event made, those in dead ends included."""

    def leave(self, transitions: int, moves: int) -> None:
        """Count what one run, or one configuration, does at an event."""
        self.evaluations += transitions
        self.copies += max(moves - 1, 0)
        self.updates += moves
