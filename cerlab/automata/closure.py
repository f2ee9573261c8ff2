"""Boolean operations and I/O-determinism of anchored automata (FOUND Prop. 1; FOUND App. C.1)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import combinations
from typing import NamedTuple

from cerlab.automata.automaton import AnchoredCea, IntervalCea, Mark, Transition
from cerlab.automata.explore import explore
from cerlab.automata.products import Pair, moves_from, pairs
from cerlab.predicates.minterms import minterms
from cerlab.predicates.syntax import EVERYTHING, Not, Predicate, conjunction


def union(A: AnchoredCea, B: AnchoredCea) -> AnchoredCea:
    """What one of the two answers: both, on disjoint states (FOUND App. C.1)."""
    by = A.states
    Delta = (t._replace(source=t.source + by, target=t.target + by) for t in B.Delta)
    I, F = (frozenset(q + by for q in states) for states in (B.I, B.F))
    return AnchoredCea(by + B.states, (*A.Delta, *Delta), A.I | I, A.F | F)


def intersection(A: AnchoredCea, B: AnchoredCea) -> AnchoredCea:
    """What both answer: a state is a state of each, after the same marks (FOUND App. C.1)."""
    left, right = moves_from(A.Delta, A.I), moves_from(B.Delta, B.I)

    def follow(pair: Pair) -> Iterator[tuple[tuple[Predicate, Mark], Pair]]:
        for s in left(pair[0]):
            for t in right(pair[1]):
                if s.mark is t.mark:
                    yield (conjunction(s.predicate, t.predicate), s.mark), (s.target, t.target)

    found = pairs(follow, A.F, B.F)
    number = {pair: n for n, pair in enumerate(found.states)}
    Delta = dict.fromkeys(
        Transition(number[source], P, mark, number[target])
        for source, (P, mark), target in found.moves
    )
    final = frozenset(number[pair] for pair in found.final)
    return AnchoredCea(len(number), tuple(Delta), frozenset({0}), final)


def complement(A: AnchoredCea) -> AnchoredCea:
    """All complex events that end at the event read and that A does not answer (FOUND App. C.1).

    In the determinised automaton each stream and complex event have exactly one run, so the final
    states are exchanged with the others, the sink included. Exponential.
    """
    D = determinised(A)
    return AnchoredCea(D.states, D.Delta, D.I, frozenset(range(D.states)) - D.F)


def determinised(A: AnchoredCea) -> AnchoredCea:
    """A state is the set of the states in which A's runs with the same marks are (FOUND Prop. 1).

    The empty set is a state too, so that every event leads on with either mark. Predicates are
    conjunctions of those that leave the set and of their complements, and only those that events
    can satisfy. Exponential; raises `ResourceLimit` above 100,000 states.

    >>> from cerlab.predicates.syntax import TypeIs
    >>> twice = (Transition(0, EVERYTHING, Mark.TAKE, 0), Transition(0, TypeIs("A"), Mark.TAKE, 1))
    >>> D = determinised(AnchoredCea(2, twice, frozenset({0}), frozenset({1})))
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

    found = explore(A.I, follow, lambda T: not T.isdisjoint(A.F))
    number = {T: n for n, T in enumerate(found.states)}
    Delta = tuple(Transition(number[T], P, mark, number[U]) for T, (P, mark), U in found.moves)
    final = frozenset(number[T] for T in found.final)
    return AnchoredCea(len(number), Delta, frozenset({0}), final)


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
    said: Predicate = EVERYTHING
    members: set[Predicate] = {EVERYTHING}
    for bit, P in enumerate(tests):
        holds = symbol >> bit & 1
        said = conjunction(said, P if holds else Not(P))
        members |= {P} if holds else set()
    return PredicateType(said, frozenset(members))


def is_io_deterministic(A: AnchoredCea) -> bool | None:
    """Whether a stream and a complex event have at most one run (FOUND Sec. 6).

    One initial state, and two transitions of a state that an event satisfies have different marks.
    None if that depends on predicates of which it is not decided whether an event satisfies both.
    """
    if len(A.I) != 1:
        return False
    leaving = moves_from(A.Delta, A.I)
    both = dict.fromkeys(
        (s.predicate, t.predicate)
        for q in range(A.states)
        for s, t in combinations(leaving(q), 2)
        if s.mark is t.mark
    )
    common = [_have_common_event(P, Q) for P, Q in both]
    if True in common:
        return False
    return None if None in common else True


def _have_common_event(P: Predicate, Q: Predicate) -> bool | None:
    for minterm in minterms([P, Q]):
        if minterm.symbol == 0b11:
            return None if minterm.example is None else True
    return False


def anchored(A: IntervalCea) -> AnchoredCea:
    """The automaton that reads from position 0: its initial state is "not started" (FOUND Sec. 6).

    There it skips any events, and has the transitions of q0, which no run enters again. The
    answers ``([i, j], D)`` are kept of automata whose accepting runs begin and end with a mark:
    then i and j are the least and the greatest position of D. So they do in automata of formulas
    without projection and NOT. Of other automata, starts are forgotten, and answers whose last
    event is not marked are lost.
    """
    wait = Transition(A.q0, EVERYTHING, Mark.SKIP, A.q0)
    return AnchoredCea(A.states, (wait, *A.Delta), frozenset({A.q0}), A.F)
