"""Common parts of all commands: exit statuses and limits."""

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

OK, NO, BAD, UNDECIDED, INTERRUPTED, INTERNAL = 0, 1, 2, 3, 130, 70


BETWEEN_LOOKS = 0.25
"""Seconds between two checks of the limits while a command waits: short for a user."""

_SIGNAL = getattr(signal, "SIGURG", None) or signal.SIGBREAK  # type: ignore[attr-defined,unused-ignore]
"""The signal that interrupts a command at a limit; without a handler the system ignores it.

Only Windows has SIGBREAK, so mypy elsewhere does not know it.
"""


@contextmanager
def within_limits(arguments: argparse.Namespace) -> Iterator[None]:
    """Apply the limits of a command to a block, even while it waits for a pipe.

    A thread checks the limits and interrupts the main thread when one is exceeded: timers and their
    signals belong to the program that called `main`.
    """
    seconds, memory = arguments.time_limit, arguments.memory_limit
    with limits(seconds, memory):
        if (seconds is None and memory is None) or current_thread() is not main_thread():
            yield
            return
        over = Event()

        def look() -> None:
            while not over.wait(BETWEEN_LOOKS):
                try:
                    poll()
                except CerlabError:
                    _signal_main_thread()

        def stop(*_: object) -> None:
            if not over.is_set():
                poll()

        # The limits are in a context variable, which a new thread does not inherit.
        looks = Thread(target=copy_context().run, args=(look,), daemon=True)
        before = signal.signal(_SIGNAL, stop)
        looks.start()
        try:
            yield
        finally:
            over.set()
            looks.join()
            signal.signal(_SIGNAL, before or signal.SIG_DFL)


def _signal_main_thread() -> None:
    # A real signal also interrupts the read of a pipe; Windows has no such signal.
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(main_thread().ident or 0, _SIGNAL)
    else:
        interrupt_main(_SIGNAL)
