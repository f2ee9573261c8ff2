"""Places beside the values of events: what a transducer reads for waits and windows before others.

Its guards compare positions: that of an event, that of the first event inside a window that ends at
it, and that of the last event that a wait from it lets pass.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import TypeAlias

from cerlab.automata.labelled import PLACE, first_place, last_place
from cerlab.automata.plan import Delay, HoldWithin, WaitPlan
from cerlab.model.clauses import AttributeWindow, EventWindow, TimeWindow
from cerlab.model.event import Event, is_of_streams, with_values
from cerlab.model.stream import Clock, Instant, Stream, TimeAxis, check_order, clock_for, promised
from cerlab.predicates.truth import Key, partition_key


def width_of(length: TimeWindow | AttributeWindow) -> Instant:
    """The length of a window or a wait, in the unit of its clock."""
    if isinstance(length, TimeWindow):
        return length.nanoseconds
    return length.width if isinstance(length.width, int) else Fraction(length.width)


def placed(plan: WaitPlan, stream: Stream, time: TimeAxis | None) -> list[Event]:
    """The events, with the places that a transducer reads for waits and windows.

    Raises `BadData` for the first event whose time is missing or goes back on some axis.
    """
    _check_clocks(plan, stream, time)
    places = [{PLACE.name: n} for n in range(len(stream))]
    for step in {step for n, _ in plan.branches for step in plan.timed_of(n)}:
        window = step.length if isinstance(step, Delay) else step.window
        assert not isinstance(window, EventWindow), "automata count events"
        width, last, substreams = width_of(window), list[Instant](), dict[Key, list[_Place]]()
        for n, then, key in _times(plan, stream, clock_for(window, time)):
            last = [then]
            if key is not None:
                substreams.setdefault(key, []).append((then, n))
        if isinstance(step, HoldWithin):
            for inside in substreams.values():
                for then, n in inside:
                    first = bisect_left(inside, (then - width, -1))
                    places[n][first_place(window).name] = inside[first][1]
            continue
        if stream.until not in (None, "end"):
            last = [promised(stream.until, plan.waits, time, last)]
        for inside in substreams.values():
            for then, n in inside:
                if stream.until == "end" or then + width < last[0]:
                    end = bisect_right(inside, (then + width, len(stream))) - 1
                    places[n][last_place(window).name] = inside[end][1]
    return [*map(with_places, stream, places)]


def _check_clocks(plan: WaitPlan, stream: Stream, time: TimeAxis | None) -> None:
    timed = [window for window in plan.windows if not isinstance(window, EventWindow)]
    clocks = [clock_for(window, time) for window in timed]
    before: list[Instant] = []
    for n, event in enumerate(stream):
        if is_of_streams(event, plan.streams):
            now = [clock(event, n) for clock in clocks]
            for earlier, later in zip(before, now, strict=False):
                check_order(earlier, later, n)
            before = now


_Place: TypeAlias = tuple[Instant, int]
"""The time and the position of an event."""


def _times(
    plan: WaitPlan, stream: Stream, clock: Clock
) -> Iterator[tuple[int, Instant, Key | None]]:
    """Yield the position, the time and the key of each event."""
    for n, event in enumerate(stream):
        if is_of_streams(event, plan.streams):
            yield n, clock(event, n), partition_key(event, plan.partition)


def with_places(event: Event, places: Mapping[str, int]) -> Event:
    """An event with places beside its values."""
    return with_values(event, places)
