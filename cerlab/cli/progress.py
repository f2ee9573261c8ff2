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
from cerlab.io.formats import is_pipe
from cerlab.io.rows import Part, length
from cerlab.model.event import Event
from cerlab.model.stream import Stream

T = TypeVar("T")

_PATIENCE_SECONDS = 2.0
_EVERY = 1024


def whole_stream(query: AnyPattern | None, arguments: argparse.Namespace) -> Stream:
    """The events that the command line names, read to their end, for a query if there is one."""

    def watch(parts: Iterable[Part]) -> Iterator[Part]:
        return bar(parts, "reading", about(arguments.events), length)

    column, unit = time_option(arguments)
    options = input_options(arguments, query)
    return io.read(
        arguments.events, time=column, unit=unit, sort=arguments.sort, watch=watch, **options
    )


def about(path: str) -> int | None:
    """About how many events a file has; None where nobody knows, as of a pipe."""
    if not sys.stderr.isatty() or is_pipe(path):
        return None
    return io.estimated_length(path)


def bar(
    parts: Iterable[T], what: str, total: int | None, length: Callable[[T], int]
) -> Iterator[T]:
    """The same parts; on a terminal with a bar, its percentage where a `total` is known."""
    if not sys.stderr.isatty():
        yield from parts
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
    )

    progress = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    task = progress.add_task(what, total=total)
    begin = time.monotonic()
    try:
        count = next_update = 0
        for part in parts:
            if count >= next_update:
                next_update = count + _EVERY
                if not progress.live.is_started and time.monotonic() - begin > _PATIENCE_SECONDS:
                    progress.start()
                progress.update(task, completed=count)
            yield part
            count += length(part)
    finally:
        progress.stop()


class WatchedStream(Stream):
    """A stream whose iteration shows its progress."""

    __slots__ = ()

    def __iter__(self) -> Iterator[Event]:
        return bar(self.events, "evaluating", len(self.events), lambda _: 1)
