"""A bound on calls: work that is not counted ends there, and no clock is read."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


class TooManyCalls(BaseException):
    """No `Exception`, so that nothing goes on after it."""


@contextmanager
def at_most_calls(most: int) -> Iterator[None]:
    """A block with so many calls, of Python or of C, at most; the one too many ends it."""
    calls = 0

    def count(_: object, event: str, __: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")
        if calls > most:
            raise TooManyCalls(f"more than {most:,} calls")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        yield
    finally:
        sys.setprofile(before)
