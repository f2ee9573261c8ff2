"""STRICT, NXT, LAST and MAX: which answers with the same end survive (FOUND Sec. 4; DESIGN 3.7).

The comparison is between position sets, over all answers at once. The paper prints it under one
valuation and in the other direction, where it would select nothing or the wrong ones; its own
examples need this reading (errata E1, E2).
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import assert_never

from cerlab.budget import COMPARISONS, spend_over, step_budget
from cerlab.model.answer import Positions, Valuation, complex_event
from cerlab.model.clauses import Strategy


def select(strategy: Strategy, answers: Iterable[Valuation]) -> frozenset[Valuation]:
    """The valuations whose position sets survive among those with the same end.

    Valuations with equal position sets and different starts or labels live or die together. Raises
    `ResourceLimit` where too many of them end at one event.
    """
    by_end: dict[int, list[Valuation]] = {}
    for V in answers:
        by_end.setdefault(V.end, []).append(V)
    with step_budget("a selection by the reference", "use a window, which leaves fewer", own=1):
        return frozenset(
            V
            for group in by_end.values()
            for rivals in [list({_support(V) for V in group})]
            for V in spend_over(group, 1 + len(rivals) // COMPARISONS)
            if _survives(strategy, _support(V), rivals)
        )


def _support(V: Valuation) -> Positions:
    return complex_event(V).positions


def _survives(strategy: Strategy, C: Positions, rivals: list[Positions]) -> bool:
    match strategy:
        case Strategy.STRICT:
            return all(later == earlier + 1 for earlier, later in pairwise(C))
        case Strategy.NXT:
            return all(next_at_most(other, C) for other in rivals)
        case Strategy.LAST:
            return all(last_at_most(other, C) for other in rivals)
        case Strategy.MAX:
            return not any(set(C) < set(other) for other in rivals)
        case _:
            assert_never(strategy)


def next_at_most(C1: Iterable[int], C2: Iterable[int]) -> bool:
    """``C1 <=next C2``: equal, or the first position in one only is in C2 (FOUND Sec. 4).

    >>> next_at_most({5, 8}, {1, 8}), next_at_most({1, 8}, {5, 8})
    (True, False)
    """
    difference = set(C1) ^ set(C2)
    return not difference or min(difference) in set(C2)


def last_at_most(C1: Iterable[int], C2: Iterable[int]) -> bool:
    """``C1 <=last C2``: equal, or the last position in one only is in C2 (FOUND Sec. 4)."""
    difference = set(C1) ^ set(C2)
    return not difference or max(difference) in set(C2)
