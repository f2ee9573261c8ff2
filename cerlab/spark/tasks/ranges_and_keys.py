"""What the tasks of the batch pipeline do, over iterators of Arrow batches, without Spark."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from cerlab.errors import BadData
from cerlab.model.clauses import EventWindow
from cerlab.spark.plan.reads import last_instant, time_attribute, window_width
from cerlab.spark.tasks.evaluation import Evaluation, Job, known
from cerlab.spark.tasks.rows import SIZE, gathered, integers, stretches

_NANOSECOND = 1


def number(
    batches: Iterable[Any], offsets: tuple[int, ...], rows: tuple[int, ...], size: int = SIZE
) -> Iterator[Any]:
    """The same rows with their ``position``: those of a stretch come in order, by ``part``.

    Raises `BadData` if a stretch has not as many rows as the survey counted.
    """
    import pyarrow as pa

    for part, pieces in stretches(gathered(batches, size), "part"):
        read = 0
        for piece in pieces:
            places = offsets[part] + read + np.arange(piece.num_rows)
            read += piece.num_rows
            yield from piece.append_column("position", pa.array(places)).to_batches()
        same_as_surveyed(read, rows[part])


def evaluate_ranges(
    batches: Iterable[Any],
    job: Job,
    offsets: tuple[int, ...],
    kept: tuple[int, ...],
    size: int = SIZE,
) -> Iterator[Any]:
    """The answers that end in the own rows of each range.

    The rows of a range come in order, by ``part``; ``own`` is false before its own rows begin. Rows
    without ``position`` are consecutive. Raises `BadData` if a range has not as many own rows as
    the survey counted.
    """
    for part, pieces in stretches(gathered(batches, size), "part"):
        run = Evaluation(job)
        run.own = None
        for rows in pieces:
            if run.own is None:
                before = rows.num_rows - int(integers(rows, "own").sum())
                if before < rows.num_rows:
                    run.own = run.read + before
                    run.first = offsets[part] - run.own
            yield from run.push(rows)
        yield from run.finish()
        same_as_surveyed(0 if run.own is None else run.read - run.own, kept[part])


def same_as_surveyed(read: int, surveyed: int) -> None:
    """Raise `BadData` if a stretch has another number of rows than in the first pass."""
    if read != surveyed:
        raise changed(f"a stretch had {surveyed} rows in the first pass and has {read} now")


def changed(what: str) -> BadData:
    """The error for rows that are not those of the first pass."""
    hint = "the DataFrame is not the same each time it is read: write or cache it first"
    return BadData("CER0783", what, hint=hint)


def evaluate_keys(batches: Iterable[Any], job: Job, size: int = SIZE) -> Iterator[Any]:
    """The answers of all keys; the rows come sorted by ``group`` and ``position``.

    A group holds all rows of a key, perhaps of several: the engine has PARTITION BY besides. Small
    groups are read together, by position; one of `size` rows or more goes through in pieces, and is
    never in memory as a whole.
    """
    import pyarrow as pa

    long: tuple[int, _LongRun] | None = None
    waiting: list[Any] = []
    for rows in gathered(batches, size):
        if long is not None:
            over = int(np.searchsorted(integers(rows, "group"), long[0], side="right"))
            yield from long[1].push(rows.slice(0, over))
            if over == rows.num_rows:
                continue
            long, rows = None, rows.slice(over)
        whole = pa.concat_tables([*waiting, rows])
        groups = integers(whole, "group")
        cut = int(np.searchsorted(groups, groups[-1]))
        yield from _together(whole.slice(0, cut), job)
        last = whole.slice(cut)
        if last.num_rows < size:
            waiting = [last]
            continue
        long, waiting = (int(groups[-1]), _LongRun(job)), []
        yield from long[1].push(last)
    for rows in waiting:
        yield from _together(rows, job)


def _together(rows: Any, job: Job) -> Iterator[Any]:
    """The answers of some groups that are all here."""
    if rows.num_rows:
        run = Evaluation(job)
        yield from run.push(rows.take(np.argsort(integers(rows, "position"))))
        yield from run.finish()


class _LongRun:
    """A group that goes through in pieces; positions are kept for one window."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._plan, _ = known(job.plan)
        self._run = Evaluation(job, at_once=True)
        self._pieces: deque[tuple[int, Fraction]] = deque()  # the end of each, and its last time
        self._keys: set[tuple[Any, ...]] = set()

    def push(self, rows: Any) -> Iterator[Any]:
        """Read the next piece; yields its answers."""
        if rows.num_rows:
            yield from self._run.push(rows)
            self._forget(rows)

    def _forget(self, rows: Any) -> None:
        """Let go of the pieces that are before the window of all rows to come."""
        window = self._plan.window
        if isinstance(window, EventWindow):
            if self._has_one_key(rows):
                self._run.forget(self._run.read - window.width)
        elif window is not None:
            name = time_attribute(self._plan, self._job.time)
            assert name is not None
            now = last_instant(self._column(rows, name), name)
            self._pieces.append((self._run.read, now))
            reach = now - window_width(self._plan, self._job.time, _NANOSECOND)
            while self._pieces[0][1] < reach:
                self._run.forget(self._pieces.popleft()[0])

    def _has_one_key(self, rows: Any) -> bool:
        """Whether the group is a substream, so that its rows are what the window counts."""
        if len(self._keys) < 2:
            columns = [self._column(rows, name).unique() for name in self._plan.partition]
            self._keys |= set(product(*(column.to_pylist() for column in columns)))
        return len(self._keys) < 2

    def _column(self, rows: Any, name: str) -> Any:
        return rows.column(f"a{self._job.attributes.index(name)}")
