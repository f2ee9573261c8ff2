"""One query on several cores, beside what the machine can give at all (PERFORMANCE.md, bar 8).

The engine's threads read overlapping ranges of one stream. The control does the same work in
processes of their own, which share nothing: how much faster several of those are, together, than
one is what the machine has to give at that moment. Both are taken in the same rounds.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, Any

from cerlab.api import Query, parse_query
from cerlab.bench.streams import in_memory
from cerlab.engine.whole_stream import compiled_answers
from cerlab.model.stream import Stream

if TYPE_CHECKING:
    from multiprocessing.connection import Connection


@dataclass(frozen=True, slots=True)
class Cores:
    """How many times as fast several cores are as one, by wall time; medians over the rounds."""

    query: str
    cores: int
    rounds: int
    answers: int
    threads: float
    """One thread against so many on overlapping ranges of the stream."""
    processes: float
    """The control: so many processes at once against one, each on the whole stream."""


def measure_cores(name: str, query: Query, stream: Stream, cores: int, rounds: int) -> Cores:
    """Measure a query; raises ValueError if the threads list another number of answers."""
    count = count_answers(query, stream, 1)
    if (others := count_answers(query, stream, cores)) != count:
        raise ValueError(f"{cores} threads list {others} answers of '{name}', one lists {count}")
    threads, processes = [], []
    with controls(query, stream, cores) as control:
        for _ in range(rounds):
            one, many = _wall(query, stream, 1), _wall(query, stream, cores)
            threads.append(one / many)
            processes.append(cores * control(1) / control(cores))
    return Cores(name, cores, rounds, count, median(threads), median(processes))


def count_answers(query: Query, stream: Stream, workers: int) -> int:
    """How many answers so many threads list."""
    time = stream.time
    return sum(map(len, compiled_answers(query.plan, query.learned, stream, time, workers=workers)))


def _wall(query: Query, stream: Stream, workers: int) -> float:
    before = perf_counter()
    count_answers(query, stream, workers)
    return perf_counter() - before


@contextmanager
def controls(query: Query, stream: Stream, cores: int) -> Iterator[Any]:
    """A function of n: the wall seconds in which n processes at once run the query."""
    import pyarrow as pa

    context = get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "stream.arrow")
        table = pa.table(dict(stream.columns))
        with pa.OSFile(path, "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
        lines, workers = [], []
        for _ in range(cores):
            ours, theirs = context.Pipe()
            worker = context.Process(target=serve, args=(path, query.text, theirs), daemon=True)
            worker.start()
            lines.append(ours)
            workers.append(worker)
        try:
            for line in lines:
                line.recv()

            def together(count: int) -> float:
                before = perf_counter()
                for line in lines[:count]:
                    line.send("run")
                for line in lines[:count]:
                    line.recv()
                return perf_counter() - before

            yield together
        finally:
            for line in lines:
                line.send("stop")
            for worker in workers:
                worker.join()


def serve(path: str, text: str, line: Connection) -> None:
    """Run a query on a stream as often as is asked for."""
    import pyarrow as pa

    with pa.OSFile(path) as file:
        stream = in_memory(pa.ipc.open_file(file).read_all())
    query = parse_query(text)
    line.send(count_answers(query, stream, 1))
    while line.recv() == "run":
        line.send(count_answers(query, stream, 1))
