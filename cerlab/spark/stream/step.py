"""One bucket of keys, one micro-batch: rows and a state in, answers, late rows and a state out."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from cerlab.automata.plan import Plan
from cerlab.automata.plan_json import plan_digest
from cerlab.engine.answers import AnswerBatch
from cerlab.model.clauses import EventWindow, Strategy
from cerlab.model.clock import TimeAxis
from cerlab.spark.plan.order import Labels
from cerlab.spark.plan.reads import engine_column, window_width
from cerlab.spark.stream.columns import schema_of
from cerlab.spark.stream.engine import SequencesEngine, no_events
from cerlab.spark.stream.keys import numbered
from cerlab.spark.stream.reorder import Instant, arrive, nothing, with_sequence
from cerlab.spark.stream.state import VERSION, BucketState, packed, unpacked
from cerlab.spark.tasks.evaluation import known

MICROSECOND = 1_000
"""Moments are integers of so many nanoseconds."""

BUCKETS = 16
"""Keys are dealt out to so many buckets by a hash; a bucket is in one task at a time."""


@dataclass(frozen=True, slots=True)
class StreamJob:
    """What a task has to know of a query on a stream: all of it plain values.

    Times are in the unit of their column; moments are in microseconds.
    """

    plan: bytes
    """As `cerlab.automata.plan_json` writes it."""
    time: TimeAxis | None
    attributes: tuple[str, ...]
    kinds: tuple[str, ...]
    """The Arrow types of the attributes, as text."""
    time_kind: str
    labels: Labels
    """What users call time and position."""
    lateness: Instant
    keys: tuple[int, ...]
    """The numbers of the attributes of PARTITION BY among `attributes`."""
    by_key: bool
    """Whether each key is put in order by itself, else all rows are."""
    with_partition: bool
    tick: int | None = None
    """How many units of time a millisecond of Spark's watermark stands for; None without `lag`."""
    lag: Instant | None = None

    @property
    def columns(self) -> dict[str, tuple[str, str]]:
        """The columns of the rows, with their Arrow types and masks."""
        made = {"position": ("int64", "no_position"), "time": (self.time_kind, "no_time")}
        return made | {f"a{n}": (kind, f"m{n}") for n, kind in enumerate(self.kinds)}


@lru_cache(maxsize=16)
def digest(job: StreamJob) -> str:
    """A name for all that decides what a state means."""
    plain = [
        plan_digest(known(job.plan)[0]),
        None if job.time is None else [job.time.attribute, str(job.time.unit)],
        [job.attributes, job.kinds, job.time_kind, job.labels.keys],
        [str(job.lateness), job.tick, str(job.lag), job.by_key, BUCKETS, VERSION],
    ]
    return hashlib.sha256(json.dumps(plain).encode()).hexdigest()


def reach(plan: Plan, time: TimeAxis | None) -> Fraction | None:
    """How long after the last event of a key what is known of it can matter; None for ever.

    A window in time bounds it, unless a strategy compares with answers older than the window.
    """
    if plan.window is None or isinstance(plan.window, EventWindow):
        return None
    if plan.strategy not in (None, Strategy.STRICT):
        return None
    return window_width(plan, time, MICROSECOND)


class BucketStep:
    """What a micro-batch does to a bucket of keys. Take all `answers` first, then the `state`."""

    def __init__(
        self, job: StreamJob, state: bytes | None, rows: Any, watermark: int | None = None
    ) -> None:
        """`rows` may be empty; `watermark` is that of Spark in milliseconds, None for none yet.

        Raises `BadData` as `cerlab.spark.stream.reorder.arrive` and
        `cerlab.spark.stream.state.unpacked`.
        """
        self._job = job
        self._plan, self._learned = known(job.plan)
        self._before = empty_state(job)
        if state is not None:
            machine = self._learned.machine
            self._before = unpacked(state, machine, digest(job), self._before, by_key=job.by_key)
        self._floor: int | None = None
        if job.tick is not None and watermark is not None:
            self._floor = watermark * job.tick
        self._keys = self._before.keys
        sequence, count = np.zeros(rows.num_rows, np.int64), 1
        if job.by_key:
            sequence = self._numbered(rows)
            count = self._keys.num_rows
        before = self._before.sequences.grown(count)
        rows = with_sequence(rows, sequence)
        arrival = arrive(before, rows, job.lateness, job.labels, self._floor)
        self._sequences = arrival.after
        self.released = arrival.released
        """The rows that the engine reads now, by sequence and in order, as a table."""
        self.late = arrival.late
        """The late rows, as a table."""
        self._engine = SequencesEngine(
            self._plan,
            self._learned,
            job.time,
            together=not job.by_key,
            read=self._before.read,
            events=self._before.events,
        )
        if self._before.arrays is not None:
            self._engine.tecs.resume(dict(self._before.arrays))

    @property
    def timer_before(self) -> int | None:
        """When Spark was to come back to the bucket."""
        return self._before.timer

    def _numbered(self, rows: Any) -> Any:
        """The number of each row's key, -1 for none."""
        columns = [rows.column(f"a{n}") for n in self._job.keys]
        numbers, self._keys = numbered(self._keys, columns, rows.num_rows)
        return numbers

    @property
    def _partitions(self) -> int:
        return int(self._keys.num_rows) if self._job.keys else 1

    def answers(self) -> Iterator[tuple[AnswerBatch, Any]]:
        """The answers that `released` rows complete, and which of those is the end of each.

        Their positions are those of the stream. Raises `BadData` where the engine does.
        """
        rows = self.released
        if not rows.num_rows:
            return
        sequence = rows.column("sequence").to_numpy()
        codes = sequence if self._job.by_key else self._numbered(rows)
        columns = {
            name: engine_column(rows.column(f"a{n}"), name)
            for n, name in enumerate(self._job.attributes)
        }
        position = rows.column("position").to_numpy()
        yield from self._engine.push(columns, sequence, codes, position, self._partitions)

    def state(self) -> tuple[bytes | None, int | None]:
        """The state of the bucket from now on, None for none, and when to come back to it."""
        sequences = self._sequences
        newest, waiting = sequences.newest(), sequences.waiting()
        alive = np.flatnonzero(waiting | (sequences.released & ~self._is_over(newest)))
        if not len(alive):
            return None, None
        left, events = self._engine.keep(self._partitions, alive)
        after = BucketState(
            sequences.only(alive),
            self._keys.take(left) if self._job.keys else self._keys,
            events,
            self._engine.tecs.arrays(len(left)),
            self._engine.read,
            timer := self._timer(newest[alive], waiting[alive]),
        )
        return packed(after, self._learned.machine, digest(self._job)), timer

    def _is_over(self, newest: Any) -> Any:
        """Whether no row to come can be in an answer with one of each sequence that has been."""
        width = reach(self._plan, self._job.time)
        if self._floor is None or width is None:
            return np.zeros(len(newest), bool)
        bound = self._floor - width
        if newest.dtype == np.int64:
            return newest < math.ceil(bound)
        nearest = float(bound)
        return newest < (math.nextafter(nearest, math.inf) if nearest < bound else nearest)

    def _timer(self, newest: Any, waiting: Any) -> int | None:
        """The watermark at which rows can be released, or else a sequence be dropped."""
        if self._job.tick is None:
            return None
        due = [Fraction(each.min().item()) for each in (newest[waiting],) if len(each)]
        width = reach(self._plan, self._job.time)
        if width is not None and not waiting.all():
            due.append(Fraction(newest[~waiting].min().item()) + width)
        return max(1, min(due) // self._job.tick + 1) if due else None


def empty_state(job: StreamJob) -> BucketState:
    """The state of a bucket of which nothing is known."""
    schema = schema_of(job.columns)
    keys = schema.empty_table().select([f"a{n}" for n in job.keys])
    return BucketState(nothing(schema), keys, no_events())
