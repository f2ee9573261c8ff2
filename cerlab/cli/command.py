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


BETWEEN_ALARMS = 0.25
"""Seconds between two looks at the limits of a command that waits or computes elsewhere."""


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

    The process is ours here, so a timer interrupts what does not look at the limits itself.
    """
    seconds, memory = arguments.time_limit, arguments.memory_limit
    with limits(seconds, memory):
        if (seconds is None and memory is None) or current_thread() is not main_thread():
            yield
            return
        # Windows has no `setitimer`.
        with _with_timer() if hasattr(signal, "setitimer") else _with_thread():
            yield


@contextmanager
def _with_timer() -> Iterator[None]:
    """A block in which a timer looks at the limits."""
    # An exception of the handler comes up wherever the main thread is, in a read of a pipe too.
    before = signal.signal(signal.SIGALRM, lambda *_: poll())
    signal.setitimer(signal.ITIMER_REAL, BETWEEN_ALARMS, BETWEEN_ALARMS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def _with_thread() -> Iterator[None]:
    """Enforce the limit without a timer: a thread looks, and at a limit interrupts this one."""
    over = Event()

    def look() -> None:
        while not over.wait(BETWEEN_ALARMS):
            try:
                poll()
            except CerlabError:
                interrupt_main()
                return

    # The limits are in a context variable, which a new thread would not see.
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
