"""States that no accepting run passes through, removed."""

from __future__ import annotations

from collections.abc import Iterable

from cerlab.automata.automaton import Vcea


def trim(A: Vcea) -> Vcea:
    """The same valuations, with only states that are reachable and reach a final state.

    The remaining states keep their order and are renumbered from 0.
    """
    forward = _closure(A.I, [(t.source, t.target) for t in A.Delta])
    backward = _closure(A.F, [(t.target, t.source) for t in A.Delta])
    kept = sorted(forward & backward)
    number = {q: n for n, q in enumerate(kept)}
    Delta = tuple(
        t._replace(source=number[t.source], target=number[t.target])
        for t in A.Delta
        if t.source in number and t.target in number
    )
    renumbered = [frozenset(number[q] for q in S if q in number) for S in (A.I, A.F)]
    return Vcea(len(kept), Delta, *renumbered)


def _closure(start: Iterable[int], edges: list[tuple[int, int]]) -> frozenset[int]:
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
