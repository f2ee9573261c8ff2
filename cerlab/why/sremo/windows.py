"""How far marks and events are outside a window (SRT Def. 39; DESIGN 2.5)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import assert_never

from cerlab.logic.sremo.syntax import LengthWindow, SpanWindow, Window, Within
from cerlab.model.answer import Positions
from cerlab.model.clauses import AttributeWindow
from cerlab.model.clock import Instant, clock_for
from cerlab.model.event import Event
from cerlab.predicates.text import name_text
from cerlab.why.failure import Failure, Kind, Path, Relax
from cerlab.why.sremo.derivation import SremoDerivation
from cerlab.why.window import number_text, width_for


def out_of_window(
    e: Window, path: Path, d: SremoDerivation, events: Sequence[Event]
) -> tuple[Failure, ...]:
    """By how much a derivation of the body is outside the window around it."""
    measured = _measured(e, d, events)
    if measured <= e.width:
        return ()
    more = number_text(measured - (e.width if isinstance(e.width, int) else Fraction(e.width)))
    window = window_text(e)
    first, last = _ends(e, d)
    words = f"outside {window} by {more}: from {first} to {last}"
    wider = Relax(path, _wide(e, measured))
    positions = tuple(sorted({first, last}))
    return (Failure(Kind.WINDOW, words, window, path, positions, (wider,)),)


def window_text(e: Window) -> str:
    """A window without its body: ``[len<=3]``."""
    match e:
        case SpanWindow(_, width):
            return f"[1..{width}]"
        case LengthWindow(_, width):
            return f"[len<={width}]"
        case Within(_, width, attribute):
            return f"[within {width} {name_text(attribute)}]"
        case _:
            assert_never(e)


def _measured(e: Window, d: SremoDerivation, events: Sequence[Event]) -> Instant:
    match e:
        case SpanWindow():
            return d.marks[-1] - d.marks[0] + 1 if d.marks else 0
        case LengthWindow():
            return d.end - d.start
        case Within(_, _, attribute):
            return elapsed(d.marks, events, attribute)
        case _:
            assert_never(e)


def elapsed(marks: Positions, events: Sequence[Event], attribute: str) -> Instant:
    """From the time of the first mark to that of the last, 0 without marks."""
    if not marks:
        return 0
    clock = clock_for(AttributeWindow(0, attribute), None)
    first, last = marks[0], marks[-1]
    return clock(events[last], last) - clock(events[first], first)


def _ends(e: Window, d: SremoDerivation) -> tuple[int, int]:
    return (d.start, d.end - 1) if isinstance(e, LengthWindow) else (d.marks[0], d.marks[-1])


def _wide(e: Window, measured: Instant) -> Window:
    """The smallest window of its kind that holds so much."""
    match e:
        case SpanWindow(body):
            return SpanWindow(body, int(measured))
        case LengthWindow(body):
            return LengthWindow(body, int(measured))
        case Within(body, _, attribute):
            return Within(body, width_for(measured), attribute)
        case _:
            assert_never(e)
