"""Symbolic register transducers as values, with empty moves and without (SRT Def. 21)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from cerlab.automata.automaton import EmptyMove, Mark
from cerlab.automata.explore import Explored, State
from cerlab.display import shown
from cerlab.errors import IllFormed
from cerlab.predicates.guards import registers_of
from cerlab.predicates.syntax import Guard

NONE: frozenset[str] = frozenset()
"""No registers."""


class RegisterTransition(NamedTuple):
    """``source -- guard / mark / writes --> target``: the guard is read before the write."""

    source: int
    guard: Guard
    mark: Mark
    writes: frozenset[str]
    target: int


class Label(NamedTuple):
    """What a transition asks and does: its guard, its mark, and the registers it writes."""

    guard: Guard
    mark: Mark
    writes: frozenset[str]


@shown
@dataclass(frozen=True, slots=True)
class Srt:
    """``(Q, q0, F, R, Delta)`` without empty moves (SRT Def. 21).

    A run reads the whole string from empty registers, and accepts if it ends in F; its match is
    the set of positions that it marks (SRT Def. 24). That the last transition marks is asked of
    what is reported on a stream, not of acceptance (erratum SRT-E7). States are ``0 .. states-1``;
    a register that is read and never written is legal, and empty unless a run starts with it.
    Raises `IllFormed` for a state or a register that is not there.
    """

    states: int
    R: frozenset[str]
    Delta: tuple[RegisterTransition, ...]
    q0: int
    F: frozenset[int]

    def __post_init__(self) -> None:
        _check(self)


@shown
@dataclass(frozen=True, slots=True)
class EpsilonSrt:
    """``(Q, q0, F, R, Delta)`` with empty moves, which read, mark and write nothing (SRT Def. 21).

    Everything else is as in `Srt`, with any number of empty moves before, between and after the
    transitions of a run.
    """

    states: int
    R: frozenset[str]
    Delta: tuple[RegisterTransition, ...]
    moves: tuple[EmptyMove, ...]
    q0: int
    F: frozenset[int]

    def __post_init__(self) -> None:
        _check(self)


Transducer: TypeAlias = Srt | EpsilonSrt


def empty_moves(T: Transducer) -> tuple[EmptyMove, ...]:
    """The empty moves, if it may have any."""
    return T.moves if isinstance(T, EpsilonSrt) else ()


def outgoing(T: Transducer) -> list[list[RegisterTransition]]:
    """The transitions that leave each state, in their order."""
    leaving: list[list[RegisterTransition]] = [[] for _ in range(T.states)]
    for t in T.Delta:
        leaving[t.source].append(t)
    return leaving


def registers_used(Delta: Iterable[RegisterTransition]) -> frozenset[str]:
    """The registers that some transition reads or writes."""
    return NONE.union(*(registers_of(t.guard) | t.writes for t in Delta))


def from_explored(found: Explored[State, Label], R: frozenset[str]) -> Srt:
    """The transducer of the macro-states that were reached, in that order."""
    number = {state: n for n, state in enumerate(found.states)}
    Delta = dict.fromkeys(
        RegisterTransition(number[source], *label, number[target])
        for source, label, target in found.moves
    )
    F = frozenset(number[state] for state in found.final)
    return Srt(len(number), R, tuple(Delta), 0, F)


def _check(T: Transducer) -> None:
    ends = {q for t in T.Delta for q in (t.source, t.target)}
    ends |= {q for move in empty_moves(T) for q in move}
    if not ends | T.F | {T.q0} <= set(range(T.states)):
        raise IllFormed(
            "CER0220",
            "a transition, a move, q0 or F names a state that is not in Q",
            hint="states are numbered from 0 to Q - 1",
        )
    if strange := registers_used(T.Delta) - T.R:
        raise IllFormed(
            "CER0283",
            f"a transition reads or writes '{min(strange)}', which is not in R",
            hint="R lists all registers that guards read and transitions write",
        )
