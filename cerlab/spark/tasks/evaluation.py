"""An engine over rows of Arrow: columns in, record batches of answers with true positions out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from cerlab.automata.machine import machine_of
from cerlab.automata.plan import Plan
from cerlab.automata.plan_json import plan_from_bytes
from cerlab.engine.answers import AnswerBatch
from cerlab.engine.general.evaluation import GeneralEvaluation
from cerlab.engine.learned import LearnedTables
from cerlab.engine.whole_stream import stream_evaluation
from cerlab.io.answers import arrow_schema
from cerlab.model.clock import TimeAxis
from cerlab.spark.plan.reads import attributes_read, engine_column
from cerlab.spark.tasks.aggregates import GroupEvaluation, GroupRows
from cerlab.spark.tasks.named_rows import EventBuffer, RowNames, RowTables
from cerlab.spark.tasks.positions import Positions
from cerlab.spark.tasks.rows import integers


@dataclass(frozen=True, slots=True)
class Job:
    """What a task has to know of a query: all of it plain values.

    Input tables have a column for each of `attributes` (``a0``, ``a1``, ..) and, where the stream
    has positions, ``position`` (int64).
    """

    plan: bytes
    """As `cerlab.automata.plan_json` writes it."""
    time: TimeAxis | None
    attributes: tuple[str, ...]
    with_partition: bool = False
    """Whether answers carry their key, as a struct ``partition``."""
    names: RowNames | GroupRows | None = None
    """The columns of rows with names, or aggregates, where those are asked for, not positions."""


@lru_cache(maxsize=16)
def plan_and_tables(content: bytes) -> tuple[Plan, LearnedTables]:
    """A plan and the tables of its machine, which a worker keeps from task to task."""
    plan = plan_from_bytes(content)
    return plan, LearnedTables(machine_of(plan))


@lru_cache(maxsize=16)
def _attributes_of_engine(plan: bytes, time: TimeAxis | None) -> frozenset[str]:
    """The attributes that the engine itself reads."""
    return frozenset(attributes_read(plan_and_tables(plan)[0], time))


def new_evaluation(job: Job) -> Evaluation | GroupEvaluation:
    """A run of the plan of a job, or of its aggregates."""
    if not isinstance(job.names, GroupRows):
        return Evaluation(job)
    plan, tables = plan_and_tables(job.plan)
    return GroupEvaluation(job.names, plan, tables.machine, job.time, job.attributes)


class Evaluation:
    """One run of a plan. Answers that end before the row `own` are not given.

    Where rows have no column ``position`` they are consecutive, and the first has `first`.
    """

    def __init__(self, job: Job) -> None:
        plan, tables = plan_and_tables(job.plan)
        self._job = job
        self._plan = plan
        at_once = job.with_partition or job.names is not None
        self._engine_attributes = _attributes_of_engine(job.plan, job.time)
        self._buffer = None if job.names is None else EventBuffer()
        make = GeneralEvaluation if at_once else stream_evaluation
        self._run = make(plan, tables, job.time)
        self._positions: Positions | None = None
        self.first = 0
        self.own: int | None = 0
        self.read = 0

    def push(self, rows: Any) -> Iterator[Any]:
        """Read a table; yields answers, as record batches."""
        if "position" in rows.column_names:
            self._positions = self._positions or Positions()
            self._positions.append(integers(rows, "position"))
        begins, self.read = self.read, self.read + rows.num_rows
        if self._buffer is not None:
            self._buffer.append(rows)
        columns = {
            name: engine_column(rows.column(f"a{n}"), name)
            for n, name in enumerate(self._job.attributes)
            if name in self._engine_attributes
        }
        for answers in self._run.push(columns, rows.num_rows):
            yield from self._own_batches(answers, rows, begins)
        if self._buffer is not None:
            self._buffer.forget(self._run.lowest)
        if self._positions is not None:
            self._positions.forget(self._run.lowest)

    def finish(self) -> Iterator[Any]:
        """The answers that were held back."""
        for answers in self._run.finish():
            yield from self._own_batches(answers, None, self.read)

    def _own_batches(self, answers: AnswerBatch, rows: Any, begins: int) -> Iterator[Any]:
        own = self.read if self.own is None else self.own
        skip = int(np.searchsorted(answers.end, own))
        if skip == len(answers):
            return
        if self._buffer is not None:
            yield from self._rows_with_names(answers.after(skip), self._buffer)
        else:
            yield self._record_batch(answers, skip, rows, begins)

    def _rows_with_names(self, answers: AnswerBatch, buffer: EventBuffer) -> Iterator[Any]:
        """The rows with names of some answers."""
        assert isinstance(self._job.names, RowNames)
        first, end = int(answers.start.min()), int(answers.end.max()) + 1
        events = buffer.of(first, end).select([f"a{n}" for n in range(len(self._job.attributes))])
        events = events.rename_columns(list(self._job.attributes))
        tables = RowTables(self._plan, self._job.names, events, self._places(np.arange(first, end)))
        yield from tables.of(answers.shift_positions(-first)).to_batches()

    def _record_batch(self, answers: AnswerBatch, skip: int, rows: Any, begins: int) -> Any:
        import pyarrow as pa

        offsets = answers.offsets[skip:]
        indices = answers.positions[offsets[0] : offsets[-1]]
        flat = pa.array(self._places(indices))
        positions = pa.ListArray.from_arrays(
            pa.array((offsets - offsets[0]).astype(np.int32)), flat
        )
        columns = [
            pa.array(self._places(answers.start[skip:])),
            pa.array(self._places(answers.end[skip:])),
            positions,
        ]
        schema = arrow_schema()
        if self._job.with_partition:
            keys = self._keys(answers.end[skip:] - begins, rows)
            schema = schema.append(pa.field("partition", keys.type))
            columns.append(keys)
        return pa.RecordBatch.from_arrays(columns, schema=schema)

    def _places(self, indices: Any) -> Any:
        return indices + self.first if self._positions is None else self._positions.of(indices)

    def _keys(self, ends: Any, rows: Any) -> Any:
        """The values of PARTITION BY at some rows of a table; text is no code there."""
        import pyarrow as pa

        names = list(dict.fromkeys(self._plan.partition))
        columns = [
            rows.column(f"a{self._job.attributes.index(name)}").take(ends).combine_chunks()
            for name in names
        ]
        plain = [
            column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
            for column in columns
        ]
        return pa.StructArray.from_arrays(plain, names)
