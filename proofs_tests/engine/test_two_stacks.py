"""Totals under windows with many open starts: right, exact, and an event costs what it did before.

Up to `array_totals.FEW_CELLS` cells of starts are kept one by one. For more the kernels keep two
stacks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import cerlab
from cerlab.engine import array_totals, totals
from cerlab.engine.array_totals import ArrayTotals
from cerlab.evaluate import thresholds
from cerlab.evaluate.labelled import selected_labels
from cerlab.model.stream import Stream
from cerlab.testing import Shape
from proofs_tests.engine.test_aggregate_sessions import VALUES
from proofs_tests.engine.test_aggregates import cases, with_doubles
from proofs_tests.suite import Suite, random_suite


def ways_agree(
    query: cerlab.Query, stream: Stream, how: dict[str, Any], rng: Random, few: int
) -> bool:
    """Kernels, with `few` cells one by one, agree with the reference, whole and in sessions."""
    tables, counts, ends = list[Any](), list[int](), list[Any]()
    time: dict[str, Any] = (
        {"time": stream.time.attribute, "unit": stream.time.unit} if stream.time else {}
    )
    cuts = sorted(rng.sample(range(len(stream) + 1), min(len(stream), rng.randrange(6))))
    cuts = [0, *cuts, len(stream)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(array_totals, "FEW_CELLS", few)
        for short in (10**9, -1):
            patch.setattr(totals, "SHORT", short)
            tables.append(sorted(map(repr, query.run(stream).aggregate(**how).to_pylist())))
            counts.append(query.run(stream).aggregate(count=True).to_pylist()[0]["count"])
        for fewest in (10**9, rng.choice((1, 30))):
            patch.setattr(thresholds, "FEWEST", fewest)
            session, rows = query.aggregating(**how, **time), list[Any]()
            for first, last in pairwise(cuts):
                rows += session.push(stream[first:last]).to_pylist()
                if fewest < 10**9 and rng.random() < 0.3:
                    session = query.aggregating(**how, state=session.state())
            ends.append([*map(repr, rows)])
        counts.append(query.run(stream).count())
    assert tables[0] == tables[1], (str(query), how)
    assert counts[0] == counts[1] == counts[2], str(query)
    assert sorted(ends[0]) == sorted(ends[1]), (str(query), how)
    return counts[0] > 0


def test_random_queries_whose_few_open_starts_are_many(suite: Suite) -> None:
    """Random queries with all clauses on streams of 40 events."""

    def case(rng: Random) -> bool:
        shape = Shape(depth=3, events=40)
        sample = next(case for case in cases(rng, shape) if case.query.plan.window is not None)
        query, stream = sample.query, with_doubles(sample, rng).stream
        names = [f"{label}.d" for label in sorted(selected_labels(query))[:2]]
        how = {"sum": names, "min": names, "max": names, "group_by": rng.choice(([], ["end"]))}
        return ways_agree(query, stream, how, rng, rng.randrange(3))

    suite.run(case, deep_count=2_000)


PATTERNS = (
    "A AS x ; B AS y",
    "A AS x ; B AS y ; C",
    "A+ AS x ; B AS y",
    "A AS x ; (B+ OR C+) AS y ; D",
    "(A OR B) AS x ; C AS y ; A",
    "A AS x : B AS y",
    "A AS x ; B:+ AS y ; C",
    "E ; D ; A+ AS x ; B AS y",
)
WINDOWS = ("WITHIN {w} EVENTS", "WITHIN {w} [t]", "WITHIN {w} [f]")
CLAUSES = ("", "", "", " CONSUME BY ANY", " CONSUME BY PARTITION")


def drawn(rng: Random) -> tuple[str, list[dict[str, Any]], dict[str, Any]]:
    """A query with a long window, events of which some begin many answers, and what is asked."""
    text, count = rng.choice(PATTERNS), rng.randrange(150, 500)
    window = rng.choice(WINDOWS).format(w=rng.choice((90, 150, 300)))
    key = rng.random() < 0.3
    query = f"SELECT * WHERE {text}{' PARTITION BY [k]' if key else ''} {window}"
    query += rng.choice(CLAUSES) if key else rng.choice(("", "", " CONSUME BY ANY"))
    kind, t = rng.choice([*VALUES]), 0
    weights = rng.choice(((9, 1, 1, 1, 1), (3, 1, 1, 1, 1), (5, 5, 0.2, 0.2, 0.1)))
    events: list[dict[str, Any]] = []
    for n in range(count):
        t += rng.choice((0, 1, 1, 2, 40 if rng.random() < 0.02 else 1))
        (type_,) = rng.choices("ABCDE", weights)
        v = VALUES[kind](rng, n)
        events.append({"type": type_, "k": rng.choice((1, 2, 2, 2)), "t": t, "f": t / 4, "v": v})
    how: dict[str, Any] = {"min": "x.v", "max": ["x.v", "y.v"]}
    if kind != "texts":
        how |= {"sum": "y.v", "avg": "x.v"}
    how["group_by"] = [name for name in ("end", "k") if rng.random() < 0.5 and (key or name != "k")]
    return query, events, how


@random_suite(1_000)
def test_long_windows_with_many_open_starts_against_the_reference(rng: Random) -> bool | None:
    """Also numbers beyond 64 bits, batches, and states that are saved and resumed."""
    text, events, how = drawn(rng)
    stream = Stream.from_events(events)
    try:
        return ways_agree(cerlab.parse_query(text), stream, how, rng, rng.choice((4, 64, 500)))
    except cerlab.ResourceLimit as error:
        if error.code != "CER0619":  # a sum has more digits than a column takes
            raise
        return None


def test_numbers_of_many_bits_in_a_window_with_many_starts() -> None:
    """Of n starts before m events each run goes on in 2^m ways."""
    events = [{"type": t} for t in "A" * 300 + "B" * 700 + "C"]
    query = cerlab.parse_query("SELECT * WHERE A ; B+ ; C WITHIN 900 EVENTS")
    assert query.run(events).count() == 200 * (2**700 - 1)
    numbered = [{"type": t, "v": n} for n, t in enumerate("A" * 300 + "B" * 200 + "C")]
    query = cerlab.parse_query("SELECT * WHERE A AS x ; B+ ; C WITHIN 400 EVENTS")
    (row,) = query.run(numbered).aggregate(sum="x.v", max="x.v", min="x.v").to_pylist()
    runs = 2**200 - 1
    assert (row["count"], row["sum(x.v)"]) == (200 * runs, sum(range(100, 300)) * runs)
    assert (row["min(x.v)"], row["max(x.v)"]) == (100, 299)


def test_a_state_that_few_starts_reach_does_not_make_all_numbers_wide() -> None:
    """A matrix has no row for a state that no run is in: there 2^700 runs would go on."""
    events = [{"type": t} for t in "A" * 300 + "C" * 700 + "B"]
    query = cerlab.parse_query("SELECT * WHERE (A ; D ; C+ ; B) OR (A ; B) WITHIN 900 EVENTS")
    with steps_counted() as counted:
        assert query.run(events).count() == 200
    assert counted() < 200_000


@contextmanager
def steps_counted() -> Iterator[Callable[[], int]]:
    """Count the steps of all totals that are read inside."""
    steps, read = [0], ArrayTotals.read

    def noted(of: ArrayTotals, *arguments: Any, **more: Any) -> Any:
        before = of.steps
        try:
            return read(of, *arguments, **more)
        finally:
            steps[0] += of.steps - before

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ArrayTotals, "read", noted)
        yield lambda: steps[0]


VERBS: dict[str, Callable[[cerlab.Query, pa.Table], Any]] = {
    "count": lambda query, table: query.run(table).count(),
    "aggregate": lambda query, table: query.run(table).aggregate(sum="x.v", max="x.v"),
    "by end": lambda query, table: query.run(table).aggregate(min="x.v", group_by="end"),
    "by key": lambda query, table: query.run(table).aggregate(avg="x.v", group_by="k"),
    "session": lambda query, table: query.aggregating(sum="x.v", max="x.v").push(table),
}


def stream(rows: int, keys: int) -> pa.Table:
    rng = np.random.default_rng(3)
    types = np.array(["A", "B", "C", "D"])[rng.choice(4, rows, p=[0.6, 0.1, 0.1, 0.2])]
    columns = {"t": np.arange(rows), "k": rng.integers(0, keys, rows), "v": rng.random(rows)}
    return pa.table({"type": types, **columns})


def steps_of(text: str, verb: str, rows: int, window: int, keys: int = 1) -> float:
    """The steps of an event of a query."""
    key = " PARTITION BY [k]" if keys > 1 or verb == "by key" else ""
    query = cerlab.parse_query(f"SELECT * WHERE {text}{key} WITHIN {window} [t]")
    with steps_counted() as counted:
        VERBS[verb](query, stream(rows, keys))
    assert counted() > 0
    return counted() / rows


@pytest.mark.parametrize("verb", [*VERBS])
@pytest.mark.parametrize(
    "text",
    ["A AS x ; B", "A AS x ; B ; C", "(A OR D) AS x ; B", "A AS x : A", "A AS x : A : A : A"],
)
def test_the_steps_of_an_event_do_not_grow_with_the_window_nor_with_open_starts(
    text: str, verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Contiguous patterns have long windows with few runs, others with as many as events."""
    monkeypatch.setattr(array_totals, "FEW_CELLS", 64)
    few = steps_of(text, verb, 20_000, 200)
    assert steps_of(text, verb, 20_000, 2_000) <= 2.5 * few
    assert steps_of(text, verb, 20_000, 10_000) <= 2.5 * few
    # an event of a longer stream, and of many substreams, costs the same
    assert steps_of(text, verb, 80_000, 2_000) <= 2.5 * few
    assert steps_of(text, verb, 20_000, 10_000, keys=20) <= 4 * few
