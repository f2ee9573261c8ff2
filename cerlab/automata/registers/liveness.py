"""Writes that no guard reads afterwards, removed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from cerlab.automata.automaton import Step
from cerlab.automata.compose import distinct
from cerlab.automata.registers.transducer import Srt
from cerlab.budget import spend
from cerlab.predicates.guards import registers_of

Element = TypeVar("Element")


def without_dead_writes(T: Srt) -> Srt:
    """The same matches, with only the writes that a later guard may read.

    What registers hold at the end is not kept. Of a pattern as ``<TRUE>* . <A> -> r . <TRUE>*``
    nothing is written any more, so that it can be determinised without a window.

    >>> from cerlab.automata.automaton import Mark
    >>> from cerlab.automata.registers.transducer import RegisterTransition
    >>> from cerlab.predicates.syntax import EVERYTHING
    >>> step = RegisterTransition(0, EVERYTHING, Mark.SKIP, frozenset("r"), 1)
    >>> T = without_dead_writes(Srt(2, (step,), frozenset({0}), frozenset({1}), R=frozenset("r")))
    >>> T.Delta[0].writes
    frozenset()
    """
    live = live_registers(T)
    Delta = distinct(t._replace(writes=t.writes & live[t.target]) for t in T.Delta)
    return replace(T, Delta=Delta)


def live_registers(T: Srt) -> list[frozenset[str]]:
    """For each state the registers that some way from it reads before it writes them."""
    return backward_union(
        T.states, T.Delta, lambda t, live: registers_of(t.guard) | (live - t.writes)
    )


def backward_union(
    states: int,
    Delta: Sequence[Step],
    before: Callable[[Step, frozenset[Element]], frozenset[Element]],
) -> list[frozenset[Element]]:
    """For each state the union of `before` over the transitions that leave it: the least such sets.

    `before` says what there is before a transition, given what there is after it.
    """
    union = [frozenset[Element]()] * states
    has_changed = True
    while has_changed:
        has_changed = False
        spend(len(Delta))
        for t in reversed(Delta):
            more = before(t, union[t.target])
            if not more <= union[t.source]:
                union[t.source] |= more
                has_changed = True
    return union
