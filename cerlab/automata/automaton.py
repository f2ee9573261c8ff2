"""Automata: one frozen type with any transitions, and a subclass for each kind in the papers.

Each kind defines its runs. Operations are functions in other chapters, such as `compose`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, TypeVar

from cerlab.budget import spend
from cerlab.display import Drawable
from cerlab.errors import IllFormed
from cerlab.predicates.syntax import EVERYTHING, Predicate


class Mark(Enum):
    """The action of a transition on its event: • takes the event into the answer, ∘ skips it."""

    TAKE = "•"
    SKIP = "∘"


class Transition(NamedTuple):
    """``source -- predicate / mark --> target``."""

    source: int
    predicate: Predicate
    mark: Mark
    target: int


class LabelTransition(NamedTuple):
    """``source -- predicate | labels --> target``; a transition without labels is unmarked."""

    source: int
    predicate: Predicate
    labels: frozenset[str]
    target: int


class EmptyMove(NamedTuple):
    """``source -- ε --> target``: a move that reads no event."""

    source: int
    target: int


class Arrow(Protocol):
    """Interface of transitions: a source state, a target state, and other fields."""

    @property
    def source(self) -> int:
        """The state before the transition."""

    @property
    def target(self) -> int:
        """The state after the transition."""


Step = TypeVar("Step", bound=Arrow)


@dataclass(frozen=True, slots=True, repr=False)
class Automaton(Drawable, Generic[Step]):
    """``(Q, Delta, I, F)`` with states ``0 .. states-1``; the constructor raises `IllFormed`.

    `Delta` is in the order of construction. `moves` are empty moves, `R` is the set of registers
    that transitions read and write; only the kinds that list them in `parts` may have any. Raises
    `IllFormed` for a state that is not in Q, and for a part that the kind forbids.
    """

    states: int
    Delta: tuple[Step, ...]
    I: frozenset[int]  # the paper's letter
    F: frozenset[int]
    moves: tuple[EmptyMove, ...] = field(default=(), kw_only=True)
    R: frozenset[str] = field(default=frozenset(), kw_only=True)

    step: ClassVar[Callable[..., Any]]
    """The constructor of a transition of this kind: source, the parts of its label, target."""
    skip: ClassVar[tuple[Any, ...]]
    """The label of a transition that reads any event and does nothing with it."""
    parts: ClassVar[tuple[str, ...]] = ()
    """The fields among `moves` and `R` that may be non-empty in this kind."""
    single: ClassVar[bool] = False
    """True if there is exactly one initial state."""
    fresh: ClassVar[bool] = False
    """True if no transition enters an initial state."""

    def __post_init__(self) -> None:
        spend(self.states + len(self.Delta))
        steps: tuple[Arrow, ...] = (*self.Delta, *self.moves)
        occurrences = self.I.union(self.F, *((t.source, t.target) for t in steps))
        if strange := occurrences - set(range(self.states)):
            raise IllFormed(
                "CER0220",
                f"states {sorted(strange)} are not in Q",
                hint="states are numbered from 0 to Q - 1",
            )
        if self.fresh and any(t.target in self.I for t in self.Delta):
            raise IllFormed(
                "CER0221",
                "a transition enters an initial state, so starts of runs would be lost",
                hint="add an initial state that nothing enters",
            )
        there = {"moves": self.moves, "R": self.R}
        unknown = [part for part, value in there.items() if value and part not in self.parts]
        if unknown or (self.single and len(self.I) != 1):
            noun = "empty moves or registers" if unknown else f"{len(self.I)} initial states"
            raise IllFormed(
                "CER0223",
                f"a machine of the kind {type(self).__name__} has no {noun}",
                hint="use a kind that allows them, or a construction that removes them",
            )

    def __repr__(self) -> str:
        """Return the kind and the size; `str` also lists the transitions."""
        return f"<{type(self).__name__}, {self.states} states, {len(self.Delta)} transitions>"

    @property
    def q0(self) -> int:
        """The only initial state."""
        (q0,) = self.I
        return q0


@dataclass(frozen=True, slots=True, repr=False)
class Vcea(Automaton[LabelTransition]):
    """``(Q, Delta, I, F)`` with ``Delta`` a subset of ``Q x P x 2^X x Q`` (CORE App. A.1).

    A run over ``[i, j]`` starts in I at any position i and takes one transition per event; it
    assigns positions to labels.
    """

    step = LabelTransition
    skip = (EVERYTHING, frozenset[str]())


@dataclass(frozen=True, slots=True, repr=False)
class Ucea(Automaton[LabelTransition]):
    """``(Q, Delta, I, F)`` with ``Delta`` a subset of ``Q x U x 2^L x Q`` (SOCEL Sec. 5.1).

    It has two semantics. A run reads positions 0..n, one transition each, and gives each position
    the labels of its transition. Under the *-semantics a run picks positions ``i1 < .. < ik = n``,
    every transition it uses has labels, and the run does not read the events between.
    """

    step = LabelTransition
    skip = (EVERYTHING, frozenset[str]())


@dataclass(frozen=True, slots=True, repr=False)
class IntervalCea(Automaton[Transition]):
    """``(Q, Delta, {q0}, F)``; no transition enters ``q0`` (CORE Sec. 3).

    An accepting run over the events i..j answers ``([i, j], the positions it takes)``.
    """

    step = Transition
    skip = (EVERYTHING, Mark.SKIP)
    single = True
    fresh = True


@dataclass(frozen=True, slots=True, repr=False)
class AnchoredCea(Automaton[Transition]):
    """``(Q, Delta, I, F)`` whose runs read the stream from position 0 (FOUND Sec. 6).

    A run over the events 0..n that ends in F, and whose last transition takes, answers the
    positions that it took. So ``n`` is their maximum, and no answer is empty.
    """

    step = Transition
    skip = (EVERYTHING, Mark.SKIP)


@dataclass(frozen=True, slots=True, repr=False)
class EpsilonCea(Automaton[Transition]):
    """``(Q, Delta, I, F)`` with empty moves beside the transitions (FOUND App. C.2).

    Its runs are those of an `AnchoredCea`, with any number of empty moves before, between and after
    the transitions: a run over the events 0..n accepts if it ends in F and its last transition
    takes.
    """

    step = Transition
    skip = (EVERYTHING, Mark.SKIP)
    parts = ("moves",)


K = TypeVar("K", bound=Automaton[Any])


def as_kind(A: Automaton[Any], kind: type[K]) -> K:
    """Return a machine of another class with equal parts; raise its `IllFormed` if unsuitable."""
    return kind(A.states, A.Delta, A.I, A.F, moves=A.moves, R=A.R)


START = -1
"""A state outside the machine: before the first transition, in any initial state."""


def outgoing(A: Automaton[Step]) -> dict[int, list[Step]]:
    """Return the transitions that leave each state, in order.

    `START` maps to those of all initial states.
    """
    leaving: dict[int, list[Step]] = {q: [] for q in range(A.states)}
    for t in A.Delta:
        leaving[t.source].append(t)
    leaving[START] = [t for q in sorted(A.I) for t in leaving[q]]
    return leaving
