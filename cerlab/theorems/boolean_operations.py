"""Boolean operations and I/O-determinism of anchored automata (FOUND Prop. 1; FOUND App. C.1).

Union is `cerlab.automata.compose.union`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import combinations
from typing import NamedTuple

from cerlab.automata.automaton import AnchoredCea, Mark, Transition, outgoing
from cerlab.automata.explore import explore
from cerlab.automata.product import pairs
from cerlab.automata.successors import type_of
from cerlab.predicates.algebra import disjoint
from cerlab.predicates.minterms import minterms
from cerlab.predicates.syntax import EVERYTHING, Predicate, conjunction


def intersection(A: AnchoredCea, B: AnchoredCea) -> AnchoredCea:
    """What both answer: a state is a state of each, after the same marks (FOUND App. C.1)."""

    def joint(s: Transition, t: Transition) -> tuple[Predicate, Mark] | None:
        return (conjunction(s.predicate, t.predicate), s.mark) if s.mark is t.mark else None

    return pairs(A, B, joint, AnchoredCea)


def complement(A: AnchoredCea) -> AnchoredCea:
    """All complex events that end at the event read and that A does not answer (FOUND App. C.1).

    In the determinised automaton each stream and complex event have exactly one run, so the final
    states are exchanged with the others, the sink included. Exponential.
    """
    D = determinise(A)
    return replace(D, F=frozenset(range(D.states)) - D.F)


def determinise(A: AnchoredCea) -> AnchoredCea:
    """A state is the set of the states in which A's runs with the same marks are (FOUND Prop. 1).

    The empty set is a state too, so that every event leads on with either mark. Predicates are
    conjunctions of those that leave the set and of their complements, and only those that events
    can satisfy. Exponential; raises `ResourceLimit` above 100,000 states.

    >>> from cerlab.predicates.syntax import TypeIs
    >>> twice = (Transition(0, EVERYTHING, Mark.TAKE, 0), Transition(0, TypeIs("A"), Mark.TAKE, 1))
    >>> D = determinise(AnchoredCea(2, twice, frozenset({0}), frozenset({1})))
    >>> D.states, sorted(D.F)
    (3, [2])
    """
    types = cache(predicate_types)

    def follow(T: frozenset[int]) -> Iterator[tuple[tuple[Predicate, Mark], frozenset[int]]]:
        transitions = [t for t in A.Delta if t.source in T]
        for one in types(tuple(t.predicate for t in transitions)):
            for mark in (Mark.SKIP, Mark.TAKE):
                U = (t.target for t in transitions if t.mark is mark and t.predicate in one.members)
                yield (one.predicate, mark), frozenset(U)

    return explore(A.I, follow, lambda T: not T.isdisjoint(A.F), AnchoredCea)


class PredicateType(NamedTuple):
    """The predicates that an event satisfies, TRUE among them, and one that says just that."""

    predicate: Predicate
    members: frozenset[Predicate]


def predicate_types(predicates: Sequence[Predicate]) -> tuple[PredicateType, ...]:
    """The types of some predicates, of which each event has exactly one (FOUND App. C.3.2).

    Only types that events have; where that is not decided (see `cerlab.predicates.minterms`), also
    others.

    >>> from cerlab.predicates.syntax import TypeIs
    >>> len(predicate_types([TypeIs("A"), TypeIs("B")]))
    3
    """
    tests = [P for P in dict.fromkeys(predicates) if P != EVERYTHING]
    return tuple(_type_of(tests, minterm.symbol) for minterm in minterms(tests))


def _type_of(tests: Sequence[Predicate], symbol: int) -> PredicateType:
    """The type of the events with a truth vector: a conjunction of literals."""
    members = {EVERYTHING, *(P for bit, P in enumerate(tests) if symbol >> bit & 1)}
    return PredicateType(type_of(tests, symbol), frozenset(members))


def is_io_deterministic(A: AnchoredCea) -> bool | None:
    """Whether a stream and a complex event have at most one run (FOUND Sec. 6).

    One initial state, and two transitions of a state that an event satisfies have different marks.
    None if that depends on predicates of which it is not decided whether an event satisfies both.
    """
    if len(A.I) != 1:
        return False
    leaving = outgoing(A)
    both = dict.fromkeys(
        (s.predicate, t.predicate)
        for q in range(A.states)
        for s, t in combinations(dict.fromkeys(leaving[q]), 2)
        if s.mark is t.mark
    )
    apart = [disjoint(P, Q) for P, Q in both]
    if False in apart:
        return False
    return None if None in apart else True
