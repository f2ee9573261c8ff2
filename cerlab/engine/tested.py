"""Filters tested on valuations one by one, for queries whose filters no machine supports.

A machine lists the valuations of the formula without the filters. The valuations of one end are
tested together, before the projection of SELECT; strategy, window and CONSUME BY act on the
valuations that pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from typing import assert_never

from cerlab.automata.plan import FilterPlan
from cerlab.model.answer import Positions, Valuation, complex_event
from cerlab.model.clauses import Consume, EventWindow, Strategy, Window
from cerlab.model.event import Event, is_of_stream
from cerlab.model.stream import Instant, Stream, TimeAxis, clock_for
from cerlab.predicates.condition import Application, Condition, Correlation, On, holds_of
from cerlab.predicates.syntax import And, Or
from cerlab.predicates.truth import Key, partition_key, satisfies


class Filtering:
    """The tests of a query's outermost filters and clauses on the valuations of one stream.

    Its events are read one by one before the valuations that they end.
    """

    def __init__(self, plan: FilterPlan, time: TimeAxis | None, *, is_tested: bool = False) -> None:
        """Create the tests; `is_tested` means that all valuations already satisfy the filters.

        Raises `UsageError` for a window in time without `time`.
        """
        assert not is_tested or plan.rivals is None, "a strategy below the condition comes first"
        self.plan, self._is_tested = plan, is_tested
        window = plan.window
        timed = None if isinstance(window, EventWindow) else window
        self._clock = None if timed is None else clock_for(timed, time)
        self._times: dict[int, Instant] = {}
        self._last: Instant | None = None
        self._numbers: dict[int, int] = {}
        self._lengths: dict[Key | None, int] = {}
        self.consumed: dict[Key | None, int] = {}
        """The end after which each substream continues; one for all under CONSUME BY ANY."""

    def read(self, event: Event, position: int) -> None:
        """Record the time and the number of an event, if a clause needs them."""
        plan = self.plan
        if self._clock is None and not plan.counts:
            return
        if plan.streams and not any(is_of_stream(event, S) for S in plan.streams):
            return
        if self._clock is not None:
            now = self._clock(event, position)
            if self._last is not None:
                self._clock.check_order(self._last, now, position)
            self._times[position] = self._last = now
        if plan.counts:
            key = partition_key(event, plan.partition)
            self._numbers[position] = self._lengths[key] = self._lengths.get(key, 0) + 1

    def at_end(self, ending: Iterable[Valuation], event: Callable[[int], Event]) -> list[Valuation]:
        """Return the valuations at one end that pass all tests, projected to SELECT."""
        plan, key, some = self.plan, None, list(ending)
        if plan.consume is not Consume.NONE and some:
            if plan.consume is Consume.PARTITION:
                key = partition_key(event(some[0].end), plan.partition)
            after = self.consumed.get(key, -1)
            some = [V for V in some if V.start > after]
        if plan.rivals is not None:
            some = self._selected(plan.rivals, some)
        if not self._is_tested:
            some = [V for V in some if holds(plan.condition, V.labels, event)]
        result = list({projected(plan, V, event) for V in some})
        if plan.strategy is not None:
            result = self._selected(plan.strategy, result)
        if plan.window is not None:
            result = [V for V in result if self._is_within(plan.window, V)]
        if result and plan.consume is not Consume.NONE:
            self.consumed[key] = result[0].end
        return sorted(result, key=lambda V: (V.start, complex_event(V).positions))

    def _is_within(self, window: Window, V: Valuation) -> bool:
        if isinstance(window, EventWindow):
            return self._number(V.end) - self._number(V.start) <= window.width
        return self._times[V.end] - self._times[V.start] <= window.width

    def _number(self, position: int) -> int:
        return self._numbers[position] if self.plan.counts else position

    def _selected(self, strategy: Strategy, some: Sequence[Valuation]) -> list[Valuation]:
        """Return the valuations whose positions a strategy selects (FOUND Sec. 4)."""
        sets = [complex_event(V).positions for V in some]
        chosen = self._chosen(strategy, set(sets))
        return [V for V, C in zip(some, sets, strict=True) if C in chosen]

    def _chosen(self, strategy: Strategy, sets: set[Positions]) -> set[Positions]:
        match strategy:
            case Strategy.STRICT:
                number = self._number
                return {C for C in sets if all(number(b) == number(a) + 1 for a, b in pairwise(C))}
            case Strategy.NXT:  # the first difference decides, and a longer set beats its prefix
                return {min(sets, key=lambda C: (*C, float("inf")))} if sets else set()
            case Strategy.LAST:  # the last difference decides
                return {max(sets, key=lambda C: C[::-1])} if sets else set()
            case Strategy.MAX:
                every = [frozenset(C) for C in sets]
                return {C for C in sets if not any(other > frozenset(C) for other in every)}
            case _:
                assert_never(strategy)


def ends_that_pass(
    tests: Filtering, listed: Iterable[Valuation], stream: Stream, offset: int = 0
) -> Iterator[list[Valuation]]:
    """Yield, for each end, the valuations that pass; the listed ones come by end.

    The `stream` begins at position `offset`.
    """
    events = stream.events
    for _, ending in groupby(listed, key=lambda V: V.end):
        yield tests.at_end(ending, lambda position: events[position - offset])


def projected(plan: FilterPlan, V: Valuation, event: Callable[[int], Event]) -> Valuation:
    """Return a valuation with only the labels in SELECT."""
    labels, of_streams = plan.labels, plan.of_streams
    if labels is None:
        return V
    kept = {
        X: tuple(
            i
            for i in D
            if X in labels or any(X == Y and is_of_stream(event(i), S) for S, Y in of_streams)
        )
        for X, D in V.labels.items()
    }
    return Valuation(V.start, V.end, kept)


def holds(
    condition: Condition, labels: Mapping[str, Positions], event: Callable[[int], Event]
) -> bool:
    """Return whether the events of a valuation's labels satisfy a filter."""

    def events(X: str) -> list[Event]:
        return [event(i) for i in labels.get(X, ())]

    match condition:
        case On(X, P):
            return all(satisfies(event(i), P) for i in labels.get(X, ()))
        case And(left, right):
            return holds(left, labels, event) and holds(right, labels, event)
        case Or(left, right):
            return holds(left, labels, event) or holds(right, labels, event)
        case Correlation():
            return condition.holds(events)
        case Application(P, arguments):
            return holds_of(P, arguments, events)
        case _:
            assert_never(condition)
