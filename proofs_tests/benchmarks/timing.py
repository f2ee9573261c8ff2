"""Loop of all measurements: runs in turns, their medians, spreads and ratios; and tables.

Of two medians taken one after the other, the ratio is that of the runs times that of what else the
machine did meanwhile. So each round runs everything once, in an order that turns around, and ratios
are those inside the rounds.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from statistics import median, quantiles
from typing import Any, NamedTuple, TextIO, TypeAlias

Row: TypeAlias = dict[str, Any]
"""A measurement: figures by name, as a line of JSON has them."""

SHORTEST = 1e-9
"""Seconds; every time is at least this long, so that ratios of times exist."""


class Seconds(NamedTuple):
    """CPU time of all threads of this process, and wall time."""

    cpu: float
    wall: float


def once(run: Callable[[], object]) -> Seconds:
    """Return the seconds of one run."""
    cpu, wall = time.process_time(), time.perf_counter()
    run()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return Seconds(max(cpu, SHORTEST), max(wall, SHORTEST))


def rounds(
    runs: Mapping[str, Callable[[], object]], count: int, *, warm: bool = False
) -> dict[str, list[Seconds]]:
    """Run everything `count` times in turns, after a round that warms up if it is not `warm`."""
    names = list(runs)
    for name in () if warm else names:
        runs[name]()
    seconds: dict[str, list[Seconds]] = {name: [] for name in names}
    for number in range(count):
        for name in names if number % 2 else reversed(names):
            seconds[name].append(once(runs[name]))
    return seconds


def medians(seconds: Sequence[Seconds]) -> Row:
    """Return medians, and spreads: the longest run over the shortest.

    >>> medians([Seconds(2.0, 3.0), Seconds(1.0, 3.0), Seconds(4.0, 3.0)])
    {'cpu': 2.0, 'cpu_spread': 4.0, 'wall': 3.0, 'wall_spread': 1.0}
    """
    row: Row = {}
    for name, some in zip(Seconds._fields, zip(*seconds, strict=True), strict=True):
        row |= {name: median(some), f"{name}_spread": max(some) / min(some)}
    return row


def times_as_fast(first: Sequence[Seconds], other: Sequence[Seconds]) -> Row:
    """Return how many times as fast as the first the other is: median and quartiles of rounds.

    >>> some = [[Seconds(a, a) for a in each] for each in ([1.0, 2.0, 6.0], [2.0, 2.0, 3.0])]
    >>> times_as_fast(*some)["cpu_ratio"], times_as_fast(*some)["cpu_low"]
    (1.0, 0.75)
    """
    row: Row = {}
    for n, name in enumerate(Seconds._fields):
        ratios = [a[n] / b[n] for a, b in zip(first, other, strict=True)]
        low, middle, high = quantiles(ratios, n=4, method="inclusive")
        row |= {f"{name}_ratio": middle, f"{name}_low": low, f"{name}_high": high}
    return row


def pairs(runs: Mapping[str, Callable[[], object]], count: int) -> list[Row]:
    """Return each run against the first one; needs two runs and two rounds or more."""
    seconds = rounds(runs, count)
    first, *others = seconds
    return [
        {"query": name, "against": first, "rounds": count}
        | times_as_fast(seconds[first], seconds[name])
        for name in others
    ]


_HUGE = 1e12
_WIDEST = 300


def write_rows(rows: Iterable[Row], form: str, file: TextIO) -> None:
    """Write rows as they come, each as a line of JSON (``ndjson``), or all of them as ``table``."""
    if form == "table":
        write_table(list(rows), file)
        return
    for row in rows:
        file.write(json.dumps(row) + "\n")
        file.flush()


def write_table(rows: Iterable[Row], file: TextIO) -> None:
    """Write a table for each kind of rows; columns of one value are in its title."""
    from rich.console import Console
    from rich.table import Table

    console = Console(file=file, width=_WIDEST)
    for keys, group in groupby(rows, _keys):
        some = list(group)
        values = {key: {row[key] for row in some} for key in keys}
        head = [key for key in ("stream", "source", "events") if len(values.get(key, ())) == 1]
        columns = [key for key in keys if key not in head and not values[key] <= {None, "", False}]
        title = ", ".join(f"{_text(key, some[0])} {key}" for key in head)
        table = Table(title=title or None)
        for key in columns:
            numbers = all(isinstance(value, int | float | None) for value in values[key])
            name = key.replace("_", " ") + " MB" * key.startswith("memory_")
            table.add_column(name, justify="right" if numbers else "left", no_wrap=True)
        for row in some:
            table.add_row(*(_text(key, row) for key in columns))
        console.print(table)


def _keys(row: Row) -> tuple[str, ...]:
    return tuple(row)


def _text(key: str, row: Row) -> str:
    """Return the text of a cell, empty where the row has no figure for it."""
    value = row[key]
    match value:
        case None:
            return ""
        case bool() | str():
            return str(value)
        case int():
            return f"{value / 1e6:,.0f}" if key.startswith("memory_") else f"{value:,}"
    if value >= _HUGE:
        return f"{value:.1e}"
    return f"{value:,.0f}" if value >= 10_000 else f"{value:.4g}"
