"""Sessions of every kind that an interrupt or a limit stops: where they were, or refusing to go on.

An error comes at a drawn instant of a push; the instants are counted. After it the same batch is
pushed again; if the session refuses, a new one takes over from the state before. All results
together must be those of one session that nothing stops.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

import pytest

import cerlab

PLAIN = "SELECT * WHERE A AS a ; B+ AS b ; C AS c PARTITION BY [k] WITHIN 40 [t]"
COMPARED = "SELECT * WHERE A AS a ; B AS b ; C AS c FILTER a.v <= c.v WITHIN 12 EVENTS"
WAITS = "SELECT * WHERE (A AS a ; B AS b WAIT 5 [t]) UNLESS C PARTITION BY [k] WITHIN 60 [t]"
BY_KEY = "SELECT * WHERE A AS a ; B AS b FILTER a.v < b.v PARTITION BY [k] WITHIN 60 [t]"

EXPRESSION = "(<type = 'A'>^ -> r . <TRUE>* . <type = 'B' AND v > r.v>^)[within 30 t]"

Open = Callable[[bytes | None], Any]


def opened(text: str) -> Open:
    return lambda state: cerlab.parse_query(text).open(state=state)


def rows(text: str) -> Open:
    return lambda state: cerlab.parse_query(text).tabulating(["a.v", "b.v"], state=state)


def totals(text: str, **aggregates: Any) -> Open:
    return lambda state: cerlab.parse_query(text).aggregating(state=state, **aggregates)


KINDS: dict[str, Open] = {
    "answers": opened(PLAIN),
    "answers of registers": opened(COMPARED),
    "answers of registers by key": opened(BY_KEY),
    "answers that wait": opened(WAITS),
    "rows": rows(PLAIN),
    "rows of registers": rows(COMPARED),
    "rows of registers by key": rows(BY_KEY),
    "rows that wait": rows(WAITS),
    "matches of an expression": lambda state: cerlab.session(EXPRESSION, state=state),
    "totals": totals(PLAIN, sum="b.v", max="a.v"),
    "totals by end": totals(PLAIN, sum="b.v", group_by="end"),
    "totals of a sliding window": totals(
        PLAIN, sum="b.v", group_by=["end", "k"], sliding="30 EVENTS"
    ),
    "totals of registers": totals(COMPARED, sum="a.v", group_by="end"),
    "totals that wait": totals(WAITS, sum="b.v", group_by=["end", "k"]),
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


def counted(
    work: Callable[[], Any], at: int = 0, error: BaseException | None = None
) -> tuple[Any, int]:
    """Return the result of some work and the number of its instants; raise an error `at` one.

    An instant is the beginning of a function or the return of a C function: Python runs handlers
    of signals there.
    """
    instants = 0

    def look(_: object, event: str, __: object) -> None:
        nonlocal instants
        instants += event in ("call", "c_return")
        if error is not None and instants == at:
            sys.setprofile(before)
            raise error

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        result = work()
    finally:
        sys.setprofile(before)
    return result, instants


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
        session, expected, instants = open_session(None), [], []
        for batch in parts:
            result, most = counted(partial(session.push, batch))
            expected += values(result)
            instants.append(most)
        session, got = open_session(None), list[Any]()
        for batch, most in zip(parts, instants, strict=True):
            state, result = session.state(), None
            pushes += 1
            stop = error()
            try:
                result, _ = counted(partial(session.push, batch), rng.randint(1, most), stop)
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
