"""One key bucket in one micro-batch: rows and a state in; answers, late rows and a state out."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from cerlab.automata.plan import PlanClauses, plan_digest
from cerlab.automata.strategy import Machine
from cerlab.compile.pattern import Pattern
from cerlab.engine.answers import AnswerBatch
from cerlab.engine.reorder import FILE, Instant, arrive, nothing, with_sequence
from cerlab.engine.row_order import MICROSECOND, ColumnNames
from cerlab.model.clauses import EventWindow, Strategy, Window
from cerlab.model.stream import TimeAxis
from cerlab.spark.evaluation import pattern_of, plan_and_tables
from cerlab.spark.plan import engine_columns, window_width
from cerlab.spark.stream.engine import (
    EventTable,
    RegisterSequences,
    RowSequences,
    SequencesEngine,
    no_ends,
    no_events,
    number_keys,
)
from cerlab.spark.stream.pandas_rows import schema_of
from cerlab.spark.stream.state import BucketState, state_from_bytes, state_to_bytes
from cerlab.spark.stream.throttle import ThrottledSequences
from cerlab.spark.stream.waits import WaitSequences, clauses_of, reach_of_answers
from cerlab.spark.task_outputs import RowNames, RowTables, in_types

if TYPE_CHECKING:
    from pyspark.sql.types import DataType

BUCKETS = 16
"""Default number of key buckets; a bucket is in one task at a time."""


@dataclass(frozen=True, slots=True)
class StreamJob:
    """The parts of a query on a stream that Spark sends to a task, as plain values.

    Times are in the unit of their column; moments are in microseconds.
    """

    plan: bytes
    """The plan, in the format of `cerlab.automata.plan`; empty if filters compare labels."""
    time: TimeAxis | None
    attributes: tuple[str, ...]
    kinds: tuple[str, ...]
    """The Arrow types of the attributes, as text."""
    time_kind: str
    labels: ColumnNames
    """The user's names of time and position."""
    lateness: Instant
    keys: tuple[int, ...]
    """The indices in `attributes` of the attributes of PARTITION BY."""
    by_key: bool
    """True if the rows of each key are sorted separately, not all rows together."""
    with_partition: bool
    names: RowNames | None = None
    """The requested columns of rows; None for positions."""
    tick: int | None = None
    """Units of time for a millisecond of Spark's watermark; None without `lag`."""
    lag: Instant | None = None
    buckets: int = BUCKETS
    quarantine: bool = False
    """True if a row without a place in the stream becomes a row of the output, not an error."""
    query: str = ""
    """The text of a query without a plan and FROM, or of a row pattern."""
    waits: bool = False
    """True if the query waits, looks back, or has windows in time inside.

    Otherwise, without a plan, filters compare labels.
    """
    result: Any = None
    """The Arrow types that Spark expects of a row pattern's result; None for a query."""

    @property
    def cells(self) -> list[str]:
        """The columns of an answer after ``start`` and ``end``, in the frames of a task."""
        if self.result is not None:
            return [f"n{n}" for n in range(len(self.result))]
        if self.names is not None:
            return [f"n{n}" for n in range(len(self.keys) + len(self.names.columns))]
        keys = len(self.keys) if self.with_partition else 0
        return ["positions", *(f"p{n}" for n in range(keys))]

    @property
    def columns(self) -> dict[str, tuple[str, str]]:
        """The columns of the rows, with their Arrow types and masks."""
        order_columns = {"position": ("int64", "no_position"), "time": (self.time_kind, "no_time")}
        return order_columns | {f"a{n}": (kind, f"m{n}") for n, kind in enumerate(self.kinds)}

    @property
    def sent(self) -> dict[str, tuple[str, str]]:
        """The columns of arriving rows: those of `columns`, and the file of each row."""
        return self.columns | {FILE: ("string", "")}

    @property
    def marks(self) -> dict[str, DataType]:
        """The columns that are NULL in answers and late rows, with their Spark types."""
        from pyspark.sql.types import ArrayType, DoubleType, LongType, StringType

        bad = {"bad": LongType(), "file": StringType(), "why": StringType()}
        return {"waits": ArrayType(DoubleType()), **(bad if self.quarantine else {})}

    @property
    def recent(self) -> Any:
        """The Arrow schema of rows that are kept for named columns."""
        import pyarrow as pa

        kinds = {name: kind for name, kind in self.columns.items() if name.startswith("a")}
        number, position, sequence = (
            pa.field(name, pa.int64()) for name in ("number", "position", "sequence")
        )
        values = schema_of(kinds) if self.keeps_values else ()
        times = [pa.field("time", self.time_kind)] if self.waits else ()
        return pa.schema([number, position, *values, *times, sequence])

    @property
    def keeps_values(self) -> bool:
        """True if rows are kept with their values: for named columns, or to be evaluated again."""
        return self.names is not None or self.waits


@lru_cache(maxsize=16)
def digest(job: StreamJob) -> str:
    """Return a digest of everything on which the meaning of a state depends."""
    plain = [
        plan_digest(plan_and_tables(job.plan)[0]) if job.plan else job.query,
        None if job.time is None else [job.time.attribute, str(job.time.unit)],
        [job.attributes, job.kinds, job.time_kind, job.labels.keys],
        [str(job.lateness), job.tick, str(job.lag), job.by_key, job.buckets],
        None if job.names is None else [column.name for column in job.names.columns],
    ]
    return hashlib.sha256(json.dumps(plain).encode()).hexdigest()


def machine_of(job: StreamJob) -> Machine | None:
    """Return the machine whose states a job keeps; None if filters compare labels."""
    return plan_and_tables(job.plan)[1].machine if job.plan else None


def plan_of_job(job: StreamJob) -> PlanClauses:
    """Return the plan of a query, or its clauses if it has no automaton."""
    return plan_and_tables(job.plan)[0] if job.plan else clauses_of(pattern_of(job.query))


def throttle_of(job: StreamJob) -> Window | None:
    """Return the length in THROTTLE, or None; a row pattern has no clauses."""
    return None if job.result is not None else plan_of_job(job).throttle


@lru_cache(maxsize=16)
def query_of_sequence(job: StreamJob) -> Pattern:
    """Return the query of one sequence of a job without a plan, compiled once."""
    return by_sequence(pattern_of(job.query), by_key=job.by_key)


def by_sequence(pattern: Pattern, *, by_key: bool) -> Pattern:
    """Return the query without THROTTLE and, if a sequence is one key, without PARTITION BY.

    `ThrottledSequences` filters the ends of all sequences.
    """
    pattern = pattern.replaced(throttle=None)
    return pattern.replaced(partition=()) if by_key else pattern


def reach(job: StreamJob) -> Fraction | None:
    """Return how long the state of a key can matter after its last event; None for ever.

    A window in time bounds it, unless a strategy compares with answers older than the window; so
    does a THROTTLE in time. A row pattern counts its matches, so its state stays.
    """
    if job.result is not None:
        return None
    plan = plan_of_job(job)
    if plan.window is None or isinstance(plan.window, EventWindow):
        return None
    if plan.strategy not in (None, Strategy.STRICT) or isinstance(plan.throttle, EventWindow):
        return None
    if job.waits:
        width = reach_of_answers(pattern_of(job.query), job.time)
    else:
        width = window_width(plan.window, job.time, MICROSECOND)
    if plan.throttle is None:
        return width
    return max(width, window_width(plan.throttle, job.time, MICROSECOND))


class BucketStep:
    """The effect of a micro-batch on a key bucket. Consume `answers` before calling `state`."""

    def __init__(
        self, job: StreamJob, state: bytes | None, rows: Any, watermark: int | None = None
    ) -> None:
        """Read the rows of a micro-batch; `watermark` is Spark's, in milliseconds, or None.

        Raises `BadData` as `cerlab.engine.reorder.arrive` and
        `cerlab.spark.stream.state.state_from_bytes`.
        """
        self.job = job
        self._machine = machine_of(job)
        self._reach = reach(job)
        self._before = empty_state(job)
        if state is not None:
            self._before = state_from_bytes(
                state, self._machine, digest(job), self._before, by_key=job.by_key
            )
        self._floor: int | None = None
        if job.tick is not None and watermark is not None:
            self._floor = watermark * job.tick
        self._keys = self._before.keys
        sequence, count = np.zeros(rows.num_rows, np.int64), 1
        if job.by_key:
            sequence = self._number_keys(rows)
            count = self._keys.num_rows
        before = self._before.sequences.with_count(count)
        rows = with_sequence(rows, sequence)
        arrival = arrive(
            before, rows, job.lateness, job.labels, self._floor, quarantine=job.quarantine
        )
        self._sequences = arrival.after
        self.released_rows = arrival.released_rows
        """The rows that the engine reads now, by sequence and in order, as a table."""
        self.late = arrival.late
        """The late rows, as a table."""
        self.bad = arrival.bad
        """The rows without a place among the others, as a table, with the reason ``why``."""
        self._recent = self._before.recent
        if job.keeps_values:
            self._recent = self._with_released_rows()
        self._throttle: ThrottledSequences | None = None
        if (throttle := throttle_of(job)) is not None:
            given = self._before.given
            assert given is not None
            self._throttle = ThrottledSequences(throttle, job.time, given, count)
        self._engine = self._new_engine()
        if self._before.arrays is not None:
            self._engine.resume(self._before.arrays)

    def _new_engine(self) -> SequencesEngine | RegisterSequences | RowSequences | WaitSequences:
        job, before = self.job, self._before
        if job.result is not None:
            return RowSequences(job.query, read=before.read)
        if job.waits:
            query, are_moments = query_of_sequence(job), job.labels.moments
            return WaitSequences(query, job.time, read=before.read, are_moments=are_moments)
        if not job.plan:
            query = query_of_sequence(job)
            return RegisterSequences(query, job.time, read=before.read, events=before.events)
        return SequencesEngine(
            *plan_and_tables(job.plan),
            job.time,
            together=not job.by_key,
            read=before.read,
            events=before.events,
        )

    def _with_released_rows(self) -> Any:
        """Return the rows that answers of this micro-batch may contain, by number."""
        import pyarrow as pa

        rows, before = self._numbered(self.released_rows), self._before.recent
        return pa.concat_tables([before, rows.select(before.column_names)]).combine_chunks()

    def _numbered(self, released: Any) -> Any:
        """Return the rows of this micro-batch with their numbers."""
        import pyarrow as pa

        numbers = self._before.read + np.arange(released.num_rows)
        return released.append_column("number", pa.array(numbers, pa.int64()))

    @property
    def timer_before(self) -> int | None:
        """The watermark at which Spark was to process the bucket again."""
        return self._before.timer

    def waits(self) -> tuple[float, float, float] | None:
        """Return how many rows and keys wait, and how far the first of them is behind the newest.

        None if no row waits.
        """
        held = self._sequences.pending_rows
        if not held.num_rows:
            return None
        waiting = self._sequences.waiting()
        seen = waiting | self._sequences.has_released
        behind = self._sequences.newest()[seen].max() - held.column("time").to_numpy().min()
        return float(held.num_rows), float(waiting.sum()), float(behind)

    def _number_keys(self, rows: Any) -> Any:
        """Return the number of each row's key, -1 for none."""
        columns = [rows.column(f"a{n}") for n in self.job.keys]
        numbers, self._keys = number_keys(
            self._keys, columns, rows.num_rows, null_is_key=self.job.result is not None
        )
        return numbers

    @property
    def _partitions(self) -> int:
        return int(self._keys.num_rows) if self.job.keys else 1

    def answers(self) -> Iterator[tuple[AnswerBatch, Any]]:
        """Yield the answers that are known now, and the index in `rows_of_ends` of each end.

        Their positions are those of the stream. Raises `BadData` if the engine does.
        """
        engine = self._engine
        assert not isinstance(engine, RowSequences)
        for batch in self._numbered_answers():
            numbers = batch.positions[: batch.offsets[-1]]
            start, end, numbers = map(engine.positions, (batch.start, batch.end, numbers))
            yield AnswerBatch(start, end, batch.offsets, numbers), self._rows_of(batch.end)

    @property
    def rows_of_ends(self) -> Any:
        """The rows at which answers of this micro-batch end, as a table."""
        return self._recent if self.job.waits else self.released_rows

    def _rows_of(self, ends: Any) -> Any:
        if self.job.waits:
            return np.searchsorted(self._recent.column("number").to_numpy(), ends)
        return ends - self._before.read

    def rows(self) -> Iterator[Any]:
        """Yield the answers as rows in pyarrow Tables, for a job with named columns.

        For a job of a row pattern, yield its result.
        """
        if isinstance(self._engine, RowSequences):
            yield from self._result(self._engine)
            return
        names = self.job.names
        assert names is not None
        if isinstance(self._engine, WaitSequences):
            yield from self._rows_of_waits(self._engine, names)
            return
        number = self._recent.column("number").to_numpy()
        position = self._recent.column("position").to_numpy()

        def at_rows(batch: AnswerBatch) -> AnswerBatch:
            numbers = batch.positions[: batch.offsets[-1]]
            start, end, numbers = (
                np.searchsorted(number, each) for each in (batch.start, batch.end, numbers)
            )
            return AnswerBatch(start, end, batch.offsets, numbers)

        batches: Iterator[AnswerBatch] = map(at_rows, self._numbered_answers())
        first = next(batches, None)
        if first is None:
            return
        columns = [f"a{n}" for n in range(len(self.job.attributes))]
        events = self._recent.select(columns).rename_columns(list(self.job.attributes))
        batches = chain((first,), batches)
        query = plan_and_tables(self.job.plan)[0] if self.job.plan else pattern_of(self.job.query)
        yield from map(RowTables(query, names, events, position).of, batches)

    def _result(self, engine: RowSequences) -> Iterator[Any]:
        """Yield the rows of a row pattern's result that are certain."""
        rows, names = self.released_rows, self.job.attributes[1:]
        if rows.num_rows:
            columns = [f"a{n}" for n, _ in enumerate(names, 1)]
            table = rows.select(columns).rename_columns(list(names))
            found = engine.push(table, rows.column("sequence").to_numpy())
            yield found.cast(self.job.result)

    def _rows_of_waits(self, engine: WaitSequences, names: RowNames) -> Iterator[Any]:
        query, attributes = pattern_of(self.job.query), self.job.attributes
        texts = [column.text or column.name for column in names.columns]
        for batch in self._numbered_answers():
            for table in engine.tables(batch, query, texts, attributes):
                yield in_types(table, names.schema)

    def _numbered_answers(self) -> Iterator[AnswerBatch]:
        """Yield the answers, with the numbers of events."""
        answers = self._answers_of_engine()
        if self._throttle is None:
            return answers
        rows = self.rows_of_ends if self.job.waits else self._numbered(self.released_rows)
        return self._throttle.leave(answers, rows, self.job.attributes, self._before.read)

    def _answers_of_engine(self) -> Iterator[AnswerBatch]:
        """Yield the answers that the engine finds, with the numbers of events."""
        if isinstance(self._engine, WaitSequences):
            yield from self._engine.push(self._recent, self.job.attributes, self._floor)
            return
        rows, engine = self.released_rows, self._engine
        assert not isinstance(engine, RowSequences)
        if not rows.num_rows:
            return
        sequence = rows.column("sequence").to_numpy()
        # runs with registers need no key numbers: each of their sequences is one key
        numbers_keys = self.job.plan and not self.job.by_key
        codes = self._number_keys(rows) if numbers_keys else sequence
        columns = engine_columns(rows, self.job.attributes)
        position = rows.column("position").to_numpy()
        yield from engine.push(columns, sequence, codes, position, self._partitions)

    def state(self) -> tuple[bytes | None, int | None]:
        """Return the new state of the bucket, or None, and the watermark of its next timer."""
        sequences = self._sequences
        newest, waiting = sequences.newest(), sequences.waiting()
        alive = np.flatnonzero(waiting | (sequences.has_released & ~self._is_over(newest)))
        if not len(alive):
            return None, None
        due = None
        if isinstance(self._engine, WaitSequences):
            due = self._engine.next_end(alive)
        left, events = self._engine.keep(self._partitions, alive)
        after = BucketState(
            sequences.only(alive),
            self._keys.take(left) if self._keys.num_rows else self._keys,
            events,
            self._still_needed(alive, events),
            self._engine.arrays(len(left)),
            self._engine.read,
            timer := self._timer(newest[alive], waiting[alive], due),
            None if self._throttle is None else self._throttle.keep(alive),
        )
        return state_to_bytes(after, self._machine, digest(self.job)), timer

    def _still_needed(self, alive: Any, events: EventTable) -> Any:
        """Return the rows since the first event of each sequence that later answers can contain."""
        import pyarrow as pa

        # a sequence without relevant events keeps no row
        first = np.full(len(alive), np.iinfo(np.int64).max)
        np.minimum.at(first, events.sequence, events.number)
        sequence, number = (self._recent.column(n).to_numpy() for n in ("sequence", "number"))
        at = np.minimum(np.searchsorted(alive, sequence), len(alive) - 1)
        is_needed = (alive[at] == sequence) & (number >= first[at])
        return with_sequence(self._recent.filter(pa.array(is_needed)), at[is_needed])

    def _is_over(self, newest: Any) -> Any:
        """Return for each sequence whether its rows can no longer be in an answer."""
        if self._floor is None or self._reach is None:
            return np.zeros(len(newest), bool)
        bound = self._floor - self._reach
        if newest.dtype == np.int64:
            return newest < math.ceil(bound)
        nearest = float(bound)
        return newest < (math.nextafter(nearest, math.inf) if nearest < bound else nearest)

    def _timer(self, newest: Any, waiting: Any, end: Fraction | None) -> int | None:
        """Return the watermark that releases rows, ends a wait, or drops a sequence."""
        if self.job.tick is None:
            return None
        due = [Fraction(each.min().item()) for each in (newest[waiting],) if len(each)]
        due += [] if end is None else [end]
        if self._reach is not None and not waiting.all():
            due.append(Fraction(newest[~waiting].min().item()) + self._reach)
        return max(1, min(due) // self.job.tick + 1) if due else None


def empty_state(job: StreamJob) -> BucketState:
    """Return the state of a bucket without events."""
    schema = schema_of(job.columns)
    keys = schema.empty_table().select([f"a{n}" for n in job.keys])
    given = None if throttle_of(job) is None else no_ends()
    recent = job.recent.empty_table()
    return BucketState(nothing(schema), keys, no_events(), recent, given=given)
