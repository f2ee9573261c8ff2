"""What no accepting run passes, removed; and how long accepting runs can be."""

from __future__ import annotations

from dataclasses import replace
from graphlib import CycleError, TopologicalSorter

from cerlab.automata.registers.transducer import Srt
from cerlab.automata.trim import trim
from cerlab.predicates.syntax import FALSE


def prune(T: Srt) -> Srt:
    """The same matches, with only the states that are on a way from q0 to F, and q0.

    Ways are those of the graph without the guards that are FALSE.
    """
    return trim(replace(T, Delta=tuple(t for t in T.Delta if t.guard != FALSE)))


def longest(T: Srt) -> int | None:
    """The most events that an accepting run reads; None if cycles let them be any number."""
    T = prune(T)
    before: dict[int, set[int]] = {q: set() for q in range(T.states)}
    for t in T.Delta:
        before[t.target].add(t.source)
    try:
        order = tuple(TopologicalSorter(before).static_order())
    except CycleError:
        return None
    length: dict[int, int] = {}
    for q in order:
        length[q] = max((length[p] + 1 for p in before[q]), default=0)
    return max((length[q] for q in T.F), default=0)
