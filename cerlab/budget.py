"""Limits of time and memory that callers set, and budgets that constructions count work against.

What may take long calls `spend` or `poll` at every step of its own: that is where a limit is seen.
This stands below all other modules but `errors`, since the oracle and the machines both count.
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
"""The steps of one construction or search, about a microsecond each: a few seconds in all."""

TRANSITION = 8
"""The steps of what makes objects: a transition with its label, a predicate tried on an event."""

ANSWER = 20
"""The steps of an answer that is listed and kept: 100,000 of one end are too many."""

COMPARISONS = 16
"""Comparisons of two sets of positions that make one step."""

clock = monotonic
"""The clock of limits and of paces, in seconds; tests replace it, and `resident_bytes`, here."""

CHECK_INTERVAL = 0.02
"""Seconds between two checks of the memory, each of which asks the operating system."""

T = TypeVar("T")

LESS = "ask for less: a smaller query, or one part of it at a time"

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "KI": 2**10, "MI": 2**20, "GI": 2**30}


class Limits:
    """The bounds of a block, absolute, so that the smaller of two is the tighter one.

    A limit that was reached stays reached until its block is left, so code that goes another way
    where something is too large does not go on beyond it.
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
        """Raise `ResourceLimit` if a limit is reached, or would be with so many `more` bytes."""
        now = clock()
        if now > self.deadline:
            raise ResourceLimit(
                "CER0620",
                f"the limit of {self.seconds:g} seconds is reached{_during()}",
                hint=f"raise it, as in cerlab.limits(seconds={2 * self.seconds:g}), or {LESS}",
            )
        # what is about to be allocated is checked at once: it may be gigabytes
        if self.ceiling < math.inf and (more or now >= self.next_check):
            self.next_check = now + CHECK_INTERVAL
            self.over = self.over or resident_bytes() + more > self.ceiling
        if self.over:
            raise ResourceLimit(
                "CER0621",
                f"the limit of {self.memory:,.0f} bytes is reached{_during()}",
                hint=f"raise it, as in cerlab.limits(memory={2 * self.memory:.0f}), or {LESS}",
            )

    def left(self) -> float:
        """The seconds before the limit."""
        return self.deadline - clock()

    def end(self) -> None:
        """Let the block run out of time now; another thread may call this."""
        self.deadline = -math.inf


class Budget:
    """The steps that are left to one construction or search, and what it is."""

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
    """A block in which cerlab may take so many seconds and so many more bytes of memory.

    Seconds are those of the clock on the wall, so that they bound waiting too, and count from here.
    Memory is what the process keeps resident beyond what it does now, of all its threads; a number
    of bytes, or a text like ``"500MB"``. Beyond either whatever runs raises `ResourceLimit`
    (``CER0620``, ``CER0621``). Blocks nest, and the tighter limit holds. They hold for the thread
    or asyncio task that entered them, and for tasks that it starts
    (``docs/reference/limits.md`` has more).

    Raises `UsageError` for limits that are not positive.

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
    # True is an int, and would be a limit of one second; NaN is not above 0 either
    if isinstance(number, bool) or not isinstance(number, int | float) or not number > 0:
        hint = "leave it out for no limit"
        raise UsageError("CER0830", f"{name}={number!r} is not a limit", hint=hint)
    return float(number)


def size_in_bytes(size: int | str) -> float:
    """A number of bytes; of a text with a unit too, K, M, G (powers of 1000), Ki, Mi, Gi (of 1024).

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
    """Raise `ResourceLimit` if a limit is reached, or would be with so many `more` bytes."""
    current = _limits.get()
    if current is not None:
        current.check(more)


POLL_EVERY = 1 << 10
"""Items of a long loop between two polls: a few milliseconds of Python."""


def polled(items: Iterable[T]) -> Iterable[T]:
    """The items, with a `poll` at the first and then at every 1,024th.

    Where no limit is set they are handed back as they are, so loops cost what they cost without.
    """
    return items if _limits.get() is None else _polled(items)


def _polled(items: Iterable[T]) -> Iterator[T]:
    for n, item in enumerate(items):
        if not n % POLL_EVERY:
            poll()
        yield item


def seconds_left() -> float:
    """The seconds before the limit, infinity without one; for what waits outside Python."""
    current = _limits.get()
    return math.inf if current is None else max(0.0, current.left())


def bytes_left() -> float:
    """The bytes before the limit of memory, infinity without one."""
    current = _limits.get()
    if current is None or current.ceiling == math.inf:
        return math.inf
    return max(0.0, current.ceiling - resident_bytes())


def spend(steps: int = 1, own: Budget | None = None) -> None:
    """Count steps of the construction or search that goes on, and of an `own` budget; and `poll`.

    Raises `ResourceLimit` where either has too few left.
    """
    for budget in (_budget.get(), own):
        if budget is not None:
            budget.left -= steps
            if budget.left < 0:
                message = f"{budget.doing} takes more than {budget.steps:,} steps"
                raise ResourceLimit("CER0605", message, hint=budget.hint)
    poll()


def spend_over(items: Iterable[T], steps: int = 1) -> Iterator[T]:
    """The items, each of which takes so many steps."""
    for item in items:
        spend(steps)
        yield item


@contextmanager
def step_budget(doing: str | None = None, hint: str = LESS, *, own: int = 0) -> Iterator[Budget]:
    """A construction or search whose steps are counted together; inside another one, as its part.

    Errors say what was being done, `doing`, the innermost that says so. With `own` it has a budget
    of its own wherever it is, that part of the whole: what is cached depends on nothing around it.
    Not around what yields: its caller would count too.
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
    """The memory that the process keeps resident; where the system says only its peak, that."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return _peak_bytes()


def _peak_bytes() -> int:
    try:
        from resource import RUSAGE_SELF, getrusage  # not on every system
    except ImportError:
        hint = "limits(seconds=..) works here"
        raise UsageError(
            "CER0830", "this system does not say what is resident", hint=hint
        ) from None
    # macOS counts bytes, other systems kilobytes
    return getrusage(RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
