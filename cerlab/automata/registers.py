"""Transducers with registers: automata that store events and compare them later (SRT Sec. 4).

The types, and constructions that keep the matches: renamed, trimmed, with fewer writes and
registers. The definition of their runs is in `cerlab.theorems.srt`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from itertools import combinations
from typing import NamedTuple, TypeAlias, TypeVar

from cerlab.automata.automaton import Automaton, Mark, Step
from cerlab.automata.explore import distinct, trim
from cerlab.budget import TRANSITION, spend
from cerlab.errors import IllFormed
from cerlab.predicates.syntax import EVERYTHING, FALSE, Guard, redirect_registers, registers_of

__all__ = ["EpsilonSrt", "RegisterTransition", "Srt", "Transducer"]

NONE: frozenset[str] = frozenset()
"""No registers."""


class RegisterTransition(NamedTuple):
    """``source -- guard / mark / writes --> target``; the guard reads registers before writing."""

    source: int
    guard: Guard
    mark: Mark
    writes: frozenset[str]
    target: int


class Label(NamedTuple):
    """A transition without its states: its guard, its mark, and the registers that it writes."""

    guard: Guard
    mark: Mark
    writes: frozenset[str]


def label(t: RegisterTransition) -> Label:
    """Return a transition without its states: guard, mark and writes."""
    return Label(t.guard, t.mark, t.writes)


@dataclass(frozen=True, slots=True, repr=False)
class Srt(Automaton[RegisterTransition]):
    """A transducer ``(Q, {q0}, F, R, Delta)`` without empty moves (SRT Def. 21).

    A run reads the whole string from empty registers, and accepts if it ends in F; its match is the
    set of positions that it marks (SRT Def. 24). Acceptance does not require the last transition to
    mark; only matches reported on a stream do (erratum SRT-E7). A register that is read and never
    written is legal, and empty unless a run starts with a value in it. Raises `IllFormed` for a
    register that is not in R.
    """

    step = RegisterTransition
    skip = Label(EVERYTHING, Mark.SKIP, NONE)
    parts = ("R",)
    single = True

    def __post_init__(self) -> None:
        Automaton.__post_init__(self)
        _check_registers(self)


@dataclass(frozen=True, slots=True, repr=False)
class EpsilonSrt(Automaton[RegisterTransition]):
    """A transducer ``(Q, {q0}, F, R, Delta)`` with empty moves (SRT Def. 21).

    All other parts are as in `Srt`. A run may use any number of empty moves before, between and
    after the transitions.
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
    """Return the registers that some transition reads or writes."""
    Delta = tuple(Delta)
    guards = {id(t.guard): t.guard for t in Delta}  # transitions often share one guard
    spend(TRANSITION * len(guards))
    return NONE.union(*map(registers_of, guards.values()), *(t.writes for t in Delta))


def written_registers(T: Transducer) -> frozenset[str]:
    """Return the registers that some transition writes."""
    return NONE.union(*(t.writes for t in T.Delta))


def _check_registers(T: Transducer) -> None:
    if strange := registers_used(T.Delta) - T.R:
        raise IllFormed(
            "CER0283",
            f"a transition reads or writes '{min(strange)}', which is not in R",
            hint="R lists all registers that guards read and transitions write",
        )


def prune(T: Srt) -> Srt:
    """Return a transducer with equal matches and only states between q0 and F.

    Transitions whose guard is FALSE do not count as a way.
    """
    return trim(replace(T, Delta=tuple(t for t in T.Delta if t.guard != FALSE)))


def longest(T: Srt) -> int | None:
    """Return the largest number of events that an accepting run reads; None if unbounded."""
    T = prune(T)
    before: dict[int, set[int]] = {q: set() for q in range(T.states)}
    for t in T.Delta:
        before[t.target].add(t.source)
    try:
        order = tuple(TopologicalSorter(before).static_order())
    except CycleError:
        return None
    length: dict[int, int] = {}
    for q in order:
        length[q] = max((length[p] + 1 for p in before[q]), default=0)
    return max((length[q] for q in T.F), default=0)


T = TypeVar("T", bound=Transducer)


def rename(A: T, name: Callable[[str], str]) -> T:
    """Return the transducer with its registers renamed by an injective function."""
    Delta = tuple(
        t._replace(guard=redirect_registers(t.guard, name), writes=frozenset(map(name, t.writes)))
        for t in A.Delta
    )
    return replace(A, R=frozenset(map(name, A.R)), Delta=Delta)


def apart(A: T, from_these: frozenset[str]) -> T:
    """Return the transducer with those registers renamed that occur in `from_these`.

    >>> from cerlab.automata.epsilon import empty_word
    >>> from dataclasses import replace
    >>> sorted(apart(replace(empty_word(), R=frozenset({"r", "r_", "s"})), frozenset("r")).R)
    ['r_', 'r__', 's']
    """
    others = A.R | from_these
    names = {r: fresh(r, others) if r in from_these else r for r in sorted(A.R)}
    return rename(A, names.__getitem__)


def fresh(name: str, others: frozenset[str]) -> str:
    """Return the name, with ``_`` appended until it is not in `others`."""
    while name in others:
        name += "_"
    return name


Element = TypeVar("Element")


def without_dead_writes(T: Srt) -> Srt:
    """Return a transducer with equal matches, without writes that no later guard reads.

    The final contents of registers may differ. A pattern such as ``<TRUE>* . <A> -> r . <TRUE>*``
    then writes no register, so it can be determinised without a window.

    >>> from cerlab.automata.automaton import Mark
    >>> from cerlab.automata.registers import RegisterTransition
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
    """Return, for each state, the registers that a path from it reads before writing them."""
    return backward_union(
        T.states, T.Delta, lambda t, live: registers_of(t.guard) | (live - t.writes)
    )


def backward_union(
    states: int,
    Delta: Sequence[Step],
    before: Callable[[Step, frozenset[Element]], frozenset[Element]],
) -> list[frozenset[Element]]:
    """Return the least sets, one per state, that are closed under `before` along each transition.

    `before` computes the set before a transition from the set after it.
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


Pair: TypeAlias = tuple[str, str]


def coalesce(T: Srt) -> Srt:
    """Return a transducer with equal matches and fewer registers.

    The states stay those of T. Two registers are merged if in no state of T both may be read again
    and hold different events. So guards on one stored event share one register, and a register
    that is no longer read is reused.

    >>> from cerlab.automata.automaton import Mark
    >>> from cerlab.automata.registers import NONE, RegisterTransition
    >>> from cerlab.predicates.syntax import RegisterAttribute, RegisterComparison
    >>> from cerlab.predicates.syntax import EVERYTHING, Attribute, Operator
    >>> steps = [RegisterTransition(0, EVERYTHING, Mark.TAKE, frozenset("rs"), 1)]
    >>> for q, r in enumerate("rs", start=1):
    ...     register = RegisterAttribute(r, "v")
    ...     same = RegisterComparison(Operator.EQ, Attribute("v"), register)
    ...     steps.append(RegisterTransition(q, same, Mark.TAKE, NONE, q + 1))
    >>> sorted(coalesce(Srt(4, tuple(steps), frozenset({0}), frozenset({3}), R=frozenset("rs"))).R)
    ['r']
    """
    T = without_dead_writes(T)
    apart = _apart(T)
    place: dict[str, str] = {}
    for r in sorted(T.R):
        conflicts = {place[s] for s in place if (s, r) in apart}
        # greedy, because finding the minimum is graph colouring, which is NP-hard
        place[r] = next((p for p in place.values() if p not in conflicts), r)
    Delta = dict.fromkeys(
        t._replace(
            guard=redirect_registers(t.guard, place.__getitem__),
            writes=frozenset(place[r] for r in t.writes),
        )
        for t in T.Delta
    )
    return Srt(T.states, tuple(Delta), T.I, T.F, R=frozenset(place.values()))


def _apart(T: Srt) -> frozenset[Pair]:
    """Return the pairs of registers that may hold different events while both are needed."""
    live = live_registers(T)
    apart: set[Pair] = set()
    for t in T.Delta:
        spend(len(live[t.target]) ** 2)
        pairs = combinations(sorted(live[t.target]), 2)
        apart.update(pair for pair in pairs if len(t.writes.intersection(pair)) == 1)
    return frozenset(apart)
