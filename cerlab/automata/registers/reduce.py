"""Fewer states for the same matches: those that nothing tells apart are made one."""

from __future__ import annotations

from collections.abc import Mapping

from cerlab.automata.automaton import outgoing
from cerlab.automata.compose import distinct
from cerlab.automata.partition import coarsest
from cerlab.automata.registers.epsilon import merge, without_epsilon
from cerlab.automata.registers.transducer import Label, Srt, Transducer, label
from cerlab.budget import spend
from cerlab.errors import ResourceLimit

MAX_REDUCED = 500
"""The most states that `quotient` compares; its time is cubic in them."""


def smaller(T: Transducer) -> Srt:
    """The transducer without empty moves: merged, if that has no more states than the other way.

    Merged there are fewer runs for a match, but there may be exponentially many states. Then it is
    reduced.
    """
    plain = without_epsilon(T)
    try:
        least = merge(T, most=plain.states)
    except ResourceLimit:
        least = plain
    return quotient(least)


def quotient(T: Srt) -> Srt:
    """A state is a class of states: all are final or none, and with a label lead to one class.

    Labels are compared as they are written. The same outcomes from the same registers, by as many
    runs or fewer. Classes are numbered in the order of their first states; the start is 0 if q0 is.
    What has more than `MAX_REDUCED` states is left as it is.

    >>> from cerlab.automata.automaton import Mark
    >>> from cerlab.automata.registers.transducer import NONE, RegisterTransition
    >>> from cerlab.predicates.syntax import TypeIs
    >>> steps = [RegisterTransition(0, TypeIs("A"), Mark.TAKE, NONE, q) for q in (1, 2)]
    >>> quotient(Srt(3, tuple(steps), frozenset({0}), frozenset({1, 2}))).states
    2
    """
    if T.states > MAX_REDUCED:
        return T
    leaving = outgoing(T)

    def ways(q: int, classes: Mapping[int, int]) -> frozenset[tuple[Label, int]]:
        spend(1 + len(leaving[q]))
        return frozenset((label(t), classes[t.target]) for t in leaving[q])

    number = coarsest({q: int(q in T.F) for q in range(T.states)}, ways)
    Delta = distinct(t._replace(source=number[t.source], target=number[t.target]) for t in T.Delta)
    F = frozenset(number[q] for q in T.F)
    return Srt(len({*number.values()}), Delta, frozenset({number[T.q0]}), F, R=T.R)
