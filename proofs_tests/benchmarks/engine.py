"""One query on one stream by the compiled engine, beside what it is compared with in the same run.

A figure is honest as a ratio: to the predicate stage, which any exact engine pays, to reading the
columns that a query needs, and to other ways to evaluate it on the same events. Not in the time:
reading the stream, parsing, planning, and the first run, which loads or compiles the kernels and
leaves with the query what was learnt of it.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa

from cerlab import AnswerWarning, Query, evaluate, io, parse_query
from cerlab.engine.answers import BATCH, AnswerBatch, Evaluation
from cerlab.engine.whole_stream import compiled_answers, stream_evaluation
from cerlab.evaluate import EvaluatorName, answers_of
from cerlab.model.columns import slice_rows
from cerlab.model.stream import Stream
from cerlab.predicates.columns import SymbolStage
from cerlab.predicates.syntax import atoms, attributes_of
from proofs_tests.benchmarks.streams import load, plain, save
from proofs_tests.benchmarks.timing import Row, Seconds, medians, once, rounds, times_as_fast

FEW = 3
"""Maximal runs of evaluators that are slower by orders of magnitude."""

LENGTHS = (10, 30, 100, 200, 400, 700, 1_000, 2_000, 4_000, 10_000, 19_000, 30_000, 100_000)

HOPELESS = 10
"""The tECS in Python is not measured on longer streams once it costs this many times the best."""

ENOUGH = 0.02
"""CPU seconds that one measurement of `lengths` lasts: shorter calls are repeated."""


def answers(query: Query, stream: Stream, threads: int = 1) -> int:
    """Count the answers that the compiled engine lists on some threads."""
    time = stream.time
    return sum(map(len, compiled_answers(query.plan, query.learned, stream, time, threads=threads)))


def count(query: Query, stream: Stream) -> int:
    """Count the answers without listing them; nothing is kept from an earlier count."""
    return query.run(stream).count()


def throughput(name: str, query: Query, stream: Stream, runs: int) -> Row:
    """Measure listing all answers into arrays; rates are by CPU time.

    `of_predicate_stage` is the time of the predicate stage alone over that of the run: at most 1,
    but for noise. `of_columns` is the same for summing up the columns that the query reads.
    """
    symbol_stage = SymbolStage(query.machine.predicates)
    seconds = rounds(
        {
            "run": partial(answers, query, stream),
            "stage": partial(_stage, symbol_stage, stream),
            "columns": partial(_sums, query, stream),
        },
        runs,
    )
    total, figures = answers(query, stream), medians(seconds["run"])
    cpu = figures["cpu"]
    return {
        "query": name,
        "events": len(stream),
        "answers": total,
        "runs": runs,
        **figures,
        "events_per_second": len(stream) / cpu,
        "answers_per_second": total / cpu,
        "of_predicate_stage": medians(seconds["stage"])["cpu"] / cpu,
        "of_columns": medians(seconds["columns"])["cpu"] / cpu,
    }


def counting(query: Query, stream: Stream, ours: Row) -> Row:
    """Measure counting without enumeration on the stream of `ours`, whose number is checked."""
    total = count(query, stream)
    assert total == ours["answers"], f"count() is {total}, listed are {ours['answers']}"
    runs = rounds({"": partial(count, query, stream)}, min(FEW, ours["runs"]), warm=True)
    cpu = medians(runs[""])["cpu"]
    return {"count_events_per_second": len(stream) / cpu, "count_of_run": ours["cpu"] / cpu}


def against_tecs(query: Query, stream: Stream, prefix: int) -> Row:
    """Measure the engine and the tECS in pure Python on the first `prefix` events."""
    some = io.from_arrow(pa.table(dict(stream.columns)).slice(0, prefix))
    assert len(some.events) == min(prefix, len(stream))
    ours = medians(rounds({"": partial(answers, query, some)}, FEW)[""])["cpu"]
    theirs = once(lambda: sum(1 for _ in answers_of(query, some, "tecs"))).cpu
    return {"against_tecs": theirs / ours}


def _stage(stage: SymbolStage, stream: Stream) -> None:
    """Run the predicate stage alone, in the batches of the engine; it keeps what it has learned."""
    for start in range(0, len(stream), BATCH):
        stage.symbols(*_batch(stream, start, len(stream)))


def _batch(stream: Stream, start: int, end: int) -> tuple[dict[str, Any], int]:
    size = min(BATCH, end - start)
    return {name: slice_rows(col, start, size) for name, col in stream.columns.items()}, size


def _sums(query: Query, stream: Stream) -> None:
    """Sum up every column that the query tests, as NumPy reads it."""
    names = {"type", *(a for P in query.machine.predicates for a in attributes_of(atoms(P)))}
    for name in sorted(names & stream.columns.keys()):
        column = stream.columns[name]
        whole = column.combine_chunks() if hasattr(column, "combine_chunks") else column
        np.sum(getattr(whole, "indices", whole).to_numpy(zero_copy_only=False))


def halves(name: str, query: Query, stream: Stream, count: int) -> Row:
    """Measure whether the engine slows down: the second half of the stream beside the first.

    Each round is one run that reads both, so the two times lie side by side, and the second is that
    of an engine which has read the first.
    """
    half = len(stream) // 2
    seconds: dict[int, list[Seconds]] = {0: [], half: []}
    for _ in range(1 + count):  # the first warms up
        totals: list[int] = []
        run = stream_evaluation(query.plan, query.learned, stream.time)

        def read(
            start: int, run: Evaluation[AnswerBatch] = run, totals: list[int] = totals
        ) -> None:
            parts = (_batch(stream, n, start + half) for n in range(start, start + half, BATCH))
            some = sum(len(batch) for part in parts for batch in run.push_columns(*part))
            totals.append(some + sum(map(len, run.finish())))

        for start, samples in seconds.items():
            samples.append(once(partial(read, start)))
    first, second = (samples[1:] for samples in seconds.values())
    found = {"first_answers": totals[0], "second_answers": totals[1]}
    return {"query": name, "rounds": count, **found, **times_as_fast(first, second)}


def cores(name: str, query: Query, stream: Stream, cores: int, count: int) -> Row:
    """Measure threads on overlapping ranges of the stream, beside processes that share nothing.

    What several processes are, together, times as fast as one is what the machine has to give at
    that moment. Raises ValueError if the threads list another number of answers.
    """
    total = answers(query, stream)
    if (others := answers(query, stream, cores)) != total:
        raise ValueError(f"{cores} threads list {others} answers of '{name}', one lists {total}")
    threads, processes = [], []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "stream.arrow"
        save(stream, path)
        arguments = (str(path), query.text)
        pool = ProcessPoolExecutor(cores, get_context("spawn"), _start_worker, arguments)
        with pool:

            def together(workers: int) -> float:
                return _wall(lambda: list(pool.map(_work, range(workers))))

            together(2 * cores)  # every process has started
            for _ in range(count):
                one, many = (_wall(partial(answers, query, stream, n)) for n in (1, cores))
                threads.append(one / many)
                processes.append(cores * together(1) / together(cores))
    figures = {"threads": median(threads), "processes": median(processes)}
    return {"query": name, "cores": cores, "rounds": count, "answers": total, **figures}


_WORKER: dict[str, Any] = {}
"""The query and the stream of a worker."""


def _start_worker(path: str, text: str) -> None:
    _WORKER["run"] = partial(answers, parse_query(text), load(path))
    _WORKER["run"]()


def _work(_: int) -> None:
    _WORKER["run"]()


def _wall(run: Callable[[], object]) -> float:
    before = perf_counter()
    run()
    return perf_counter() - before


def lengths(name: str, query: Query, stream: Stream, runs: int) -> Iterator[Row]:
    """Measure ``"auto"`` beside the evaluators it chooses from, by length and form of the events.

    Each call of `cerlab.evaluate` reads events anew, a list of dicts or a table; so does
    ``query.run(..).to_arrow()``, whose order does not depend on what is loaded. Kernels are loaded
    before. Seconds are medians of CPU time, and `auto_of_best` is auto's over the least.
    """
    table = plain(stream)
    ways: tuple[EvaluatorName, ...] = ("auto", "tecs", "compiled")
    with warnings.catch_warnings(action="ignore", category=AnswerWarning):  # of short streams
        evaluate(query, table.slice(0, 1), evaluator="compiled")
        for form in ("dicts", "table"):
            remaining = list(ways)
            for length in (n for n in LENGTHS if n <= table.num_rows):
                some = table.slice(0, length)
                events = some.to_pylist() if form == "dicts" else some
                calls: dict[str, Callable[[], Any]] = {
                    way: partial(evaluate, query, events, evaluator=way) for way in remaining
                }
                calls["run"] = partial(_table, query, events)
                seconds = _repeated(calls, runs)
                least = min(seconds[way] for way in remaining)
                head = {"query": name, "events": length, "form": form}
                of_best = {"auto_of_best": seconds["auto"] / least}
                yield head | dict.fromkeys(ways) | seconds | of_best
                if seconds.get("tecs", 0) > HOPELESS * least:
                    remaining.remove("tecs")


def _table(query: Query, events: Any) -> Any:
    return query.run(events).to_arrow()


def _repeated(calls: dict[str, Callable[[], Any]], runs: int) -> dict[str, float]:
    """Return the median CPU seconds of each call, which is repeated till it takes `ENOUGH`."""
    times = {way: 1 + int(ENOUGH / once(call).cpu) for way, call in calls.items()}

    def repeat(way: str) -> Iterable[None]:
        for _ in range(times[way]):
            calls[way]()
        return ()

    seconds = rounds({way: partial(repeat, way) for way in calls}, runs, warm=True)
    return {way: medians(some)["cpu"] / times[way] for way, some in seconds.items()}
