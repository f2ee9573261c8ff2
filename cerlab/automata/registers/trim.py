"""What no accepting run passes, removed; and how long accepting runs can be."""

from __future__ import annotations

from collections.abc import Iterable
from graphlib import CycleError, TopologicalSorter

from cerlab.automata.registers.transducer import Srt
from cerlab.predicates.syntax import FALSE


def trimmed(T: Srt) -> Srt:
    """The same matches, with only the states that are on a way from q0 to F, and q0.

    Ways are those of the graph without the guards that are FALSE. The states keep their order; R
    stays, so that registers mean the same.
    """
    Delta = [t for t in T.Delta if t.guard != FALSE]
    forward = _reached({T.q0}, [(t.source, t.target) for t in Delta])
    backward = _reached(T.F, [(t.target, t.source) for t in Delta])
    kept = sorted((forward & backward) | {T.q0})
    number = {q: n for n, q in enumerate(kept)}
    there = tuple(
        t._replace(source=number[t.source], target=number[t.target])
        for t in Delta
        if t.source in number and t.target in backward
    )
    F = frozenset(number[q] for q in T.F if q in number)
    return Srt(len(kept), T.R, there, number[T.q0], F)


def longest(T: Srt) -> int | None:
    """The most events that an accepting run reads; None if cycles let them be any number."""
    T = trimmed(T)
    before: dict[int, set[int]] = {q: set() for q in range(T.states)}
    for t in T.Delta:
        before[t.target].add(t.source)
    try:
        order = tuple(TopologicalSorter(before).static_order())
    except CycleError:
        return None
    length = dict.fromkeys(order, 0)
    for q in order:
        length[q] = max((length[p] + 1 for p in before[q]), default=0)
    return max((length[q] for q in T.F), default=0)


def _reached(start: Iterable[int], edges: list[tuple[int, int]]) -> frozenset[int]:
    after: dict[int, list[int]] = {}
    for source, target in edges:
        after.setdefault(source, []).append(target)
    found = set(start)
    pending = list(found)
    while pending:
        for target in after.get(pending.pop(), ()):
            if target not in found:
                found.add(target)
                pending.append(target)
    return frozenset(found)
