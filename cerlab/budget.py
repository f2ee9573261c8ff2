"""Limits of time and memory that callers set, and step budgets of constructions.

Long computations call `spend` or `poll` at each of their steps; limits are checked there. Only
`errors` is a lower layer, because the oracle and the machines both count steps.
"""

from __future__ import annotations

import math
import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic
from typing import TypeVar

from cerlab.errors import ResourceLimit, UsageError, keywords_by_name

STEPS = 2_000_000
"""Steps allowed for one construction or search: at about a microsecond each, a few seconds."""

TRANSITION = 8
"""Steps charged for a transition with its label, or for testing a predicate on an event."""

ANSWER = 20
"""Steps charged for listing an answer: 100,000 answers at one end exhaust the budget."""

COMPARISONS = 16
"""Comparisons of two sets of positions that count as one step."""

clock = monotonic
"""Clock of limits and progress, in seconds; tests replace it and `resident_bytes` here."""

CHECK_INTERVAL = 0.02
"""Seconds between two checks of memory; each check asks the operating system."""

T = TypeVar("T")

LESS = "ask for less: a smaller query, or one part of it at a time"

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "KI": 2**10, "MI": 2**20, "GI": 2**30}


class Limits:
    """Limits of a block as absolute times and sizes; of nested limits, the smaller one applies.

    Once exceeded, a limit stays exceeded until its block exits, so code that tries another method
    after a `ResourceLimit` cannot exceed the limit further.
    """

    __slots__ = ("ceiling", "deadline", "memory", "next_check", "over", "seconds")

    def __init__(self, seconds: float, memory: float, outer: Limits | None) -> None:
        self.seconds, self.deadline = seconds, clock() + seconds
        self.memory = memory
        self.ceiling = math.inf if memory == math.inf else resident_bytes() + memory
        if outer is not None and outer.deadline < self.deadline:
            self.seconds, self.deadline = outer.seconds, outer.deadline
        if outer is not None and outer.ceiling < self.ceiling:
            self.memory, self.ceiling = outer.memory, outer.ceiling
        self.next_check = 0.0
        self.over = False

    def check(self, more: int = 0) -> None:
        """Raise `ResourceLimit` if a limit is exceeded, or would be with `more` bytes."""
        now = clock()
        if now > self.deadline:
            raise ResourceLimit(
                "CER0620",
                f"the limit of {self.seconds:g} seconds is reached{_during()}",
                hint=f"allow more, as in cerlab.limits(seconds={2 * self.seconds:g}), or {LESS}",
            )
        # announced allocations are checked without waiting: they may be gigabytes
        if self.ceiling < math.inf and (more or now >= self.next_check):
            self.next_check = now + CHECK_INTERVAL
            self.over = self.over or resident_bytes() + more > self.ceiling
        if self.over:
            raise ResourceLimit(
                "CER0621",
                f"the limit of {self.memory:,.0f} bytes is reached{_during()}",
                hint=f"allow more, as in cerlab.limits(memory={2 * self.memory:.0f}), or {LESS}",
            )

    def left(self) -> float:
        """Return the seconds until the time limit."""
        return self.deadline - clock()

    def end(self) -> None:
        """Expire the time limit now, from any thread."""
        self.deadline = -math.inf


class Budget:
    """The steps left to one construction or search, and its name for error messages."""

    __slots__ = ("doing", "hint", "left", "steps")

    def __init__(self, doing: str, hint: str = LESS, steps: int | None = None) -> None:
        self.doing = doing
        self.hint = hint
        self.steps = self.left = STEPS if steps is None else steps


_limits: ContextVar[Limits | None] = ContextVar("limits", default=None)
_budget: ContextVar[Budget | None] = ContextVar("budget", default=None)


def _during() -> str:
    budget = _budget.get()
    return "" if budget is None else f" during {budget.doing}"


@keywords_by_name
@contextmanager
def limits(seconds: float | None = None, memory: int | str | None = None) -> Iterator[Limits]:
    """Limit the time and the additional memory that cerlab may use inside a ``with`` block.

    Blocks nest, and the tighter limit applies. Limits apply to the thread or asyncio task that
    entered the block, and to tasks that it starts (``docs/reference/limits.md`` has more).

    Args:
        seconds: Wall-clock time from entering the block, waiting included (default: no limit).
        memory: Resident memory of the process above its level on entering the block, in bytes or as
            text like ``"500MB"`` (default: no limit).

    Raises:
        UsageError: A limit is not positive.
        ResourceLimit: Inside the block, the time (``CER0620``) or the memory (``CER0621``) is
            exceeded.

    >>> import cerlab
    >>> with cerlab.limits(seconds=10, memory="1GB"):
    ...     cerlab.count("A ; B", [{"type": "A"}, {"type": "B"}])
    1
    """
    wall = math.inf if seconds is None else _positive(seconds, "seconds")
    room = math.inf if memory is None else _positive(size_in_bytes(memory), "memory")
    inner = Limits(wall, room, _limits.get())
    token = _limits.set(inner)
    try:
        yield inner
    finally:
        _limits.reset(token)


def _positive(number: float, name: str) -> float:
    # bool is an int: True would mean one second; `not > 0` also refuses NaN
    if isinstance(number, bool) or not isinstance(number, int | float) or not number > 0:
        hint = "leave it out for no limit"
        raise UsageError("CER0830", f"{name}={number!r} is not a limit", hint=hint)
    return float(number)


def size_in_bytes(size: int | str) -> float:
    """Return a size in bytes, from a number or a text such as ``500MB``.

    Units are K, M and G (powers of 1000), and Ki, Mi and Gi (powers of 1024). Raises `UsageError`
    for other texts.

    >>> size_in_bytes("500MB"), size_in_bytes("1.5 GiB"), size_in_bytes("4096")
    (500000000.0, 1610612736.0, 4096.0)
    """
    if not isinstance(size, str):
        return size
    read = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMG]I?)?B?\s*", size.upper())
    if read is None:
        hint = "a number of bytes, or like 500MB or 2GiB"
        raise UsageError("CER0831", f"'{size}' is not a size of memory", hint=hint)
    return float(read[1]) * _UNITS[read[2] or ""]


def poll(more: int = 0) -> None:
    """Raise `ResourceLimit` if a limit is exceeded, or would be with `more` bytes."""
    current = _limits.get()
    if current is not None:
        current.check(more)


POLL_EVERY = 1 << 10
"""Items of a long loop between two polls: a few milliseconds of Python."""


def polled(items: Iterable[T]) -> Iterable[T]:
    """Return the items with a `poll` before the first and then before every 1,024th.

    Without a limit, the items are returned unchanged, so the loop has no overhead.
    """
    return items if _limits.get() is None else _polled(items)


def _polled(items: Iterable[T]) -> Iterator[T]:
    for n, item in enumerate(items):
        if not n % POLL_EVERY:
            poll()
        yield item


def seconds_left() -> float:
    """Return the seconds until the time limit, or infinity, for code that waits outside Python."""
    current = _limits.get()
    return math.inf if current is None else max(0.0, current.left())


def bytes_left() -> float:
    """Return the bytes until the limit of memory, or infinity."""
    current = _limits.get()
    if current is None or current.ceiling == math.inf:
        return math.inf
    return max(0.0, current.ceiling - resident_bytes())


def spend(steps: int = 1, own: Budget | None = None) -> None:
    """Charge steps to the current budget and to an `own` budget, then check limits by `poll`.

    Raises `ResourceLimit` if either budget is exhausted.
    """
    for budget in (_budget.get(), own):
        if budget is not None:
            budget.left -= steps
            if budget.left < 0:
                message = f"{budget.doing} takes more than {budget.steps:,} steps"
                raise ResourceLimit("CER0605", message, hint=budget.hint)
    poll()


def spend_over(items: Iterable[T], steps: int = 1) -> Iterator[T]:
    """Yield the items, charging `steps` of the step budget for each."""
    for item in items:
        spend(steps)
        yield item


@contextmanager
def step_budget(doing: str | None = None, hint: str = LESS, *, own: int = 0) -> Iterator[Budget]:
    """Count the steps of a construction or search together; nested blocks share the outer budget.

    Errors name the innermost `doing`. With `own`, the block gets a separate budget of ``STEPS //
    own`` wherever it runs, so cached results do not depend on the caller. Do not enter this block
    inside a generator: its caller's steps would count too.
    """
    current = _budget.get()
    if current is None or own:
        fresh = Budget(doing or "an automaton", hint, STEPS // max(own, 1))
        token = _budget.set(fresh)
        try:
            yield fresh
        finally:
            _budget.reset(token)
        return
    around = current.doing, current.hint
    if doing is not None:
        current.doing, current.hint = doing, hint
    try:
        yield current
    finally:
        current.doing, current.hint = around


def resident_bytes() -> int:
    """Return the resident memory of the process in bytes, or its peak where only that is known."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return _peak_bytes()


def _peak_bytes() -> int:
    try:
        from resource import RUSAGE_SELF, getrusage  # missing on some systems, such as Windows
    except ImportError:
        hint = "use limits(seconds=..), which works on this system"
        raise UsageError(
            "CER0830", "this system does not report resident memory", hint=hint
        ) from None
    # macOS counts bytes, other systems kilobytes
    return getrusage(RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
