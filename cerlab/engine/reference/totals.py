"""Sums over answers without listing them: a semiring value moves along each run (CORE Sec. 4.3).

Each state keeps a total of its runs, by start and group: their number; or their number, sums over
the events that they took, and least values. All are exact integers of any size. An event costs as
many totals as there are transitions, starts in the window and groups, regardless of the number of
answers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from operator import add
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

from cerlab.automata.deterministic import Deterministic, Moves
from cerlab.automata.labelled import LabelledMoves
from cerlab.budget import spend
from cerlab.engine.reference import driver
from cerlab.engine.reference.driver import Clauses
from cerlab.engine.state_checks import check_window, expect
from cerlab.errors import ResourceLimit
from cerlab.model.event import Event
from cerlab.model.stream import TimeAxis

Least: TypeAlias = Any
"""A value that compares by ``<``; None for no value."""


@dataclass(frozen=True, slots=True)
class Greatest:
    """A value with its order reversed, so that a minimum finds the greatest."""

    value: Any

    def __lt__(self, other: Greatest) -> bool:
        return bool(other.value < self.value)


class Total(NamedTuple):
    """The number of runs with their sums and minima, which may be None."""

    runs: int
    sums: tuple[int, ...]
    least: tuple[Least, ...]


ReadTotal: TypeAlias = Callable[..., Total]
"""A function from saved values to their total; raises `BadData` for others."""


class Gain(NamedTuple):
    """The increase of a run's total when it takes an event."""

    sums: Sequence[int]
    least: Sequence[Least]
    group: int


GainOf: TypeAlias = Callable[[Event, int, int], Gain]
"""A function from an event, its position and a mark to the gain of runs."""

T = TypeVar("T")

Grown: TypeAlias = list[tuple[int, Gain | None]]
"""The states in which runs continue, each with their gain, None for none."""


class Algebra(NamedTuple, Generic[T]):
    """The operations on totals: of a single run, of two totals, and of a total and a gain."""

    one: T
    plus: Callable[[T, T], T]
    times: Callable[[T, Gain], T]
    grown: Callable[[Any, Event, int], Grown]
    """A function from the moves of a state, an event and its position to targets and gains."""


Symbol: TypeAlias = Callable[[Event, int], int]
"""A function to the truth vector of the event at a position."""

Place: TypeAlias = tuple[int, int]
"""The start of runs, or `ANY_START`, and their group."""

ANY_START = 0

MAX_MOVED = 250_000
"""The maximum number of totals that one event may move."""

FEWER = "group by less, or take a shorter window"


def _taken(moves: Moves, *_: object) -> Grown:
    return [(q, None) for q in moves if q is not None]


COUNTS: Algebra[int] = Algebra(1, add, lambda runs, _: runs, _taken)
"""The number of runs of a machine without labels."""


def sums(gain: GainOf, count: int, least: int) -> Algebra[Total]:
    """Return the operations on counts, sums and minima of labelled runs."""

    def grown(moves: LabelledMoves, event: Event, position: int) -> Grown:
        targets: Grown = [(q, gain(event, position, mark)) for mark, q in moves.takes]
        return targets if moves.skip is None else [*targets, (moves.skip, None)]

    one = Total(1, (0,) * count, (None,) * least)
    # wrapped, so that the functions are looked up at each call: mutants replace them
    return Algebra(one, lambda a, b: add_totals(a, b), lambda a, b: add_gain(a, b), grown)


class RunTotals(Generic[T]):
    """The totals of open runs by state, start and group; a machine for the driver.

    `moved` counts the totals copied or added so far, which determine the time.
    """

    def __init__(
        self, machine: Any, symbol: Symbol, algebra: Algebra[T], *, by_start: bool
    ) -> None:
        self._machine = machine
        self._symbol = symbol
        self._algebra = algebra
        self._by_start = by_start
        self._starts: deque[int] = deque()
        self._forgotten = 0
        self.runs: dict[int, dict[Place, T]] = {}
        """The totals by state of the machine."""
        self.idle: int = machine.idle
        """The idle state of the machine, from which runs start."""
        self.moved = 0

    def advance(self, event: Event, position: int) -> None:
        """Move all totals by an event."""
        symbol, machine = self._symbol(event, position), self._machine
        before, self.runs = self.runs, {}
        start = position if self._by_start else ANY_START
        sources = [({(start, 0): self._algebra.one}, machine.begin(self.idle, symbol))]
        sources += [(runs, machine.step(q, symbol)) for q, runs in before.items()]
        left = MAX_MOVED
        for runs, moves in sources:
            targets = self._algebra.grown(moves, event, position)
            self._move(runs, targets)
            if self._algebra is COUNTS:
                continue
            spend(len(runs) * len(targets))
            if (left := left - len(runs) * len(targets)) < 0:
                message = f"more than {MAX_MOVED:,} totals by start and group at one event"
                raise ResourceLimit("CER0608", message, hint=FEWER)
        self.idle = machine.wait(self.idle, symbol)
        if self._by_start:
            self._starts.append(position)

    def _move(self, runs: dict[Place, T], targets: Grown) -> None:
        """Add totals to the states that runs move to, increased by each move's gain.

        The last move without gain reuses them uncopied.
        """
        times = self._algebra.times
        for n, (q, gain) in enumerate(targets, 1):
            if gain is not None:
                self._count(len(runs))
                grows = gain.group
                grown = {(s, g + grows): times(total, gain) for (s, g), total in runs.items()}
            elif n < len(targets) and q not in self.runs:
                self._count(len(runs))
                grown = runs.copy()
            else:
                grown = runs
            if q in self.runs:
                self._count(len(grown))
                _add(self.runs[q], grown, self._algebra.plus)
            else:
                self.runs[q] = grown

    def _count(self, totals: int) -> None:
        self.moved += totals

    def totals_of_end(self, lowest_start: int) -> dict[Place, T]:
        """Return the totals of the answers that end at the last event, by start and group."""
        ends: dict[Place, T] = {}
        for q, runs in self.runs.items():
            if self._machine.final[q]:
                if self._by_start:
                    runs = {place: n for place, n in runs.items() if place[0] >= lowest_start}
                _add(ends, runs, self._algebra.plus)
        return ends

    def forget(self, before: int) -> None:
        """Drop the runs that start before a position, in batches: the cost is amortised O(1)."""
        starts = self._starts
        while starts and starts[0] < before:
            starts.popleft()
            self._forgotten += 1
        if self._forgotten > len(starts):
            self._drop(before)

    def _drop(self, before: int) -> None:
        self._forgotten = 0
        live = (
            (q, {place: total for place, total in runs.items() if place[0] >= before})
            for q, runs in self.runs.items()
        )
        self.runs = {q: runs for q, runs in live if runs}

    def reset(self) -> None:
        """Drop all runs."""
        self.runs = {}
        self._starts.clear()
        self._forgotten = 0
        self.idle = self._machine.idle

    def state(self) -> Any:
        """Return the totals by names of states, which are valid in other processes."""
        name_of = self._machine.name_of
        if self._forgotten:
            self._drop(self._starts[0] if self._starts else 0)
        runs = [
            (name_of(q), [(*place, *total) for place, total in totals.items()])  # type: ignore[misc]  # T is a tuple
            for q, totals in self.runs.items()
        ]
        return self._machine.name_of_idle(self.idle), runs

    def resume(self, state: Any, place: Callable[..., Place], total: Callable[..., T]) -> None:
        """Restore the result of `state`; damaged values raise an error.

        `place` and `total` convert saved values to the start and group and to the total.
        """
        idle, runs = state
        of_states = {
            self._machine.state_of(name): {
                place(start, group): total(*rest) for start, group, *rest in totals
            }
            for name, totals in runs
        }
        self.begin(self._machine.idle_of(idle), of_states)

    def begin(self, idle: int, runs: dict[int, dict[Place, T]]) -> None:
        """Start from open runs with totals."""
        self.idle, self.runs = idle, runs
        if self._by_start:
            self._starts.extend(sorted({start for of in runs.values() for start, _ in of}))


def _add(there: dict[Place, T], runs: dict[Place, T], plus: Callable[[T, T], T]) -> None:
    for place, total in runs.items():
        there[place] = plus(there[place], total) if place in there else total


def add_gain(total: Total, gain: Gain) -> Total:
    """Return a total after its runs take one more event."""
    sums = tuple(s + total.runs * g for s, g in zip(total.sums, gain.sums, strict=True))
    return Total(total.runs, sums, _least(total.least, gain.least))


def add_totals(first: Total, second: Total) -> Total:
    """Return the total of two disjoint sets of runs."""
    sums = tuple(a + b for a, b in zip(first.sums, second.sums, strict=True))
    return Total(first.runs + second.runs, sums, _least(first.least, second.least))


def _least(first: Iterable[Least], second: Iterable[Least]) -> tuple[Least, ...]:
    pairs = zip(first, second, strict=True)
    return tuple(b if a is None else (a if b is None else min(a, b)) for a, b in pairs)


class Sliding:
    """Totals of one group in a sliding window, kept in two stacks at amortised constant cost."""

    def __init__(self) -> None:
        self._new: list[tuple[int, Total]] = []
        self._newest: Total | None = None
        self._old: list[tuple[int, Total]] = []
        """Each end with the total of itself and all newer ones in this stack."""

    def add(self, end: int, total: Total, lowest: int) -> Total:
        """Add the total of an end; return the sum over all ends from `lowest` on."""
        self._new.append((end, total))
        self._newest = total if self._newest is None else add_totals(self._newest, total)
        # the top of this stack has the oldest end, with the sum of the whole stack
        while self._old and self._old[-1][0] < lowest:
            self._old.pop()
        if not self._old and self._new[0][0] < lowest:
            self._turn(lowest)
        if not self._old:
            assert self._newest is not None
            return self._newest
        old = self._old[-1][1]
        return old if self._newest is None else add_totals(old, self._newest)

    def state(self) -> Any:
        """Return a snapshot for `resume`."""
        return self._new, self._newest, self._old

    def resume(self, state: Any, total: ReadTotal, read: int) -> None:
        """Restore the result of `state`; damaged values raise an error."""
        new, newest, old = state
        self._new, self._old = ([(end, total(*t)) for end, t in each] for each in (new, old))
        expect((newest is None) == (not new), "the total of the newest ends")
        self._newest = None if newest is None else total(*newest)
        ends = [end for end, _ in (*reversed(self._old), *self._new)]
        check_window([0] * len(ends), ends, read)

    def _turn(self, lowest: int) -> None:
        for end, total in reversed(self._new):
            if end < lowest:
                break
            self._old.append((end, add_totals(total, self._old[-1][1]) if self._old else total))
        self._new, self._newest = [], None


def end_totals(
    plan: Clauses,
    machine: Any,
    symbol: Symbol,
    algebra: Algebra[T],
    events: Iterable[Event],
    time: TimeAxis | None,
    *,
    by_start: bool,
) -> Iterator[tuple[int, dict[Place, T]]]:
    """Yield each end of answers in a stream, with the totals there."""
    reader = partial(RunTotals[T], machine, symbol, algebra, by_start=by_start)
    return driver.ends(plan, reader, events, time, RunTotals[T].totals_of_end)


def counting(machine: Deterministic, *, by_start: bool) -> RunTotals[int]:
    """Return a machine for the driver that counts runs."""
    return RunTotals(machine, lambda event, _: machine.symbol(event), COUNTS, by_start=by_start)


def counts(
    plan: Clauses, automaton: Deterministic, events: Iterable[Event], time: TimeAxis | None = None
) -> Iterator[tuple[int, int]]:
    """Yield each position where answers end, with their number.

    The numbers are exact and of any size; one event is read at a time.
    """
    reader = partial(counting, automaton, by_start=plan.window is not None)
    per_end = plan.limit.per_end if plan.limit else None
    for end, totals in driver.ends(plan, reader, events, time, RunTotals[int].totals_of_end):
        number = sum(totals.values())
        yield end, number if per_end is None else min(number, per_end)


def count(
    plan: Clauses, automaton: Deterministic, events: Iterable[Event], time: TimeAxis | None = None
) -> int:
    """Return the number of answers of a plan without listing them."""
    return sum(number for _, number in counts(plan, automaton, events, time))
