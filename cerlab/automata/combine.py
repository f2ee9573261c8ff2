"""VCEA for AND, ALL, UNLESS and STRICT(..): products of machines (SOCEL Sec. 5.2; DESIGN 3.6).

All read an interval event by event, and none enters its initial state again.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from functools import reduce
from typing import TypeVar

from cerlab.automata.automaton import LabelTransition, Vcea
from cerlab.automata.explore import explore
from cerlab.automata.trim import trim
from cerlab.predicates.minterms import minterms
from cerlab.predicates.syntax import EVERYTHING, Not, Or, Predicate, conjunction

START = -1
"""A fresh initial state with the transitions of all initial ones."""

WAITING = -2
"""The part of an ALL that has not begun."""

OVER = -3
"""The part of an ALL that ended at an earlier event."""

NO_LABELS: frozenset[str] = frozenset()

State = TypeVar("State", bound=Hashable)
Step = tuple[Predicate, frozenset[str]]
Outgoing = Mapping[int, list[LabelTransition]]


def both(A: Vcea, B: Vcea) -> Vcea:
    """The valuations of both: a state is a state of each, after the same events and labels."""
    left, right = _outgoing(A), _outgoing(B)

    def follow(state: tuple[int, int]) -> Iterator[tuple[Step, tuple[int, int]]]:
        p, q = state
        for s in left[p]:
            for t in right[q]:
                if s.labels == t.labels:
                    together = conjunction(s.predicate, t.predicate)
                    yield (together, s.labels), (s.target, t.target)

    return _machine((START, START), follow, lambda state: state[0] in A.F and state[1] in B.F)


def in_any_order(A: Vcea, B: Vcea) -> Vcea:
    """One valuation of each, united: a state is where each of the two parts is.

    A part waits, runs, and is over; at the first event at least one begins, at the last at least
    one ends.
    """
    left, right = _parts(A), _parts(B)

    def follow(state: tuple[int, int]) -> Iterator[tuple[Step, tuple[int, int]]]:
        p, q = state
        for s in left(p):
            for t in right(q):
                target = (s.target, t.target)
                if target != (WAITING, WAITING) or state != (START, START):
                    labels = s.labels | t.labels
                    yield (conjunction(s.predicate, t.predicate), labels), target

    def final(state: tuple[int, int]) -> bool:
        p, q = state
        return (p in A.F and (q in B.F or q == OVER)) or (p == OVER and q in B.F)

    return _machine((START, START), follow, final)


def _parts(A: Vcea) -> Callable[[int], list[LabelTransition]]:
    """The moves of one part of an ALL, waiting before it and after it included."""
    outgoing = _outgoing(A)

    def moves(q: int) -> list[LabelTransition]:
        if q == OVER:
            return [_idle(OVER, OVER)]
        if q in (START, WAITING):
            return [*outgoing[START], _idle(q, WAITING)]
        return [*outgoing[q], *([_idle(q, OVER)] if q in A.F else [])]

    return moves


def _idle(source: int, target: int) -> LabelTransition:
    return LabelTransition(source, EVERYTHING, NO_LABELS, target)


def unless(A: Vcea, B: Vcea) -> Vcea:
    """Valuations of A with none of B inside: a state is one of A, and all states of runs of B.

    Those are the runs that began at the first event of A's run or later; when one of them would
    accept, the move is left out. Exponential in B. The tests of B's transitions are split into
    the combinations that events can have, so that B is followed deterministically.
    """
    left, right = _outgoing(A), _outgoing(trim(B))
    accepting = trim(B).F
    guards: dict[frozenset[int], list[tuple[Predicate, frozenset[int]]]] = {}

    def follow(
        state: tuple[int, frozenset[int]],
    ) -> Iterator[tuple[Step, tuple[int, frozenset[int]]]]:
        p, R = state
        if R not in guards:
            guards[R] = list(_followed(right, R))
        for t in left[p]:
            for guard, reached in guards[R]:
                if reached.isdisjoint(accepting):
                    yield (conjunction(t.predicate, guard), t.labels), (t.target, reached)

    return _machine((START, frozenset[int]()), follow, lambda state: state[0] in A.F)


def _followed(B: Outgoing, R: frozenset[int]) -> Iterator[tuple[Predicate, frozenset[int]]]:
    """Where the runs of B in R, and one that begins now, are after an event: guard by guard."""
    moves = [t for q in (*sorted(R), START) for t in B[q]]
    tests = list(dict.fromkeys(t.predicate for t in moves if t.predicate != EVERYTHING))
    cases: dict[frozenset[int], list[Predicate]] = {}
    for minterm in minterms(tests):
        held = {P for bit, P in enumerate(tests) if minterm.symbol >> bit & 1}
        reached = frozenset(
            t.target for t in moves if t.predicate == EVERYTHING or t.predicate in held
        )
        guard: Predicate = EVERYTHING
        for P in tests:
            guard = conjunction(guard, P if P in held else Not(P))
        cases.setdefault(reached, []).append(guard)
    for reached, ways in cases.items():
        yield (EVERYTHING if len(cases) == 1 else reduce(Or, ways)), reached


def strict(A: Vcea) -> Vcea:
    """Valuations whose positions are contiguous: a state is one of A, and where the block is.

    The block of marked events is not begun (0), going on (1), or over (2); equal position sets are
    kept or dropped together (FOUND App. C.3.1).
    """
    outgoing = _outgoing(A)

    def follow(state: tuple[int, int]) -> Iterator[tuple[Step, tuple[int, int]]]:
        q, block = state
        for t in outgoing[q]:
            if not (t.labels and block == 2):
                after = 1 if t.labels else 2 if block else 0
                yield (t.predicate, t.labels), (t.target, after)

    return _machine((START, 0), follow, lambda state: state[0] in A.F)


def _outgoing(A: Vcea) -> Outgoing:
    """The transitions by source; `START` has those of all initial states."""
    outgoing: dict[int, list[LabelTransition]] = {q: [] for q in range(A.states)}
    for t in A.Delta:
        outgoing[t.source].append(t)
    outgoing[START] = [t for q in sorted(A.I) for t in outgoing[q]]
    return outgoing


def _machine(
    start: State,
    follow: Callable[[State], Iterable[tuple[Step, State]]],
    final: Callable[[State], bool],
) -> Vcea:
    """What is reached from the start, trimmed."""
    found = explore(start, follow, final)
    number = {state: n for n, state in enumerate(found.states)}
    Delta = dict.fromkeys(
        LabelTransition(number[source], predicate, labels, number[target])
        for source, (predicate, labels), target in found.moves
    )
    F = frozenset(number[state] for state in found.final)
    return trim(Vcea(len(number), tuple(Delta), frozenset({0}), F))
