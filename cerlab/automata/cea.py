"""Complex event automata: on an interval (CORE Sec. 3), and from position 0 (FOUND Sec. 6)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from cerlab.display import shown
from cerlab.errors import IllFormed
from cerlab.predicates.syntax import Predicate


class Mark(Enum):
    """What a transition does with its event: • takes it into the answer, ∘ skips it."""

    TAKE = "•"
    SKIP = "∘"


class Transition(NamedTuple):
    """``source -- predicate / mark --> target``."""

    source: int
    predicate: Predicate
    mark: Mark
    target: int


@shown
@dataclass(frozen=True, slots=True)
class IntervalCea:
    """``(Q, Delta, q0, F)``; no transition enters ``q0`` (CORE Sec. 3).

    An accepting run over the events i..j answers ``([i, j], the positions it takes)``. States are
    ``0 .. states-1``.
    """

    states: int
    Delta: tuple[Transition, ...]
    q0: int
    F: frozenset[int]

    def __post_init__(self) -> None:
        used = {self.q0} | self.F | {q for t in self.Delta for q in (t.source, t.target)}
        if not used <= set(range(self.states)):
            raise IllFormed(
                "CER0220",
                "a transition, q0 or F names a state that is not in Q",
                hint="states are numbered from 0 to Q - 1",
            )
        if any(t.target == self.q0 for t in self.Delta):
            raise IllFormed(
                "CER0221",
                "a transition enters q0, so starts of runs would be lost",
                hint="add an initial state that nothing enters",
            )


@shown
@dataclass(frozen=True, slots=True)
class AnchoredCea:
    """``(Q, Delta, I, F)`` whose runs read the stream from position 0 (FOUND Sec. 6).

    A run over the events 0..n that ends in F, and whose last transition takes, answers the
    positions that it took; so ``n`` is their maximum, and there is no empty answer. States are
    ``0 .. states-1``.
    """

    states: int
    Delta: tuple[Transition, ...]
    I: frozenset[int]  # the paper's letter
    F: frozenset[int]

    def __post_init__(self) -> None:
        used = self.I | self.F | {q for t in self.Delta for q in (t.source, t.target)}
        if not used <= set(range(self.states)):
            raise IllFormed(
                "CER0220",
                "a transition, I or F names a state that is not in Q",
                hint="states are numbered from 0 to Q - 1",
            )
