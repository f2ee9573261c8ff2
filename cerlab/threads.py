"""Number of threads for whole-stream evaluation, and helpers that run work in them.

Functions that evaluate a whole stream do so inside `using`. Code that can divide its work reads
`count` or calls `in_threads`; everywhere else, as in sessions and tasks of Spark, there is one
thread.
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
"""Environment variable with the default number of threads."""

_count: ContextVar[int | None] = ContextVar("threads", default=1)
"""Number of threads of this context; None means the number of `unasked`."""


def count() -> int:
    """Return the number of threads that the current evaluation may use."""
    return _count.get() or unasked()


@contextmanager
def using(threads: int | None) -> Iterator[None]:
    """Set the number of threads that evaluate a stream inside this block.

    None takes the number in ``CERLAB_THREADS``, or else that of `unasked`. Raises `UsageError` for
    numbers that are not positive.
    """
    token = _count.set(asked_number(threads))
    try:
        yield
    finally:
        _count.reset(token)


def unasked() -> int:
    """Return the number of threads when none is requested: all cores of this process.

    Two cores count 10 million rows by key 1.1 to 1.7 times as fast as one (2026-11-29). A forked
    child and a worker of pytest-xdist get one thread, since their siblings use the other cores.
    """
    if _is_forked or "PYTEST_XDIST_WORKER" in os.environ:
        return 1
    cores = getattr(os, "sched_getaffinity", None)
    return len(cores(0)) if cores is not None else os.cpu_count() or 1


_is_forked = False


def _note_fork() -> None:
    global _is_forked  # never reset: a forked process stays forked
    _is_forked = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)


def asked_number(threads: int | None) -> int | None:
    """Return the number of threads requested by a parameter or the environment, or None.

    Raises `UsageError` for numbers that are not positive.
    """
    number: object = threads
    if threads is None and (text := os.environ.get(VARIABLE)):
        number = int(text) if text.isdecimal() else text
    if number is None or (type(number) is int and number > 0):
        return number
    name, hint = (
        "threads" if threads is not None else VARIABLE,
        "leave it out for the default number",
    )
    raise UsageError("CER0891", f"{name}={number!r} is not a number of threads", hint=hint)


def in_threads(function: Callable[[T], R], items: Sequence[T]) -> list[R]:
    """Return the results of a function on each item, computed in the threads of this evaluation.

    Raises the error of the first failing item. The functions see the limits around this call; an
    error or an interrupt stops the others at their next `poll`.
    """
    threads = min(count(), len(items))
    if threads <= 1:
        return [*map(function, items)]
    with limits() as limit, ThreadPoolExecutor(threads) as pool:
        try:
            # limits live in the context, which a new thread does not inherit
            running = [pool.submit(copy_context().run, _alone, function, item) for item in items]
            return [each.result() for each in running]
        except BaseException:
            limit.end()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def ahead(items: Iterable[T], read: Callable[[T], object]) -> Iterator[T]:
    """Yield the items; a thread calls `read` on the next item while the current one is in use.

    With one thread, nothing is read ahead. Errors of `read` are dropped: using the item raises the
    error again, at its place in the order.
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
    """Return the result for an item, computed without starting threads."""
    _count.set(1)
    return function(item)
