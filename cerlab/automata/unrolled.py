"""Unrolled transducers, without cycles, and operations that need them: windows, complement.

Unrolled, each register is written at one depth (SRT Lemma 46; SRT Lemma S3), so the content of a
register depends on the string alone, and sets of states can be followed (SRT Thm. 41).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import NamedTuple, TypeAlias

from cerlab.automata.automaton import Mark, outgoing
from cerlab.automata.compose import remember
from cerlab.automata.explore import crawl, explore
from cerlab.automata.registers import (
    NONE,
    Label,
    RegisterTransition,
    Srt,
    fresh,
    label,
    prune,
    written_registers,
)
from cerlab.budget import TRANSITION, spend, spend_over
from cerlab.errors import Unsupported
from cerlab.predicates.syntax import (
    EVERYTHING,
    FALSE,
    Guard,
    all_of,
    negation,
    redirect_registers,
    registers_of,
)

Memory: TypeAlias = tuple[int, tuple[tuple[str, str], ...]]
"""The number of events read, and the register that holds each of the given transducer."""


def unroll(
    T: Srt, w: int, context: frozenset[str] = NONE, *, prefix: str = "b", trim: bool = True
) -> Srt:
    """Return a transducer without cycles for the matches of T on at most w events.

    A state is (d, q, where): after d events in state q, `where` maps each register of T to the
    register that holds its content. The event at depth d is the only one written there, so one
    register ``b_d`` for each depth suffices. A read of r uses the register of the last write of r
    on the way here; before any write, r itself if it is in `context`, otherwise the atom is false
    (erratum SRT-E17). The paper makes a tree of all walks instead (SRT Alg. 3; SRT Alg. 4; SRT Alg.
    5; SRT Alg. 6). Longer strings have no match. One register is written at a time, each at most
    once in a run. At most ``|Q| sum (d + 2)^|R|`` states.
    """
    names = [fresh(f"{prefix}{d}", context) for d in range(1, w + 1)]
    outer = tuple((r, r) for r in sorted(context & T.R))

    def follow(memory: Memory, t: RegisterTransition) -> Iterator[tuple[Label, Memory]]:
        d, where = memory
        if d < w:
            guard = redirect_registers(t.guard, dict(where).get)
            after = {**dict(where), **dict.fromkeys(t.writes, names[d])}
            write = frozenset({names[d]}) if t.writes else NONE
            yield Label(guard, t.mark, write), (d + 1, tuple(sorted(after.items())))

    R = context | frozenset(names)
    whole = remember(T, (0, outer), follow, Srt, R=R)
    return prune(whole) if trim else whole


def length_window(T: Srt, w: int) -> Srt:
    """Return T restricted to matches of at most w events.

    A state also counts the events, ``|Q| (w + 1)`` states.
    """

    def follow(read: int, t: RegisterTransition) -> Iterator[tuple[Label, int]]:
        if read < w:
            yield label(t), read + 1

    return prune(remember(T, 0, follow, Srt, R=T.R))


def span_window(T: Srt, w: int) -> Srt:
    """Return T restricted to marks within w events of the first one (SRT Def. 39).

    A state is one of T and the number of events from the first mark on. After w events, only runs
    that mark no more events continue. ``|Q| (w + 1)`` states.
    """

    def follow(read: int, t: RegisterTransition) -> Iterator[tuple[Label, int]]:
        if t.mark is Mark.SKIP:
            yield label(t), min(read + 1, w) if read else 0
        elif read < w:
            yield label(t), read + 1

    return prune(remember(T, 0, follow, Srt, R=T.R))


def mark_bounded(T: Srt) -> bool:
    """Return whether all accepting runs of T mark their first and last event.

    A guard that no event satisfies may make the result False although it holds.
    """
    T = prune(T)
    ends = (t for t in T.Delta if t.source == T.q0 or t.target in T.F)
    return all(t.mark is Mark.TAKE for t in ends)


States: TypeAlias = frozenset[int]


class Minterm(NamedTuple):
    """A guard that decides every guard of a set: each holds or its negation does.

    `holding`: the former.
    """

    guard: Guard
    holding: frozenset[Guard]


def determinise(T: Srt) -> Srt:
    """Return a transducer with one run for each string (SRT Thm. 41).

    The empty set is a state too, so each string has exactly one run: any two transitions of a state
    exclude each other (SRT Def. 36). It accepts if T does, and marks nothing: the language is kept,
    the matches are not (SRT Def. 37). Transitions are the minterms of the guards that leave a set,
    and write all registers that one of their transitions writes (SRT Alg. 7). T must be unrolled,
    or write no register: otherwise two runs may need different events in one register, and a
    deterministic transducer need not exist (SRT Thm. 38). Exponential. Raises `Unsupported` for
    other T, `ResourceLimit` if that takes too many steps.
    """
    return _machine(T, _AGNOSTIC)


def macro_states(T: Srt) -> tuple[States, ...]:
    """Return, for each state of ``determinise(T)``, the set of T's states that it represents."""
    return crawl(frozenset({T.q0}), _subsets(T, _AGNOSTIC)).states


def io_determinise(T: Srt) -> Srt:
    """Return a transducer with equal matches and one run for each string and set of marks.

    A state is the set of the states that T's runs over one string with the same marks are in.
    Otherwise as `determinise`, and raises as it does.
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
    """Return a function that yields the moves of a set of states: one for each minterm and mark.

    For each mark it follows the transitions that have one of the marks of its class.
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
    """Return all combinations of guards that hold and guards that fail.

    An event and registers satisfy exactly one of them.

    TRUE and FALSE are not negated; without other guards TRUE is the only minterm. The result
    includes combinations that no event satisfies. Raises `ResourceLimit` for too many guards.

    >>> from cerlab.predicates.syntax import TypeIs
    >>> len(minterms([EVERYTHING, TypeIs("A"), TypeIs("B")])), len(minterms([EVERYTHING]))
    (4, 1)
    """
    proper = [g for g in dict.fromkeys(guards) if g not in (EVERYTHING, FALSE)]
    # charge the budget first: the number doubles with each guard
    spend(2 * TRANSITION * len(proper) << len(proper))
    every = []
    for vector in range(1 << len(proper)):
        holding = [g for bit, g in enumerate(proper) if not vector >> bit & 1]
        literals = [g if g in holding else negation(g) for g in proper]
        every.append(Minterm(all_of(literals), frozenset((EVERYTHING, *holding))))
    return tuple(every)


def check_single_use(T: Srt) -> None:
    """Raise `Unsupported` if a register may hold different events after reading equal strings."""
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
    """Return the length of all paths from q0 to each state; None if lengths differ.

    States that no way leads to are left out.
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
    """Return the registers that every path from q0 to a state writes, for each state.

    Unreachable states are left out.
    """
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
        hint="put a window [len<=w] on the part that writes registers: it can then be unrolled",
    )


def complement(T: Srt) -> Srt:
    """Return a transducer that accepts the strings without a match of T (SRT Cor. 43; SRT Alg. 8).

    It marks nothing. In the determinised transducer each string has exactly one run, so final and
    other states are exchanged, including the empty set, which the printed algorithm forgets
    (erratum SRT-E19). The complement of a transducer for strings of up to w events accepts all
    longer strings. Raises as `determinise`: not every transducer has a complement (SRT Thm. 35).
    """
    return _swap_final_states(determinise(T))


def match_complement(T: Srt) -> Srt:
    """Return the transducer whose matches are the sets of marks that T lacks (SRT Def. 33).

    In the I/O-determinised transducer each string with each set of marks has exactly one run.
    Raises as `determinise`.
    """
    return _swap_final_states(io_determinise(T))


def _swap_final_states(D: Srt) -> Srt:
    return replace(D, F=frozenset(range(D.states)) - D.F)
