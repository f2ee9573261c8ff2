"""Sessions of every kind that an interrupt or a limit stops: where they were, or refusing to go on.

A signal comes at a random instant of a push. Whoever was stopped pushes the same batch again; a
session that refuses is opened anew with the state of before. Then all that the pushes gave, one
after the other, is what one session gives that nobody stops.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random
from typing import Any

import pytest

import cerlab

PLAIN = "SELECT * WHERE A AS a ; B+ AS b ; C AS c PARTITION BY [k] WITHIN 40 [t]"
COMPARED = "SELECT * WHERE A AS a ; B AS b ; C AS c FILTER a.v <= c.v WITHIN 12 EVENTS"
BY_KEY = "SELECT * WHERE A AS a ; B AS b FILTER a.v < b.v PARTITION BY [k] WITHIN 60 [t]"

EXPRESSION = "(<type = 'A'>^ -> r . <TRUE>* . <type = 'B' AND v > r.v>^)[within 30 t]"

Open = Callable[[bytes | None], Any]


def opened(text: str) -> Open:
    return lambda state: cerlab.parse_query(text).open(state=state)


def rows(text: str) -> Open:
    return lambda state: cerlab.parse_query(text).tabulating(["a.v", "b.v"], state=state)


def totals(**aggregates: Any) -> Open:
    return lambda state: cerlab.parse_query(PLAIN).aggregating(state=state, **aggregates)


KINDS: dict[str, Open] = {
    "answers": opened(PLAIN),
    "answers of registers": opened(COMPARED),
    "answers of registers by key": opened(BY_KEY),
    "rows": rows(PLAIN),
    "rows of registers": rows(COMPARED),
    "rows of registers by key": rows(BY_KEY),
    "matches of an expression": lambda state: cerlab.session(EXPRESSION, state=state),
    "totals": totals(sum="b.v", max="a.v"),
    "totals by end": totals(sum="b.v", group_by="end"),
    "totals of a sliding window": totals(sum="b.v", group_by=["end", "k"], sliding="30 EVENTS"),
}


def batches(rng: Random) -> list[list[dict[str, Any]]]:
    """Batches of events; times grow, and values repeat."""
    events = [
        {"type": rng.choice("AABBCD"), "t": n, "k": rng.randrange(3), "v": rng.randrange(50) / 4}
        for n in range(150)
    ]
    sizes = iter(lambda: rng.choice((1, 2, 7, 30)), 0)
    cut = []
    while events:
        size = next(sizes)
        cut.append(events[:size])
        events = events[size:]
    return cut


def values(result: Any) -> list[Any]:
    """Return the results of a push, as values that compare."""
    return result if isinstance(result, list) else result.to_pylist()


@contextmanager
def stopped_after(seconds: float, error: BaseException) -> Iterator[None]:
    """A block in which a timer raises an error."""

    def stop(*_: Any) -> None:
        raise error

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


ERRORS: dict[str, Callable[[], BaseException]] = {
    "interrupt": KeyboardInterrupt,
    "limit": lambda: cerlab.ResourceLimit("CER0620", "too long", hint="wait longer"),
}


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # hypothesis's own
@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_lost_or_doubled(kind: str, error: str, request: pytest.FixtureRequest) -> None:
    deep = request.config.getoption("--profile") == "deep"
    assert stops(KINDS[kind], ERRORS[error], 1_000 if deep else 40) > 0


def stops(open_session: Open, error: Callable[[], BaseException], wanted: int) -> int:
    """Stop so many pushes, or as many as 20 times that many pushes allow; how many were."""
    stopped = pushes = seed = 0
    while stopped < wanted and pushes < 20 * wanted:
        rng = Random(seed)
        parts = batches(rng)
        session, expected, seconds = open_session(None), [], []
        for batch in parts:
            begin = time.perf_counter()
            expected += values(session.push(batch))
            seconds.append(time.perf_counter() - begin)
        session, got = open_session(None), list[Any]()
        for batch, length in zip(parts, seconds, strict=True):
            state, result = session.state(), None
            pushes += 1
            stop = error()
            try:
                with stopped_after(rng.uniform(1e-6, 1.2 * length), stop):
                    result = session.push(batch)
            except type(stop):
                stopped += result is None
            if result is None:
                try:
                    result = session.push(batch)
                except cerlab.UsageError as refusal:
                    assert refusal.code == "CER0832"  # noqa: PT017
                    session = open_session(state)
                    result = session.push(batch)
            got += values(result)
        assert got == expected, f"seed {seed}"
        seed += 1
    return stopped
