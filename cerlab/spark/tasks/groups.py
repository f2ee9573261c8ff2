"""Groups of whole keys in a task, for queries whose filters compare labels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from cerlab import io
from cerlab.compile.pattern import Pattern
from cerlab.compile.text_to_pattern import as_pattern
from cerlab.engine.answers import AnswerBatch, batched_answers
from cerlab.evaluate.compiled import CompiledEvaluator
from cerlab.evaluate.labelled import answer_tables
from cerlab.io.answers import ROWS, table_of_batches
from cerlab.model.clock import TimeAxis
from cerlab.spark.tasks.named_rows import RowNames, in_types
from cerlab.spark.tasks.rows import SIZE, integers, tables_of


@dataclass(frozen=True, slots=True)
class GroupJob:
    """What a task has to know of a query: all of it plain values."""

    query: str
    """Its text, without FROM: other streams are left out before."""
    time: TimeAxis | None
    attributes: tuple[str, ...]
    """Those of the columns ``a0 a1 ..``."""
    names: RowNames | None


@lru_cache(maxsize=16)
def _pattern_of(query: str) -> Pattern:
    return as_pattern(query)


def evaluate_groups(batches: Iterable[Any], job: GroupJob, size: int = SIZE) -> Iterator[Any]:
    """The answers of all keys; the rows come sorted by ``group`` and ``position``.

    A group holds all rows of a key, perhaps of several. It is in memory as a whole, and small ones
    are read together.
    """
    import pyarrow as pa

    waiting: list[Any] = []
    for rows in tables_of(batches, size):
        before, groups = len(waiting), integers(rows, "group")
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
    """The answers of some groups that are all here, as record batches."""
    import pyarrow as pa

    positions = integers(rows, "position")
    order = np.argsort(positions, kind="stable")
    rows, positions = rows.take(order), positions[order]
    columns = {name: rows.column(f"a{n}") for n, name in enumerate(job.attributes)}
    stream = io.as_stream(pa.table(columns))
    stream = stream if job.time is None else stream.on_time(job.time)
    pattern = _pattern_of(job.query)
    batches = batched_answers(CompiledEvaluator().answers(pattern, stream), ROWS)
    if job.names is None:
        yield from table_of_batches(
            _with_positions(batch, positions) for batch in batches
        ).to_batches()
        return
    texts = [column.name for column in job.names.columns]
    for table in answer_tables(pattern, stream, batches, texts, positions=positions):
        yield from in_types(table, job.names.schema).to_batches()


def _with_positions(answers: AnswerBatch, positions: Any) -> AnswerBatch:
    start, end, places = (positions[x] for x in (answers.start, answers.end, answers.positions))
    return AnswerBatch(start, end, answers.offsets, places)
