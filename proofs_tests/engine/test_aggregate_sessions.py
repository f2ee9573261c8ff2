"""Aggregates of arriving events: by hand, by cost, and refusals."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import pairwise
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import cerlab
from cerlab.engine import array_totals
from cerlab.engine.reference import totals as reference
from cerlab.evaluate import running_batches, thresholds
from proofs_tests.engine.test_aggregates import TotalsCounter
from proofs_tests.engine.test_aggregates_by_hand import RISES
from proofs_tests.suite import Suite


def test_patterns_of_patterns() -> None:
    """A rise is A then B; two rises that do not overlap are found among the rises."""
    first = cerlab.parse_query("SELECT * WHERE A AS a ; B AS b WITHIN 2 EVENTS")
    second = cerlab.parse_query("SELECT * WHERE RISE AS x ; RISE AS y FILTER y[`a.t` >= 5]")
    rises = first.run(RISES).table(["a.t", "b.v"])
    assert [row["b.v"] for row in rises.to_pylist()] == [2, 4, 5]
    assert [m.positions for m in cerlab.evaluate(second, rises, type="RISE")] == [
        (0, 1),
        (0, 2),
        (1, 2),
    ]
    sums = cerlab.parse_query("SELECT * WHERE RISE AS x FILTER x[`sum(b.v)` > 3]")
    below = first.aggregating(sum="b.v", group_by="end")
    above = sums.open()
    pairs = [m for event in RISES for m in above.push(below.push([event]), type="RISE")]
    assert [m.positions for m in pairs] == [(1,), (2,)]


@pytest.mark.parametrize("window", ["", "WITHIN 50 EVENTS"])
def test_what_a_session_does_for_an_event_does_not_depend_on_how_many_answers_there_are(
    window: str,
) -> None:
    totals = []
    for n in (110, 220):
        events = [{"type": "A", "v": 1}] * n + [{"type": "B"}]
        query = cerlab.parse_query(f"SELECT * WHERE A+ ; B {window}")
        counter = TotalsCounter()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(reference.RunTotals, "_count", counter.add)
            (row,) = query.aggregating(group_by="end").push(events).to_pylist()
        assert row["count"] == 2 ** (50 if window else n) - 1
        totals.append(counter.total)
    assert totals[1] <= 2.5 * totals[0]


COMPARED = " FILTER a.t < b.t"
"""A filter that every pair passes, and that takes the answers to be listed."""


@pytest.mark.parametrize("few", [1, 1000], ids=["columns", "events"])
@pytest.mark.parametrize("compared", ["", COMPARED])
@pytest.mark.parametrize(
    ("batch", "error"),
    [
        ([{"type": "A", "v": "x"}], "CER0306"),
        ([{"type": "A", "v": True}], "CER0306"),
        ([{"type": "A", "v": float("inf")}], "CER0748"),
        ([{"type": "A", "w": 1}, {"type": "A", "w": "x"}], "CER0747"),
    ],
)
def test_of_a_batch_with_a_value_that_has_no_total_nothing_is_read(
    batch: list[dict[str, Any]],
    error: str,
    compared: str,
    few: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(thresholds, "FEWEST", few)
    query = cerlab.parse_query(f"SELECT * WHERE A AS a ; A AS b{compared}")
    session = query.aggregating(sum="b.v", min="b.w")
    session.push([{"type": "A", "t": 1, "v": 1, "w": 5}])
    for given in ([{"type": "A", "v": 2}, *batch], batch):
        with pytest.raises(cerlab.CerlabError) as caught:
            session.push(given)
        assert caught.value.code == error
        assert session.pushed == 1
    (row,) = session.push([{"type": "A", "t": 2, "v": 3, "w": 4}]).to_pylist()
    assert row == {"count": 1, "sum(b.v)": 3, "min(b.w)": 4}


@pytest.mark.parametrize("few", [1, 1000], ids=["columns", "events"])
@pytest.mark.parametrize("compared", ["", COMPARED])
def test_a_time_that_goes_back_comes_after_the_rows_before_it(
    compared: str, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(thresholds, "FEWEST", few)
    query = cerlab.parse_query(f"SELECT * WHERE A AS a ; A AS b{compared} WITHIN 9 [t]")
    session = query.aggregating(group_by="end")
    with pytest.raises(cerlab.BadData, match="backwards") as caught:
        session.push([{"type": "A", "t": t} for t in (1, 2, 0)])
    rows: Any = caught.value.matches
    assert rows.to_pylist() == [{"end": 1, "count": 1}]
    assert session.pushed == 2
    assert session.push([{"type": "A", "t": 3}]).to_pylist() == [{"end": 2, "count": 2}]


def batches(rng: Random, events: list[Any]) -> Iterator[list[Any]]:
    """Yield the events in batches of random lengths."""
    while events:
        size = rng.randint(1, len(events))
        yield events[:size]
        events = events[size:]


@pytest.mark.parametrize("few", [1, 1000], ids=["kernel", "exact"])
@pytest.mark.parametrize("window", ["", " WITHIN 99 EVENTS"], ids=["one total", "by start"])
def test_sums_of_doubles_of_any_size_are_exact_in_any_batches(
    window: str, few: int, suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Batches, and totals by start, differ in the largest power of 2 that divides their values."""
    monkeypatch.setattr(thresholds, "FEWEST", few)
    query = cerlab.parse_query(f"SELECT * WHERE A AS a ; B{window}")

    def case(rng: Random) -> bool:
        values: list[float] = []
        events: list[dict[str, Any]] = []
        expected = []
        for end in range(rng.randint(2, 12)):
            if not values or rng.random() < 0.7:
                exponent = rng.choice((0, 1, 60, -60, rng.randint(-1070, 960)))
                values.append(rng.choice((-3, -1, 1, 5)) * 2.0**exponent)
                events.append({"type": "A", "v": values[-1]})
            else:
                events.append({"type": "B"})
                expected.append((end, float(sum(map(Fraction, values)))))
        session = query.aggregating(sum="a.v", group_by="end")
        rows = [row for batch in batches(rng, events) for row in session.push(batch).to_pylist()]
        assert [(row["end"], row["sum(a.v)"]) for row in rows] == expected, events
        return bool(expected)

    suite.run(case, deep_count=5_000, needs_answers=0.5)


VALUES: dict[str, Callable[[Random, int], Any]] = {
    "small": lambda rng, _: rng.randrange(-5, 1000),
    "large": lambda rng, n: rng.choice((2**64 if n > 300 else 10**18, n)),
    "doubles": lambda rng, _: rng.random() * 10.0 ** rng.randrange(-8, 8),
    "doubles later": lambda rng, n: rng.choice((0.1, None, float("nan")) if n > 200 else (7, None)),
    "one by one": lambda _, n: n,
    "texts": lambda rng, _: str(rng.randrange(200)),
}
PATTERNS = (
    "A AS x ; B AS y",
    "A+ AS x ; B AS y WITHIN 99 EVENTS",
    "A AS x ; B+ AS y ; C WITHIN 40 [t]",
    "A AS x ; B AS y WITHIN 12.5 [f]",
    "A AS x ; B AS y PARTITION BY [k]",
    "A AS x : B AS y PARTITION BY [k] WITHIN 9 EVENTS",
    "A AS x ; B AS y PARTITION BY [k] WITHIN 40 [t] CONSUME BY PARTITION",
    "A AS x ; B AS y PARTITION BY [k] WITHIN 90 [t] CONSUME BY ANY",
)


def test_batches_of_any_size_give_the_rows_of_single_events(
    suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Long streams: numbers get more limbs, values and groups come later, the form changes.

    Where arrays become too large in the middle of a batch, it is read event by event.
    """
    monkeypatch.setattr(array_totals, "FIRST_CELLS", 1)

    def case(rng: Random) -> bool:
        text, kind = rng.choice(PATTERNS), rng.choice([*VALUES])
        count, t, events = rng.randrange(200, 700), 0, list[dict[str, Any]]()
        for n in range(count):
            t += rng.choice((0, 0, 1, 1, 2, 7))
            event: dict[str, Any] = {
                "type": rng.choice("ABC"),
                "k": rng.choice((1, 2, None, n)),
                "t": t,
            }
            event |= {"f": t / 4, "v": VALUES[kind](rng, n), "n": rng.choice("pqrs")}
            events.append(event)
        groups = [name for name in ("start", "end") if rng.random() < 0.3]
        groups += ["x.n"] if "A+" not in text and rng.random() < 0.3 else []
        how: dict[str, Any] = {"group_by": groups, "min": "x.v", "max": ["x.n", "y.v"]}
        if kind != "texts":
            how |= {"sum": "y.v", "avg": "x.v"}
        sizes, cuts = rng.choice(((130, 200), (1, 1, 2, 5, 150, 200), (1, 3, 140))), [0]
        while cuts[-1] < count:
            cuts.append(cuts[-1] + rng.choice(sizes))
        query, tables = cerlab.parse_query(f"SELECT * WHERE {text}"), []
        for few in (10**9, rng.choice((thresholds.FEWEST, 2))):
            with monkeypatch.context() as patch:
                patch.setattr(thresholds, "FEWEST", few)
                most = rng.choice((300, 500, 1_000, 2_000, 10_000, array_totals.MOST_CELLS))
                patch.setattr(array_totals, "MOST_CELLS", most)
                session = query.aggregating(**how)
                pushes = [session.push(events[a:b]).to_pylist() for a, b in pairwise(cuts)]
                tables.append([sorted(map(repr, rows)) for rows in pushes])
        assert tables[0] == tables[1], (text, kind, how, cuts)
        return any(tables[0])

    suite.run(case, deep_count=2_000)


@pytest.mark.parametrize("size", [1, 200])
def test_the_least_doubles_and_nan_in_a_push(size: int) -> None:
    """All doubles are multiples of the least one; NaN counts for nothing, and is a double."""
    session = cerlab.parse_query("SELECT * WHERE A").aggregating(sum="A.v")
    (row,) = session.push([{"type": "A", "v": 1}] * size).to_pylist()
    assert (row["sum(A.v)"], type(row["sum(A.v)"])) == (size, int)
    (row,) = session.push([{"type": "A", "v": math.nan}] * size).to_pylist()
    assert (row["sum(A.v)"], type(row["sum(A.v)"])) == (size, float)
    tiny = cerlab.parse_query("SELECT * WHERE A").aggregating(sum="A.v")
    (row,) = tiny.push([{"type": "A", "v": 5e-324}] * size).to_pylist()
    assert row["sum(A.v)"] == size * 5e-324


def test_the_least_of_integers_and_doubles_is_a_double_however_events_are_pushed() -> None:
    events = [{"type": "A", "v": v} for v in (2.5, *[3] * 200)]
    query = cerlab.parse_query("SELECT * WHERE A")
    for size in (1, 201):
        session = query.aggregating(max="A.v", group_by="end")
        pushes = [session.push(events[n : n + size]) for n in range(0, 201, size)]
        assert {push.schema.field("max(A.v)").type for push in pushes} == {pa.float64()}
        assert pushes[-1].to_pylist()[-1]["max(A.v)"] == 3.0


@pytest.mark.parametrize("keys", [100, 10_000])
def test_a_batch_looks_at_the_keys_that_end_answers_alone(keys: int) -> None:
    """Others are numbers in arrays, however many there are, by a count of the keys made."""
    query = cerlab.parse_query("SELECT * WHERE A ; B PARTITION BY [k] WITHIN 50000 [t]")
    looks: list[Any] = []
    key_of = running_batches._key

    def counted(*arguments: Any) -> Any:
        looks.append(arguments)
        return key_of(*arguments)

    events = [{"type": "A", "k": n % keys, "t": n} for n in range(20_000)]
    for at in (5_000, 5_001, 17_000):
        events[at]["type"] = "B"
    rows = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(running_batches, "_key", counted)
        session = query.aggregating(group_by="key")
        for start in range(0, 20_000, 4_000):
            rows += session.push(events[start : start + 4_000]).to_pylist()
    assert len(looks) == len({row["k"] for row in rows}) <= 3
    last = {row["k"]: row for row in rows}
    assert [*last.values()] == query.run(events).aggregate(group_by="key").to_pylist()
