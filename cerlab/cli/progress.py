"""Progress bars: on a terminal, on stderr, for what lasts over two seconds."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from cerlab import io
from cerlab.cli.options import input_options, time_option
from cerlab.compile.pattern import AnyPattern
from cerlab.io.rows import Part, length
from cerlab.model.event import Event
from cerlab.model.stream import Stream

T = TypeVar("T")

_PATIENCE_SECONDS = 2.0
_EVERY = 1024


def watched(events: Iterable[Event], what: str, total: int | None = None) -> Iterator[Event]:
    """The same events; a bar appears once they have taken more than two seconds."""
    yield from _watched(events, what, total, lambda _: 1)


def watched_reading(parts: Iterable[Part]) -> Iterator[Part]:
    """The same parts of a file, with such a bar."""
    yield from _watched(parts, "reading", None, length)


def whole_stream(query: AnyPattern, arguments: argparse.Namespace) -> Stream:
    """The events that the command line names, read to their end."""
    column, unit = time_option(arguments)
    return io.read(
        arguments.events,
        time=column,
        unit=unit,
        sort=arguments.sort,
        watch=watched_reading,
        **input_options(arguments, query),
    )


def _watched(
    parts: Iterable[T], what: str, total: int | None, length: Callable[[T], int]
) -> Iterator[T]:
    if not sys.stderr.isatty():
        yield from parts
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    console = Console(stderr=True)
    progress = Progress(*columns, TimeElapsedColumn(), console=console, transient=True)
    task = progress.add_task(what, total=total)
    started = time.monotonic()
    visible = False
    try:
        passed = shown = 0
        for part in parts:
            if passed >= shown:
                shown = passed + _EVERY
                if not visible and time.monotonic() - started > _PATIENCE_SECONDS:
                    progress.start()
                    visible = True
                progress.update(task, completed=passed)
            yield part
            passed += length(part)
    finally:
        if visible:
            progress.stop()


class WatchedStream(Stream):
    """A stream whose iteration shows its progress."""

    __slots__ = ()

    def __iter__(self) -> Iterator[Event]:
        return watched(self.events, "evaluating", len(self.events))
