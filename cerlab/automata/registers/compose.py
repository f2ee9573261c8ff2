"""Sequence, choice and iteration of transducers that share their registers (SRT Thm. 27).

These are the pieces of the compilation: what one part writes the next one reads, as in
expressions. Combinations whose parts begin with empty registers are in `closure`.
"""

from __future__ import annotations

from collections.abc import Iterable

from cerlab.automata.automaton import EmptyMove, Mark
from cerlab.automata.registers.transducer import (
    NONE,
    EpsilonSrt,
    RegisterTransition,
    Transducer,
    empty_moves,
)
from cerlab.predicates.syntax import EVERYTHING, Guard


def nothing() -> EpsilonSrt:
    """No string at all: a start and a final state, and no way between them."""
    return EpsilonSrt(2, NONE, (), (), 0, frozenset({1}))


def empty_word() -> EpsilonSrt:
    """The empty string: an empty move from the start to the final state."""
    return EpsilonSrt(2, NONE, (), (EmptyMove(0, 1),), 0, frozenset({1}))


def one_event(guard: Guard, mark: Mark, writes: frozenset[str], R: frozenset[str]) -> EpsilonSrt:
    """One event that satisfies the guard; R has at least the registers that this mentions."""
    step = RegisterTransition(0, guard, mark, writes, 1)
    return EpsilonSrt(2, R, (step,), (), 0, frozenset({1}))


def sequence(A: Transducer, B: Transducer) -> EpsilonSrt:
    """A, then B with the registers as A left them: empty moves from A's final states to B."""
    B = shifted(B, A.states)
    joint = (EmptyMove(q, B.q0) for q in sorted(A.F))
    return _joined(B.states, (A, B), joint, A.q0, B.F)


def choice(A: Transducer, B: Transducer) -> EpsilonSrt:
    """A or B: a new start with empty moves to both, and a new final state with some from both."""
    B = shifted(B, A.states)
    s, f = B.states, B.states + 1
    joint = [EmptyMove(s, A.q0), EmptyMove(s, B.q0)]
    joint += [EmptyMove(q, f) for q in (*sorted(A.F), *sorted(B.F))]
    return _joined(f + 1, (A, B), joint, s, {f})


def iteration(A: Transducer) -> EpsilonSrt:
    """A any number of times, each with the registers as the one before left them."""
    s, f = A.states, A.states + 1
    joint = [EmptyMove(s, A.q0), EmptyMove(s, f)]
    joint += [EmptyMove(q, p) for q in sorted(A.F) for p in (f, A.q0)]
    return _joined(f + 1, (A,), joint, s, {f})


def streaming(T: Transducer) -> EpsilonSrt:
    """``<TRUE>* . e``: any events, unmarked, and then T, which may begin anywhere (SRT Def. 32)."""
    z = T.states
    wait = RegisterTransition(z, EVERYTHING, Mark.SKIP, NONE, z)
    moves = (*empty_moves(T), EmptyMove(z, T.q0))
    return EpsilonSrt(z + 1, T.R, (*T.Delta, wait), moves, z, T.F)


def shifted(T: Transducer, by: int) -> EpsilonSrt:
    """The same with `by` unused states before its own."""
    Delta = tuple(t._replace(source=t.source + by, target=t.target + by) for t in T.Delta)
    moves = tuple(EmptyMove(p + by, q + by) for p, q in empty_moves(T))
    return EpsilonSrt(T.states + by, T.R, Delta, moves, T.q0 + by, frozenset(q + by for q in T.F))


def _joined(
    states: int,
    parts: Iterable[Transducer],
    joint: Iterable[EmptyMove],
    q0: int,
    F: Iterable[int],
) -> EpsilonSrt:
    parts = tuple(parts)
    R = NONE.union(*(T.R for T in parts))
    Delta = tuple(t for T in parts for t in T.Delta)
    moves = tuple(move for T in parts for move in empty_moves(T))
    return EpsilonSrt(states, R, Delta, (*moves, *joint), q0, frozenset(F))
