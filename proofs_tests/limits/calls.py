"""A bound on calls: work that is not counted ends there, and no clock is read."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from proofs_tests.dials import Dial


class TooManyCalls(BaseException):
    """No `Exception`, so that nothing goes on after it."""


class Calls:
    """The calls of a block so far, and how many there may be."""

    def __init__(self, most: int) -> None:
        self.count, self.most = 0, most

    def look(self, _: object, event: str, __: object) -> None:
        """Count a call: a hook of `sys.setprofile`."""
        self.count += event in ("call", "c_call")
        if self.count > self.most:
            raise TooManyCalls(f"more than {self.most:,} calls")


@contextmanager
def _profiled(hook: Callable[[Any, str, Any], None]) -> Iterator[None]:
    before = sys.getprofile()
    sys.setprofile(hook)
    try:
        yield
    finally:
        sys.setprofile(before)


@contextmanager
def at_most_calls(most: int) -> Iterator[Calls]:
    """Run a block that may make `most` calls of Python or C; one more raises."""
    calls = Calls(most)
    with _profiled(calls.look):
        yield calls


class Gaps:
    """The calls between two readings of a clock, at most."""

    def __init__(self, clock: Dial) -> None:
        self.most = self._calls = 0
        self._clock, self._readings = clock, clock.readings

    def count(self, _: object, event: str, __: object) -> None:
        """Count a call: a hook of `sys.setprofile`."""
        if self._readings != self._clock.readings:
            self._calls, self._readings = 0, self._clock.readings
        self._calls += event in ("call", "c_call")
        self.most = max(self.most, self._calls)


@contextmanager
def calls_between(clock: Dial) -> Iterator[Gaps]:
    """Count the calls of a block between two readings of a clock."""
    gaps = Gaps(clock)
    with _profiled(gaps.count):
        yield gaps
