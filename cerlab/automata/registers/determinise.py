"""Determinisation of unrolled transducers, without and with the marks (SRT Thm. 41; SRT Alg. 7).

Its hypothesis is that what a register holds depends on the string alone. It does if all writes of a
register are of the event at one depth, and no run reads it without a write of it before. Registers
that are never written are constants, and satisfy it (SRT Lemma S3).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple, TypeAlias

from cerlab.automata.automaton import Mark, outgoing
from cerlab.automata.explore import crawl, explore
from cerlab.automata.registers.transducer import (
    NONE,
    Label,
    RegisterTransition,
    Srt,
    written_registers,
)
from cerlab.budget import TRANSITION, spend, spend_over
from cerlab.errors import Unsupported
from cerlab.predicates.guards import registers_of
from cerlab.predicates.syntax import EVERYTHING, FALSE, Guard, all_of, negation

States: TypeAlias = frozenset[int]


class Minterm(NamedTuple):
    """One way for the guards of a macro-state to hold or fail, and those that hold."""

    guard: Guard
    holding: frozenset[Guard]


def determinise(T: Srt) -> Srt:
    """A state is the set of the states that T's runs over one string are in (SRT Thm. 41).

    The empty set is one too, so each string has exactly one run: any two transitions of a state
    exclude each other (SRT Def. 36). It accepts if T does, and marks nothing: the language is kept,
    the matches are not (SRT Def. 37). Transitions are the minterms of the guards that leave a set,
    and write all that one of their transitions writes (SRT Alg. 7).

    T is unrolled, or writes no register: otherwise two runs may want different events in one
    register, and there need be no deterministic transducer (SRT Thm. 38). Exponential. Raises
    `Unsupported` for other T, `ResourceLimit` where that takes too many steps.
    """
    return _machine(T, _AGNOSTIC)


def macro_states(T: Srt) -> tuple[States, ...]:
    """The sets of T's states that the states of `determinise` stand for, in their order."""
    return crawl(frozenset({T.q0}), _subsets(T, _AGNOSTIC)).states


def io_determinise(T: Srt) -> Srt:
    """A state is the set of the states that T's runs over one string with the same marks are in.

    As `determinise`, but each string and each set of marks have exactly one run, so the matches
    are kept. Raises as `determinise`.
    """
    return _machine(T, _BY_MARK)


_AGNOSTIC = {Mark.SKIP: tuple(Mark)}
_BY_MARK = {mark: (mark,) for mark in (Mark.SKIP, Mark.TAKE)}


def _machine(T: Srt, mark_classes: Mapping[Mark, tuple[Mark, ...]]) -> Srt:
    follow = _subsets(T, mark_classes)
    return explore(frozenset({T.q0}), follow, lambda X: not T.F.isdisjoint(X), Srt, R=T.R)


def _subsets(
    T: Srt, mark_classes: Mapping[Mark, tuple[Mark, ...]]
) -> Callable[[States], Iterator[tuple[Label, States]]]:
    """Where a set of states leads, with a transition of each mark for each minterm.

    It follows the transitions that have one of the marks given for that mark.
    """
    check_single_use(T)
    leaving = outgoing(T)
    ways = cache(minterms)

    def follow(X: States) -> Iterator[tuple[Label, States]]:
        transitions = [t for q in sorted(X) for t in leaving[q]]
        every = ways(tuple(t.guard for t in transitions))
        for minterm in spend_over(every, len(transitions)):
            active = [t for t in transitions if t.guard in minterm.holding]
            for mark, marks in mark_classes.items():
                these: list[RegisterTransition] = [t for t in active if t.mark in marks]
                writes = NONE.union(*(t.writes for t in these))
                yield Label(minterm.guard, mark, writes), frozenset(t.target for t in these)

    return follow


def minterms(guards: Sequence[Guard]) -> tuple[Minterm, ...]:
    """All ways for guards to hold or fail; an event and registers satisfy exactly one of them.

    TRUE and FALSE are not negated; without other guards TRUE is the only minterm. Ways that no
    event satisfies are there too. Raises `ResourceLimit` for too many guards.

    >>> from cerlab.predicates.syntax import TypeIs
    >>> len(minterms([EVERYTHING, TypeIs("A"), TypeIs("B")])), len(minterms([EVERYTHING]))
    (4, 1)
    """
    proper = [g for g in dict.fromkeys(guards) if g not in (EVERYTHING, FALSE)]
    spend(2 * TRANSITION * len(proper) << len(proper))
    every = []
    for vector in range(1 << len(proper)):
        holding = [g for bit, g in enumerate(proper) if not vector >> bit & 1]
        literals = [g if g in holding else negation(g) for g in proper]
        every.append(Minterm(all_of(literals), frozenset((EVERYTHING, *holding))))
    return tuple(every)


def check_single_use(T: Srt) -> None:
    """Raise `Unsupported` unless what each register holds depends on the string alone."""
    registers = written_registers(T)
    if not registers:
        return
    depth_of_state, certain = depths(T), certainly_written(T)
    depth_of_register: dict[str, int] = {}
    for t in T.Delta:
        if t.source not in depth_of_state:
            continue
        depth = depth_of_state[t.source]
        for r in t.writes:
            if depth is None or depth_of_register.setdefault(r, depth) != depth:
                raise _refusal(f"'{r}' is written at different depths")
        for r in registers_of(t.guard) & registers - certain[t.source]:
            raise _refusal(f"'{r}' is read where only some runs have written it")


def depths(T: Srt) -> dict[int, int | None]:
    """How many events every way from q0 to a state reads; None where ways differ.

    States that no way leads to are not in it.
    """
    depth_of: dict[int, int | None] = {T.q0: 0}
    has_changed = True
    while has_changed:
        has_changed = False
        for t in T.Delta:
            if t.source in depth_of:
                before = depth_of[t.source]
                after = None if before is None else before + 1
                if depth_of.get(t.target, after) != after:
                    after = None
                has_changed |= t.target not in depth_of or depth_of[t.target] != after
                depth_of[t.target] = after
    return depth_of


def certainly_written(T: Srt) -> dict[int, frozenset[str]]:
    """The registers that every way from q0 to a state writes; states without a way are left out."""
    certain = {T.q0: NONE}
    has_changed = True
    while has_changed:
        has_changed = False
        for t in T.Delta:
            if t.source in certain:
                registers = certain[t.source] | t.writes
                after = certain.get(t.target, registers) & registers
                has_changed |= certain.get(t.target) != after
                certain[t.target] = after
    return certain


def _refusal(why: str) -> Unsupported:
    return Unsupported(
        "CER0484",
        f"this transducer cannot be determinised or complemented: {why} (SRT Thm. 38)",
        hint="put a window [len<=w] on what writes registers; unrolled, it can be",
    )
