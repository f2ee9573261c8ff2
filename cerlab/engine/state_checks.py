"""Checks of the parts of a saved state, which may have been edited: `BadData` before any is used.

No kernel is imported here, so interpreted sessions use the same checks as the compiled engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

from cerlab.errors import BadData
from cerlab.model.event import Duration, Timestamp
from cerlab.predicates.truth import kind_of

MOST_EVENTS = 1 << 61
"""Positions are below this: sums of two fit in 64 bits."""

_VALUES = (bool, int, float, str, Timestamp, Duration, type(None))


def bad_state(why: str) -> BadData:
    """Return the error for bytes that cannot be read as a state."""
    return BadData(
        "CER0771",
        f"these bytes are not the state of an engine: {why}",
        hint="they are to be kept as ``state()`` gave them; start again from the events",
    )


def expect(holds: object, what: str) -> None:
    """Raise `BadData` if something does not hold."""
    if not holds:
        raise bad_state(what)


def is_whole(value: object, low: int = 0, high: int = MOST_EVENTS) -> bool:
    """Whether a value is an integer from `low` to below `high`, and not TRUE or FALSE."""
    return type(value) is int and low <= value < high


def is_value(value: object) -> bool:
    """Whether something is a value of an event."""
    return isinstance(value, _VALUES)


def check_window(times: Sequence[Any], positions: Sequence[Any], read: int) -> None:
    """Check the events of a window, of `read` so far: instants and positions in order."""
    expect(len(times) == len(positions), "the window")
    check_times(times)
    expect(all(is_whole(p, 0, read) for p in positions), "positions of the window")
    expect(all(a < b for a, b in pairwise(positions)), "positions of the window")


def check_times(times: Sequence[Any]) -> None:
    """Check that instants do not go back."""
    expect(all(type(t) is int or isinstance(t, Fraction) for t in times), "a time of the window")
    expect(all(a <= b for a, b in pairwise(times)), "times go back")


def check_key(key: Any, length: int) -> None:
    """Check the key of a partition: pairs of a kind and a value of it (`partition_key`)."""
    expect(isinstance(key, tuple) and len(key) == length, "a key of another length")
    for kind, value in key:
        expect(kind is not None and kind_of(value) == kind, "a key")
