"""Symbolic register transducers as values, with empty moves and without (SRT Def. 21)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from cerlab.automata.automaton import Automaton, Mark
from cerlab.budget import TRANSITION, spend
from cerlab.display import drawable
from cerlab.errors import IllFormed
from cerlab.predicates.guards import registers_of
from cerlab.predicates.syntax import EVERYTHING, Guard

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


def label(t: RegisterTransition) -> Label:
    """What stands between source and target."""
    return Label(t.guard, t.mark, t.writes)


@drawable
@dataclass(frozen=True, slots=True)
class Srt(Automaton[RegisterTransition]):
    """``(Q, {q0}, F, R, Delta)`` without empty moves (SRT Def. 21).

    A run reads the whole string from empty registers, and accepts if it ends in F; its match is
    the set of positions that it marks (SRT Def. 24). That the last transition marks is asked of
    what is reported on a stream, not of acceptance (erratum SRT-E7). A register that is read and
    never written is legal, and empty unless a run starts with it. Raises `IllFormed` for a
    register that is not in R.
    """

    step = RegisterTransition
    skip = Label(EVERYTHING, Mark.SKIP, NONE)
    parts = ("R",)
    single = True

    def __post_init__(self) -> None:
        Automaton.__post_init__(self)
        _check_registers(self)


@drawable
@dataclass(frozen=True, slots=True)
class EpsilonSrt(Automaton[RegisterTransition]):
    """``(Q, {q0}, F, R, Delta)`` with empty moves, which read, mark, write nothing (SRT Def. 21).

    Everything else is as in `Srt`, with any number of empty moves before, between and after the
    transitions of a run.
    """

    step = RegisterTransition
    skip = Label(EVERYTHING, Mark.SKIP, NONE)
    parts = ("R", "moves")
    single = True

    def __post_init__(self) -> None:
        Automaton.__post_init__(self)
        _check_registers(self)


Transducer: TypeAlias = Srt | EpsilonSrt


def registers_used(Delta: Iterable[RegisterTransition]) -> frozenset[str]:
    """The registers that some transition reads or writes."""
    Delta = tuple(Delta)
    guards = {id(t.guard): t.guard for t in Delta}  # one stands in many transitions
    spend(TRANSITION * len(guards))
    return NONE.union(*map(registers_of, guards.values()), *(t.writes for t in Delta))


def written_registers(T: Transducer) -> frozenset[str]:
    """The registers that some transition writes."""
    return NONE.union(*(t.writes for t in T.Delta))


def _check_registers(T: Transducer) -> None:
    if strange := registers_used(T.Delta) - T.R:
        raise IllFormed(
            "CER0283",
            f"a transition reads or writes '{min(strange)}', which is not in R",
            hint="R lists all registers that guards read and transitions write",
        )
