"""How far back the first mark of a run may be, so that windows can still be kept."""

from __future__ import annotations

from collections.abc import Sequence

from cerlab.automata.plan import MarkWindow
from cerlab.engine.reference.driver import WindowPointer
from cerlab.model.clauses import AttributeWindow, EventWindow
from cerlab.model.event import Event
from cerlab.model.stream import Clock, Instant, check_order, clock_for


class Horizon:
    """`oldest`, the first position that all windows allow together with the event just read.

    It never goes back, as time does not: a run whose first mark lies before it will report nothing
    any more. Keeps the times of the positions from `oldest` on.
    """

    def __init__(self, windows: Sequence[MarkWindow]) -> None:
        in_events = [window.width for window in windows if isinstance(window, EventWindow)]
        self._events = min(in_events, default=None)
        self._times = [_Times(w) for w in windows if isinstance(w, AttributeWindow)]
        self.bounded = bool(windows)
        self.oldest = 0

    def read(self, event: Event, position: int) -> None:
        """Move on to an event; raises `BadData` for a time that is missing or goes back."""
        bounds = [times.read(event, position) for times in self._times]
        if self._events is not None:
            bounds.append(position - self._events)
        self.oldest = max([self.oldest, *bounds])


class _Times:
    """The times inside one window in time."""

    def __init__(self, window: AttributeWindow) -> None:
        self._clock: Clock = clock_for(window, None)
        self._pointer = WindowPointer(window)
        self._before: Instant | None = None

    def read(self, event: Event, position: int) -> int:
        """The first position that is inside the window of this event."""
        now = self._clock(event, position)
        if self._before is not None:
            check_order(self._before, now, position)
        self._before = now
        return self._pointer.advance(now, position)
