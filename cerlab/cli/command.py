"""Common parts of all commands: exit statuses, limits, examples of ``--help``."""

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
"""Seconds between two looks at the limits of a command that waits or computes elsewhere."""

_SIGNAL = getattr(signal, "SIGURG", None) or signal.SIGBREAK  # type: ignore[attr-defined,unused-ignore]
"""The signal that interrupts a command at a limit: without a handler the system ignores it."""


def add_limits(parser: argparse.ArgumentParser) -> None:
    """Add the options that bound a command's time and memory."""
    parser.add_argument(
        "--time-limit", type=float, metavar="SECONDS", help="stop after so many seconds, exit 2"
    )
    parser.add_argument(
        "--memory-limit", metavar="SIZE", help="stop beyond so much memory, like 500MB or 2GiB"
    )


@contextmanager
def within_limits(arguments: argparse.Namespace) -> Iterator[None]:
    """A block within the limits of a command, which are seen while it waits for a pipe too.

    A thread looks at the limits, and at the first that is reached interrupts the main thread:
    timers and their signals belong to the program that called `main`.
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

        # The limits are in a context variable, which a new thread would not see.
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
    # A real signal also ends the read of a pipe, which Windows has no signal for.
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(main_thread().ident or 0, _SIGNAL)
    else:
        interrupt_main(_SIGNAL)


EXAMPLES = {
    "run": """
  cerlab run "BUY ; SELL" trades.csv
  cerlab run "SELECT * WHERE BUY AS b ; SELL AS s WITHIN 10 SECONDS" trades.csv --time t:s \\
      --columns b.price,s.price --format csv
  cerlab run "SELECT COUNT(*), MAX(s.price) WHERE BUY ; SELL AS s GROUP BY end" trades.csv
  tail -f trades.ndjson | cerlab run "BUY ; SELL" -
""",
    "check": """
  cerlab check "BUY ; SELL FILTER SELL[price > 3 AND price < 2]"
""",
    "show": """
  cerlab show "BUY ; SELL" --what cea
  cerlab show "BUY+ ; SELL" --what det --format svg -o machine.svg
  cerlab show "BUY ; SELL" trades.csv
""",
    "equivalent": """
  cerlab equivalent "(A ; B) ; C" "A ; (B ; C)"
""",
    "contained": """
  cerlab contained "A : B" "A ; B"
""",
    "why": """
  cerlab why "BUY ; SELL" trades.csv
  cerlab why "BUY ; SELL" trades.csv --positions 0,1
""",
    "sql": """
  cerlab sql "SELECT low FROM trades MATCH_RECOGNIZE (MEASURES FIRST(price) AS low \\
      PATTERN (A B+) DEFINE B AS price > PREV(price))" trades.csv
""",
    "convert": """
  cerlab convert trades.csv trades.parquet
  cerlab convert trades.csv - --to ndjson
""",
    "explain": """
  cerlab explain CER0802
""",
    "lab": """
  cerlab lab --no-browser
""",
    "fmt": """
  cerlab fmt "select * where A as x within 3 events"
""",
    "demo": """
  cerlab demo
""",
    "completion": """
  eval "$(cerlab completion bash)"
  cerlab completion zsh > ~/.zsh/completions/_cerlab
""",
}
"""Examples by command; the other commands have theirs in their docstrings."""
