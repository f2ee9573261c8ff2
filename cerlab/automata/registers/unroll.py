"""Unrolling: no cycles, and each register written at one depth (SRT Lemma 46; SRT Lemma S3)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from cerlab.automata.product import remember
from cerlab.automata.registers.rename import fresh
from cerlab.automata.registers.transducer import NONE, Label, RegisterTransition, Srt
from cerlab.automata.registers.trim import prune
from cerlab.predicates.guards import redirect_registers

Memory: TypeAlias = tuple[int, tuple[tuple[str, str], ...]]
"""How many events were read, and the register that holds each of the given transducer."""


def unroll(
    T: Srt, w: int, context: frozenset[str] = NONE, *, prefix: str = "b", trim: bool = True
) -> Srt:
    """A state is (d, q, where): after d events in state q, the register that holds each of T's.

    What is written at depth d is the d-th event, whatever writes it, so one register ``b_d`` for
    each depth holds all of it. A read of r goes to the register of the last write of r on the way
    here; before any, to r itself if it is in `context`, else the atom is false (erratum SRT-E17).
    The paper makes a tree of all walks instead (SRT Alg. 3; SRT Alg. 4; SRT Alg. 5; SRT Alg. 6).

    The matches of strings of up to w events are those of T, longer strings have none; acyclic, one
    register written at a time, each at most once in a run. At most ``|Q| sum (d + 2)^|R|`` states.
    """
    names = [fresh(f"{prefix}{d}", context) for d in range(1, w + 1)]
    outer = tuple((r, r) for r in sorted(context & T.R))

    def follow(memory: Memory, t: RegisterTransition) -> Iterator[tuple[Label, Memory]]:
        d, where = memory
        if d < w:
            guard = redirect_registers(t.guard, dict(where).get)
            after = {**dict(where), **dict.fromkeys(t.writes, names[d])}
            write = frozenset({names[d]}) if t.writes else NONE
            yield Label(guard, t.mark, write), (d + 1, tuple(sorted(after.items())))

    R = context | frozenset(names)
    whole = remember(T, (0, outer), follow, Srt, R=R)
    return prune(whole) if trim else whole
