"""Empty moves eliminated, plainly or by merging (SRT Lemma 29; SRT Alg. 2)."""

from __future__ import annotations

from collections.abc import Iterator

from cerlab.automata.explore import explore
from cerlab.automata.registers.transducer import (
    Label,
    Srt,
    Transducer,
    empty_moves,
    from_explored,
    outgoing,
)
from cerlab.automata.registers.trim import trimmed


def without_epsilon(T: Transducer) -> Srt:
    """Each state also stands for all that empty moves reach from it (SRT Lemma 29).

    It has their transitions and is final if one of them is; then what no run needs is removed. At
    most as many states, and transitions ``|Q| |Delta|``.
    """
    closures = _closures(T)
    leaving = outgoing(T)
    Delta = dict.fromkeys(
        t._replace(source=q)
        for q, reached in enumerate(closures)
        for p in reached
        for t in leaving[p]
    )
    F = frozenset(q for q, reached in enumerate(closures) if not T.F.isdisjoint(reached))
    return trimmed(Srt(T.states, T.R, tuple(Delta), T.q0, F))


def merged(T: Transducer, *, budget: int = 100_000) -> Srt:
    """A state is a set of states, closed under empty moves, that runs with one label go to.

    Transitions of a set are one if guard, mark and written registers are all the same, and then it
    leads to all their targets: fewer runs for the same matches. The printed algorithm looks at
    guard and mark only, and mixes up what the registers hold (SRT Alg. 2; erratum SRT-E12). Up to
    ``2^|Q|`` states; raises `ResourceLimit` above the budget.
    """
    closures = _closures(T)
    leaving = outgoing(T)

    def follow(X: frozenset[int]) -> Iterator[tuple[Label, frozenset[int]]]:
        groups: dict[Label, set[int]] = {}
        for q in sorted(X):
            for t in leaving[q]:
                groups.setdefault(Label(*t[1:4]), set()).update(closures[t.target])
        for label, targets in groups.items():
            yield label, frozenset(targets)

    start = frozenset(closures[T.q0])
    found = explore(start, follow, lambda X: not T.F.isdisjoint(X), budget=budget)
    return trimmed(from_explored(found, T.R))


def _closures(T: Transducer) -> list[tuple[int, ...]]:
    """For each state those that empty moves lead to, itself first."""
    silent: list[list[int]] = [[] for _ in range(T.states)]
    for move in empty_moves(T):
        silent[move.source].append(move.target)
    return [
        explore(q, lambda p: ((None, r) for r in silent[p]), lambda p: False).states
        for q in range(T.states)
    ]
