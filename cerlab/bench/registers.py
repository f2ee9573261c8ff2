"""Register patterns measured: beside the figures of the paper, and beside Algorithm 1 (SRT Alg. 1).

From columns in memory to flat arrays of answers, with the predicate stage, the coding of values
and the tables of the rules; without parsing and the construction of the transducer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isclose
from statistics import median
from time import process_time

import numpy as np
import pyarrow as pa

from cerlab import io
from cerlab.api import parse_query
from cerlab.automata.plan import RegisterPlan
from cerlab.bench.register_patterns import PAPER, PATTERNS, WINDOWS, ceql, sremo
from cerlab.bench.timing import SHORTEST, once
from cerlab.compile.sremo_to_srt import register_plan
from cerlab.engine.answers import AnswerBatch
from cerlab.engine.reference.registers import Runs
from cerlab.engine.registers.evaluation import RegisterEvaluation
from cerlab.errors import ResourceLimit
from cerlab.logic.sremo.parser import parse_sremo
from cerlab.model.stream import Stream

MOST_LISTED = 5_000_000
"""Up to so many answers are listed; of more only the number is found, without listing."""

SECONDS = 1.0
"""CPU time that Algorithm 1 gets."""


@dataclass(frozen=True, slots=True)
class PatternMeasurement:
    """A pattern in one window; seconds are CPU time, medians over rounds of all windows.

    Algorithm 1 reads as many of the first events as it can before its time or its limit is over;
    that it finds as many answers there is checked, and that the query has the same complex events.
    """

    query: str
    window: int
    answers: float
    """Exact below 2^53."""
    listed: bool
    percent: float
    """Answers for a hundred events."""
    paper_percent: float | None
    events_per_second: float
    of_first_window: float
    """The time in the smallest window over that in this one; 1 where the window costs nothing."""
    visits: float
    """Configurations visited for each event."""
    algorithm_1_events: int
    algorithm_1_events_per_second: float
    against_algorithm_1: float


@dataclass(frozen=True, slots=True)
class _Case:
    """A pattern in a window, and how many answers it has."""

    window: int
    plan: RegisterPlan
    answers: float
    visits: int

    @property
    def is_listed(self) -> bool:
        return self.answers <= MOST_LISTED


def measure_patterns(
    stream: Stream, runs: int, prefix: int, windows: Mapping[str, Sequence[int]] | None = None
) -> Iterator[PatternMeasurement]:
    """Measure patterns in windows, else all in all; Algorithm 1 reads `prefix` events at most."""
    first_events = Stream(stream.events[:prefix])
    for name, some in (windows or dict.fromkeys(PATTERNS, WINDOWS)).items():
        cases = [_case(name, window, stream) for window in some]
        rounds = [[_seconds(each, stream) for each in cases] for _ in range(runs)]
        for n, each in enumerate(cases):
            seconds = median(times[n] for times in rounds)
            length, slow = _algorithm_1(each.plan, stream, first_events)
            yield PatternMeasurement(
                query=name,
                window=each.window,
                answers=each.answers,
                listed=each.is_listed,
                percent=100 * each.answers / len(stream),
                paper_percent=PAPER.get((name, each.window)),
                events_per_second=len(stream) / seconds,
                of_first_window=median(times[0] / times[n] for times in rounds),
                visits=each.visits / len(stream),
                algorithm_1_events=length,
                algorithm_1_events_per_second=length / slow,
                against_algorithm_1=len(stream) / seconds * slow / max(length, 1),
            )


def _case(name: str, window: int, stream: Stream) -> _Case:
    """A pattern in a window; checks that the query has the same complex events."""
    plan = register_plan(parse_sremo(sremo(PATTERNS[name], window)))
    query = parse_query(ceql(PATTERNS[name], window)).registers
    run = RegisterEvaluation(plan, stream)
    case = _Case(window, plan, run.estimate(), run.configurations.visits)
    if case.is_listed:
        same = digest(RegisterEvaluation(plan, stream)) == digest(RegisterEvaluation(query, stream))
    else:
        same = isclose(RegisterEvaluation(query, stream).estimate(), case.answers, rel_tol=1e-9)
    assert same, f"{name} in {window} ms: the query has other answers"
    return case


def digest(run: RegisterEvaluation) -> tuple[int, int]:
    """How many answers there are, and a number that is the same for the same set of them."""
    count = total = 0
    for batch in run.answers():
        count += len(batch)
        total += int(_hashes(batch).sum(dtype=np.uint64))
    return count, total % 2**64


def _hashes(batch: AnswerBatch) -> np.ndarray:
    """A number for each answer: uint64 (answers,)."""
    odd, shift = np.uint64(0x9E3779B97F4A7C15), np.uint64(29)
    positions = (batch.positions.astype(np.uint64) + np.uint64(1)) * odd
    positions = (positions ^ (positions >> shift)) * odd
    sums = np.concatenate(([np.uint64(0)], np.cumsum(positions, dtype=np.uint64)))
    hashes = sums[batch.offsets[1:]] - sums[batch.offsets[:-1]]
    hashes = (hashes ^ batch.start.astype(np.uint64)) * odd + batch.end.astype(np.uint64)
    hashes *= odd
    result: np.ndarray = hashes ^ (hashes >> shift)
    return result


def _seconds(case: _Case, stream: Stream) -> float:
    """CPU seconds of one run; checks the number of answers."""

    def evaluation() -> None:
        run = RegisterEvaluation(case.plan, stream)
        count = sum(map(len, run.answers())) if case.is_listed else run.estimate()
        assert count == case.answers, f"{count} answers, and {case.answers} before"

    return max(once(evaluation)[0], SHORTEST)


def _algorithm_1(plan: RegisterPlan, stream: Stream, events: Stream) -> tuple[int, float]:
    """How many of the first events Algorithm 1 reads, and its CPU seconds."""
    runs, length, count = Runs(plan), 0, 0
    begin = process_time()
    for position, event in enumerate(events):
        try:
            count += len(runs.advance(event, position))
        except ResourceLimit:
            break
        length = position + 1
        if process_time() - begin > SECONDS:
            break
    seconds = max(process_time() - begin, SHORTEST)
    same = io.from_arrow(pa.table(dict(stream.columns)).slice(0, length))
    assert RegisterEvaluation(plan, same).estimate() == count, "Algorithm 1 finds other answers"
    return length, seconds
