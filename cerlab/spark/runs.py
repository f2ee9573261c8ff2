"""Runs: stretches of rows in order, found by tasks and combined by the driver."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, pairwise, takewhile
from typing import Any, TypeAlias

import numpy as np

from cerlab.engine.row_order import (
    LAST_MOMENT,
    ColumnNames,
    are_far,
    backwards,
    first_problem,
    indices_in_from,
    is_stream,
    mask,
)
from cerlab.errors import BadData, by_door
from cerlab.model.arrays import numbers_of
from cerlab.model.stream import HINT_OF_FAR

HINTS = {
    "CER0701": by_door("give type= if no column has it", "give --type NAME if no column has it"),
    "CER0712": "every event that is matched needs a finite number or a moment there",
    "CER0714": "order the stream by its time",
    "CER0740": HINT_OF_FAR,
    "CER0780": "every event needs a place in the stream",
    "CER0781": "add a column to order_by that tells them apart, or name a position",
    "CER0782": "a position is a different integer for each event, increasing along the stream",
}
"""Hints for an event that is out of order in a stream, by the code of its error."""


def quantiles(sample: Sequence[tuple[Any, ...]], parts: int) -> list[tuple[Any, ...]]:
    """Return at most ``parts - 1`` different, evenly spaced cuts through a sorted sample.

    >>> quantiles([(1,), (2,), (3,), (4,), (5,), (6,)], 3)
    [(3,), (5,)]
    """
    distinct = list(dict.fromkeys(sample))
    places = {len(distinct) * k // parts for k in range(1, parts)} - {0}
    return [distinct[place] for place in sorted(places)]


SURVEY = (
    ("unit", "integer"),
    *((name, "long") for name in ("first", "first_kept", "at")),
    *(("code", "string"), ("text", "string")),
)
"""Columns of a survey in addition to those of runs, with Spark's types.

``unit`` is the number of the run. ``first``, ``first_kept`` and ``at`` are the places of its first
row, of its first row in FROM and of a faulty row: positions if the stream has them, otherwise
numbers of rows in the run. ``code`` and ``what`` describe the fault.
"""


def survey_run(number: int, rows: Any, labels: ColumnNames, *, positions: bool) -> Any:
    """Return a record batch that describes some rows as a run, with the columns of `SURVEY`."""
    import pyarrow as pa

    problem = None
    if not _is_plainly_a_stream(rows, labels, positions=positions):
        problem = first_problem(None, _order_table(rows, positions=positions), labels)

    def place(row: int) -> int | None:
        value: int | None = rows.column(keys_in(rows)[-1])[row].as_py() if positions else row
        return value

    in_from = indices_in_from(rows)
    more = {
        "unit": pa.array([number], pa.int32()),
        "first": pa.array([place(0)], pa.int64()),
        "first_kept": pa.array([place(int(in_from[0])) if len(in_from) else None], pa.int64()),
        "at": pa.array([place(problem.row) if problem else None], pa.int64()),
        "code": pa.array([problem.code if problem else None], pa.string()),
        "text": pa.array([problem.text if problem else None], pa.string()),
    }
    run = run_table(rows, [0])
    return pa.RecordBatch.from_arrays(
        [*run.columns, *more.values()], names=[*run.schema.names, *more]
    )


def _is_plainly_a_stream(rows: Any, labels: ColumnNames, *, positions: bool) -> bool:
    """Return whether all ordering columns are whole numbers and the rows have no fault."""
    times = [rows.column("time")] if "time" in rows.schema.names else []
    keys = [*map(rows.column, keys_in(rows))]
    if "kept" in rows.schema.names or not all(map(is_whole, [*keys, *times])):
        return False
    if times and labels.moments and mask(are_far(times[0])).any():
        return False
    numbers = [*map(numbers_of, [*keys, *times])]
    time = numbers[-1] if times else None
    in_order = is_stream(numbers[: len(keys)], time, positions=positions)
    return in_order and ("named" not in rows.schema.names or bool(mask(rows.column("named")).all()))


def _order_table(rows: Any, *, positions: bool) -> Any:
    """Return the ordering columns of some rows, as `cerlab.spark.plan` defines them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    table = pa.Table.from_batches([rows])
    has_type = (
        table.column("named") if "named" in table.column_names else pa.array([True] * len(table))
    )
    table = table.append_column("type", pc.if_else(has_type, "a type", ""))
    return table.append_column("position", table.column(keys_in(rows)[-1])) if positions else table


def runs_of_survey(
    rows: Iterable[dict[str, Any]], labels: ColumnNames, *, positions: bool
) -> tuple[SortedRun, ...]:
    """Return the runs that rows of `survey_run` describe, in order.

    Raises `BadData` for the first event that cannot be at its place in a stream.
    """
    runs: list[SortedRun] = []
    before, last_time = 0, None
    for row in sorted(rows, key=lambda row: row["unit"]):
        run, start = run_in(row, len(labels.keys)), 0 if positions else before
        if positions and runs and row["first"] <= runs[-1].last[-1]:
            message = f"the positions do not increase: {runs[-1].last[-1]}, then {row['first']}"
            raise _bad(row["first"], "CER0782", message)
        if last_time is not None and run.first_time is not None and run.first_time < last_time:
            message = backwards(last_time, run.first_time, labels)
            raise _bad(row["first_kept"] + start, "CER0714", message)
        if row["code"] is not None:
            raise _bad((row["at"] or 0) + start, row["code"], row["text"])
        runs.append(run)
        before += run.rows
        last_time = last_time if run.last_time is None else run.last_time
    return tuple(runs)


def _bad(place: int, code: str, message: str) -> BadData:
    return BadData(code, f"at position {place}: {message}", hint=HINTS[code])


SIZE = 1 << 16
"""Least number of rows in a table that an engine reads."""


BYTES = 1 << 26
"""Bytes after which a table is read, however few its rows: wide rows fill the memory too."""


def tables_of(batches: Iterable[Any], size: int = SIZE) -> Iterator[Any]:
    """Yield tables of at least `size` rows or `BYTES`, except the last; rows are not copied."""
    import pyarrow as pa

    waiting: list[Any] = []
    rows = filled = 0
    for batch in batches:
        waiting.append(batch)
        rows, filled = rows + batch.num_rows, filled + batch.nbytes
        if rows >= size or filled >= BYTES:
            yield pa.Table.from_batches(waiting)
            waiting, rows, filled = [], 0, 0
    if rows:
        yield pa.Table.from_batches(waiting)


def numbers_in(batches: Iterable[Any]) -> Iterator[int]:
    """Yield the integers in the only column of a task's input."""
    for batch in batches:
        yield from batch.column(0).to_pylist()


def integers(table: Any, name: str) -> Any:
    """Return a column of integers, moments or days without NULL as an int64 array."""
    import pyarrow as pa

    column = table.column(name)
    if pa.types.is_date32(column.type):
        column = column.cast(pa.int32())
    column = column.cast(pa.int64())
    parts = [*map(numbers_of, column.chunks if hasattr(column, "chunks") else [column])]
    return parts[0] if len(parts) == 1 else np.concatenate([np.zeros(0, np.int64), *parts])


def keys_in(rows: Any) -> list[str]:
    """Return the columns that order rows: ``k0``, ``k1``, .."""
    return list(takewhile(rows.schema.names.__contains__, (f"k{n}" for n in count())))


Instant: TypeAlias = int | float

RUN = 1 << 13
"""Most rows of a run, until a task has read `FEW` times as many; later runs are longer."""

FEW = 64

MOST_SHORT_RUNS = 64
"""Most short runs of a task; with more, the task's rows count as unordered."""


@dataclass(frozen=True, slots=True)
class SortedRun:
    """A stretch of a stream: first and last keys, number of rows, and times in FROM."""

    first: tuple[Any, ...]
    last: tuple[Any, ...]
    rows: int
    rows_in_from: int
    first_time: Instant | None = None
    last_time: Instant | None = None


def runs_of(
    batches: Iterable[Any], *, positions: bool, longest: int = RUN, size: int = SIZE
) -> Iterator[Any]:
    """Yield record batches of runs, ``f0 .. l0 .. rows kept first_time last_time``.

    It ends early, with a row of NULL, if rows are not runs of a stream: an event without key, type
    or time, two in one place, a time or (with `positions`) a position that goes back inside a run,
    or too many short runs. `survey_run` reports the exact fault.
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


def runs_in(rows: Iterable[dict[str, Any]], keys: int) -> list[SortedRun] | None:
    """Return the runs that rows of `runs_of` describe; None if a task found too many."""
    every = list(rows)
    return None if any(row["rows"] is None for row in every) else [run_in(r, keys) for r in every]


def run_in(row: dict[str, Any], keys: int) -> SortedRun:
    """Return the run that one row describes."""
    first, last = (tuple(row[f"{end}{n}"] for n in range(keys)) for end in "fl")
    return SortedRun(first, last, row["rows"], row["kept"], row["first_time"], row["last_time"])


def in_order(
    runs: Iterable[SortedRun], *, positions: bool, moments: bool = False
) -> tuple[SortedRun, ...] | None:
    """Return the runs in the order of the stream.

    None if two overlap, a position or time goes back, or a time is a far moment (`moments`).
    """
    sorted_runs = tuple(sorted(runs, key=lambda run: run.first))
    if not all(_follows(run, after, positions=positions) for run, after in pairwise(sorted_runs)):
        return None
    ends = (time for run in sorted_runs for time in (run.first_time, run.last_time))
    times = [time for time in ends if time is not None]
    if moments and any(abs(time) > LAST_MOMENT for time in times):
        return None
    return sorted_runs if all(time <= after for time, after in pairwise(times)) else None


def _follows(run: SortedRun, after: SortedRun, *, positions: bool) -> bool:
    return run.last < after.first and (not positions or run.last[-1] < after.first[-1])


def descents(rows: Any) -> Any:
    """Return for each row but the first whether its keys are below the row before: bool."""
    back, _ = _neighbours(rows)
    return back


def _neighbours(rows: Any) -> tuple[Any, Any]:
    """Return for each row but the first whether it is before, or equal to, its predecessor."""
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
    """Return whether an array is int64 without NULL."""
    import pyarrow as pa

    return bool(pa.types.is_int64(column.type)) and not column.null_count


def _has_all(rows: Any) -> bool:
    """Return whether every event has its keys and a type, and in FROM also a time."""
    import pyarrow.compute as pc

    for key in map(rows.column, keys_in(rows)):
        if not is_whole(key) and mask(pc.is_null(key, nan_is_null=True)).any():
            return False
    times = _times_in_from(rows)
    have_types = "named" not in rows.schema.names or mask(rows.column("named")).all()
    return bool(have_types and (is_whole(times) or mask(pc.is_finite(times)).all()))


def _times_in_from(rows: Any) -> Any:
    """Return the times of the rows in FROM; 0 for all if the query has no window in time."""
    import pyarrow as pa

    indices = indices_in_from(rows) if "kept" in rows.schema.names else None
    if "time" not in rows.schema.names:
        return pa.array(np.zeros(rows.num_rows if indices is None else len(indices), np.int64))
    return rows.column("time") if indices is None else rows.column("time").take(indices)


def _starts(rows: Any, longest: int) -> Any:
    """Return the first rows of the runs, int64; empty if two events have equal keys.

    A run ends where the keys descend, and after `longest` rows; also before the widest gap in it,
    because rows of other files may lie between files that meet in a table.
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
    """Return the distance of each row from its predecessor; empty for keys without distance."""
    import pyarrow as pa

    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        return np.zeros(0)
    with np.errstate(invalid="ignore"):  # from infinity to infinity
        return np.diff(column.to_numpy().astype(np.float64))


def _goes_back(rows: Any, starts: Any, *, positions: bool) -> bool:
    """Return whether the time of rows in FROM, or the position, goes back inside a run."""
    pairs = [(_times_in_from(rows).to_numpy(), indices_in_from(rows))]
    if positions:
        pairs.append((rows.column(keys_in(rows)[-1]).to_numpy(), np.arange(rows.num_rows)))
    for values, at in pairs:
        run = np.searchsorted(starts, at, side="right")
        if ((values[1:] < values[:-1]) & (run[1:] == run[:-1])).any():
            return True
    return False


def run_table(rows: Any, starts: Iterable[int]) -> Any:
    """Return a row for each run, ``f0 .. l0 .. rows kept first_time last_time``.

    `starts` are their first rows. A row has the keys of the ends, the numbers of rows, and the
    times.
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
