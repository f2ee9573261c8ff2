"""Empty moves of transducers eliminated, plainly or by merging (SRT Lemma 29; SRT Alg. 2)."""

from __future__ import annotations

from collections.abc import Iterator

from cerlab.automata.automaton import outgoing
from cerlab.automata.epsilon import silent_closures, without_moves
from cerlab.automata.explore import explore
from cerlab.automata.registers.transducer import Label, Srt, Transducer, label
from cerlab.automata.registers.trim import prune


def without_epsilon(T: Transducer) -> Srt:
    """The same matches without empty moves and without what no run needs (SRT Lemma 29)."""
    return prune(without_moves(T, Srt))


def merge(T: Transducer, *, most: int | None = None) -> Srt:
    """A state is a set of states, closed under empty moves, that runs with one label go to.

    Transitions of a set are one if guard, mark and written registers are all the same, and then it
    leads to all their targets: fewer runs for the same matches. The printed algorithm looks at
    guard and mark only, and mixes up what the registers hold (SRT Alg. 2; erratum SRT-E12). Up to
    ``2^|Q|`` states; raises `ResourceLimit` above `most`.
    """
    closures = silent_closures(T)
    leaving = outgoing(T)

    def follow(X: frozenset[int]) -> Iterator[tuple[Label, frozenset[int]]]:
        groups: dict[Label, set[int]] = {}
        for q in sorted(X):
            for t in leaving[q]:
                groups.setdefault(label(t), set()).update(closures[t.target])
        for same, targets in groups.items():
            yield same, frozenset(targets)

    start = frozenset(closures[T.q0])
    return prune(explore(start, follow, lambda X: not T.F.isdisjoint(X), Srt, R=T.R, most=most))
