"""One key, one micro-batch: rows and the state before in, answers, late rows and the state out."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from cerlab.automata.plan import Plan
from cerlab.automata.plan_json import plan_digest
from cerlab.engine.answers import AnswerBatch
from cerlab.engine.general.evaluation import GeneralEvaluation
from cerlab.model.clauses import EventWindow, Strategy
from cerlab.model.clock import TimeAxis
from cerlab.spark.plan.order import Labels
from cerlab.spark.plan.reads import engine_column, window_width
from cerlab.spark.stream.columns import schema_of
from cerlab.spark.stream.reorder import Instant, Kept, arrive
from cerlab.spark.stream.state import KeyState, named, packed, unpacked
from cerlab.spark.tasks.evaluation import known

MICROSECOND = 1_000
"""Moments are integers of so many nanoseconds."""

_NODES, _ANSWERS = 1 << 10, 1 << 13
"""Room that the engine of a key begins with; it grows as needed."""


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
        [str(job.lateness), job.tick, str(job.lag)],
    ]
    return hashlib.sha256(json.dumps(plain).encode()).hexdigest()


def reach(plan: Plan, time: TimeAxis | None) -> Fraction | None:
    """How long after the last event of a key its state can still matter; None for ever.

    A window in time bounds it, unless a strategy compares with answers older than the window.
    """
    if plan.window is None or isinstance(plan.window, EventWindow):
        return None
    if plan.strategy not in (None, Strategy.STRICT):
        return None
    return window_width(plan, time, MICROSECOND)


class KeyStep:
    """What a micro-batch does to a key. Take all `answers` first, then the `state`."""

    def __init__(
        self, job: StreamJob, state: bytes | None, rows: Any, watermark: int | None = None
    ) -> None:
        """`rows` may be empty; `watermark` is that of Spark in milliseconds, None for none yet.

        Raises `BadData` as `cerlab.spark.stream.reorder.arrive` and
        `cerlab.spark.stream.state.unpacked`.
        """
        self._job = job
        self._plan, self._prepared = known(job.plan)
        empty = KeyState(Kept(schema_of(job.columns).empty_table(), False))
        self._before = empty if state is None else unpacked(state, digest(job))
        self._floor: int | None = None
        if job.tick is not None and watermark is not None:
            self._floor = watermark * job.tick
        arrival = arrive(self._before.kept, rows, job.lateness, job.labels, self._floor)
        self._kept = arrival.kept
        self.released = arrival.released
        """The rows that the engine reads now, in order, as a table."""
        self.late = arrival.late
        """The late rows, as a table."""
        self._run: GeneralEvaluation | None = None
        self._index, self._place = self._places()

    @property
    def timer_before(self) -> int | None:
        """When Spark was to come back to the key."""
        return self._before.timer

    def _places(self) -> tuple[Any, Any]:
        """The events that answers can name, by index, and their positions; both increase."""
        before, fresh = self._before, self.released.column("position")
        index = np.arange(before.read, before.read + self.released.num_rows)
        place = fresh.combine_chunks().to_numpy(zero_copy_only=False)
        if before.index is None:
            return index, place
        return np.concatenate((before.index, index)), np.concatenate((before.place, place))

    def answers(self) -> Iterator[tuple[AnswerBatch, Any]]:
        """The answers that `released` rows complete, and which of those is the end of each.

        Their positions are those of the stream. Raises `BadData` where the engine does.
        """
        rows = self.released
        if not rows.num_rows:
            return
        self._run = GeneralEvaluation(
            self._plan,
            self._prepared,
            self._job.time,
            arena=_NODES,
            answers=_ANSWERS,
            state=self._before.engine,
        )
        columns = {
            name: engine_column(rows.column(f"a{n}"), name)
            for n, name in enumerate(self._job.attributes)
        }
        for found in self._run.push(columns, rows.num_rows):
            made = AnswerBatch(
                self._at(found.start),
                self._at(found.end),
                found.offsets,
                self._at(found.positions[: found.offsets[-1]]),
            )
            yield made, found.end - self._before.read

    def _at(self, indices: Any) -> Any:
        return self._place[np.searchsorted(self._index, indices)]

    def state(self) -> tuple[bytes | None, int | None]:
        """The state of the key from now on, None for none, and when to come back to it."""
        if self._is_over():
            return None, None
        before = self._before
        engine, index, place = before.engine, before.index, before.place
        if self._run is not None:
            engine = self._run.state()
            index = named(engine)
            place = self._at(index)
        timer = self._timer()
        read = before.read + self.released.num_rows
        state = KeyState(self._kept, engine, read, index, place, timer)
        return packed(state, digest(self._job)), timer

    def _is_over(self) -> bool:
        """Whether no row to come can be in an answer with one that has been."""
        if not self._kept.rows.num_rows:
            return True
        width = reach(self._plan, self._job.time)
        if self._floor is None or width is None:
            return False
        return Fraction(self._kept.newest) + width < self._floor

    def _timer(self) -> int | None:
        """The watermark at which rows can be released, or else the state be dropped."""
        if self._job.tick is None:
            return None
        if self._kept.held:
            due = Fraction(self._kept.newest)
        elif (width := reach(self._plan, self._job.time)) is not None:
            due = Fraction(self._kept.newest) + width
        else:
            return None
        return max(1, due // self._job.tick + 1)
