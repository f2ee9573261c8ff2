"""Whether an engine slows down as a stream goes on: its second half beside its first (bar 2).

Each round is one run that reads both halves, so the two times lie side by side, and the second is
that of an engine which has read the first.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import quantiles
from time import process_time
from typing import NamedTuple

from cerlab.api import Query
from cerlab.bench.timing import SHORTEST
from cerlab.engine.answers import BATCH, AnswerBatch, Evaluation, slice_rows
from cerlab.engine.whole_stream import stream_evaluation
from cerlab.model.stream import Stream


@dataclass(frozen=True, slots=True)
class Halves:
    """How many times as fast as the first half the second is read, by CPU time.

    Median over the rounds, with the lower and upper quartile.
    """

    query: str
    rounds: int
    first_answers: int
    second_answers: int
    cpu_ratio: float
    cpu_low: float
    cpu_high: float


def measure_halves(name: str, query: Query, stream: Stream, rounds: int) -> Halves:
    """Measure a query in two rounds or more, after one that warms up."""
    half = len(stream) // 2
    rows = [_round(query, stream, half) for _ in range(rounds + 1)][1:]
    first, second = (half_run.answers for half_run in rows[-1])
    ratios = [max(a.cpu, SHORTEST) / max(b.cpu, SHORTEST) for a, b in rows]
    low, middle, high = quantiles(ratios, n=4, method="inclusive")
    return Halves(name, rounds, first, second, middle, low, high)


class _HalfRun(NamedTuple):
    cpu: float
    answers: int


def _round(query: Query, stream: Stream, half: int) -> tuple[_HalfRun, _HalfRun]:
    """One run over both halves."""
    run = stream_evaluation(query.plan, query.learned, stream.time)

    def read_half(start: int) -> _HalfRun:
        before = process_time()
        answers = _count_answers(run, stream, start, start + half)
        return _HalfRun(process_time() - before, answers)

    return read_half(0), read_half(half)


def _count_answers(run: Evaluation[AnswerBatch], stream: Stream, start: int, end: int) -> int:
    """How many answers some events complete."""
    count = 0
    for begin in range(start, end, BATCH):
        size = min(BATCH, end - begin)
        part = {name: slice_rows(column, begin, size) for name, column in stream.columns.items()}
        count += sum(map(len, run.push(part, size)))
    return count + sum(map(len, run.finish()))
