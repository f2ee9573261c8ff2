"""How far an interval, or what a SREMO takes, is outside a window (DESIGN 3.4; SRT Def. 39)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import assert_never

from cerlab.logic.ceql.semantics import Substream
from cerlab.logic.ceql.text import window_text
from cerlab.logic.sremo import syntax as sre
from cerlab.logic.sremo.semantics import duration
from cerlab.logic.sremo.text import node_text
from cerlab.model.clauses import AttributeWindow, EventWindow, TimeWindow, Window
from cerlab.model.clock import Clock, Instant, TimeAxis, clock_for
from cerlab.model.event import Event
from cerlab.why.deduction import Reading
from cerlab.why.failure import Failure, Kind, Path, Relax, Repair, Widen


class Meter:
    """Measures intervals of a substream as the window does."""

    def __init__(self, window: Window | None, time: TimeAxis | None, substream: Substream) -> None:
        self.window = window
        self._substream = substream
        self._clock: Clock | None = None
        if isinstance(window, AttributeWindow | TimeWindow):
            self._clock = clock_for(window, time)

    def instant(self, i: int) -> Instant:
        """The time of an event of the substream, or its number there."""
        if self._clock is None:
            return i
        return self._clock(self._substream.events[i], self._substream.positions[i])

    def span(self, start: int, end: int) -> Instant:
        """``end - start``."""
        return self.instant(end) - self.instant(start)

    def fits(self, start: int, end: int) -> bool:
        """Whether the window holds the interval; always without a window."""
        return self.window is None or self.span(start, end) <= _width(self.window)

    def failures(self, start: int, end: int) -> tuple[Failure, ...]:
        """How far the interval is outside the window."""
        if self.window is None or self.fits(start, end):
            return ()
        at, span = self._substream.positions, self.span(start, end)
        part = f"WITHIN {window_text(self.window)}"
        more = _amount(self.window, span)
        return (_outside(part, (), more, (at[start], at[end]), Widen(_wide(self.window, span))),)


def out_of_window(e: sre.Window, path: Path, d: Reading, S: Sequence[Event]) -> Iterator[Failure]:
    """By how much a reading of the body is outside the window around it."""
    extent = _extent(e, d, S)
    if extent > e.width:
        part = node_text(e)
        ends = (
            (d.start, d.end - 1) if isinstance(e, sre.LengthWindow) else (d.marks[0], d.marks[-1])
        )
        more = number_text(extent - (e.width if isinstance(e.width, int) else Fraction(e.width)))
        wider = Relax(path, _wider(e, extent))
        yield _outside(part, path, more, ends, wider)


def _wider(e: sre.Window, extent: Instant) -> sre.Window:
    """The smallest window of its kind that holds so much."""
    if isinstance(e, sre.Within):
        return replace(e, width=_number(extent))
    return replace(e, width=int(extent))


def _outside(part: str, path: Path, more: str, ends: tuple[int, int], repair: Repair) -> Failure:
    words = f"outside {part} by {more}: from {ends[0]} to {ends[1]}"
    return Failure(Kind.WINDOW, words, part, path, tuple(dict.fromkeys(ends)), (repair,))


def _extent(e: sre.Window, d: Reading, S: Sequence[Event]) -> Instant:
    match e:
        case sre.SpanWindow():
            return d.marks[-1] - d.marks[0] + 1 if d.marks else 0
        case sre.LengthWindow():
            return d.end - d.start
        case sre.Within(_, _, attribute):
            return duration(d.marks, S, attribute)
        case _:
            assert_never(e)


def _amount(window: Window, span: Instant) -> str:
    """By how much the span is more than the window."""
    more = span - _width(window)
    match window:
        case EventWindow():
            return f"{more:,} event{'' if more == 1 else 's'}"
        case AttributeWindow():
            return number_text(more)
        case TimeWindow():
            for unit, size in (("s", 10**9), ("ms", 10**6), ("us", 10**3)):
                if more % size == 0:
                    return f"{number_text(more / Fraction(size))} {unit}"
            return f"{number_text(more)} ns"
        case _:
            assert_never(window)


def _width(window: Window) -> int | Fraction:
    width = window.nanoseconds if isinstance(window, TimeWindow) else window.width
    return width if isinstance(width, int) else Fraction(width)


def number_text(amount: Instant) -> str:
    """``1,200``, ``2.5``."""
    whole = Fraction(amount)
    return f"{int(whole):,}" if whole.denominator == 1 else f"{float(whole):,}"


def _wide(window: Window, span: Instant) -> Window:
    """The smallest window of its kind that holds so much."""
    match window:
        case EventWindow():
            return EventWindow(int(span))
        case TimeWindow():
            return TimeWindow(math.ceil(span))
        case AttributeWindow():
            return replace(window, width=_number(span))
        case _:
            assert_never(window)


def _number(span: Instant) -> int | float:
    """The smallest number, whole if it can be, that is not less than the span."""
    whole = Fraction(span)
    if whole.denominator == 1:
        return int(whole)
    near = float(whole)
    return near if near >= whole else math.nextafter(near, math.inf)
