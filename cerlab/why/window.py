"""How far an interval is outside the window (DESIGN 3.4)."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import assert_never

from cerlab.logic.ceql.semantics import Substream
from cerlab.logic.ceql.text import window_text
from cerlab.model.clauses import AttributeWindow, EventWindow, TimeWindow, Window
from cerlab.model.clock import Clock, Instant, TimeAxis, clock_for
from cerlab.why.failure import Failure, Kind, Widen


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
        match self.window:
            case None:
                return True
            case EventWindow(width) | AttributeWindow(width) | TimeWindow(width):
                return self.span(start, end) <= width
            case _:
                assert_never(self.window)

    def failures(self, start: int, end: int) -> tuple[Failure, ...]:
        """How far the interval is outside the window."""
        if self.window is None or self.fits(start, end):
            return ()
        at = self._substream.positions
        spanned = self.span(start, end)
        part = f"WITHIN {window_text(self.window)}"
        words = f"outside {part} by {_amount(self.window, spanned)}: from {at[start]} to {at[end]}"
        wide = Widen(_wide(self.window, spanned))
        return (Failure(Kind.WINDOW, words, part, (), (at[start], at[end]), (wide,)),)


def _amount(window: Window, spanned: Instant) -> str:
    """By how much the span is more than the window."""
    match window:
        case EventWindow(width):
            more = spanned - width
            return f"{more:,} event{'' if more == 1 else 's'}"
        case AttributeWindow(width):
            return number_text(spanned - (width if isinstance(width, int) else Fraction(width)))
        case TimeWindow(nanoseconds):
            more = spanned - nanoseconds
            for unit, size in (("s", 10**9), ("ms", 10**6), ("us", 10**3)):
                if more % size == 0:
                    return f"{number_text(more / Fraction(size))} {unit}"
            return f"{number_text(more)} ns"
        case _:
            assert_never(window)


def number_text(amount: Instant) -> str:
    """``1,200``, ``2.5``."""
    whole = Fraction(amount)
    return f"{int(whole):,}" if whole.denominator == 1 else f"{float(whole):,}"


def _wide(window: Window, spanned: Instant) -> Window:
    """The smallest window of its kind that holds so much."""
    match window:
        case EventWindow():
            return EventWindow(int(spanned))
        case TimeWindow():
            return TimeWindow(math.ceil(spanned))
        case AttributeWindow():
            return replace(window, width=width_for(spanned))
        case _:
            assert_never(window)


def width_for(spanned: Instant) -> int | float:
    """The smallest number, whole if it can be, that is not less than the span."""
    whole = Fraction(spanned)
    if whole.denominator == 1:
        return int(whole)
    near = float(whole)
    return near if near >= whole else math.nextafter(near, math.inf)
