"""Runs of an automaton whose marks are known, fully or in part (CORE Sec. 3).

Of the runs in one state one is kept, so none of this enumerates.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

from cerlab.automata.automaton import IntervalCea, Mark
from cerlab.model.answer import ComplexEvent, Positions
from cerlab.model.event import Event
from cerlab.predicates.truth import satisfies

PositionList: TypeAlias = "tuple[int, PositionList] | None"
"""The positions that a run has taken, the last first, as a linked list: runs share their tails."""


def accepts(cea: IntervalCea, events: Sequence[Event], marks: Positions) -> bool:
    """Whether some run over all the events takes exactly the marked ones."""
    states = {cea.q0}
    for i, t in enumerate(events):
        mark = Mark.TAKE if i in marks else Mark.SKIP
        states = {
            move.target
            for move in cea.Delta
            if move.source in states and move.mark is mark and satisfies(t, move.predicate)
        }
    return bool(states & cea.F)


class Run(NamedTuple):
    """A run: where it began, what it has taken, and whether that is more than the marked ones."""

    start: int
    positions: PositionList
    more: bool


def larger_answer(
    cea: IntervalCea, events: Sequence[Event], marks: Positions
) -> ComplexEvent | None:
    """An answer that ends with the last event and takes the marked ones and others, if any does.

    Of the runs in one state, one that has taken more and one that has not are enough: the first may
    go on as the second does. Linear in the events.
    """
    goal = frozenset(marks)
    first = min(marks, default=len(events) - 1)
    runs: dict[tuple[int, bool], Run] = {}
    for i, t in enumerate(events):
        step: dict[tuple[int, bool], Run] = {}
        for q, run in _to_continue(cea, runs, i, first):
            for move in cea.Delta:
                takes = move.mark is Mark.TAKE
                if move.source != q or (i in goal and not takes):
                    continue
                if (move.target, run.more) in step and not takes:
                    continue
                if satisfies(t, move.predicate):
                    positions = (i, run.positions) if takes else run.positions
                    more = run.more or (takes and i not in goal)
                    step.setdefault((move.target, more), Run(run.start, positions, more))
        runs = step
    for (q, more), run in runs.items():
        if q in cea.F and more:
            return ComplexEvent(run.start, len(events) - 1, _as_tuple(run.positions))
    return None


def _to_continue(
    cea: IntervalCea, runs: dict[tuple[int, bool], Run], i: int, first: int
) -> Iterator[tuple[int, Run]]:
    """The runs so far, by their state, and one that begins here if none of the marked is behind."""
    yield from ((q, run) for (q, _), run in runs.items())
    if i <= first:
        yield cea.q0, Run(i, None, False)


def _as_tuple(positions: PositionList) -> Positions:
    numbers = []
    while positions is not None:
        position, positions = positions
        numbers.append(position)
    return tuple(reversed(numbers))
