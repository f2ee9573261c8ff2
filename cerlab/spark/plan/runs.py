"""Runs: stretches of rows that are in order where they lie, each described by one row.

Where the runs of all tasks do not overlap, to sort them is to sort the stream: then the first pass
moves a row for each run, and no others. What it reads has these columns:

``k0 k1 ..``  what orders the stream; the last is the position, where the stream has one
``named``     boolean, whether the event type is a text that is not empty, and NULL without one;
              without the column they all are
``kept``      boolean, whether a row is of a stream in FROM; without the column all are
``time``      int64 or float64, where the query has a window in time
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from cerlab.model.columns import numbers_of
from cerlab.spark.plan.order import indices_in_from, mask
from cerlab.spark.tasks.rows import SIZE, keys_in, tables_of

Instant: TypeAlias = int | float

RUN = 1 << 13
"""How many rows a run has at most, until a task has read `FEW` times as many; then it is longer."""

FEW = 64

MOST_SHORT_RUNS = 64
"""So many runs a task may have, however short; with many more its rows are not in order."""


@dataclass(frozen=True, slots=True)
class Run:
    """A stretch of the stream: the keys of its ends, its rows, and the times of those in FROM."""

    first: tuple[Any, ...]
    last: tuple[Any, ...]
    rows: int
    rows_in_from: int
    first_time: Instant | None = None
    last_time: Instant | None = None


def runs_of(
    batches: Iterable[Any], *, positions: bool, longest: int = RUN, size: int = SIZE
) -> Iterator[Any]:
    """Record batches of runs, ``f0 .. l0 .. rows kept first_time last_time``.

    It ends early, with a row of NULL, where rows are no runs of a stream: an event without key,
    type or time, two in one place, a time or (with `positions`) a position that goes back inside a
    run, or too many short runs. What exactly is wrong is for `cerlab.spark.plan.survey` to say.
    """
    import pyarrow as pa

    count = read = 0
    for table in tables_of(batches, size):
        (rows,) = table.combine_chunks().to_batches()
        length = max(longest, read // FEW)
        starts = _starts(rows, length) if _has_all(rows) else np.zeros(0, np.int64)
        batch = run_table(rows, starts)
        count, read = count + len(starts), read + rows.num_rows
        too_many = count > MOST_SHORT_RUNS + 8 * read // longest
        if not len(starts) or too_many or _goes_back(rows, starts, positions=positions):
            yield pa.RecordBatch.from_pylist([{}], batch.schema)
            return
        yield batch


def runs_in(rows: Iterable[dict[str, Any]], keys: int) -> list[Run] | None:
    """The runs that rows of `runs_of` describe; None if a task gave up."""
    every = list(rows)
    return None if any(row["rows"] is None for row in every) else [run_in(r, keys) for r in every]


def run_in(row: dict[str, Any], keys: int) -> Run:
    """The run that one row describes."""
    first, last = (tuple(row[f"{end}{n}"] for n in range(keys)) for end in "fl")
    return Run(first, last, row["rows"], row["kept"], row["first_time"], row["last_time"])


def in_order(runs: Iterable[Run], *, positions: bool) -> tuple[Run, ...] | None:
    """The runs in the order of the stream; None if two overlap, or a position or time goes back."""
    sorted_runs = tuple(sorted(runs, key=lambda run: run.first))
    if not all(_follows(run, after, positions=positions) for run, after in pairwise(sorted_runs)):
        return None
    ends = (time for run in sorted_runs for time in (run.first_time, run.last_time))
    times = [time for time in ends if time is not None]
    return sorted_runs if all(time <= after for time, after in pairwise(times)) else None


def _follows(run: Run, after: Run, *, positions: bool) -> bool:
    return run.last < after.first and (not positions or run.last[-1] < after.first[-1])


def descents(rows: Any) -> Any:
    """Of every row but the first, whether its keys are below those of the row before: bool."""
    back, _ = _neighbours(rows)
    return back


def _neighbours(rows: Any) -> tuple[Any, Any]:
    """Of every row but the first: whether it is before the one before it, and in its place."""
    import pyarrow.compute as pc

    count = rows.num_rows - 1
    back, same = np.zeros(count, bool), np.ones(count, bool)
    for key in map(rows.column, keys_in(rows)):
        if is_whole(key):
            numbers = numbers_of(key)
            back |= same & (numbers[1:] < numbers[:-1])
            same &= numbers[1:] == numbers[:-1]
        else:
            before, after = key.slice(0, count), key.slice(1)
            back |= same & mask(pc.less(after, before))
            same &= mask(pc.equal(after, before))
    return back, same


def is_whole(column: Any) -> bool:
    """Whether an array is of int64 without NULL."""
    import pyarrow as pa

    return bool(pa.types.is_int64(column.type)) and not column.null_count


def _has_all(rows: Any) -> bool:
    """Whether every event has its keys and a type, and every one in FROM a time."""
    import pyarrow.compute as pc

    for key in map(rows.column, keys_in(rows)):
        if not is_whole(key) and mask(pc.is_null(key, nan_is_null=True)).any():
            return False
    times = _times_in_from(rows)
    have_types = "named" not in rows.schema.names or mask(rows.column("named")).all()
    return bool(have_types and (is_whole(times) or mask(pc.is_finite(times)).all()))


def _times_in_from(rows: Any) -> Any:
    """The times of the rows in FROM; 0 for all where the query has no window in time."""
    import pyarrow as pa

    indices = indices_in_from(rows) if "kept" in rows.schema.names else None
    if "time" not in rows.schema.names:
        return pa.array(np.zeros(rows.num_rows if indices is None else len(indices), np.int64))
    return rows.column("time") if indices is None else rows.column("time").take(indices)


def _starts(rows: Any, longest: int) -> Any:
    """The first rows of the runs, int64; none of them if two events are in one place.

    A run ends where the keys go down, and after `longest` rows; and before the widest gap in those,
    for where files meet in a table the rows of other files may lie between.
    """
    back, same = _neighbours(rows)
    if same.any():
        return np.zeros(0, np.int64)
    gaps = _gaps(rows.column("k0"))
    starts: list[int] = []
    for begins, ends in pairwise([0, *(np.flatnonzero(back) + 1).tolist(), rows.num_rows]):
        for start in range(begins, ends, longest):
            starts.append(start)
            inside = gaps[start : min(start + longest, ends) - 1]
            if len(inside):
                starts.append(start + 1 + int(inside.argmax()))
    return np.array(starts, np.int64)


def _gaps(column: Any) -> Any:
    """How far each row but the first is from the one before; nothing for keys without distance."""
    import pyarrow as pa

    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        return np.zeros(0)
    with np.errstate(invalid="ignore"):  # from infinity to infinity
        return np.diff(column.to_numpy().astype(np.float64))


def _goes_back(rows: Any, starts: Any, *, positions: bool) -> bool:
    """Whether the time of rows in FROM, or the position, goes back inside a run."""
    pairs = [(_times_in_from(rows).to_numpy(), indices_in_from(rows))]
    if positions:
        pairs.append((rows.column(keys_in(rows)[-1]).to_numpy(), np.arange(rows.num_rows)))
    for values, at in pairs:
        run = np.searchsorted(starts, at, side="right")
        if ((values[1:] < values[:-1]) & (run[1:] == run[:-1])).any():
            return True
    return False


def run_table(rows: Any, starts: Iterable[int]) -> Any:
    """A row for each run, ``f0 .. l0 .. rows kept first_time last_time``; `starts` are their first.

    The keys of its ends, what it holds, and its times.
    """
    import pyarrow as pa

    starts = np.array(list(starts), np.int64)
    ends = np.append(starts[1:], [rows.num_rows] if len(starts) else []).astype(np.int64)
    low, high, times = starts, ends, _times_in_from(rows)
    if "kept" in rows.schema.names:
        indices = indices_in_from(rows)
        low, high = np.searchsorted(indices, starts), np.searchsorted(indices, ends)
    empty = low == high
    keys = [rows.column(key) for key in keys_in(rows)]
    columns = {f"f{n}": key.take(pa.array(starts)) for n, key in enumerate(keys)}
    columns |= {f"l{n}": key.take(pa.array(ends - 1)) for n, key in enumerate(keys)}
    columns |= {"rows": pa.array(ends - starts), "kept": pa.array(high - low)}
    columns["first_time"] = times.take(pa.array(low, mask=empty))
    columns["last_time"] = times.take(pa.array(high - 1, mask=empty))
    return pa.RecordBatch.from_pydict(columns)
