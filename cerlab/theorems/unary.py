"""Transducers whose guards read no register are complex event automata (SRT Def. 21; FOUND Sec. 6).

The last transition of an automaton's run has to take its event: its answers are what a transducer
reports at the event read, not its matches (SRT Def. 24). Positions count from 0 on both sides here;
in the papers those of the transducer are one more.
"""

from __future__ import annotations

from cerlab.automata.automaton import AnchoredCea, EmptyMove, Transition
from cerlab.automata.registers.transducer import NONE, EpsilonSrt, RegisterTransition, Srt
from cerlab.errors import Unsupported
from cerlab.predicates.guards import reads_no_register
from cerlab.predicates.syntax import Guard, Predicate


def unary_cea(T: Srt) -> AnchoredCea:
    """The automaton with the same states and transitions; writes are left out, as nothing reads.

    Raises `Unsupported` if a guard reads a register.
    """
    Delta = dict.fromkeys(
        Transition(t.source, predicate_of(t.guard), t.mark, t.target) for t in T.Delta
    )
    return AnchoredCea(T.states, tuple(Delta), frozenset({T.q0}), T.F)


def unary_srt(A: AnchoredCea) -> EpsilonSrt:
    """The transducer with the same transitions, and a start with empty moves to A's."""
    Delta = tuple(
        RegisterTransition(t.source, t.predicate, t.mark, NONE, t.target) for t in A.Delta
    )
    moves = tuple(EmptyMove(A.states, q) for q in sorted(A.I))
    return EpsilonSrt(A.states + 1, Delta, frozenset({A.states}), A.F, moves=moves, R=NONE)


def predicate_of(guard: Guard) -> Predicate:
    """The guard as a predicate on the event being read; raises as `unary_cea`."""
    if reads_no_register(guard):
        return guard
    raise Unsupported(
        "CER0485",
        "a guard reads a register, and complex event automata have none",
        hint='evaluator="registers" runs it',
    )
