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


class EmptyMove(NamedTuple):
    """``source -- ε --> target``: no event is read."""

    source: int
    target: int


@shown
@dataclass(frozen=True, slots=True)
class EpsilonCea:
    """``(Q, Delta, I, F)`` with empty moves beside the transitions (FOUND App. C.2).

    Its runs are those of an `AnchoredCea`, with any number of empty moves before, between and after
    the transitions: a run over the events 0..n accepts if it ends in F and its last transition
    takes. States are ``0 .. states-1``. Raises `IllFormed` for others.
    """

    states: int
    Delta: tuple[Transition, ...]
    moves: tuple[EmptyMove, ...]
    I: frozenset[int]  # the paper's letter
    F: frozenset[int]

    def __post_init__(self) -> None:
        ends = {(t.source, t.target) for t in self.Delta} | set(self.moves)
        if not self.I.union(self.F, *ends) <= set(range(self.states)):
            raise IllFormed(
                "CER0220",
                "a transition, a move, I or F names a state not in Q",
                hint="states are numbered from 0 to Q - 1",
            )


class LabelTransition(NamedTuple):
    """``source -- predicate | labels --> target``; no labels is the unmarked transition."""

    source: int
    predicate: Predicate
    labels: frozenset[str]
    target: int


@shown
@dataclass(frozen=True, slots=True)
class Vcea:
    """``(Q, Delta, I, F)`` with ``Delta`` a subset of ``Q x P x 2^X x Q`` (CORE App. A.1).

    A run over ``[i, j]`` starts in I at any position i and takes one transition per event. States
    are ``0 .. states-1``.
    """

    states: int
    Delta: tuple[LabelTransition, ...]
    I: frozenset[int]  # the paper's letter
    F: frozenset[int]

    def __post_init__(self) -> None:
        check_states(self.states, self.Delta, self.I | self.F)


def check_states(states: int, Delta: tuple[LabelTransition, ...], others: frozenset[int]) -> None:
    """Raise `IllFormed` for states that are not ``0 .. states-1``."""
    used = others.union(*((t.source, t.target) for t in Delta))
    if not used <= set(range(states)):
        raise IllFormed(
            "CER0220",
            f"states {sorted(used - set(range(states)))} are not in Q",
            hint="states are numbered from 0 to Q - 1",
        )


@shown
@dataclass(frozen=True, slots=True)
class Ucea:
    """``(Q, Delta, I, F)`` with ``Delta`` a subset of ``Q x U x 2^L x Q`` (SOCEL Sec. 5.1).

    It has two semantics. A run reads positions 0..n, one transition each, and gives each position
    the labels of its transition. Under the *-semantics a run picks positions ``i1 < .. < ik = n``,
    every transition it uses has labels, and the events between are not looked at.
    """

    states: int
    Delta: tuple[LabelTransition, ...]
    I: frozenset[int]  # the paper's letter
    F: frozenset[int]

    def __post_init__(self) -> None:
        check_states(self.states, self.Delta, self.I | self.F)
