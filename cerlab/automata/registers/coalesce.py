"""Registers that never hold different events while both are needed, made one."""

from __future__ import annotations

from itertools import combinations
from typing import TypeAlias

from cerlab.automata.registers.liveness import live_registers, without_dead_writes
from cerlab.automata.registers.transducer import Srt
from cerlab.budget import spend
from cerlab.predicates.guards import redirect_registers

Pair: TypeAlias = tuple[str, str]


def coalesce(T: Srt) -> Srt:
    """The same matches from empty registers, with fewer registers and the states of T.

    Two registers are made one if in no state of T both may be read again and hold different events;
    a state then finds in the one what any of them would hold. So what two guards ask of one stored
    event is asked of one register, and one that is not needed any more is used again.

    >>> from cerlab.automata.automaton import Mark
    >>> from cerlab.automata.registers.transducer import NONE, RegisterTransition
    >>> from cerlab.predicates.syntax import RegisterAttribute, RegisterComparison
    >>> from cerlab.predicates.syntax import EVERYTHING, Attribute, Operator
    >>> steps = [RegisterTransition(0, EVERYTHING, Mark.TAKE, frozenset("rs"), 1)]
    >>> for q, r in enumerate("rs", start=1):
    ...     register = RegisterAttribute(r, "v")
    ...     same = RegisterComparison(Operator.EQ, Attribute("v"), register)
    ...     steps.append(RegisterTransition(q, same, Mark.TAKE, NONE, q + 1))
    >>> sorted(coalesce(Srt(4, tuple(steps), frozenset({0}), frozenset({3}), R=frozenset("rs"))).R)
    ['r']
    """
    T = without_dead_writes(T)
    apart = _apart(T)
    place: dict[str, str] = {}
    for r in sorted(T.R):
        conflicts = {place[s] for s in place if (s, r) in apart}
        place[r] = next((p for p in place.values() if p not in conflicts), r)
    Delta = dict.fromkeys(
        t._replace(
            guard=redirect_registers(t.guard, place.__getitem__),
            writes=frozenset(place[r] for r in t.writes),
        )
        for t in T.Delta
    )
    return Srt(T.states, tuple(Delta), T.I, T.F, R=frozenset(place.values()))


def _apart(T: Srt) -> frozenset[Pair]:
    """The pairs that may hold different events where both may be read: one was written alone."""
    live = live_registers(T)
    apart: set[Pair] = set()
    for t in T.Delta:
        spend(len(live[t.target]) ** 2)
        pairs = combinations(sorted(live[t.target]), 2)
        apart.update(pair for pair in pairs if len(t.writes.intersection(pair)) == 1)
    return frozenset(apart)
