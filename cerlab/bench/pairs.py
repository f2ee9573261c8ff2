"""Queries side by side: their measurements interleaved, so that a noisy machine disturbs all alike.

Of two medians taken one after the other, the ratio is that of the queries times that of what else
the machine did meanwhile. Here each round runs every query once, and the ratios are those inside
the rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median, quantiles

from cerlab.bench.timing import SHORTEST, once


@dataclass(frozen=True, slots=True)
class Pair:
    """How many times as fast as the first of its group something is; 0.5 is half as fast.

    Medians over the rounds, with the lower and upper quartile.
    """

    query: str
    against: str
    rounds: int
    cpu_ratio: float
    cpu_low: float
    cpu_high: float
    wall_ratio: float
    wall_low: float
    wall_high: float


def pair_runs(runs: Mapping[str, Callable[[], object]], rounds: int) -> list[Pair]:
    """Each of the runs against the first one, after one round that warms up.

    The order turns around from round to round. Needs two runs and two rounds or more.
    """
    names = list(runs)
    for name in names:
        runs[name]()
    cpu: dict[str, list[float]] = {name: [] for name in names}
    wall: dict[str, list[float]] = {name: [] for name in names}
    for number in range(rounds):
        for name in names if number % 2 else reversed(names):
            c, w = once(runs[name])
            cpu[name].append(max(c, SHORTEST))
            wall[name].append(max(w, SHORTEST))
    first, *others = names
    return [
        Pair(
            name,
            first,
            rounds,
            *_quartiles(cpu[first], cpu[name]),
            *_quartiles(wall[first], wall[name]),
        )
        for name in others
    ]


def _quartiles(first: list[float], other: list[float]) -> tuple[float, float, float]:
    """Median, lower and upper quartile of the ratios of each round.

    >>> _quartiles([1.0, 2.0, 6.0], [2.0, 2.0, 3.0])
    (1.0, 0.75, 1.5)
    """
    ratios = [a / b for a, b in zip(first, other, strict=True)]
    low, _, high = quantiles(ratios, n=4, method="inclusive")
    return median(ratios), low, high
