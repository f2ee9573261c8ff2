"""Checks on saved states, which users may have edited: a failed check raises `BadData`.

No kernel is imported here, so interpreted sessions use the same checks as the compiled engine.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from itertools import pairwise
from typing import Any

from cerlab.errors import BadData, UsageError
from cerlab.model.event import Duration, Timestamp
from cerlab.predicates.truth import kind_of

MOST_EVENTS = 1 << 61
"""The limit on positions: the sum of two fits in 64 bits."""

VALUES = frozenset((bool, int, float, str, Timestamp, Duration, type(None)))
"""The types of values of events."""


_UNREADABLE = (
    *(LookupError, TypeError, ValueError, ArithmeticError, AttributeError),
    *(OSError, RuntimeError, UsageError),
)
"""The exceptions that damaged bytes raise, including errors of recursion and of Arrow."""


@contextmanager
def reading_state() -> Iterator[None]:
    """Convert the exceptions that damaged bytes cause in this block to `BadData`."""
    try:
        yield
    except _UNREADABLE as error:
        raise bad_state(str(error)) from None


def bad_state(why: str) -> BadData:
    """Return the error for a saved state that cannot be read."""
    return BadData(
        "CER0771",
        f"these bytes are not a state that state() returned: {why}",
        hint="do not change states; start again from the events, on Spark with a new checkpoint",
    )


def expect(holds: object, fault: str) -> None:
    """Raise `BadData` if a condition on a saved state is false."""
    if not holds:
        raise bad_state(fault)


def is_whole(value: object, low: int = 0, high: int = MOST_EVENTS) -> bool:
    """Return whether a value is an integer, not a Boolean, from `low` to below `high`."""
    return type(value) is int and low <= value < high


def is_inside(array: Any, low: int, high: int) -> bool:
    """Return whether all numbers in an array are from `low` to below `high`."""
    return bool(((array >= low) & (array < high)).all())


def is_value(value: object) -> bool:
    """Return whether an object can be the value of an attribute."""
    return type(value) in VALUES


def check_window(times: Sequence[Any], positions: Sequence[Any], read: int) -> None:
    """Raise `BadData` if a saved window's instants or positions decrease or reach `read`."""
    expect(len(times) == len(positions), "the window")
    check_times(times)
    expect(all(is_whole(p, 0, read) for p in positions), "positions of the window")
    expect(all(a < b for a, b in pairwise(positions)), "positions of the window")


def check_times(times: Sequence[Any]) -> None:
    """Raise `BadData` if saved instants decrease."""
    expect(all(type(t) is int or isinstance(t, Fraction) for t in times), "a time of the window")
    expect(all(a <= b for a, b in pairwise(times)), "times go back")


def check_key(key: Any, length: int) -> None:
    """Raise `BadData` if a saved partition key is not `length` pairs of a kind and a value."""
    expect(isinstance(key, tuple) and len(key) == length, "a key of another length")
    for kind, value in key:
        expect(kind is not None and kind_of(value) == kind, "a key")
