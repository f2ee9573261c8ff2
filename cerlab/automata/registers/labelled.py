"""Transducers that label events, as VCEA do, and store them (CORE App. A.1; SRT Def. 21).

What filters on labels are put to, before labels become marks. The operations are those of CEL.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

from cerlab.automata.automaton import Mark, Vcea
from cerlab.automata.explore import explore
from cerlab.automata.registers.transducer import NONE, RegisterTransition, Srt
from cerlab.errors import IllFormed
from cerlab.predicates.syntax import EVERYTHING, Guard

NO_LABELS: frozenset[str] = frozenset()


class Step(NamedTuple):
    """``source -- guard | labels / writes --> target``: the guard is read before the write."""

    source: int
    guard: Guard
    labels: frozenset[str]
    writes: frozenset[str]
    target: int


@dataclass(frozen=True, slots=True)
class LabelledSrt:
    """``(Q, R, Delta, 0, F)``: a VCEA with registers, whose runs begin in state 0.

    A run over ``[i, j]`` starts at any position i with empty registers and takes one transition per
    event. No transition enters 0 and 0 is not final, so no run is empty.
    """

    states: int
    R: frozenset[str]
    Delta: tuple[Step, ...]
    F: frozenset[int]

    def __post_init__(self) -> None:
        if 0 in self.F or any(t.target == 0 for t in self.Delta):
            raise IllFormed(
                "CER0221",
                "a run enters state 0 again, so starts of runs would be lost",
                hint="add an initial state that nothing enters",
            )


def of_vcea(A: Vcea) -> LabelledSrt:
    """The same runs, from a fresh state 0 with the transitions of all initial states."""
    steps = [Step(t.source + 1, t.predicate, t.labels, NONE, t.target + 1) for t in A.Delta]
    begin = [t._replace(source=0) for t in steps if t.source - 1 in A.I]
    F = frozenset(q + 1 for q in A.F)
    return LabelledSrt(A.states + 1, NONE, _once((*begin, *steps)), F)


def marked(A: LabelledSrt) -> Srt:
    """The transducer of its complex events: an event with labels is marked, others are not."""
    Delta = dict.fromkeys(
        RegisterTransition(
            t.source, t.guard, Mark.TAKE if t.labels else Mark.SKIP, t.writes, t.target
        )
        for t in A.Delta
    )
    return Srt(A.states, A.R, tuple(Delta), 0, A.F)


def relabelled(A: LabelledSrt, change: Callable[[frozenset[str]], frozenset[str]]) -> LabelledSrt:
    """The same runs with other labels."""
    return replace(A, Delta=_once(t._replace(labels=change(t.labels)) for t in A.Delta))


def union(A: LabelledSrt, B: LabelledSrt) -> LabelledSrt:
    """The runs of either, from one state 0."""
    B = _shifted(B, A.states)
    begin = [t._replace(source=0) for t in B.Delta if t.source == A.states]
    return LabelledSrt(B.states, A.R | B.R, _once((*A.Delta, *begin, *B.Delta)), A.F | B.F)


def sequence(A: LabelledSrt, B: LabelledSrt, *, gaps: bool) -> LabelledSrt:
    """A run of A, then one of B: where A would end it may instead wait in the first state of B."""
    B = _shifted(B, A.states)
    wait = [_skip(A.states)] if gaps else []
    bridge = [t._replace(target=A.states) for t in A.Delta if t.target in A.F]
    Delta = _once((*A.Delta, *bridge, *wait, *B.Delta))
    return LabelledSrt(B.states, A.R | B.R, Delta, B.F)


def iteration(A: LabelledSrt, *, gaps: bool) -> LabelledSrt:
    """Runs of A one after the other; the fresh state w is "between two iterations".

    Registers keep what the iteration before wrote. The next one may not read it: that is so where
    it writes each register before it reads it.
    """
    w = A.states
    wait = [_skip(w)] if gaps else []
    leave = [t._replace(target=w) for t in A.Delta if t.target in A.F]
    again = [t._replace(source=w) for t in (*A.Delta, *leave) if t.source == 0]
    return LabelledSrt(w + 1, A.R, _once((*A.Delta, *wait, *leave, *again)), A.F)


Memory = TypeVar("Memory", bound=Hashable)


def followed(
    A: LabelledSrt,
    start: Memory,
    follow: Callable[[Memory, Step], Iterable[tuple[Step, Memory]]],
) -> LabelledSrt:
    """A state is one of A and what is remembered of the run so far; trimmed.

    `follow` says what becomes of a step of A where something is remembered: steps with the guard,
    labels and writes that it then has, and what is remembered after each.
    """
    leaving: list[list[Step]] = [[] for _ in range(A.states)]
    for t in A.Delta:
        leaving[t.source].append(t)

    def moves(state: tuple[int, Memory]) -> Iterator[tuple[Step, tuple[int, Memory]]]:
        q, memory = state
        for t in leaving[q]:
            for step, after in follow(memory, t):
                yield step, (t.target, after)

    found = explore((0, start), moves, lambda state: state[0] in A.F)
    number = {state: n for n, state in enumerate(found.states)}
    Delta = _once(
        step._replace(source=number[source], target=number[target])
        for source, step, target in found.moves
    )
    F = frozenset(number[state] for state in found.final)
    written = NONE.union(*(t.writes for t in Delta))
    return trimmed(LabelledSrt(len(number), A.R | written, Delta, F))


def trimmed(A: LabelledSrt) -> LabelledSrt:
    """The same runs, with only the states that are on a way from 0 to F, and 0."""
    forward = reached({0}, ((t.source, t.target) for t in A.Delta))
    backward = reached(A.F, ((t.target, t.source) for t in A.Delta))
    number = {q: n for n, q in enumerate(sorted((forward & backward) | {0}))}
    Delta = tuple(
        t._replace(source=number[t.source], target=number[t.target])
        for t in A.Delta
        if t.source in number and t.target in backward
    )
    return LabelledSrt(len(number), A.R, Delta, frozenset(number[q] for q in A.F if q in number))


def labels_later(A: LabelledSrt) -> list[frozenset[str]]:
    """For each state the labels that some way from it still sets."""
    later = [NO_LABELS] * A.states
    changed = True
    while changed:
        changed = False
        for t in reversed(A.Delta):
            more = t.labels | later[t.target]
            if not more <= later[t.source]:
                later[t.source] |= more
                changed = True
    return later


def reached(start: Iterable[int], edges: Iterable[tuple[int, int]]) -> frozenset[int]:
    """The states that edges lead to from some states, these included."""
    after: dict[int, list[int]] = {}
    for source, target in edges:
        after.setdefault(source, []).append(target)
    found = set(start)
    pending = list(found)
    while pending:
        fresh = set(after.get(pending.pop(), ())) - found
        found |= fresh
        pending += fresh
    return frozenset(found)


def _skip(q: int) -> Step:
    return Step(q, EVERYTHING, NO_LABELS, NONE, q)


def _shifted(A: LabelledSrt, by: int) -> LabelledSrt:
    Delta = tuple(t._replace(source=t.source + by, target=t.target + by) for t in A.Delta)
    return LabelledSrt(A.states + by, A.R, Delta, frozenset(q + by for q in A.F))


def _once(steps: Iterable[Step]) -> tuple[Step, ...]:
    return tuple(dict.fromkeys(steps))
