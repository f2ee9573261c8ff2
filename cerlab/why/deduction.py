"""Search for the cheapest derivations by deduction, where rules may fail at a cost.

An item describes which events a part of a query matches, as in deductive parsing; the rules of a
clause table derive it from items of the parts below. An obligation may stay unmet at the cost of
its repair (`cerlab.why.failure.cost`). Costs are small whole numbers, so the agenda of Knuth's
generalisation of Dijkstra's algorithm becomes one pass per cost, the cheapest first: a pass builds
the derivations that cost at most its allowance, and keeps the cheapest of each item.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, count
from typing import Any, Generic, TypeAlias, TypeVar, cast

from cerlab.budget import Budget, spend
from cerlab.display import drawable
from cerlab.logic.cel.semantics import NO_CLOCKS, Clocks
from cerlab.logic.cel.syntax import Formula
from cerlab.logic.sremo.syntax import Sremo
from cerlab.model.answer import ComplexEvent, Positions, Valuation
from cerlab.model.event import Event
from cerlab.model.stream import TimeAxis
from cerlab.why.failure import (
    GAP,
    HEAVY,
    LEFTOVER,
    LIGHT,
    MISSING,
    Failure,
    Insert,
    Path,
    Remove,
    Repair,
    Row,
    blame,
    cost,
)

MAX_STEPS = 120_000
"""Most partial derivations of one deduction before `ResourceLimit`: 2.4 s (2026-11-29)."""

NARROW = 64
"""Longest interval, in events, in which unmarked events are blamed too."""

NEARBY = 8
"""Distance from a marked event, in longer intervals, in which an unmarked event is blamed."""

Contents: TypeAlias = tuple[tuple[str, int | None], ...]
"""Position of the event in each register, by name; None where the event is missing.

Unlisted registers are empty.
"""


@dataclass(frozen=True, slots=True)
class Reading:
    """A match of a SREMO: events from `start` to before `end`, and the marked ones.

    `registers` has the contents, afterwards, of the registers that guards read. A reading is one
    ``(e, S, i, j, M, v) |- v'`` (SRT Def. 17).
    """

    start: int
    end: int
    marks: Positions
    registers: Contents

    @property
    def ends(self) -> Positions:
        """The first and the last event as a pair; empty if no event is read."""
        return tuple(sorted({self.start, self.end - 1})) if self.end > self.start else ()


P = TypeVar("P")
V = TypeVar("V")


@drawable
@dataclass(frozen=True, slots=True)
class Derivation(Generic[P, V]):
    """A node of a derivation: a part of the query, the events it matches, and its children.

    `valuation` is a `Valuation` for a formula (CORE Table 2), None if no event matches it, and a
    `Reading` for a SREMO (SRT Def. 17). The children of an iteration are its rounds; of a choice,
    the side taken; of UNLESS, the left side; of other operators, one per operand. Atoms, negations,
    and iterations of one event without mark and register have no children. `failures` are the unmet
    obligations of the node and its descendants: if empty, it is a derivation by the semantics.
    `until` is the time when a wait is over.
    """

    part: P
    path: Path
    valuation: V
    children: tuple[Derivation[P, V], ...] = ()
    failures: tuple[Failure, ...] = ()
    until: str | None = None

    @property
    def interval(self) -> tuple[int, int]:
        """The interval of the node; for a SREMO, from the first to the last mark."""
        value = self.valuation
        if isinstance(value, Reading):
            return value.marks[0], value.marks[-1]
        assert isinstance(value, Valuation)
        return value.start, value.end

    def __iter__(self) -> Iterator[Derivation[P, V]]:
        """Yield the nodes in preorder."""
        pending = [self]
        while pending:
            node = pending.pop()
            yield node
            pending.extend(reversed(node.children))


CelDerivation: TypeAlias = Derivation[Formula, Valuation | None]
SremoDerivation: TypeAlias = Derivation[Sremo, Reading]
D = TypeVar("D", bound=Derivation[Any, Any])


def derivations() -> Budget:
    """Return a step budget for a search, counted in partial derivations."""
    return Budget(
        "the search for a derivation", "give start and end, or a shorter interval", MAX_STEPS
    )


@dataclass(frozen=True, slots=True)
class Goal:
    """A search goal: a derivation between `lo` and `hi` that marks exactly `marks`.

    `at` maps positions of `events` to positions of the whole stream; all other fields use positions
    of `events`. `marks` is None where any marks are allowed, as inside a negation. `start` and
    `end` are the ends of the answer, if given. `allowance` is the highest cost of a derivation in
    this pass. Windows and waits inside the formula read the time of `axis`; `clocks` are those of
    the semantics. `nowhere` are the events outside every substream: no other event is adjacent to
    them.
    """

    events: Sequence[Event]
    at: Sequence[int]
    marks: Positions | None
    lo: int
    hi: int
    allowance: int
    start: int | None = None
    end: int | None = None
    axis: TimeAxis | None = None
    clocks: Clocks = field(default_factory=lambda: NO_CLOCKS)
    nowhere: frozenset[int] = frozenset()
    budget: Budget = field(default_factory=derivations)

    def is_marked(self, i: int) -> bool:
        """Return whether an event is marked."""
        return self.marks is not None and i in self.marks

    def between(self, after: int, before: int) -> Positions:
        """Return the marked positions strictly between two events."""
        marks = self.marks or ()
        return marks[bisect_right(marks, after) : bisect_left(marks, before)]

    @property
    def narrow(self) -> bool:
        """True if the interval is short enough to consider each of its events for a repair."""
        return self.hi - self.lo < NARROW

    def leftover(
        self, positions: Iterable[int], whole: str = "formula takes"
    ) -> tuple[Failure, ...]:
        """Return the failures of marked positions that no part matches."""
        return tuple(
            LEFTOVER.failure(positions=(self.at[i],), type=self.events[i].type, whole=whole)
            for i in positions
        )


@dataclass(frozen=True, slots=True)
class Part(Generic[P, V]):
    """A part of a query to derive, with its path and the goal.

    Each language has a subclass with the context that its clauses read, and a clause table.
    """

    goal: Goal
    syntax: P
    path: Path

    def item(self, d: Derivation[P, V]) -> Hashable:
        """Return what outer parts see of a derivation of this part."""
        raise NotImplementedError

    def surcharge(self, d: Derivation[P, V]) -> int:
        """Return the cost that a derivation of this part is certain to add in outer parts."""
        return 0

    def chart(
        self, more: Callable[[Derivation[P, V]], Hashable] = lambda d: None
    ) -> Chart[Derivation[P, V]]:
        """Return an empty chart for the best derivations of this part."""
        return Chart(self.goal, lambda d: (self.item(d), more(d)), self.surcharge)

    @property
    def may_fail(self) -> bool:
        """True if the goal permits failures; otherwise their texts are not needed."""
        return self.goal.allowance >= LIGHT

    def fails(
        self, row: Row, *positions: int, rival: ComplexEvent | None = None, **facts: Any
    ) -> Failure:
        """Return a failure of this part; positions become those of the whole stream."""
        at = tuple(dict.fromkeys([self.goal.at[i] for i in positions]))
        return row.failure(cast("Formula | Sremo", self.syntax), self.path, at, rival, **facts)

    def gap(self, sign: str, between: range, into: P) -> Failure:
        """Return the failure of events in a forbidden gap; `into` would permit the gap."""
        n, remove = len(between), Remove(tuple(self.goal.at[i] for i in between))
        events = f"{n} event{'s' * (n > 1)}"
        ends = (between.start - 1, between.stop)
        return self.fails(GAP, *ends, more=(remove,), events=events, sign=sign, into=into)

    def missing(self, *others: Repair) -> Failure:
        """Return the failure of this part for a missing event; `others` are further repairs."""
        return self.fails(MISSING, more=others)

    def above(
        self, d: Derivation[P, V], own: Iterable[Failure] = (), valuation: V | None = None
    ) -> Derivation[P, V]:
        """Return a node of this part with one child; `own` are additional failures."""
        value = d.valuation if valuation is None else valuation
        return Derivation(self.syntax, self.path, value, (d,), (*d.failures, *own))


def passes() -> Iterator[int]:
    """Yield the cost limits of searches: `LIGHT` to 2 * `HEAVY`, then each `HEAVY` more."""
    return chain(range(LIGHT, 2 * HEAVY), count(2 * HEAVY, HEAVY))


class Chart(Generic[D]):
    """The best derivation, by cost and then nearness, for each value of the function `item`.

    `item` returns what parts above observe; `surcharge` returns the cost still to come.
    """

    def __init__(
        self, goal: Goal, item: Callable[[D], Hashable], surcharge: Callable[[D], int]
    ) -> None:
        self._goal, self._item, self._surcharge = goal, item, surcharge
        self._best: dict[Hashable, tuple[tuple[int, int], D]] = {}

    def offer(self, d: D) -> bool:
        """Store a derivation unless it is too costly or a better one with equal `item` exists."""
        spend(own=self._goal.budget)
        price = cost(d.failures)
        # the surcharge only excludes: derivations with equal `item` have the same
        if price + self._surcharge(d) > self._goal.allowance:
            return False
        key, rank = self._item(d), (price, blame(d.failures))
        # costs decrease in whole numbers, so `rounds_of` terminates
        if key in self._best and self._best[key][0] <= rank:
            return False
        self._best[key] = (rank, d)
        return True

    def all(self, candidates: Iterable[D] = ()) -> list[D]:
        """Store the candidates within the cost limit; return the best derivations."""
        for d in candidates:
            self.offer(d)
        return [d for _, d in self._best.values()]

    def rounds_of(self, latest: list[D], longer: Callable[[D], Iterable[D]]) -> list[D]:
        """Return the derivations of one or more repetitions; `longer` adds one to a derivation."""
        while latest:
            latest = [more for d in latest for more in longer(d) if self.offer(more)]
        return self.all()


def concatenation(
    before: Derivation[P, V],
    gap: tuple[Failure, ...],
    d: Derivation[P, V],
    valuation: V,
    at: Sequence[int],
) -> Derivation[P, V]:
    """Return a sequence extended by one part; set the neighbours of missing events between them."""
    last, first = _ends(before.valuation), _ends(d.valuation)
    earlier = _with_neighbours(before.failures, before=at[first[0]]) if first else before.failures
    later = _with_neighbours(d.failures, after=at[last[1]]) if last else d.failures
    failures = (*earlier, *gap, *later)
    return Derivation(before.part, before.path, valuation, (*before.children, d), failures)


def _ends(value: object) -> tuple[int, int] | None:
    """Return the first and the last event of a match; None without events."""
    match value:
        case Valuation():
            return value.start, value.end
        case Reading(start, end) if end > start:
            return start, end - 1
        case _:
            return None


def _with_neighbours(
    failures: Sequence[Failure], after: int | None = None, before: int | None = None
) -> tuple[Failure, ...]:
    """Return failures whose missing events have neighbours: known ones, or `after` and `before`."""

    def with_neighbours(failure: Failure) -> Failure:
        match failure.repairs:
            case (Insert(path, known_after, known_before), *others):
                a = after if known_after is None else known_after
                b = before if known_before is None else known_before
                return replace(failure, repairs=(Insert(path, a, b), *others))
            case _:
                return failure

    return tuple(map(with_neighbours, failures))
