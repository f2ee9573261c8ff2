"""Transducers that label events, as VCEA do, and store them (CORE App. A.1; SRT Def. 21).

What filters on labels are put to, before labels become marks. `cerlab.automata.compose` puts them
together. In an iteration registers keep what the one before wrote, and the next one may not read
it: that is so where it writes each register before it reads it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from cerlab.automata.automaton import Automaton, Mark, Vcea
from cerlab.automata.compose import distinct
from cerlab.automata.registers.liveness import backward_union
from cerlab.automata.registers.transducer import NONE, RegisterTransition, Srt
from cerlab.errors import IllFormed
from cerlab.predicates import syntax as pred

NO_LABELS: frozenset[str] = frozenset()


class Step(NamedTuple):
    """``source -- guard | labels / writes --> target``: the guard is read before the write."""

    source: int
    guard: pred.Guard
    labels: frozenset[str]
    writes: frozenset[str]
    target: int


class Label(NamedTuple):
    """What stands between source and target."""

    guard: pred.Guard
    labels: frozenset[str]
    writes: frozenset[str]


@dataclass(frozen=True, slots=True)
class LabelledSrt(Automaton[Step]):
    """``(Q, R, Delta, {q0}, F)``: a VCEA with registers.

    A run over ``[i, j]`` starts at any position i with empty registers and takes one transition per
    event. No transition enters q0 and q0 is not final, so no run is empty.
    """

    step = Step
    skip = (pred.EVERYTHING, NO_LABELS, NONE)
    parts = ("R",)
    single = True
    fresh = True

    def __post_init__(self) -> None:
        Automaton.__post_init__(self)
        if self.I & self.F:
            raise IllFormed(
                "CER0221",
                "the initial state is final, so a run may be empty",
                hint="add an initial state that nothing enters",
            )


def of_vcea(A: Vcea) -> LabelledSrt:
    """The same runs, from a fresh state 0 with the transitions of all initial states."""
    steps = [Step(t.source + 1, t.predicate, t.labels, NONE, t.target + 1) for t in A.Delta]
    begin = [t._replace(source=0) for t in steps if t.source - 1 in A.I]
    F = frozenset(q + 1 for q in A.F)
    return LabelledSrt(A.states + 1, distinct((*begin, *steps)), frozenset({0}), F)


def labels_to_marks(A: LabelledSrt) -> Srt:
    """The transducer of its complex events: an event with labels is marked, others are not."""
    marks = {True: Mark.TAKE, False: Mark.SKIP}
    Delta = distinct(
        RegisterTransition(t.source, t.guard, marks[bool(t.labels)], t.writes, t.target)
        for t in A.Delta
    )
    return Srt(A.states, Delta, A.I, A.F, R=A.R)


def labels_later(A: LabelledSrt) -> list[frozenset[str]]:
    """For each state the labels that some way from it still sets."""
    return backward_union(A.states, A.Delta, lambda t, later: t.labels | later)
