"""Query S3 of CORE App. D on the real stock stream, against two independent counts."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from pathlib import Path

import pytest

import cerlab
from cerlab import Event, Stream
from cerlab.testing import stocks

S3 = """
SELECT * FROM S
WHERE (SELL as T1; BUY as T2; BUY as T3)
FILTER T1[name = 'INTC'] AND T2[name = 'RIMM'] AND T3[name = 'QQQ']
WITHIN 10000 [stock_time]
"""
WIDTH = 10_000
STEPS = (("SELL", "INTC"), ("BUY", "RIMM"), ("BUY", "QQQ"))


def step_of(event: Event) -> int | None:
    kind = (event.type, event.attributes["name"])
    return STEPS.index(kind) if kind in STEPS else None


def time_of(event: Event) -> int:
    time = event.attributes["stock_time"]
    assert isinstance(time, int)
    return time


def nested_loops(events: list[Event]) -> set[tuple[int, int, int]]:
    """All triples, by definition."""
    at: list[list[int]] = [[i for i, e in enumerate(events) if step_of(e) == k] for k in range(3)]
    return {
        (i, j, k)
        for k in at[2]
        for i in at[0]
        if i < k and time_of(events[k]) - time_of(events[i]) <= WIDTH
        for j in at[1]
        if i < j < k
    }


def counting_argument(events: list[Event]) -> int:
    """For each QQQ purchase: the pairs of a sale and a later purchase inside its window.

    A RIMM purchase at j makes a pair with each INTC sale before it that the window still holds;
    both lists are kept for the window, so the sales before j are found by bisection.
    """
    sales: deque[int] = deque()
    purchases: deque[int] = deque()
    total = 0
    for k, event in enumerate(events):
        step, now = step_of(event), time_of(event)
        for positions in (sales, purchases):
            while positions and now - time_of(events[positions[0]]) > WIDTH:
                positions.popleft()
        if step == 0:
            sales.append(k)
        elif step == 1:
            purchases.append(k)
        elif step == 2:
            inside = list(sales)
            total += sum(bisect_left(inside, j) for j in purchases)
    return total


def check(stream: Stream, prefix: int) -> int:
    events = list(stream.events)
    query = cerlab.parse_query(S3)
    some = cerlab.evaluate(query, stream[:prefix])
    assert {answer.positions for answer in some} == nested_loops(events[:prefix])
    assert all(answer.start == answer.positions[0] for answer in some)
    assert all(answer.end == answer.positions[-1] for answer in some)
    count = sum(1 for _ in query.run(stream))
    assert count == query.run(stream).count() == counting_argument(events)
    return count


def test_s3_on_the_bundled_synthetic_stream() -> None:
    assert check(Stream(stocks(20_000)), 2_000) > 1_000


def test_s3_on_all_events_of_the_real_stream(stock_file: Path) -> None:
    stream = Stream.read(stock_file)
    assert len(stream) == 224_473
    assert check(stream, 4_000) == 345_816


@pytest.mark.parametrize("consume", ["ANY", "PARTITION"])
def test_s3_consuming_is_runs_between_resets(consume: str) -> None:
    """Outputs between two resets are the outputs of a fresh run on that suffix."""
    events = list(stocks(1_500, seed=11))
    answers = cerlab.evaluate(f"{S3} CONSUME BY {consume}", events)
    expected = []
    start = 0
    while True:
        triples = [triple for triple in nested_loops(events[start:]) if triple]
        if not triples:
            break
        end = min(k for _, _, k in triples)
        expected += [tuple(start + p for p in t) for t in triples if t[2] == end]
        start += end + 1
    assert {answer.positions for answer in answers} == set(expected)
    assert answers
