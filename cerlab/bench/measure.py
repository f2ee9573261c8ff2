"""Measuring one query: its time, and what it is compared with in the same run.

A figure is honest as a ratio: to the predicate stage, which any exact engine pays, to reading the
columns it needs, and to other ways to evaluate the same query on the same events. Not in the time:
reading the stream, parsing, planning, and the first run, which loads or compiles the kernels and
leaves with the query what was learnt of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cerlab import io
from cerlab.api import Query
from cerlab.bench.streams import read_columns
from cerlab.bench.timing import timing_of
from cerlab.engine.answers import BATCH
from cerlab.engine.whole_stream import compiled_answers
from cerlab.evaluate import answers_of
from cerlab.model.stream import Stream
from cerlab.predicates.columns import SymbolStage
from cerlab.predicates.syntax import atoms, attributes_of

FEW = 3
"""How many runs what is slower by orders of magnitude gets at most."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """One query on one stream by the compiled engine, from columns to flat answers.

    Every answer is enumerated into arrays and counted. Seconds; rates are by CPU time.
    """

    query: str
    events: int
    answers: int
    runs: int
    cpu: float
    wall: float
    cpu_spread: float
    wall_spread: float
    events_per_second: float
    answers_per_second: float
    of_predicate_stage: float
    """The time of the predicate stage alone over that of the run: at most 1, but for noise."""
    of_columns: float
    """The same for summing up the columns that the query reads. Higher is better in both."""


@dataclass(frozen=True, slots=True)
class Counting:
    """`Matches.count` on the same stream: events per CPU second, and how often that is the run's.

    The answers are not enumerated; the number is checked against the run's.
    """

    count_events_per_second: float
    count_of_run: float


@dataclass(frozen=True, slots=True)
class AgainstTecs:
    """How many times the events per CPU second of the tECS in pure Python, on a prefix."""

    against_tecs: float


def answers(query: Query, stream: Stream) -> int:
    """How many answers the compiled engine lists."""
    return sum(map(len, compiled_answers(query.plan, query.learned, stream, stream.time)))


def count(query: Query, stream: Stream) -> int:
    """How many answers there are, without listing them; nothing is kept from an earlier count."""
    return query.run(stream).count()


def measure(name: str, query: Query, stream: Stream, runs: int) -> Measurement:
    """Measure the compiled engine on a query."""
    total = answers(query, stream)
    whole = timing_of(lambda: answers(query, stream), runs, warm=True)
    symbol_stage = SymbolStage(query.machine.predicates)
    stage = timing_of(lambda: _stage(symbol_stage, stream), runs)
    columns = timing_of(lambda: _sums(query, stream), runs)
    return Measurement(
        query=name,
        events=len(stream),
        answers=total,
        runs=runs,
        cpu=whole.cpu,
        wall=whole.wall,
        cpu_spread=whole.cpu_spread,
        wall_spread=whole.wall_spread,
        events_per_second=len(stream) / whole.cpu,
        answers_per_second=total / whole.cpu,
        of_predicate_stage=stage.cpu / whole.cpu,
        of_columns=columns.cpu / whole.cpu,
    )


def measure_count(query: Query, stream: Stream, whole: Measurement) -> Counting:
    """Measure counting without enumeration on what `whole` is of."""
    total = count(query, stream)
    assert total == whole.answers, f"count() is {total}, listed are {whole.answers}"
    timing = timing_of(lambda: count(query, stream), min(FEW, whole.runs), warm=True)
    return Counting(len(stream) / timing.cpu, whole.cpu / timing.cpu)


def measure_tecs(query: Query, stream: Stream, prefix: int) -> AgainstTecs:
    """Measure the engine and the tECS in pure Python on the first `prefix` events."""
    some = _prefix(stream, prefix)
    ours = timing_of(lambda: answers(query, some), FEW)
    theirs = timing_of(lambda: sum(1 for _ in answers_of(query, some, "tecs")), 1)
    return AgainstTecs(theirs.cpu / ours.cpu)


def _prefix(stream: Stream, length: int) -> Stream:
    """The first events, as columns and as events."""
    import pyarrow as pa

    table = pa.table({name: column[:length] for name, column in stream.columns.items()})
    some = io.from_arrow(table)
    assert len(some.events) == min(length, len(stream))
    return some


def _stage(stage: SymbolStage, stream: Stream) -> None:
    """The predicate stage alone, in the batches of the engine; it too keeps what it has learnt."""
    for start in range(0, len(stream), BATCH):
        size = min(BATCH, len(stream) - start)
        stage.symbols(
            {name: column[start : start + size] for name, column in stream.columns.items()}, size
        )


def _sums(query: Query, stream: Stream) -> None:
    """Read every column that the query tests, as NumPy reads it."""
    names = {"type", *(a for P in query.machine.predicates for a in attributes_of(atoms(P)))}
    for column in read_columns(stream, sorted(names)):
        np.sum(column.to_numpy(zero_copy_only=False))
