"""The reference driver: FROM, PARTITION BY, WITHIN, CONSUME BY and LIMIT around an automaton.

One driver for all reference evaluators, event by event. A window is one number, the lowest
position at which an answer may start, which only ever grows.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import islice
from typing import Any, Generic, Protocol, TypeVar, assert_never

from cerlab.automata.automaton import LabelTransition
from cerlab.automata.plan import Plan
from cerlab.budget import poll, spend_over
from cerlab.engine.state_checks import check_key, check_times, check_window, expect, is_whole
from cerlab.model.answer import ComplexEvent, Valuation
from cerlab.model.clauses import AttributeWindow, Consume, EventWindow, Limit, TimeWindow, Window
from cerlab.model.event import Event, is_of_streams
from cerlab.model.stream import Instant, TimeAxis, axis_for, clock_for
from cerlab.predicates.truth import Key, partition_key, satisfies

Answer = TypeVar("Answer", ComplexEvent, Valuation)


AnswerOut = TypeVar("AnswerOut", ComplexEvent, Valuation, covariant=True)


class Clauses(Protocol):
    """The clauses of a query that the driver reads; `Plan` documents their values."""

    @property
    def streams(self) -> tuple[str, ...]:
        """The streams that FROM names; empty for all."""

    @property
    def partition(self) -> tuple[str, ...]:
        """The key attributes of PARTITION BY."""

    @property
    def window(self) -> Window | None:
        """The window of WITHIN, or None."""

    @property
    def consume(self) -> Consume:
        """The value of CONSUME BY."""

    @property
    def limit(self) -> Limit | None:
        """The value of LIMIT, or None."""


class Reader(Protocol):
    """Interface: a machine that reads one substream; positions are those of the whole stream."""

    def advance(self, event: Event, position: int) -> None:
        """Read the next event."""

    def forget(self, before: int) -> None:
        """Allow the machine to drop runs that start before position `before`."""

    def reset(self) -> None:
        """Drop all runs, because CONSUME BY discards the events read so far."""


class Recogniser(Reader, Protocol, Generic[AnswerOut]):
    """Interface: a machine that reads events and lists answers."""

    def answers(self, lowest_start: int) -> Iterator[AnswerOut]:
        """Return the answers that end at the last event and start at `lowest_start` or later.

        Under a LIMIT in the order `latest_first`, otherwise in an order fixed by query and stream.
        Exhaust or drop the iterator before the next event is read; `reset` does not disturb it.
        """


R = TypeVar("R", bound=Reader)


Result = TypeVar("Result")


class WindowPointer:
    """The first position in the window at each event of a substream; amortised O(1) per event."""

    def __init__(self, window: Window) -> None:
        match window:
            case EventWindow(width):
                self._width: Instant = width
            case TimeWindow(nanoseconds):
                self._width = nanoseconds
            case AttributeWindow(width):
                self._width = width if isinstance(width, int) else Fraction(width)
            case _:
                assert_never(window)
        self._counts = isinstance(window, EventWindow)
        self._events = 0
        self._inside: deque[tuple[Instant, int]] = deque()

    def advance(self, time: Instant, position: int) -> int:
        """Read the time of an event; return the first position inside its window.

        Return the position of the first event within the width before it.
        """
        if self._counts:
            time = self._events
            self._events += 1
        self._inside.append((time, position))
        while time - self._inside[0][0] > self._width:
            self._inside.popleft()
        return self._inside[0][1]

    @property
    def lowest(self) -> int:
        """The first position in the window of the last event; 0 before any event."""
        return self._inside[0][1] if self._inside else 0

    def state(self) -> Any:
        """Return the times and positions in the window, for `resume`."""
        return self._events, list(self._inside)

    def resume(self, state: Any, read: int) -> None:
        """Restore the result of `state`; damaged values raise `BadData` or another error."""
        self._events, inside = state
        expect(is_whole(self._events, 0, read + 1), "the events of a partition")
        pairs = [(time, position) for time, position in inside]
        check_window([time for time, _ in pairs], [position for _, position in pairs], read)
        self._inside = deque(pairs)


class Substream(Generic[R]):
    """The machine of one partition, and its window if the query has one."""

    def __init__(self, recogniser: R, window: Window | None) -> None:
        self.recogniser = recogniser
        self.pointer = None if window is None else WindowPointer(window)


class Driver(Generic[R]):
    """The evaluation of a query event by event, with one machine for each partition."""

    def __init__(self, plan: Clauses, recogniser: Callable[[], R], time: TimeAxis | None) -> None:
        self.plan = plan
        self.recogniser = recogniser
        self.substreams: dict[Key, Substream[R]] = {}
        """The substreams so far, by key."""
        self._clock = None
        if isinstance(plan.window, AttributeWindow | TimeWindow):
            self._clock = clock_for(plan.window, time)
        self.now: Instant | None = None
        """The instant of the last event, if a window needs it."""

    def read(self, event: Event, position: int) -> tuple[R, int] | None:
        """Read the event at a position.

        Returns the recogniser that read it and the lowest start that the window allows, or None
        if the event is in no substream. Raises `BadData` for a time that is missing or goes back.
        """
        poll()
        plan = self.plan
        if plan.streams and event.stream is not None and event.stream not in plan.streams:
            return None
        time: Instant = 0
        if self._clock is not None:
            # also for events without a key, since times must not decrease in the whole stream
            time = self._clock(event, position)
            if self.now is not None:
                self._clock.check_order(self.now, time, position)
            self.now = time
        key = partition_key(event, plan.partition) if plan.partition else ()
        if key is None:
            return None
        substream = self.substreams.get(key)
        if substream is None:
            substream = self.substreams[key] = Substream(self.recogniser(), plan.window)
        lowest = 0
        if substream.pointer is not None:
            lowest = substream.pointer.advance(time, position)
            substream.recogniser.forget(lowest)
        substream.recogniser.advance(event, position)
        return substream.recogniser, lowest

    def state(self, of: Callable[[R], Any]) -> Any:
        """Return the states of all partitions; `of` returns the state of one machine."""
        parts = [
            (key, of(part.recogniser), part.pointer and part.pointer.state())
            for key, part in self.substreams.items()
        ]
        return self.now, parts

    def resume(self, state: Any, into: Callable[[R, Any], None], read: int) -> None:
        """Restore the result of `state`; `into` restores one machine.

        Raises `BadData`, ValueError, TypeError and others for other values.
        """
        self.now, parts = state
        check_times(() if self.now is None else (self.now,))
        for key, recogniser, pointer in parts:
            check_key(key, len(self.plan.partition))
            expect(key not in self.substreams, "equal keys")
            part = self.substreams[key] = Substream(self.recogniser(), self.plan.window)
            into(part.recogniser, recogniser)
            if part.pointer is not None:
                part.pointer.resume(pointer, read)

    def consume(self, recogniser: R) -> None:
        """Apply CONSUME BY after an answer of `recogniser`."""
        match self.plan.consume:
            case Consume.NONE:
                pass
            case Consume.PARTITION:
                recogniser.reset()
            case Consume.ANY:
                for each in self.substreams.values():
                    each.recogniser.reset()
            case _:
                assert_never(self.plan.consume)


def check_clock(clauses: Clauses, time: TimeAxis | None) -> None:
    """Raise `UsageError` for a window in time without a time axis."""
    if isinstance(clauses.window, TimeWindow):
        clock_for(clauses.window, time)


def run(
    plan: Clauses,
    recogniser: Callable[[], Recogniser[Answer]],
    events: Iterable[Event],
    time: TimeAxis | None = None,
) -> Iterator[Answer]:
    """Yield the answers of a plan on a stream, by end, reading events only as needed."""
    for driver, _, reader, lowest in _readings(plan, recogniser, events, time):
        yield from _answers(driver, reader, lowest)


def answers_at(driver: Driver[Recogniser[Answer]], event: Event, position: int) -> Iterator[Answer]:
    """Read the event at a position; yield the answers that end there.

    Yield the answers that it ends. Exhaust it before the next call.
    """
    if (read := driver.read(event, position)) is not None:
        yield from _answers(driver, *read)


def _answers(
    driver: Driver[Recogniser[Answer]], reader: Recogniser[Answer], lowest: int
) -> Iterator[Answer]:
    limit, answer = driver.plan.limit, None
    per_end = min(limit.per_end, sys.maxsize) if limit else None
    for answer in spend_over(islice(reader.answers(lowest), per_end)):
        yield answer
    if answer is not None:
        driver.consume(reader)


def ends(
    plan: Clauses,
    recogniser: Callable[[], R],
    events: Iterable[Event],
    time: TimeAxis | None,
    result_of: Callable[[R, int], Result | None],
) -> Iterator[tuple[int, Result]]:
    """Yield each position where answers end, with the result of `result_of` for its machine.

    `result_of` is called with the recogniser and the lowest start that the window allows; a false
    result means that no answer ends there. A result is valid until the next position is requested.
    """
    for driver, position, reader, lowest in _readings(plan, recogniser, events, time):
        if result := result_of(reader, lowest):
            driver.consume(reader)
            yield position, result


def _readings(
    plan: Clauses, recogniser: Callable[[], R], events: Iterable[Event], time: TimeAxis | None
) -> Iterator[tuple[Driver[R], int, R, int]]:
    """Yield, for each event: the driver, the position, the substream's machine, the least start."""
    if time is None and isinstance(plan.window, TimeWindow):
        events = tuple(events)
        time = axis_for(plan.window, events, None)
    driver = Driver(plan, recogniser, time)
    for position, event in enumerate(events):
        if (read := driver.read(event, position)) is not None:
            yield driver, position, *read


def labels_of_answer(
    plan: Plan, events: Sequence[Event], answer: ComplexEvent
) -> dict[int, frozenset[str]]:
    """Return the labels that accepting runs give to each position of an answer.

    A forward pass computes the states of runs over the answer; a backward pass keeps those that
    lead to acceptance. Linear in the length of the answer's interval.
    """
    A = plan.vcea
    inside = substream(plan, events, answer)
    steps: list[list[LabelTransition]] = []
    states = set(A.I)
    for i in inside:
        takes = i in answer.positions
        usable = [
            t
            for t in A.Delta
            if t.source in states and bool(t.labels) == takes and satisfies(events[i], t.predicate)
        ]
        steps.append(usable)
        states = {t.target for t in usable}
    good = set(A.F)
    labels: dict[int, frozenset[str]] = {}
    for i, usable in zip(reversed(inside), reversed(steps), strict=True):
        useful = [t for t in usable if t.target in good]
        good = {t.source for t in useful}
        if i in answer.positions:
            labels[i] = frozenset[str]().union(*(t.labels for t in useful))
    return labels


def substream(plan: Clauses, events: Sequence[Event], answer: ComplexEvent) -> list[int]:
    """Return the positions between an answer's start and end that belong to its substream."""
    key = partition_key(events[answer.start], plan.partition)
    return [
        i
        for i in range(answer.start, answer.end + 1)
        if partition_key(events[i], plan.partition) == key
        and is_of_streams(events[i], plan.streams)
    ]
