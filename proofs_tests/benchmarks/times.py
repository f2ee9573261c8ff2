"""Time, bursts, arithmetic between labels and counts: queries over many keys, and side by side.

The absence is ``(A WAIT 10 MINUTES) UNLESS B`` by key on a generated stream: events counted, listed
and pushed to a session per CPU second, and the peak of the resident set. A burst is three different
users within five minutes on one of 1,000 hosts, counted with and without THROTTLE. Each of the
other rows is a query against a simpler one with the same steps, in turns in one process.
"""

from __future__ import annotations

import resource
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from cerlab import Event, Query, Stream, count, parse_query
from cerlab.evaluate.physical import compiled
from proofs_tests.benchmarks.timing import Row, medians, pairs, rounds

ABSENCE = "SELECT * WHERE (A WAIT 10 MINUTES) UNLESS B PARTITION BY [k]"

BURST = """SELECT * WHERE MAX(A+ AS a WITHIN 5 MINUTES) FILTER COUNT(DISTINCT a.user) >= 3
PARTITION BY [host]"""

HOSTS = 1_000

EVENTS_OF_A_KEY = 100

PUSHED = 200_000
"""Events of the stream that are pushed to the session, at most: it reads them one by one."""

BATCH = 1_000
"""Events of a push."""

SIDE_BY_SIDE = {
    "arithmetic": (
        "SELECT * WHERE A AS a ; B AS b FILTER b.p > a.p WITHIN 20 EVENTS",
        "SELECT * WHERE A AS a ; B AS b FILTER b.p > 1.05 * a.p WITHIN 20 EVENTS",
    ),
    "counts": (
        "SELECT * WHERE A ; A ; A ; A ; A WITHIN 12 EVENTS",
        "SELECT * WHERE A{5} WITHIN 12 EVENTS",
    ),
}
"""The simpler query, and the one that is measured against it."""


def measure_times(events: int, runs: int) -> Iterator[Row]:
    """Measure the absence, the bursts, and the other queries on a tenth of the absence's stream."""
    yield measure_absence(events, runs)
    for inside in (5, 30):
        yield measure_bursts(events, inside, runs)
    stream = stream_of(max(100, events // 10))
    for name, texts in SIDE_BY_SIDE.items():
        both = {text: partial(listed, parse_query(text), stream) for text in texts}
        for row in pairs(both, max(2, runs)):
            yield {"benchmark": name, "events": len(stream)} | row


def stream_of(events: int) -> Stream:
    """Return A and B in turns by chance, of as many keys as have 100 events each.

    An event comes every 60 ms on average, so with 100,000 keys one of each every 100 minutes.
    """
    rng = np.random.default_rng(1)
    times = np.cumsum(rng.integers(0, 12, events)).astype(np.int64) * 10_000_000
    types = np.where(rng.random(events) < 0.5, "A", "B")
    columns = {
        "type": pa.array(types).dictionary_encode(),
        "k": rng.integers(0, max(1, events // EVENTS_OF_A_KEY), events),
        "p": rng.integers(1, 1_000, events),
        "ts": pa.array(times, pa.timestamp("ns")),
    }
    return Stream(pa.table(columns), time="ts", until="end")


def measure_absence(events: int, runs: int) -> Row:
    """Measure one absence: figures are medians over the runs, the peak is that of all of them."""
    query, stream = parse_query(ABSENCE), stream_of(events)
    first = stream.head(PUSHED)
    some = [first[n : n + BATCH] for n in range(0, len(first), BATCH)]
    seconds = rounds(
        {
            "count": partial(count, query, stream),
            "list": partial(waited, query, stream),
            "push": partial(pushed, query, some),
        },
        runs,
    )
    cpu = {name: medians(each)["cpu"] for name, each in seconds.items()}
    return {
        "benchmark": "absence",
        "events": events,
        "keys": max(1, events // EVENTS_OF_A_KEY),
        "answers": waited(query, stream),
        "counted_per_second": events / cpu["count"],
        "listed_per_second": events / cpu["list"],
        "pushed_per_second": sum(map(len, some)) / cpu["push"],
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


def measure_bursts(events: int, inside: int, runs: int) -> Row:
    """Measure the bursts on a stream with `inside` events of a host in five minutes, by chance."""
    rng = np.random.default_rng(1)
    times = np.sort(rng.integers(0, max(1, events // HOSTS * 300_000 // inside), events))
    columns = {
        "type": ["A"] * events,
        "user": rng.integers(0, 50, events),
        "host": rng.integers(0, HOSTS, events),
        "ts": pa.array(times * 1_000_000, pa.timestamp("ns")),
    }
    stream = Stream(pa.table(columns), time="ts")
    texts = {"all": BURST, "throttled": f"{BURST} THROTTLE 1 HOUR"}
    each = {name: partial(count, parse_query(text), stream) for name, text in texts.items()}
    cpu = {name: medians(seconds)["cpu"] for name, seconds in rounds(each, runs).items()}
    return {
        "benchmark": "bursts",
        "events": events,
        "in_a_window": inside,
        **{f"{name}_per_second": events / seconds for name, seconds in cpu.items()},
    }


def waited(query: Query, stream: Stream) -> int:
    """Count the answers of a query that waits, as the compiled engine lists them."""
    access: Any = compiled(query).by_number(stream)
    return sum(map(len, access.batches()))


def listed(query: Query, stream: Stream) -> int:
    """Count the answers of an automaton or a transducer, as the compiled engine lists them."""
    run: Any = compiled(query).run_of_file(stream.time)
    assert run is not None, "the engine takes it"
    answers = sum(map(len, run.push(stream)))
    return answers + sum(map(len, run.finish()))


def pushed(query: Query, batches: Sequence[Sequence[Event]]) -> int:
    """Count the answers of a session."""
    session = query.open(time="ts")
    return sum(len(session.push(Stream(batch))) for batch in batches) + len(session.advance("end"))
