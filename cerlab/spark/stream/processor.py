"""The functions that Spark calls in each task of a stream, for a bucket of keys.

Only this module is imported where PySpark is installed: its class inherits from one of Spark's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from pyspark.sql.streaming import StatefulProcessor
from pyspark.sql.types import BinaryType, StructField, StructType

from cerlab.engine.answers import AnswerBatch
from cerlab.engine.reorder import FILE
from cerlab.spark.stream.pandas_rows import pandas_column, table_of_frames
from cerlab.spark.stream.step import BucketStep, StreamJob

STATE = "cerlab"
"""Name of the only state variable."""


class BucketProcessor(StatefulProcessor):  # type: ignore[misc]
    """The processor of key buckets; Spark keeps the state of each bucket as one binary value.

    Frames of answers have the columns ``start``, ``end``, ``positions``, ``late`` (NULL), and with
    a job that asks for it the key of each as ``p0``, ``p1``, ..; frames of late rows have the
    position in ``late``, NULL in the others. Rows with names have ``n0``, ``n1``, .. instead of
    ``positions``: the key, then their columns. So has the result of a row pattern, which lacks
    ``start`` and ``end``.
    """

    def __init__(self, job: StreamJob) -> None:
        self._job = job

    def init(self, handle: Any) -> None:
        """Prepare a task; Spark calls this in each task, and once on the driver."""
        self._handle = handle
        self._state = handle.getValueState(STATE, StructType([StructField("bytes", BinaryType())]))

    def handleInputRows(
        self,
        key: Any,
        rows: Iterable[Any],
        timerValues: Any,
    ) -> Iterator[Any]:
        """Yield the answers and late rows of a bucket in a micro-batch, as frames."""
        yield from self._step(table_of_frames(rows, self._job.sent), timerValues, None)

    def handleExpiredTimer(
        self,
        key: Any,
        timerValues: Any,
        expiredTimerInfo: Any,
    ) -> Iterator[Any]:
        """Yield the answers after a time that all keys have passed; drop the keys that end."""
        due = expiredTimerInfo.getExpiryTimeInMs()
        yield from self._step(table_of_frames((), self._job.sent), timerValues, due)

    def close(self) -> None:
        """Do nothing, because no resource is open."""

    def _step(self, rows: Any, timers: Any, due: int | None) -> Iterator[Any]:
        """Run one step of a bucket; `due` is an expired timer, which Spark deletes itself."""
        before = self._state.get()[0] if self._state.exists() else None
        watermark = timers.getCurrentWatermarkInMs()  # Spark returns 0 until there is a watermark
        step = BucketStep(
            self._job, None if before is None else bytes(before), rows, max(0, watermark) or None
        )
        yield from (frame.assign(**dict.fromkeys(self._job.marks)) for frame in self._frames(step))
        if step.bad.num_rows:
            yield self._bad(step.bad)
        if (waits := step.waits()) is not None:
            yield self._marked(1, waits=[list(waits)])
        after, timer = step.state()
        if after is not None:
            self._state.update((after,))
        elif before is not None:
            self._state.clear()
        if timer != step.timer_before:
            if step.timer_before not in (None, due):
                self._handle.deleteTimer(step.timer_before)
            if timer is not None:
                self._handle.registerTimer(timer)

    def _frames(self, step: BucketStep) -> Iterator[Any]:
        """Yield the answers and late rows of a step, as frames."""
        if self._job.names is not None or self._job.result is not None:
            yield from map(self._frame_with_names, step.rows())
        else:
            for answers, ends in step.answers():
                yield self._frame(answers, step.rows_of_ends, ends)
        if step.late.num_rows:
            yield self._late(step.late)

    def _bad(self, rows: Any) -> Any:
        """Return the rows that have no place in the stream, by position, file and reason."""
        columns = {"bad": "position", "file": FILE, "why": "why"}
        cells = {name: rows.column(of).to_pylist() for name, of in columns.items()}
        return self._marked(rows.num_rows, **cells)

    def _marked(self, rows: int, **marks: list[Any]) -> Any:
        """Return a frame in which all `marks` of the job but some are NULL."""
        import pandas as pd

        names = [*self._places, *self._job.cells, "late", *self._job.marks]
        whole = dict.fromkeys(names, [None] * rows)
        return pd.DataFrame(whole | marks, dtype=object)

    def _frame(self, answers: AnswerBatch, rows: Any, ends: Any) -> Any:
        import pandas as pd

        count = len(answers)
        positions = np.empty(count, object)
        for n, each in enumerate(np.split(answers.positions, answers.offsets[1:-1])):
            positions[n] = each
        columns = {"start": answers.start, "end": answers.end, "positions": positions}
        return pd.DataFrame({**columns, **self._partition(rows, ends), "late": [None] * count})

    def _frame_with_names(self, rows: Any) -> Any:
        """Return rows as a frame: ``start``, ``end``, ``n0``, ``n1``, .., and ``late``."""
        import pandas as pd

        places, begin = {name: rows.column(name) for name in self._places}, len(self._places)
        others = {
            name: pandas_column(rows.column(begin + n)) for n, name in enumerate(self._job.cells)
        }
        return pd.DataFrame(
            {**{name: place.to_numpy() for name, place in places.items()}, **others}
            | {"late": [None] * rows.num_rows}
        )

    def _late(self, rows: Any) -> Any:
        import pandas as pd

        whole: dict[str, Any] = dict.fromkeys([*self._places, *self._job.cells])
        keys = [rows.column(f"a{a}") for a in self._job.keys]
        if self._job.names is not None or self._job.result is not None:
            whole |= {f"n{n}": pandas_column(key) for n, key in enumerate(keys)}
        else:
            whole |= self._partition(rows, np.arange(rows.num_rows))
        return pd.DataFrame(whole | {"late": rows.column("position").to_numpy()})

    @property
    def _places(self) -> tuple[str, ...]:
        """The columns of an answer's place; the result of a row pattern has none."""
        return ("start", "end") if self._job.result is None else ()

    def _partition(self, rows: Any, which: Any) -> dict[str, Any]:
        """Return the keys of rows in the form sent: integers with NULL, moments as integers."""
        if not self._job.with_partition:
            return {}
        import pyarrow as pa

        columns = {}
        for n, attribute in enumerate(self._job.keys):
            column = rows.column(f"a{attribute}").take(which)
            if pa.types.is_timestamp(column.type):
                column = column.cast(pa.int64())
            columns[f"p{n}"] = column.to_pandas(integer_object_nulls=True)
        return columns
