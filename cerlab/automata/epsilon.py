"""Operations on transducers with empty moves, which read no event, and their elimination.

Registers that one part writes are read by the next, as in expressions (FOUND App. C.2; SRT Thm.
27). Combinations of transducers whose parts begin with empty registers are in
`cerlab.theorems.srt`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any, TypeVar

from cerlab.automata.automaton import Automaton, EmptyMove, Mark, outgoing
from cerlab.automata.compose import quotient, shift
from cerlab.automata.explore import distinct, explore, reachable, successors_by
from cerlab.automata.registers import (
    EpsilonSrt,
    Label,
    RegisterTransition,
    Srt,
    Transducer,
    label,
    prune,
)
from cerlab.budget import TRANSITION, spend
from cerlab.errors import ResourceLimit
from cerlab.predicates.syntax import Guard

M = TypeVar("M", bound=Automaton[Any])
Plain = TypeVar("Plain", bound=Automaton[Any])


def sequence(A: M, B: M) -> M:
    """Return A followed by B: empty moves lead from A's final states to B's initial states."""
    B = shift(B, A.states)
    return _disjoint_union(A, B, B.states, _moves(A.F, B.I), A.I, B.F)


def choice(A: M, B: M) -> M:
    """Return A or B, between a fresh initial and a fresh final state."""
    B = shift(B, A.states)
    i, f = B.states, B.states + 1
    joint = (*_moves({i}, A.I), *_moves({i}, B.I), *_moves(A.F, {f}), *_moves(B.F, {f}))
    return _disjoint_union(A, B, f + 1, joint, frozenset({i}), frozenset({f}))


def plus(A: M) -> M:
    """Return A repeated one or more times, with empty moves from its end to its beginning."""
    return replace(A, moves=(*A.moves, *_moves(A.F, A.I)))


def repeat(A: M, least: int, most: int | None) -> M:
    """Return A repeated `least` to `most` times, with empty moves between the copies.

    Without `most`, the last copy repeats. Linear in the number of copies.
    """
    copies = most or least
    spend(TRANSITION * copies * (A.states + len(A.Delta) + len(A.moves)))
    *before, last = (shift(A, k * A.states) for k in range(copies))
    parts = (*before, plus(last) if most is None else last)
    links = (move for a, b in pairwise(parts) for move in _moves(a.F, b.I))
    moves = (*(move for part in parts for move in part.moves), *links)
    Delta = tuple(t for part in parts for t in part.Delta)
    F = frozenset[int]().union(*(part.F for part in parts[least - 1 :]))
    return replace(A, states=parts[-1].states, Delta=Delta, F=F, moves=moves)


def star(A: M) -> M:
    """Return A repeated any number of times, between a fresh initial and a fresh final state."""
    i, f = A.states, A.states + 1
    back = (EmptyMove(q, p) for q in sorted(A.F) for p in (f, *sorted(A.I)))
    joint = (*_moves({i}, A.I), EmptyMove(i, f), *back)
    I, F = frozenset({i}), frozenset({f})
    return replace(A, states=f + 1, moves=(*A.moves, *joint), I=I, F=F)


def _disjoint_union(
    A: M, B: M, states: int, joint: Iterable[EmptyMove], I: frozenset[int], F: frozenset[int]
) -> M:
    """Return A and B as one machine with separate states, linked by the empty moves `joint`."""
    Delta, moves = (*A.Delta, *B.Delta), (*A.moves, *B.moves, *joint)
    return replace(A, states=states, Delta=Delta, I=I, F=F, moves=moves, R=A.R | B.R)


def _moves(sources: Iterable[int], targets: Iterable[int]) -> tuple[EmptyMove, ...]:
    return tuple(EmptyMove(q, p) for q in sorted(sources) for p in sorted(targets))


def without_moves(A: Automaton[Any], kind: type[Plain]) -> Plain:
    """Return the machine with equal runs and no empty moves (FOUND App. C.2; SRT Lemma 29).

    Each state has the transitions of all states that empty moves reach from it, and is final if one
    of them is. The number of states is the same; there are at most ``|Q| |Delta|`` transitions.

    >>> from cerlab.automata.automaton import AnchoredCea, EpsilonCea, Mark, Transition
    >>> from cerlab.predicates.syntax import EVERYTHING
    >>> take = Transition(0, EVERYTHING, Mark.TAKE, 1)
    >>> I, F = frozenset({0}), frozenset({1})
    >>> again = EpsilonCea(2, (take,), I, F, moves=(EmptyMove(1, 0),))
    >>> [(t.source, t.target) for t in without_moves(again, AnchoredCea).Delta]
    [(0, 1), (1, 1)]
    """
    leaving, closures = outgoing(A), silent_closures(A)
    Delta = (
        t._replace(source=q)
        for q, closure in enumerate(closures)
        for p in closure
        for t in leaving[p]
    )
    F = frozenset(q for q, closure in enumerate(closures) if not A.F.isdisjoint(closure))
    return kind(A.states, distinct(Delta), A.I, F, R=A.R)


def silent_closures(A: Automaton[Any]) -> list[tuple[int, ...]]:
    """Return, for each state, the states that empty moves reach, itself first."""
    after = successors_by(A.moves)
    return [tuple(reachable((q,), after)) for q in range(A.states)]


def nothing() -> EpsilonSrt:
    """Return a transducer that accepts no string."""
    return EpsilonSrt(2, (), frozenset({0}), frozenset({1}))


def empty_word() -> EpsilonSrt:
    """Return a transducer that accepts only the empty string."""
    return EpsilonSrt(2, (), frozenset({0}), frozenset({1}), moves=(EmptyMove(0, 1),))


def one_event(guard: Guard, mark: Mark, writes: frozenset[str], R: frozenset[str]) -> EpsilonSrt:
    """Return a transducer that reads one event, which must satisfy the guard.

    R contains at least the registers that the guard reads and the event is written to.
    """
    step = RegisterTransition(0, guard, mark, writes, 1)
    return EpsilonSrt(2, (step,), frozenset({0}), frozenset({1}), R=R)


def streaming(T: Transducer) -> EpsilonSrt:
    """Return ``<TRUE>* . e``: T after any number of unmarked events (SRT Def. 32)."""
    z = T.states
    Delta = (*T.Delta, T.step(z, *T.skip, z))
    moves = (*T.moves, EmptyMove(z, T.q0))
    return EpsilonSrt(z + 1, Delta, frozenset({z}), T.F, moves=moves, R=T.R)


def without_epsilon(T: Transducer) -> Srt:
    """Return a transducer with equal matches and no empty moves (SRT Lemma 29)."""
    return prune(without_moves(T, Srt))


def merge(T: Transducer, *, most: int | None = None) -> Srt:
    """Return a transducer whose states are sets of T's states, closed under empty moves.

    Transitions of a set become one, leading to all their targets, if guard, mark and written
    registers are equal: fewer runs for the same matches. The printed algorithm compares guard and
    mark only, and confuses the contents of registers (SRT Alg. 2; erratum SRT-E12). Up to
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


def smaller(T: Transducer) -> Srt:
    """Return a smaller transducer without empty moves and with equal matches.

    A merged transducer has fewer runs for a match, but may have exponentially many states.
    """
    plain = without_epsilon(T)
    try:
        least = merge(T, most=plain.states)
    except ResourceLimit:
        least = plain
    return quotient(least)
