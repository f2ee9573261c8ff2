"""The first pass: what each stretch of the stream holds, and whether its order is one.

It reads the columns of `cerlab.spark.plan.order` and no others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from cerlab.spark.plan.order import Labels, Problem, backwards, first_problem, kept_rows
from cerlab.spark.tasks.rows import SIZE, gathered, stretches

Instant: TypeAlias = int | float


@dataclass(frozen=True, slots=True)
class Summary:
    """What one stretch holds.

    A place is a position where the stream has a column of them, else an index in the stretch:
    of its first and last row, of its first row of the streams in FROM (`kept`), and of the first
    of the last `width` of those (`tail`). `code`, `what` and `at` say what is wrong, and where;
    nothing after that is in the other numbers.
    """

    part: int
    rows: int = 0
    kept: int = 0
    first: int | None = None
    last: int | None = None
    first_kept: int | None = None
    tail: int | None = None
    first_time: Instant | None = None
    last_time: Instant | None = None
    code: str | None = None
    what: str | None = None
    at: int | None = None


SUMMARY = (
    *((name, "long") for name in ("part", "rows", "kept", "first", "last", "first_kept", "tail")),
    *(("first_time", "time"), ("last_time", "time")),
    *(("code", "string"), ("what", "string"), ("at", "long")),
)
"""The columns of summaries with their types; ``time`` is that of the time of the stream."""


def summaries(
    batches: Iterable[Any],
    labels: Labels,
    *,
    whole_times: bool,
    width: int = 0,
    size: int = SIZE,
) -> Iterator[Any]:
    """A record batch for each stretch; the rows come sorted by ``part`` and the keys.

    `width` is that of a window that counts events. Times are int64 if `whole_times`, else float64.
    """
    import pyarrow as pa

    types = {
        "long": pa.int64(),
        "string": pa.string(),
        "time": pa.int64() if whole_times else pa.float64(),
    }
    schema = pa.schema([(name, types[kind]) for name, kind in SUMMARY])
    for part, pieces in stretches(gathered(batches, size), "part"):
        yield pa.RecordBatch.from_pylist([asdict(_summary(part, pieces, labels, width))], schema)


def _summary(part: int, pieces: Iterator[Any], labels: Labels, width: int) -> Summary:
    made, before, tail = Summary(part), None, np.zeros(0, np.int64)
    for rows in pieces:
        if made.code is None:
            places = _places(rows, made.rows)
            problem = first_problem(before, rows, labels) or _jump(made, rows)
            if problem is not None:
                at = int(places[problem.row])
                made = replace(made, code=problem.code, what=problem.what, at=at)
                continue
            made, tail = _extended(made, rows, places, tail, width)
            before = rows.slice(rows.num_rows - 1)
    return made


def _places(rows: Any, read: int) -> Any:
    if "position" in rows.column_names:
        return rows.column("position").combine_chunks().fill_null(-1).to_numpy()
    return np.arange(read, read + rows.num_rows)


def _jump(made: Summary, rows: Any) -> Problem | None:
    """A time that goes back from one table to the next."""
    kept = kept_rows(rows)
    if made.last_time is None or not len(kept):
        return None
    now = rows.column("time")[int(kept[0])].as_py()
    if now >= made.last_time:
        return None
    return Problem(int(kept[0]), "CER0714", backwards(made.last_time, now))


def _extended(made: Summary, rows: Any, places: Any, tail: Any, width: int) -> tuple[Summary, Any]:
    """The summary and the last `width` kept places, after some more rows."""
    first = int(places[0]) if made.first is None else made.first
    made = replace(made, rows=made.rows + rows.num_rows, first=first, last=int(places[-1]))
    kept = kept_rows(rows)
    if not len(kept):
        return made, tail
    first_kept = int(places[kept[0]]) if made.first_kept is None else made.first_kept
    made = replace(made, kept=made.kept + len(kept), first_kept=first_kept)
    if width:
        tail = np.concatenate((tail, places[kept]))[-width:]
        made = replace(made, tail=int(tail[0]))
    if "time" in rows.column_names:
        times = rows.column("time")
        first_time, last_time = times[int(kept[0])].as_py(), times[int(kept[-1])].as_py()
        begun = first_time if made.first_time is None else made.first_time
        made = replace(made, first_time=begun, last_time=last_time)
    return made, tail
