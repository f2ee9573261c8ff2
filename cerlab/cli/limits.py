"""``--time-limit`` and ``--memory-limit``, which every command has."""

from __future__ import annotations

import argparse
import signal
from _thread import interrupt_main
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import copy_context
from threading import Event, Thread, current_thread, main_thread

from cerlab.budget import limits, poll
from cerlab.errors import CerlabError

BETWEEN_ALARMS = 0.25
"""Seconds between two looks at the limits of a command that waits or computes elsewhere."""


def add_limits(parser: argparse.ArgumentParser) -> None:
    """What the command may take."""
    parser.add_argument(
        "--time-limit", type=float, metavar="SECONDS", help="stop after so many seconds, exit 2"
    )
    parser.add_argument(
        "--memory-limit", metavar="SIZE", help="stop beyond so much memory, like 500MB or 2GiB"
    )


@contextmanager
def within_limits(arguments: argparse.Namespace) -> Iterator[None]:
    """A block within the limits of a command, which are seen while it waits for a pipe too.

    The process is ours here, so a timer interrupts what does not look at the limits itself.
    """
    seconds, memory = arguments.time_limit, arguments.memory_limit
    with limits(seconds, memory):
        if (seconds is None and memory is None) or current_thread() is not main_thread():
            yield
            return
        with _with_timer() if hasattr(signal, "setitimer") else _with_thread():
            yield


@contextmanager
def _with_timer() -> Iterator[None]:
    """A block in which a timer looks at the limits."""
    before = signal.signal(signal.SIGALRM, lambda *_: poll())
    signal.setitimer(signal.ITIMER_REAL, BETWEEN_ALARMS, BETWEEN_ALARMS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def _with_thread() -> Iterator[None]:
    """The same where there is no timer: a thread looks, and at a limit interrupts this one."""
    over = Event()

    def look() -> None:
        while not over.wait(BETWEEN_ALARMS):
            try:
                poll()
            except CerlabError:
                interrupt_main()
                return

    looks = Thread(target=copy_context().run, args=(look,), daemon=True)
    looks.start()
    try:
        try:
            yield
        finally:
            over.set()
            looks.join()
    except KeyboardInterrupt:
        poll()
        raise
