"""Sums over answers that nobody lists: a semiring carried along runs (CORE Sec. 4.3).

As for `counting`, but a state holds of its runs their number, sums over the events that they took,
and least values. All are exact integers of any size. An event costs as many totals as there are
transitions, starts in the window and groups, however many answers there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from cerlab.automata.labelled import LabelledMachine
from cerlab.automata.plan import Plan
from cerlab.budget import spend
from cerlab.engine.reference import driver
from cerlab.engine.state_checks import check_window, expect
from cerlab.errors import ResourceLimit
from cerlab.model.event import Event
from cerlab.model.stream import TimeAxis

Least: TypeAlias = Any
"""A value that is less than another or not; None for none."""


@dataclass(frozen=True, slots=True)
class Greatest:
    """A value of which the least is the greatest."""

    value: Any

    def __lt__(self, other: Greatest) -> bool:
        return bool(other.value < self.value)


class Total(NamedTuple):
    """The number, sums and least values of some runs, None for no value."""

    runs: int
    sums: tuple[int, ...]
    least: tuple[Least, ...]


ReadTotal: TypeAlias = Callable[..., Total]
"""Returns the total that some values of a saved state are; raises `BadData` for others."""


class Gain(NamedTuple):
    """The gain of one run that takes an event with a mark: its group grows by `group`."""

    sums: Sequence[int]
    least: Sequence[Least]
    group: int


class Gains(NamedTuple):
    """The gain of runs by an event, its position and a mark, and the number of values in a gain."""

    of: Callable[[Event, int, int], Gain]
    sums: int
    least: int


Symbol: TypeAlias = Callable[[Event, int], int]
"""The truth vector of the event at a position."""

Place: TypeAlias = tuple[int, int]
"""The start of runs, or `ANY_START`, and their group."""

ANY_START = 0

MAX_MOVED = 250_000
"""The maximum number of totals that one event may move."""

FEWER = "group by less, or take a shorter window"


class RunTotals:
    """The totals of the runs in each state, by start and group; a `Reader` of the driver."""

    def __init__(
        self, machine: LabelledMachine, symbol: Symbol, gains: Gains, *, by_start: bool
    ) -> None:
        self._machine = machine
        self._symbol = symbol
        self._gains = gains
        self._by_start = by_start
        self.runs: dict[int, dict[Place, Total]] = {}
        """The totals by state of the machine."""
        self.idle = machine.idle
        """The state of the machine in which a run would start."""

    def advance(self, event: Event, position: int) -> None:
        """Move every total along the transitions of the event."""
        symbol, machine = self._symbol(event, position), self._machine
        before, self.runs = self.runs, {}
        start = position if self._by_start else ANY_START
        one = Total(1, (0,) * self._gains.sums, (None,) * self._gains.least)
        sources = [({(start, 0): one}, machine.begin(self.idle, symbol))]
        sources += [(runs, machine.step(q, symbol)) for q, runs in before.items()]
        left = MAX_MOVED
        for runs, (skip, takes) in sources:
            moves = len(runs) * (len(takes) + (skip is not None))
            spend(moves)
            if (left := left - moves) < 0:
                message = f"more than {MAX_MOVED:,} totals by start and group at one event"
                raise ResourceLimit("CER0608", message, hint=FEWER)
            for mark, q in takes:
                gain = self._gains.of(event, position, mark)
                for (first, group), total in runs.items():
                    self._add(q, (first, group + gain.group), add_gain(total, gain))
            if skip is not None:
                for place, total in runs.items():
                    self._add(skip, place, total)
        self.idle = machine.wait(self.idle, symbol)

    def _add(self, q: int, place: Place, total: Total) -> None:
        there = self.runs.setdefault(q, {})
        there[place] = add_totals(there[place], total) if place in there else total

    def totals_of_end(self, lowest_start: int) -> dict[Place, Total]:
        """The totals of the answers that end at the event just read, by start and group."""
        ends: dict[Place, Total] = {}
        for q, runs in self.runs.items():
            if self._machine.final[q]:
                for place, total in runs.items():
                    if not self._by_start or place[0] >= lowest_start:
                        ends[place] = add_totals(ends[place], total) if place in ends else total
        return ends

    def forget(self, before: int) -> None:
        """Drop the runs that started earlier."""
        if self._by_start:
            live = (
                (q, {place: total for place, total in runs.items() if place[0] >= before})
                for q, runs in self.runs.items()
            )
            self.runs = {q: runs for q, runs in live if runs}

    def reset(self) -> None:
        """Drop all runs."""
        self.runs = {}
        self.idle = self._machine.idle

    def state(self) -> Any:
        """All of it, states by names that outlive the process: nested tuples of values."""
        name_of = self._machine.name_of
        runs = [
            (name_of(q), [(*place, *total) for place, total in totals.items()])
            for q, totals in self.runs.items()
        ]
        return self._machine.name_of_idle(self.idle), runs

    def resume(self, state: Any, place: Callable[..., Place], total: ReadTotal) -> None:
        """Go on from a `state`; raises `BadData`, ValueError and TypeError for other values.

        `place` and `total` return the start and group and the total that some values are.
        """
        idle, runs = state
        self.idle = self._machine.idle_of(idle)
        self.runs = {
            self._machine.state_of(name): {
                place(start, group): total(*rest) for start, group, *rest in totals
            }
            for name, totals in runs
        }


def add_gain(total: Total, gain: Gain) -> Total:
    """The total of runs that take an event more."""
    sums = tuple(s + total.runs * g for s, g in zip(total.sums, gain.sums, strict=True))
    return Total(total.runs, sums, _least(total.least, gain.least))


def add_totals(first: Total, second: Total) -> Total:
    """The total of the runs of both."""
    sums = tuple(a + b for a, b in zip(first.sums, second.sums, strict=True))
    return Total(first.runs + second.runs, sums, _least(first.least, second.least))


def _least(first: Iterable[Least], second: Iterable[Least]) -> tuple[Least, ...]:
    pairs = zip(first, second, strict=True)
    return tuple(b if a is None else (a if b is None else min(a, b)) for a, b in pairs)


class Sliding:
    """The total of the ends that came last, of one group: two stacks, each end moved once."""

    def __init__(self) -> None:
        self._new: list[tuple[int, Total]] = []
        self._newest: Total | None = None
        self._old: list[tuple[int, Total]] = []
        """Each with the total of itself and all newer ones here."""

    def add(self, end: int, total: Total, lowest: int) -> Total:
        """Add an end; the total of all from `lowest` on, which never falls."""
        self._new.append((end, total))
        self._newest = total if self._newest is None else add_totals(self._newest, total)
        # the oldest end is on top of this stack, with the total of all ends above it in time
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
        """All of it, as nested tuples of values."""
        return self._new, self._newest, self._old

    def resume(self, state: Any, total: ReadTotal, read: int) -> None:
        """Go on from a `state` after `read` events; raises as `RunTotals.resume`."""
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
    plan: Plan,
    machine: LabelledMachine,
    symbol: Symbol,
    gains: Gains,
    events: Iterable[Event],
    time: TimeAxis | None,
    *,
    by_start: bool,
) -> Iterator[tuple[int, dict[Place, Total]]]:
    """The ends of a stream in order, each with the totals of its answers."""

    def reader() -> RunTotals:
        return RunTotals(machine, symbol, gains, by_start=by_start)

    return driver.ends(plan, reader, events, time, RunTotals.totals_of_end)
