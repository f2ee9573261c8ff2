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

_count: ContextVar[int] = ContextVar("threads", default=1)


def count() -> int:
    """Return the number of threads that the present evaluation may use."""
    return _count.get()


@contextmanager
def using(threads: int | None) -> Iterator[None]:
    """A block that evaluates a stream with so many threads.

    None is the number in ``CERLAB_THREADS``, or one. Raises `UsageError` for numbers that are not
    positive.
    """
    # unasked one: two cores count 10 million rows by key in 0.8 to 1.4 times the time (2026-11-29)
    token = _count.set(asked_number(threads) or 1)
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
    name, hint = "threads" if threads is not None else VARIABLE, "leave it out for one thread"
    raise UsageError("CER0891", f"{name}={number!r} is not a number of threads", hint=hint)


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
