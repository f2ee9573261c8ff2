"""Time: what a window measures on an event, as exact numbers.

Floats are taken at their exact value (as a `Fraction`), so that ``end - start <= n`` never
depends on rounding, and every implementation can agree on it.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from fractions import Fraction
from typing import TypeAlias

from cerlab.errors import BadData, UsageError
from cerlab.model.clauses import AttributeWindow, TimeWindow, Window
from cerlab.model.event import Event, Timestamp, to_value, value_of

Instant: TypeAlias = int | Fraction
Clock: TypeAlias = Callable[[Event, int], Instant]
"""Reads the time of an event at a position (given for the error only)."""


class TimeUnit(Enum):
    """The unit of a numeric time attribute; the value is nanoseconds."""

    NS = 1
    US = 10**3
    MS = 10**6
    S = 10**9


@dataclass(frozen=True, slots=True)
class TimeAxis:
    """The time attribute of a stream, and its unit where it is a number."""

    attribute: str
    unit: TimeUnit | None = None


def time_axis(attribute: str, unit: str | TimeUnit | None) -> TimeAxis:
    """The axis for ``time=`` and ``unit=`` as users give them.

    >>> time_axis("ts", "ms")
    TimeAxis(attribute='ts', unit=<TimeUnit.MS: 1000000>)
    """
    if unit is None or isinstance(unit, TimeUnit):
        return TimeAxis(attribute, unit)
    try:
        return TimeAxis(attribute, TimeUnit[unit.upper()])
    except KeyError:
        raise UsageError(
            "CER0801", f"unknown time unit '{unit}'", hint="known: ns, us, ms, s"
        ) from None


def axis_of_options(time: str | None, unit: str | TimeUnit | None) -> TimeAxis | None:
    """The axis for ``time=`` and ``unit=``, None for neither; a unit alone is a `UsageError`."""
    if time:
        return time_axis(time, unit)
    if unit is not None:
        raise UsageError(
            "CER0837",
            f"the unit '{unit}' of which attribute?",
            hint="give time= (on the command line: --time ts:ms)",
        )
    return None


def only_timestamp(events: Iterable[Event]) -> TimeAxis | None:
    """The axis of the only attribute that holds moments, None if there are none or several."""
    names = {
        name
        for event in events
        for name, value in event.attributes.items()
        if isinstance(value, Timestamp)
    }
    return TimeAxis(names.pop()) if len(names) == 1 else None


def axis_for(
    window: Window | None, events: Iterable[Event], axis: TimeAxis | None
) -> TimeAxis | None:
    """The axis if there is one, else the `only_timestamp` where a window needs one."""
    if axis is None and isinstance(window, TimeWindow):
        return only_timestamp(events)
    return axis


def clock_for(window: AttributeWindow | TimeWindow, axis: TimeAxis | None) -> Clock:
    """The clock that a window reads; raises `UsageError` where the stream has no time for it."""
    if isinstance(window, AttributeWindow):
        return lambda event, position: _number(event, window.attribute, position)
    if axis is None:
        raise UsageError(
            "CER0802",
            "a window in hours, minutes or seconds needs the time attribute of the stream",
            hint="give time= and unit= (on the command line: --time ts:ms)",
        )
    return lambda event, position: _nanoseconds(event, axis, position)


def _number(event: Event, attribute: str, position: int) -> Instant:
    value = value_of(event, attribute)
    if isinstance(value, Timestamp):
        raise BadData(
            "CER0711",
            f"'{attribute}' at position {position} is a moment, which has no unit of its own",
            hint="write the window in HOURS, MINUTES or SECONDS",
        )
    if value is None or isinstance(value, (bool, str)) or not math.isfinite(value):
        raise BadData(
            "CER0712",
            f"the event at position {position} has no time: '{attribute}' is {value!r}",
            hint="every event that is matched needs a finite number there",
        )
    return value if isinstance(value, int) else Fraction(value)


def _from_iso_text(text: str, axis: TimeAxis, position: int) -> Timestamp:
    """A moment as ISO 8601 writes it, in UTC where it names no zone."""
    try:
        moment = to_value(datetime.fromisoformat(text))
    except ValueError:
        moment = None
    if isinstance(moment, Timestamp):
        return moment
    raise BadData(
        "CER0713",
        f"'{axis.attribute}' at position {position} is text, not a time: {text!r}",
        hint="a text is read as 2026-01-31T10:00:00; else name a numeric attribute and its unit",
    )


def _nanoseconds(event: Event, axis: TimeAxis, position: int) -> Instant:
    value = value_of(event, axis.attribute)
    if isinstance(value, Timestamp):
        return value.nanoseconds
    if isinstance(value, str):
        return _from_iso_text(value, axis, position).nanoseconds
    if axis.unit is None and isinstance(value, (int, float)) and not isinstance(value, bool):
        raise UsageError(
            "CER0803",
            f"the time attribute '{axis.attribute}' is a number and has no unit",
            hint="give unit= (on the command line: --time ts:ms)",
        )
    return _number(event, axis.attribute, position) * (axis.unit.value if axis.unit else 1)


def check_order(before: Instant, now: Instant, position: int) -> None:
    """Raise `BadData` if time goes backwards at `position`."""
    if now < before:
        raise BadData(
            "CER0714",
            f"time goes backwards at position {position}: {_show(before)}, then {_show(now)}",
            hint="sort the stream by time (on the command line: --sort)",
        )


def _show(instant: Instant) -> str:
    is_float = not isinstance(instant, int) and abs(instant) <= sys.float_info.max
    return str(float(instant) if is_float else int(instant))
