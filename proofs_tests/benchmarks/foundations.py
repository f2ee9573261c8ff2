"""The queries of FOUND Table 1 on its two random streams, as in its second and third experiment.

With selection strategies the paper measures how fast events are processed. Here that is the
compiled engine, which is Algorithm 1 of CORE, without its output: without a window an answer of Q4
to Q6 has as many positions as the stream, and MAX leaves all of Q1 to Q3, so listing would be all
that is measured. With a consumption policy answers are few, and all are listed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from random import Random

import numpy as np
import pyarrow as pa

from cerlab import Query, parse_query
from cerlab.engine.kernels.arrays import NONE
from cerlab.engine.kernels.tecs import Events
from cerlab.engine.tecs_run import Tecs
from cerlab.engine.whole_stream import compiled_answers
from cerlab.model.clauses import Strategy
from cerlab.model.stream import Stream
from proofs_tests.benchmarks.streams import in_memory
from proofs_tests.benchmarks.timing import Row, medians, rounds

QUERIES: Mapping[str, str] = {
    "Q1": "A AS x ; B AS y ; C AS z",
    "Q2": "A AS x ; B AS y ; C AS z ; D AS w",
    "Q3": "((A AS x OR B AS y) OR C AS z) ; D AS w",
    "Q4": "(A AS x)+ ; (B AS y)",
    "Q5": "(A AS x)+ ; (B AS y)+ ; C AS z",
    "Q6": "((A AS x)+ ; (B AS y))+ ; C AS z",
}
"""The formulas of Table 1."""

WEIGHTS: Mapping[str, tuple[int, ...]] = {"S1": (1, 1, 1, 1, 1), "S2": (4, 3, 2, 1, 2)}
"""Frequencies of A to E. The probabilities printed for S2 are these tenths, which sum up to 12/10;
they are taken in proportion."""

PAPER_PER_END: Mapping[str, int] = {"Q1": 5, "Q2": 14, "Q3": 4, "Q4": 19, "Q5": 516, "Q6": 2064}
"""Answers that end together, on average, by Table 2."""

_STRATEGIES = (None, Strategy.LAST, Strategy.MAX, Strategy.NXT)
_SEED = 2019


def random_stream(name: str, events: int) -> Stream:
    """Return S1 or S2: events of types A to E without attributes.

    >>> [event.type for event in random_stream("S1", 5)]
    ['E', 'D', 'E', 'A', 'D']
    """
    types = Random(_SEED).choices("ABCDE", WEIGHTS[name], k=events)
    return in_memory(pa.table({"type": types}))


def measure_foundations(events: int, runs: int) -> Iterator[Row]:
    """Measure both experiments; the consumption policy on S1 as in the paper."""
    for name in WEIGHTS:
        stream = random_stream(name, events)
        for query in QUERIES:
            for strategy in _STRATEGIES:
                yield measure_strategy(name, query, strategy, stream, runs)
    stream = random_stream("S1", events)
    for query in QUERIES:
        yield measure_consumption(query, stream, runs)


def process(query: Query, stream: Stream, ends: int = 0) -> tuple[int, Iterator[tuple[int, ...]]]:
    """Read a stream without a window: visits, and answers of the last `ends` ends (CORE Alg. 1).

    An answer is its positions.
    """
    length = len(stream)
    tecs = Tecs(query.plan, query.learned, NONE, arena=1 << 14, answers=1 << 15)
    nothing = np.zeros(length, np.int64)
    batches = list(
        tecs.read(
            Events(
                query.learned.symbols(stream.columns, length),
                nothing,
                np.arange(length, dtype=np.int64),
                nothing,
                report_from=length - ends,
            )
        )
    )
    return tecs.steps, (answer.positions for batch in batches for answer in batch)


def measure_strategy(
    name: str, formula: str, strategy: Strategy | None, stream: Stream, runs: int
) -> Row:
    """Measure a formula of `QUERIES` under a strategy, without output; `visits` are by event."""
    selection = f"{strategy.value} *" if strategy else "*"
    query = parse_query(f"SELECT {selection} WHERE {QUERIES[formula]}")
    visits, _ = process(query, stream)
    figures = medians(rounds({"": partial(process, query, stream)}, runs, warm=True)[""])
    return {
        "stream": name,
        "query": formula,
        "strategy": strategy.value if strategy else None,
        "events": len(stream),
        "events_per_second": len(stream) / figures["cpu"],
        "cpu_spread": figures["cpu_spread"],
        "visits": visits / len(stream),
    }


def measure_consumption(formula: str, stream: Stream, runs: int) -> Row:
    """Measure a formula of `QUERIES` on S1 with CONSUME BY ANY, all answers listed.

    `per_end` are answers that end together, on average.
    """
    query = parse_query(f"SELECT * WHERE {QUERIES[formula]} CONSUME BY ANY")

    def run() -> tuple[int, int]:
        answers = ends = 0
        last = NONE
        for batch in compiled_answers(query.plan, query.learned, stream, stream.time):
            answers += len(batch)
            ends += int(np.count_nonzero(np.diff(batch.end, prepend=last)))
            last = batch.end[-1]
        return answers, ends

    answers, ends = run()
    figures = medians(rounds({"": run}, runs, warm=True)[""])
    return {
        "stream": "S1",
        "query": formula,
        "events": len(stream),
        "seconds": figures["cpu"],
        "cpu_spread": figures["cpu_spread"],
        "answers": answers,
        "per_end": answers / max(ends, 1),
        "paper_per_end": PAPER_PER_END[formula],
    }
