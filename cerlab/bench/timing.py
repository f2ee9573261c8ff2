"""CPU and wall time of something that can be done again: medians, and how far runs lie apart."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

SHORTEST = 1e-9
"""No time is taken for less, so that ratios of times exist."""


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds: medians over runs; the spread of each is the longest run over the shortest."""

    cpu: float
    wall: float
    cpu_spread: float
    wall_spread: float

    @classmethod
    def of(cls, cpu: Sequence[float], wall: Sequence[float]) -> Timing:
        """Of the seconds of each run.

        >>> Timing.of([2.0, 1.0, 4.0], [3.0, 3.0, 3.0])
        Timing(cpu=2.0, wall=3.0, cpu_spread=4.0, wall_spread=1.0)
        """
        c, w = [max(s, SHORTEST) for s in cpu], [max(s, SHORTEST) for s in wall]
        return cls(median(c), median(w), max(c) / min(c), max(w) / min(w))


@dataclass(frozen=True, slots=True)
class Against:
    """Another engine on the same data: seconds, its result, and how many times as fast we are.

    `times` is by CPU time, without the seconds of `reading` where there are some. Where it did not
    run, `error` says why and the other fields are None.
    """

    cpu: float | None = None
    wall: float | None = None
    cpu_spread: float | None = None
    wall_spread: float | None = None
    reading: float | None = None
    result: int | None = None
    times: float | None = None
    times_wall: float | None = None
    error: str | None = None

    def row(self, engine: str) -> dict[str, Any]:
        """The figures by the name of the engine and their own, as rows of the bench have them."""
        return {f"{engine}_{name}": figure for name, figure in asdict(self).items()}


def once(run: Callable[[], object]) -> tuple[float, float]:
    """CPU and wall seconds of one run; CPU time is that of all threads of the process."""
    cpu, wall = time.process_time(), time.perf_counter()
    run()
    return time.process_time() - cpu, time.perf_counter() - wall


def timing_of(run: Callable[[], object], runs: int, *, warm: bool = False) -> Timing:
    """Some runs after one that warms up, if what they need is not `warm` already."""
    if not warm:
        run()
    seconds = [once(run) for _ in range(runs)]
    return Timing.of([cpu for cpu, _ in seconds], [wall for _, wall in seconds])
