"""Which small streams a search tries, and what a verdict says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import pairwise, product
from random import Random

import pytest

from cerlab import (
    ComplexEvent,
    Schema,
    Timestamp,
    Verdict,
    Witness,
    contained,
    equivalent,
    satisfiable,
)
from cerlab.compile.pattern import as_pattern
from cerlab.decisions import confirm
from cerlab.decisions.search import Pool, pool_of, small_streams
from cerlab.model.event import Value
from cerlab.predicates.condition import predicate_named

DECLARATION = """CREATE STREAM S {
    EVENT A { v:double, n:string, b:boolean?, t:timestamp }, EVENT B { v:double }
} """
APART = "A AS x ; B AS y FILTER x.v = y.v AND x.v != y.v"


def stream_schema() -> Schema:
    schema = as_pattern(DECLARATION + "SELECT * WHERE A").schema
    assert schema is not None
    return schema


@pytest.mark.parametrize(
    ("own", "values"),
    [
        (None, [7, 0, 1, 2]),
        (1, [1, 2, 0, 7]),
        (0.5, [0.5, 1.5, -0.5, 7, 0, 1, 2]),
        (2**63 - 1, [2**63 - 1, 2**63 - 2, 7, 0, 1, 2]),
        (-(2**63), [-(2**63), -(2**63) + 1, 7, 0, 1, 2]),
        ("x", ["x", "xa", 7, 0, 1, 2]),
        (False, [False, True, 7, 0, 1, 2]),
        (Timestamp(5), [Timestamp(5), Timestamp(6), Timestamp(4), 7, 0, 1, 2]),
    ],
)
def test_a_value_its_neighbours_and_what_others_hold(own: Value, values: list[Value]) -> None:
    pool_values = Pool([], ["v"], (7,), None).values({"type": "A", "v": own}, "v")
    assert pool_values == values
    assert [type(value) for value in pool_values] == [type(value) for value in values]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("v", [2.5, 3.5, 1.5, 7, 0, 1, 2]),
        ("n", ["a", "b", "c"]),
        ("b", [False, True]),
        ("t", [Timestamp(0), Timestamp(10**9)]),
        ("w", []),
    ],
)
def test_values_are_of_the_declared_type(name: str, values: list[Value]) -> None:
    assert Pool([], [name], (7,), stream_schema()).values({"type": "A", "v": 2.5}, name) == values
    assert Pool([], [name], (7,), stream_schema()).values({"type": "C", "v": 2.5}, name) == []


@pytest.mark.parametrize(("schema", "null"), [(None, {"v", "b"}), (DECLARATION, {"b"})])
def test_only_what_is_compared_is_drawn_anew(schema: str | None, null: set[str]) -> None:
    pool = Pool([], ["v", "b"], (), stream_schema() if schema else None)
    row = {"type": "A", "v": 5, "b": True, "n": "same"}
    variants = [pool.random_variant(row, rng) for rng in map(Random, range(200))]
    assert {(row["type"], row["n"]) for row in variants} == {("A", "same")}
    assert {name for row in variants for name in ("v", "b") if name not in row} == null
    assert {row["v"] for row in variants if "v" in row} == {5, 6, 4, 0, 1, 2}
    assert 60 < sum(row.get("v") == 5 for row in variants) < 150


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("A ; B", [{}]),
        ("A AS x ; B AS y FILTER x.v = y.v", [{"v": 0}, {"v": 1}, {"v": 2}]),
        (
            "A AS x ; B AS y FILTER x.v = y.w",
            [{"v": 0, "w": 0}, {"v": 0, "w": 1}, {"v": 1, "w": 0}, {"v": 1, "w": 1}],
        ),
        (
            "A AS x ; B AS y FILTER x[v > 10] AND x.v = y.v",
            [{"v": 10}, {"v": 11}, {"v": 12}, {"v": 9}],
        ),
    ],
)
def test_each_event_has_the_first_values_of_what_is_compared(
    text: str, values: list[dict[str, Value]]
) -> None:
    pool = pool_of([as_pattern(text)])
    expected = [
        {"type": kind, **attributes} for attributes in values for kind in ("other", "A", "B")
    ]
    assert pool.events == expected


def test_what_a_predicate_of_sets_reads_is_compared() -> None:
    predicate_named(lambda prices, events: True, "draws_on", each=False)
    text = "A AS x ; B AS y FILTER draws_on(x.v, y) AND x.w = y.u"
    assert pool_of([as_pattern(text)]).attributes == ["u", "v", "w"]


def test_all_short_streams_are_tried_and_longer_ones_at_random() -> None:
    streams = list(small_streams([as_pattern("A ; B")]))
    kinds = [tuple(event["type"] for event in events) for events in streams]
    every = [each for n in range(1, 6) for each in product(("other", "A", "B"), repeat=n)]
    assert kinds[: len(every)] == every
    lengths = [len(each) for each in kinds]
    assert lengths == sorted(lengths)
    assert len(lengths) == 2_000
    counts = Counter(lengths[len(every) :])
    assert set(counts) == {6, 7}
    assert min(counts.values()) > 700


@pytest.mark.parametrize(
    ("clauses", "name", "unit"),
    [("WITHIN 3 [u]", "u", 1), ("WITHIN 3 SECONDS", "time", Timestamp(10**9))],
)
def test_times_go_on_by_no_to_two_units(clauses: str, name: str, unit: Value) -> None:
    query = as_pattern(f"SELECT * FROM S WHERE A ; B PARTITION BY [k] {clauses}")
    steps: Counter[int] = Counter()
    keys: Counter[int] = Counter()
    for events in small_streams([query]):
        times = [event[name] for event in events]
        whole = [t.nanoseconds // 10**9 if isinstance(t, Timestamp) else t for t in times]
        assert {type(t) for t in times} == {type(unit)}
        steps.update(after - before for before, after in pairwise([0, *whole]))
        keys.update(event["k"] for event in events)
        assert {event["stream"] for event in events} <= {"S", "other"}
    assert set(steps) == {0, 1, 2}
    assert set(keys) == {0, 2}
    assert 1.5 < keys[0] / keys[2] < 2.5


def test_times_stand_where_the_schema_declares_them() -> None:
    query = as_pattern(DECLARATION + "SELECT * WHERE A ; A WITHIN 3 SECONDS CONSUME BY ANY")
    events = [event for events in small_streams([query]) for event in events]
    assert all(isinstance(event["t"], Timestamp) and "time" not in event for event in events)


@pytest.mark.parametrize(
    ("ask", "queries", "holds", "reason"),
    [
        (satisfiable, ["A"], True, "has an answer on 1 event; recomputed by the reference"),
        (satisfiable, ["A ; B"], True, "has an answer on 2 events; recomputed by the reference"),
        (contained, ["A ; B", "A : B"], False, "differ on 3 events; recomputed by the reference"),
        (
            satisfiable,
            [APART],
            None,
            "not decided: there is no automaton for comparisons between labels;"
            " 2000 small streams show no difference",
        ),
    ],
)
def test_what_a_verdict_says(
    ask: Callable[..., Verdict], queries: list[str], holds: bool | None, reason: str
) -> None:
    verdict = ask(*queries)
    assert verdict.holds is holds
    assert verdict.reason == reason


def test_a_verdict_says_that_numbers_have_no_end() -> None:
    over = "A FILTER A[v + 1 = 2]"
    assert equivalent(over, over).reason.endswith("; arithmetic is over the rationals")
    assert "arithmetic" not in equivalent("A", "A").reason


@pytest.mark.parametrize("left", ["A", "B"])
@pytest.mark.parametrize("side", ["left", "right"])
def test_a_witness_that_does_not_hold_is_an_error(left: str, side: str) -> None:
    """An answer of both sides, or of none, tells nothing apart; nor does one of the other side."""
    witness = Witness([{"type": "A"}], ComplexEvent(0, 0, (0,)), side)  # type: ignore[arg-type]
    with pytest.raises(AssertionError, match="the witness is wrong"):
        confirm(witness, as_pattern(left), as_pattern(left))
    other = "B" if left == "A" else "A"
    if (left == "A") is (side == "left"):
        assert confirm(witness, as_pattern(left), as_pattern(other)).holds is False
    else:
        with pytest.raises(AssertionError, match="the witness is wrong"):
            confirm(witness, as_pattern(left), as_pattern(other))


OTHER = "CREATE STREAM S { EVENT A { v:double } } "
TWO_TIMES = "CREATE STREAM S { EVENT A { t:timestamp, u:timestamp } } "


@pytest.mark.parametrize(
    ("left", "right", "reason"),
    [
        (DECLARATION + "SELECT * WHERE A", OTHER + "SELECT * WHERE A", "the two schemas differ"),
        (DECLARATION + "SELECT * WHERE A", "A", "minterms"),
        ("A", DECLARATION + "SELECT * WHERE A", "minterms"),
        (
            TWO_TIMES + "SELECT * WHERE A ; A WITHIN 2 SECONDS",
            TWO_TIMES + "SELECT * WHERE A ; A WITHIN 3 SECONDS",
            "declares no single timestamp",
        ),
        (
            DECLARATION + "SELECT * WHERE A ; A WITHIN 2 SECONDS",
            DECLARATION + "SELECT * WHERE A ; A WITHIN 2 SECONDS",
            "every stream",
        ),
    ],
)
def test_schemas_of_two_queries(left: str, right: str, reason: str) -> None:
    assert reason in equivalent(left, right).reason
