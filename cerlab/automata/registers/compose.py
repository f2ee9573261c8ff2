"""The least transducers, and the streaming form of one (SRT Thm. 27; SRT Def. 32).

`cerlab.automata.epsilon` puts transducers together that share their registers; combinations whose
parts begin with empty registers are in `cerlab.theorems.srt_closure`.
"""

from __future__ import annotations

from cerlab.automata.automaton import EmptyMove, Mark
from cerlab.automata.registers.transducer import EpsilonSrt, RegisterTransition, Transducer
from cerlab.predicates.syntax import Guard


def nothing() -> EpsilonSrt:
    """No string at all: a start and a final state, and no way between them."""
    return EpsilonSrt(2, (), frozenset({0}), frozenset({1}))


def empty_word() -> EpsilonSrt:
    """The empty string: an empty move from the start to the final state."""
    return EpsilonSrt(2, (), frozenset({0}), frozenset({1}), moves=(EmptyMove(0, 1),))


def one_event(guard: Guard, mark: Mark, writes: frozenset[str], R: frozenset[str]) -> EpsilonSrt:
    """One event that satisfies the guard; R has at least the registers that this mentions."""
    step = RegisterTransition(0, guard, mark, writes, 1)
    return EpsilonSrt(2, (step,), frozenset({0}), frozenset({1}), R=R)


def streaming(T: Transducer) -> EpsilonSrt:
    """``<TRUE>* . e``: any events, unmarked, and then T, which may begin anywhere (SRT Def. 32)."""
    z = T.states
    Delta = (*T.Delta, T.step(z, *T.skip, z))
    moves = (*T.moves, EmptyMove(z, T.q0))
    return EpsilonSrt(z + 1, Delta, frozenset({z}), T.F, moves=moves, R=T.R)
