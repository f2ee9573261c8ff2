"""The threads that evaluate a whole stream: how many there are, and the calls that they share.

Verbs on a whole stream evaluate inside `using`. Code that can divide its work asks `count` or calls
`in_threads`; everywhere else, as in sessions and in tasks of Spark, there is one thread.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from typing import TypeVar

from cerlab.budget import limits
from cerlab.errors import UsageError

T = TypeVar("T")
R = TypeVar("R")

VARIABLE = "CERLAB_THREADS"
"""The environment variable with the number of threads of verbs that are given none."""

MANY_EVENTS = 1 << 20
"""From this many events on, a stream has all cores: below, one thread takes 0.1 s (2026-11-28)."""

_count: ContextVar[int] = ContextVar("threads", default=1)

_may_start = True
"""Whether threads are started unasked: not in forked children, where libraries may hold locks."""


def count() -> int:
    """Return the number of threads that the present evaluation may use."""
    return _count.get()


@contextmanager
def using(threads: int | None, events: int) -> Iterator[None]:
    """A block that evaluates a stream of some `events` with so many threads.

    None is the number in ``CERLAB_THREADS``, or all cores for a long stream. Raises `UsageError`
    for numbers that are not positive.
    """
    if (number := asked_number(threads)) is None:
        # each worker of pytest-xdist has a core already
        alone = not _may_start or "PYTEST_XDIST_WORKER" in os.environ
        number = 1 if alone or events < MANY_EVENTS else cores()
    token = _count.set(number)
    try:
        yield
    finally:
        _count.reset(token)


def asked_number(threads: int | None) -> int | None:
    """Return the number of threads that a parameter or the environment asks for; None for none.

    Raises `UsageError` for numbers that are not positive.
    """
    number: object = threads
    if threads is None and (text := os.environ.get(VARIABLE)):
        number = int(text) if text.isdecimal() else text
    if number is None or (type(number) is int and number > 0):
        return number
    name, hint = "threads" if threads is not None else VARIABLE, "leave it out for all cores"
    raise UsageError("CER0891", f"{name}={number!r} is not a number of threads", hint=hint)


def cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def in_threads(function: Callable[[T], R], items: Sequence[T]) -> list[R]:
    """Return the results of a function on each item, by the threads of this evaluation.

    Raises the error of the first item that has one. Functions see the limits around this call; an
    error or an interrupt ends the others at their next `poll`.
    """
    threads = min(count(), len(items))
    if threads <= 1:
        return [*map(function, items)]
    with limits() as limit, ThreadPoolExecutor(threads) as pool:
        try:
            # limits are in the context, which a new thread does not inherit
            running = [pool.submit(copy_context().run, _alone, function, item) for item in items]
            return [each.result() for each in running]
        except BaseException:
            limit.end()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _alone(function: Callable[[T], R], item: T) -> R:
    """Return the result for an item, which starts no threads."""
    _count.set(1)
    return function(item)


def _forked() -> None:
    global _may_start
    _may_start = False


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
