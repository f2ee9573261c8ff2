"""Measuring one query: CPU and wall medians, and what they are compared with in the same run.

A figure is honest as a ratio: to the predicate stage, which any exact engine pays, to reading the
columns it needs, and to another evaluator on the same events.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

import numpy as np

from cerlab.engine.run import BATCH, compiled_answers
from cerlab.model.stream import Stream
from cerlab.predicates.bitvector import SymbolStage
from cerlab.predicates.mentions import mentioned
from cerlab.predicates.syntax import atoms
from cerlab.workbench import Query, answers_of


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds: medians of CPU and wall time, and the spread of the CPU time (max / min)."""

    cpu: float
    wall: float
    spread: float


@dataclass(frozen=True, slots=True)
class Measurement:
    """One query on one stream by the compiled engine, end to end from columns to flat answers."""

    query: str
    events: int
    answers: int
    cpu: float
    wall: float
    spread: float
    events_per_second: float
    answers_per_second: float
    of_predicate_stage: float
    """How often the run's time goes into that of the predicate stage: at most 1."""
    of_columns: float
    """The same for summing up the columns that the query reads."""
    against_tecs: float | None = None
    """How many times the events per second of the tECS in pure Python, on a prefix."""

    def row(self) -> dict[str, Any]:
        """As one JSON object."""
        return asdict(self)


def timed(run: Callable[[], object], runs: int) -> Timing:
    """The medians of some runs after one that warms up."""
    run()
    cpu, wall = [], []
    for _ in range(runs):
        c, w = time.process_time(), time.perf_counter()
        run()
        cpu.append(time.process_time() - c)
        wall.append(time.perf_counter() - w)
    low = max(min(cpu), 1e-9)
    return Timing(max(median(cpu), 1e-9), median(wall), max(cpu) / low)


def measure(name: str, query: Query, stream: Stream, *, runs: int, prefix: int = 0) -> Measurement:
    """Measure a query; with `prefix` also the tECS on so many events of the stream."""
    found = 0

    def engine() -> None:
        nonlocal found
        found = sum(map(len, compiled_answers(query.plan, query.machine, stream, stream.time)))

    whole = timed(engine, runs)
    stage = timed(lambda: _stage(query, stream), runs)
    columns = timed(lambda: _sums(query, stream), runs)
    ratio = None
    if prefix:
        some = _prefix(stream, prefix)
        ours = timed(
            lambda: sum(map(len, compiled_answers(query.plan, query.machine, some, None))), 5
        )
        theirs = timed(lambda: _exhaust(query, some), 1)
        ratio = theirs.cpu / ours.cpu
    return Measurement(
        query=name,
        events=len(stream),
        answers=found,
        cpu=whole.cpu,
        wall=whole.wall,
        spread=whole.spread,
        events_per_second=len(stream) / whole.cpu,
        answers_per_second=found / whole.cpu,
        of_predicate_stage=stage.cpu / whole.cpu,
        of_columns=columns.cpu / whole.cpu,
        against_tecs=ratio,
    )


def _prefix(stream: Stream, length: int) -> Stream:
    """The first events, as columns and as events."""
    columns = {name: column[:length] for name, column in stream.columns.items()}
    events = stream[:length].events
    some = Stream.from_columns(columns, len(events), lambda: events, time=stream.time)
    assert some.events is events
    return some


def _exhaust(query: Query, stream: Stream) -> None:
    for _ in answers_of(query, stream, "tecs"):
        pass


def _stage(query: Query, stream: Stream) -> None:
    """The predicate stage alone, in the batches of the engine."""
    stage = SymbolStage(query.machine.predicates)
    columns = stream.columns
    for start in range(0, len(stream), BATCH):
        size = min(BATCH, len(stream) - start)
        stage.symbols(
            {
                name: column.slice(start, size)
                if hasattr(column, "slice")
                else column[start : start + size]
                for name, column in columns.items()
            },
            size,
        )


def _sums(query: Query, stream: Stream) -> None:
    """Read every column that the query tests, as NumPy reads it."""
    names = {"type", *(a for P in query.machine.predicates for a in mentioned(atoms(P)))}
    for name in names & stream.columns.keys():
        column = stream.columns[name]
        if hasattr(column, "combine_chunks"):
            whole = column.combine_chunks()
            values = getattr(whole, "indices", whole)
            np.sum(values.to_numpy(zero_copy_only=False))
