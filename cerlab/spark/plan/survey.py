"""The survey of a stream whose rows lie in no order: its runs, and whether they are a stream.

A task gets all rows of a run, put in order (`cerlab.spark.tasks.shuffle_units`), with the columns
of `cerlab.spark.plan.runs`, and describes the run in one row.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from cerlab.errors import BadData
from cerlab.model.columns import numbers_of
from cerlab.spark.plan.order import (
    Labels,
    backwards,
    first_problem,
    indices_in_from,
    is_stream,
    mask,
)
from cerlab.spark.plan.runs import Run, is_whole, run_in, run_table
from cerlab.spark.tasks.rows import keys_in

HINTS = {
    "CER0701": "give type= (on the command line: --type) if no column has it",
    "CER0712": "every event that is matched needs a finite number or a moment there",
    "CER0714": "order the stream by its time",
    "CER0780": "every event needs a place in the stream",
    "CER0781": "add a column to order_by that tells them apart, or name a position",
    "CER0782": "a position is a different integer for each event, increasing along the stream",
}
"""What to do about an event that is not where a stream can have it, by the code of its error."""


def quantiles(sample: Sequence[tuple[Any, ...]], parts: int) -> list[tuple[Any, ...]]:
    """At most ``parts - 1`` cuts between rows of an ordered sample, all different, evenly far.

    >>> quantiles([(1,), (2,), (3,), (4,), (5,), (6,)], 3)
    [(3,), (5,)]
    """
    distinct = list(dict.fromkeys(sample))
    places = {len(distinct) * k // parts for k in range(1, parts)} - {0}
    return [distinct[place] for place in sorted(places)]


SURVEY = (
    ("unit", "integer"),
    *((name, "long") for name in ("first", "first_kept", "at")),
    *(("code", "string"), ("what", "string")),
)
"""The columns that a survey has besides those of runs, with the types of Spark.

``unit`` is the number of the run. ``first``, ``first_kept`` and ``at`` are the places of its first
row, of its first row of FROM and of one that is wrong: positions where the stream has them, else
numbers of rows in the run. ``code`` and ``what`` say what is wrong.
"""


def survey_run(number: int, rows: Any, labels: Labels, *, positions: bool) -> Any:
    """A record batch with the run of some rows, and the columns of `SURVEY`."""
    import pyarrow as pa

    problem = None
    if not _is_plainly_a_stream(rows, positions=positions):
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
        "what": pa.array([problem.what if problem else None], pa.string()),
    }
    run = run_table(rows, [0])
    return pa.RecordBatch.from_arrays(
        [*run.columns, *more.values()], names=[*run.schema.names, *more]
    )


def _is_plainly_a_stream(rows: Any, *, positions: bool) -> bool:
    """Whether all that orders the rows are whole numbers, and nothing is wrong with them."""
    times = [rows.column("time")] if "time" in rows.schema.names else []
    keys = [*map(rows.column, keys_in(rows))]
    if "kept" in rows.schema.names or not all(map(is_whole, [*keys, *times])):
        return False
    numbers = [*map(numbers_of, [*keys, *times])]
    time = numbers[-1] if times else None
    in_order = is_stream(numbers[: len(keys)], time, positions=positions)
    return in_order and ("named" not in rows.schema.names or bool(mask(rows.column("named")).all()))


def _order_table(rows: Any, *, positions: bool) -> Any:
    """The columns of `cerlab.spark.plan.order`."""
    import pyarrow as pa
    import pyarrow.compute as pc

    table = pa.Table.from_batches([rows])
    has_type = (
        table.column("named") if "named" in table.column_names else pa.array([True] * len(table))
    )
    table = table.append_column("type", pc.if_else(has_type, "a type", ""))
    return table.append_column("position", table.column(keys_in(rows)[-1])) if positions else table


def runs_of_survey(
    rows: Iterable[dict[str, Any]], labels: Labels, *, positions: bool
) -> tuple[Run, ...]:
    """The runs that rows of `survey_run` describe, in order.

    Raises `BadData` for the first event that is not where a stream can have it.
    """
    runs: list[Run] = []
    before, last_time = 0, None
    for row in sorted(rows, key=lambda row: row["unit"]):
        run, start = run_in(row, len(labels.keys)), 0 if positions else before
        if positions and runs and row["first"] <= runs[-1].last[-1]:
            what = f"the positions do not increase: {runs[-1].last[-1]}, then {row['first']}"
            raise _bad(row["first"], "CER0782", what)
        if last_time is not None and run.first_time is not None and run.first_time < last_time:
            what = backwards(last_time, run.first_time)
            raise _bad(row["first_kept"] + start, "CER0714", what)
        if row["code"] is not None:
            raise _bad((row["at"] or 0) + start, row["code"], row["what"])
        runs.append(run)
        before += run.rows
        last_time = last_time if run.last_time is None else run.last_time
    return tuple(runs)


def _bad(place: int, code: str, what: str) -> BadData:
    return BadData(code, f"at position {place}: {what}", hint=HINTS[code])
