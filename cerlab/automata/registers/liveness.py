"""Writes that no guard reads afterwards, removed."""

from __future__ import annotations

from dataclasses import replace

from cerlab.automata.registers.transducer import NONE, Srt
from cerlab.predicates.guards import registers_of


def without_dead_writes(T: Srt) -> Srt:
    """The same matches, with only the writes that a later guard may read.

    What registers hold at the end is not kept. Of a pattern as ``<TRUE>* . <A> -> r . <TRUE>*``
    nothing is written any more, so that it can be determinised without a window.

    >>> from cerlab.automata.automaton import Mark
    >>> from cerlab.automata.registers.transducer import RegisterTransition
    >>> from cerlab.predicates.syntax import EVERYTHING
    >>> step = RegisterTransition(0, EVERYTHING, Mark.SKIP, frozenset("r"), 1)
    >>> T = without_dead_writes(Srt(2, frozenset("r"), (step,), 0, frozenset({1})))
    >>> T.Delta[0].writes
    frozenset()
    """
    live = live_registers(T)
    Delta = dict.fromkeys(t._replace(writes=t.writes & live[t.target]) for t in T.Delta)
    return replace(T, Delta=tuple(Delta))


def live_registers(T: Srt) -> list[frozenset[str]]:
    """For each state the registers that some way from it reads before it writes them."""
    live = [NONE] * T.states
    changed = True
    while changed:
        changed = False
        for t in reversed(T.Delta):
            needed = registers_of(t.guard) | (live[t.target] - t.writes)
            if not needed <= live[t.source]:
                live[t.source] |= needed
                changed = True
    return live
