"""Engines in a Spark task: columns of Arrow in, record batches of answers out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from cerlab import io
from cerlab.automata.plan import Plan, plan_from_bytes
from cerlab.automata.strategy import machine_of
from cerlab.compile.pattern import Pattern
from cerlab.engine.answers import AnswerBatch, batched_answers
from cerlab.engine.symbol_tables import LearnedTables
from cerlab.engine.tecs_run import GeneralEvaluation
from cerlab.engine.whole_stream import stream_evaluation
from cerlab.errors import Unsupported
from cerlab.evaluate.labelled import answer_tables
from cerlab.evaluate.physical import choose
from cerlab.evaluate.protocol import Evaluator
from cerlab.io.answers import ROWS, arrow_schema, table_of_batches
from cerlab.logic.ceql.parser import parse_ceql
from cerlab.model.arrays import order_of
from cerlab.model.stream import TimeAxis
from cerlab.spark.ends import EndsIn, OwnRows
from cerlab.spark.plan import attributes_computed, attributes_read, engine_column
from cerlab.spark.runs import SIZE, integers, tables_of
from cerlab.spark.task_outputs import (
    EventBuffer,
    GroupEvaluation,
    GroupRows,
    RowNames,
    RowTables,
    in_types,
)


@dataclass(frozen=True, slots=True)
class Job:
    """The parts of a query that Spark sends to a task, as plain values.

    Input tables have a column for each of `attributes` (``a0``, ``a1``, ..) and, if the stream has
    positions, ``position`` (int64).
    """

    plan: bytes
    """The plan, in the format of `cerlab.automata.plan`."""
    time: TimeAxis | None
    attributes: tuple[str, ...]
    with_partition: bool = False
    """True if answers contain their key, as a struct ``partition``."""
    names: RowNames | GroupRows | None = None
    """The requested columns of rows, or aggregates; None for positions."""
    ends: EndsIn | None = None


@lru_cache(maxsize=16)
def plan_and_tables(content: bytes) -> tuple[Plan, LearnedTables]:
    """Return a plan and the tables of its machine, which a worker process caches."""
    plan = plan_from_bytes(content)
    return plan, LearnedTables(machine_of(plan))


@lru_cache(maxsize=16)
def _attributes_of_engine(
    content: bytes, time: TimeAxis | None
) -> tuple[frozenset[str], frozenset[str]]:
    """Return the attributes that the engine reads, and those that it computes with."""
    plan, tables = plan_and_tables(content)
    computed = attributes_computed(tables.machine.predicates)
    return frozenset(attributes_read(plan, time)), computed


def new_evaluation(job: Job) -> PlanEvaluation | GroupEvaluation:
    """Return a run of a job's plan, or of its aggregates."""
    if not isinstance(job.names, GroupRows):
        return PlanEvaluation(job)
    plan, tables = plan_and_tables(job.plan)
    return GroupEvaluation(job.names, plan, tables.machine, job.time, job.attributes, job.ends)


class PlanEvaluation(OwnRows):
    """A run of a plan, which omits the answers that end before `first_own`.

    If rows have no column ``position``, they are consecutive, and the first has number `first`.
    """

    def __init__(self, job: Job) -> None:
        super().__init__(job.ends, job.attributes)
        plan, tables = plan_and_tables(job.plan)
        self._job = job
        self._plan = plan
        at_once = job.with_partition or job.names is not None
        self._engine_attributes, self._computed = _attributes_of_engine(job.plan, job.time)
        self._buffer = None if job.names is None else EventBuffer()
        # an answer's key is read from the table in which it ends, so no answer may be held back
        make = GeneralEvaluation if at_once else stream_evaluation
        self._run = make(plan, tables, job.time)
        self._positions: Positions | None = None

    def push(self, rows: Any) -> Iterator[Any]:
        """Read a table; yield its answers as record batches."""
        begins, rows = self.read, self.take(rows)
        if "position" in rows.column_names:
            self._positions = self._positions or Positions()
            self._positions.append(integers(rows, "position"))
        if self._buffer is not None:
            self._buffer.append(rows)
        columns = {
            name: engine_column(rows.column(f"a{n}"), name, self._computed)
            for n, name in enumerate(self._job.attributes)
            if name in self._engine_attributes
        }
        for answers in self._run.push_columns(columns, rows.num_rows):
            yield from self._own_batches(answers, rows, begins)
        if self._buffer is not None:
            self._buffer.forget(self._run.lowest)
        if self._positions is not None:
            self._positions.forget(self._run.lowest)

    def finish(self) -> Iterator[Any]:
        """Yield the answers that the run still held back."""
        for answers in self._run.finish():
            yield from self._own_batches(answers, None, self.read)

    def _own_batches(self, answers: AnswerBatch, rows: Any, begins: int) -> Iterator[Any]:
        skip = int(np.searchsorted(answers.end, self.first_own))
        if skip == len(answers):
            return
        if self._buffer is not None:
            yield from self._rows_with_names(answers.after(skip), self._buffer)
        else:
            yield self._record_batch(answers, skip, rows, begins)

    def _rows_with_names(self, answers: AnswerBatch, buffer: EventBuffer) -> Iterator[Any]:
        """Yield some answers as rows with column names."""
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
        """Return the values of PARTITION BY at some rows; text is not dictionary-encoded."""
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


class Positions:
    """The positions of events by index; consecutive positions need no memory.

    >>> positions = Positions()
    >>> positions.append(np.array([10, 11, 12, 40, 41]))
    >>> positions.of(np.array([0, 2, 3])).tolist(), positions.size
    ([10, 12, 40], 5)
    """

    def __init__(self) -> None:
        self._shift = 0  # position minus index, while positions are consecutive
        self._values: Any = None  # otherwise the positions from index `_first` on
        self._first = self._read = 0

    @property
    def size(self) -> int:
        """Return the number of positions in memory."""
        return 0 if self._values is None else self._read - self._first

    def append(self, positions: Any) -> None:
        """Add the positions of the next events, int64, increasing."""
        count = len(positions)
        if not count:
            return
        shift = int(positions[0]) - self._read
        follows = not self._read or shift == self._shift
        if self._values is None and follows and positions[-1] - positions[0] == count - 1:
            self._shift, self._read = shift, self._read + count
            return
        if self._values is None:
            self._values = np.arange(self._first, self._read) + self._shift
        length = self._read - self._first
        if length + count > len(self._values):
            before = self._values[:length]
            self._values = np.empty(max(length + count, 2 * length), np.int64)
            self._values[:length] = before
        self._values[length : length + count] = positions
        self._read += count

    def of(self, indices: Any) -> Any:
        """Return the positions at some indices, int64, none of which was forgotten."""
        return (
            indices + self._shift if self._values is None else self._values[indices - self._first]
        )

    def forget(self, before: int) -> None:
        """Forget the positions before an index, to free memory."""
        over = before - self._first
        if self._values is None:
            self._first = before
        elif over > self.size // 2:  # a forgotten position causes at most one move
            self._values = self._values[over : self._read - self._first].copy()
            self._first = before


@dataclass(frozen=True, slots=True)
class GroupJob:
    """The parts of a query evaluated key by key that Spark sends to a task, as plain values."""

    query: str
    """The query's text without FROM: events of other streams are removed before."""
    time: TimeAxis | None
    attributes: tuple[str, ...]
    """The types of the columns ``a0 a1 ..`` of the attributes."""
    names: RowNames | None
    until: Any = None
    """The time before which all events of all keys are complete, for a query with WAIT."""
    ends: EndsIn | None = None


def way_of(pattern: Pattern) -> Evaluator:
    """Return the evaluator for a query without automaton, or with THROTTLE.

    Raises `Unsupported` for a query that no machine evaluates.
    """
    try:
        # kernels do not support a strategy inside a formula with CONSUME BY, which restarts it
        has_kernels = pattern.machine_kind is not None or pattern.has_kernels_in_context
        return choose(pattern, "compiled" if has_kernels else "tecs")
    except Unsupported as error:
        error.hint = "cerlab.evaluate takes it on one machine, on short streams"
        raise


@lru_cache(maxsize=16)
def pattern_of(query: str) -> Pattern:
    """Return the query of a text, without repeating warnings that the user has seen."""
    ast, _, source = parse_ceql(query)
    return Pattern(ast, source=source)


def evaluate_groups(batches: Iterable[Any], job: GroupJob, size: int = SIZE) -> Iterator[Any]:
    """Yield the answers of all keys, from rows sorted by ``group`` and ``position``.

    A group has all rows of one or more keys. It is in memory as a whole, and small groups are read
    together.
    """
    import pyarrow as pa

    waiting: list[Any] = []
    for rows in tables_of(batches, size):
        before, groups = len(waiting), integers(rows, "group")
        # the last group of a table may continue in the next table
        cut = int(np.searchsorted(groups, groups[-1]))
        same = not cut and before and integers(waiting[-1], "group")[-1] == groups[-1]
        if before and not same:
            yield from _together(pa.concat_tables([*waiting, rows.slice(0, cut)]), job)
            waiting = [rows.slice(cut)]
        elif cut:
            yield from _together(rows.slice(0, cut), job)
            waiting = [rows.slice(cut)]
        else:
            waiting.append(rows)
    if waiting:
        yield from _together(pa.concat_tables(waiting), job)


def _together(rows: Any, job: GroupJob) -> Iterator[Any]:
    """Yield the answers of some complete groups, as record batches."""
    import pyarrow as pa

    positions = integers(rows, "position")
    order = order_of(positions)
    rows, positions = rows.take(order), positions[order]
    columns = {name: rows.column(f"a{n}") for n, name in enumerate(job.attributes)}
    stream = io.as_stream(pa.table(columns))
    stream = stream if job.time is None else stream.on_time(job.time)
    stream, pattern = stream.up_to(job.until), pattern_of(job.query)
    batches = batched_answers(way_of(pattern).answers(stream), ROWS)
    if job.ends is not None:
        early, _ = job.ends.rows(columns[job.ends.attribute])
        batches = (batch.take(np.flatnonzero(batch.end >= early)) for batch in batches)
    if job.names is None:
        yield from table_of_batches(
            batch.with_positions(positions) for batch in batches
        ).to_batches()
        return
    texts = [column.text or column.name for column in job.names.columns]
    for table in answer_tables(pattern, stream, batches, texts, positions=positions):
        yield from in_types(table, job.names.schema).to_batches()
