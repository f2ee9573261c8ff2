"""Union, concatenation and iteration of closed transducers (SRT Thm. 31; SRT Fig. 11).

Each part, and each iteration, begins with empty registers (SRT Def. 30), so the parts of a union
or a concatenation get registers of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from cerlab.automata.automaton import EmptyMove, as_kind
from cerlab.automata.compose import shift
from cerlab.automata.epsilon import choice, sequence
from cerlab.automata.product import remember
from cerlab.automata.registers.rename import apart
from cerlab.automata.registers.transducer import (
    NONE,
    EpsilonSrt,
    Label,
    RegisterTransition,
    Srt,
    Transducer,
)
from cerlab.predicates.guards import redirect_registers

Registers: TypeAlias = frozenset[str]


def union(A: Transducer, B: Transducer) -> EpsilonSrt:
    """The matches of A and those of B (SRT Thm. 31)."""
    return choice(as_kind(A, EpsilonSrt), as_kind(apart(B, A.R), EpsilonSrt))


def concatenation(A: Transducer, B: Transducer) -> EpsilonSrt:
    """A match of A on a prefix, and one of B on the rest, at its positions there (SRT Thm. 31).

    As printed, the definition neither ranges over the prefixes nor shifts the second match
    (SRT Def. 30; erratum SRT-E10).
    """
    return sequence(as_kind(A, EpsilonSrt), as_kind(apart(B, A.R), EpsilonSrt))


def star(T: Srt) -> EpsilonSrt:
    """A state is one of T, and the registers written since the present iteration began.

    A guard that reads another register reads an empty one. A new state, the start and the only
    final one, stands between iterations. The drawing of the paper lets registers keep what an
    earlier iteration wrote (SRT Fig. 11; erratum SRT-E10), which is right for the operator ``*``
    of expressions alone (`cerlab.automata.epsilon.star`). At most ``|Q| 2^|R| + 1`` states.
    """

    def follow(D: Registers, t: RegisterTransition) -> Iterator[tuple[Label, Registers]]:
        guard = redirect_registers(t.guard, {r: r for r in D}.get)
        yield Label(guard, t.mark, t.writes), D | t.writes

    body = shift(remember(T, NONE, follow, Srt, R=T.R), 1)
    moves = (EmptyMove(0, body.q0), *(EmptyMove(q, 0) for q in sorted(body.F)))
    return EpsilonSrt(body.states, body.Delta, frozenset({0}), frozenset({0}), moves=moves, R=T.R)
