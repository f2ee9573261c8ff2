"""The threads that evaluate a whole stream: how many there are, and the calls that they share.

Verbs on a whole stream evaluate inside `using`. Code that can divide its work asks `count` or calls
`in_threads`; everywhere else, as in sessions and in tasks of Spark, there is one thread.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
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

_count: ContextVar[int | None] = ContextVar("threads", default=1)
"""None is the number of `unasked`."""


def count() -> int:
    """Return the number of threads that the present evaluation may use."""
    return _count.get() or unasked()


@contextmanager
def using(threads: int | None) -> Iterator[None]:
    """A block that evaluates a stream with so many threads.

    None is the number in ``CERLAB_THREADS``, or that of `unasked`. Raises `UsageError` for numbers
    that are not positive.
    """
    token = _count.set(asked_number(threads))
    try:
        yield
    finally:
        _count.reset(token)


def unasked() -> int:
    """Return the number of threads where nothing asks for one: all cores of this process.

    Two cores count 10 million rows by key 1.1 to 1.7 times as fast as one (2026-11-29). It is one
    in a forked child and in a worker of pytest-xdist, whose siblings use the other cores.
    """
    if _is_forked or "PYTEST_XDIST_WORKER" in os.environ:
        return 1
    cores = getattr(os, "sched_getaffinity", None)
    return len(cores(0)) if cores is not None else os.cpu_count() or 1


_is_forked = False


def _note_fork() -> None:
    global _is_forked  # a process is forked once
    _is_forked = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)


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


def ahead(items: Iterable[T], read: Callable[[T], object]) -> Iterator[T]:
    """Yield some items; while one of them is used, a thread has called `read` on the next one.

    With one thread nothing is read ahead. What `read` raises is dropped: who uses the item finds
    the same error, after the items before it.
    """
    if count() <= 1:
        yield from items
        return
    with ThreadPoolExecutor(1) as pool:
        rest = iter(items)
        item, is_read = next(rest, None), None
        while item is not None:
            following = next(rest, None)
            if following is not None:
                is_read = pool.submit(copy_context().run, read, following)
            yield item
            if is_read is not None:
                is_read.exception()
            item, is_read = following, None


def _alone(function: Callable[[T], R], item: T) -> R:
    """Return the result for an item, which starts no threads."""
    _count.set(1)
    return function(item)
