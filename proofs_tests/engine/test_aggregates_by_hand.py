"""Aggregates of small streams, computed by hand, and groups without a value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import cerlab
from cerlab import budget
from cerlab.engine import measures as end_totals
from cerlab.engine import totals
from cerlab.engine.reference import totals as reference
from proofs_tests.engine.test_aggregates import TotalsCounter
from proofs_tests.limits.calls import at_most_calls


def test_more_starts_in_a_window_than_there_is_room_for_at_first() -> None:
    """A window of 200 of 300 events: the ring grows, and the sums are those of the answers."""
    events = [{"type": "AB"[n % 3 == 2], "v": n} for n in range(600)]
    query = cerlab.parse_query("SELECT * WHERE A AS a ; B AS b WITHIN 200 EVENTS")
    table = query.run(events).table(["a.v"])
    by_end = table.group_by("end").aggregate([("a.v", "sum"), ([], "count_all")])
    sums = query.run(events).aggregate(sum="a.v", group_by="end")
    assert sums["sum(a.v)"].to_pylist() == by_end.sort_by("end")["a.v_sum"].to_pylist()
    assert sums["count"].to_pylist() == by_end.sort_by("end")["count_all"].to_pylist()


STOCKS = [
    {"type": "BUY", "name": "X", "price": 0.1},
    {"type": "SELL", "name": "X", "price": 0.25},
    {"type": "SELL", "name": "Y", "price": None},
    {"type": "SELL", "name": "X", "price": 0.5},
]


def aggregate(query: str, events: Any, **aggregates: Any) -> list[Any]:
    return list(cerlab.parse_query(query).run(events).aggregate(**aggregates).to_pylist())


def test_sums_of_doubles_are_the_nearest_to_the_exact_sum() -> None:
    """From left to right 1e16 + 1 - 1e16 is 0."""
    query = "SELECT * WHERE BUY AS a : BUY AS b"
    events = [{"type": "BUY", "price": p} for p in (1e16, 1.0, -1e16, 1.0)]
    (row,) = aggregate(query, events, sum="a.price", avg="b.price")
    assert row == {"count": 3, "sum(a.price)": 1.0, "avg(b.price)": float(Fraction(2 - 10**16, 3))}


@pytest.mark.parametrize(
    ("group_by", "expected"),
    [
        ((), [(3, 0.75, 0.375, 0.25, 0.5)]),
        ("end", [(1, 1, *[0.25] * 4), (2, 1, *[None] * 4), (3, 1, *[0.5] * 4)]),
        ("start", [(0, 3, 0.75, 0.375, 0.25, 0.5)]),
        ("b.name", [("X", 2, 0.75, 0.375, 0.25, 0.5), ("Y", 1, *[None] * 4)]),
        (
            ["b.name", "end"],
            [("X", 1, 1, *[0.25] * 4), ("Y", 2, 1, *[None] * 4), ("X", 3, 1, *[0.5] * 4)],
        ),
        (["b.price", "a.name"], [(0.25, "X", 1, *[0.25] * 4), (None, "X", 1, *[None] * 4)]),
    ],
)
def test_groups_by_hand(group_by: Any, expected: list[Any]) -> None:
    price = "b.price"
    query = "SELECT * WHERE BUY AS a ; SELL AS b"
    rows = aggregate(query, STOCKS, sum=price, avg=price, min=price, max=price, group_by=group_by)
    assert [tuple(row.values()) for row in rows][: len(expected)] == expected


def test_labels_of_a_run_that_goes_on_are_not_those_of_one_that_ends() -> None:
    """The A alone is an answer with x; with y it is one only at the B."""
    query = "SELECT * WHERE A AS x OR (A AS y ; B)"
    events = [{"type": kind, "v": v} for v, kind in enumerate("ABA", 1)]
    (row,) = aggregate(query, events, sum=["x.v", "y.v"])
    assert row == {"count": 3, "sum(x.v)": 4, "sum(y.v)": 1}


def test_the_key_of_the_partition() -> None:
    query = "SELECT * WHERE BUY AS a ; SELL AS b PARTITION BY [name]"
    assert aggregate(query, STOCKS, group_by="key") == [{"name": "X", "count": 2}]
    assert aggregate(query, STOCKS, group_by=["name"]) == [{"name": "X", "count": 2}]


def test_one_attribute_of_a_key_of_two() -> None:
    events = [{"type": "A", "k": 1, "v": v} for v in (1, 2, 2)]
    query = "SELECT * WHERE A PARTITION BY [k], [v]"
    assert aggregate(query, events, group_by="k") == [{"k": 1, "count": 3}]
    assert aggregate(query, events, group_by="v") == [{"v": 1, "count": 1}, {"v": 2, "count": 2}]
    session = cerlab.parse_query(query).aggregating(group_by="k")
    assert [session.push([event]).to_pylist() for event in events[1:]] == [
        [{"k": 1, "count": 1}],
        [{"k": 1, "count": 2}],
    ]


def test_all_events_of_a_repeated_label_count_and_text_has_a_least_and_a_greatest() -> None:
    query = "SELECT MAX * WHERE BUY AS a ; SELL+ AS b"
    names = {"min": "b.name", "max": "b.name"}
    *_, row = aggregate(query, STOCKS, sum="b.price", group_by="end", **names)
    assert row.pop("sum(b.price)") == 0.75
    assert row == {"end": 3, "count": 1, "min(b.name)": "X", "max(b.name)": "Y"}


@pytest.mark.parametrize("short", [-1, 10**9], ids=["kernel", "exact"])
@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1.5, float("nan"), 4.0], (3, 5.5, 2.75, 1.5, 4.0)),
        ([float("nan"), -2.0, None], (3, -2.0, -2.0, -2.0, -2.0)),
        ([float("nan"), float("nan"), 0.5], (3, 0.5, 0.5, 0.5, 0.5)),
        ([float("nan")], (1, None, None, None, None)),
        ([float("nan"), None], (2, None, None, None, None)),
    ],
)
def test_nan_among_numbers_does_not_count(
    values: list[Any], expected: Any, short: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(totals, "SHORT", short)
    v = "A.v"
    events = [{"type": "A", "v": value} for value in values]
    (row,) = aggregate("SELECT * WHERE A", events, sum=v, avg=v, min=v, max=v)
    assert tuple(row.values()) == expected
    query = cerlab.parse_query("SELECT * WHERE A")
    (row,) = query.aggregating(sum=v, avg=v, min=v, max=v).push(events).to_pylist()
    assert tuple(row.values()) == expected


def test_no_answers() -> None:
    query = "SELECT * WHERE SELL AS a ; BUY AS b"
    assert aggregate(query, STOCKS, sum="a.price") == [{"count": 0, "sum(a.price)": None}]
    assert aggregate(query, STOCKS, group_by="end") == []
    assert aggregate(query, []) == [{"count": 0}]


def test_counts_and_sums_of_any_size_are_exact() -> None:
    """2^100 - 1 answers fit a decimal; 2^300 - 1 no column: they are refused, not rounded."""
    query = cerlab.parse_query("SELECT * WHERE A+")
    (row,) = query.run([{"type": "A", "v": 3}] * 100).aggregate(sum="A.v", avg="A.v").to_pylist()
    assert row["count"] == 2**100 - 1
    assert row["sum(A.v)"] == Decimal(3 * 100 * 2**99)
    assert row["avg(A.v)"] == 3.0
    with pytest.raises(cerlab.ResourceLimit, match="too large"):
        query.run([{"type": "A", "v": 3}] * 300).aggregate()


@pytest.mark.parametrize("window", ["", "WITHIN 50 EVENTS"])
def test_the_cost_of_an_event_does_not_depend_on_how_many_answers_there_are(window: str) -> None:
    """`A+ ; B` over twice as many A has the square of the answers, and twice the totals written."""
    counts = []
    for n in (110, 220):
        events = [{"type": "A", "v": 1}] * n + [{"type": "B"}]
        counts.append(totals_written(f"SELECT * WHERE A+ ; B {window}", events))
    assert counts[1] <= 2.5 * counts[0]


def totals_written(text: str, events: list[Any]) -> int:
    """Return the number of totals that the reference writes for a query."""
    counter = TotalsCounter()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reference.RunTotals, "_count", counter.add)
        cerlab.parse_query(text).run(events).aggregate(sum="A.v", group_by="end")
    return counter.total


def test_windows_of_more_events_than_64_bits_count(monkeypatch: pytest.MonkeyPatch) -> None:
    events = [{"type": kind} for kind in "AABB"]
    for short in (totals.SHORT, 0):
        monkeypatch.setattr(totals, "SHORT", short)
        slid = aggregate("SELECT * WHERE A ; B", events, group_by="end", sliding=f"{2**63} EVENTS")
        assert slid == [{"end": 2, "count": 2}, {"end": 3, "count": 4}]
        wide = aggregate(f"SELECT * WHERE A ; B WITHIN {2**63} EVENTS", events)
        assert wide == [{"count": 4}]


@pytest.mark.parametrize(("count", "code"), [(64, "CER0605"), (80, "CER0608")])
def test_more_groups_than_are_kept_are_refused(
    count: int, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Groups by four labels, as many as answers: by a budget on short streams, else by event."""
    events = [{"type": kind, "v": n} for kind in "ABCD" for n in range(count)]
    matches = cerlab.parse_query("SELECT * WHERE A AS w ; B AS x ; C AS y ; D AS z").run(events)
    monkeypatch.setattr(reference, "MAX_MOVED", reference.MAX_MOVED // 100)
    monkeypatch.setattr(budget, "STEPS", budget.STEPS // 100)
    assert matches.aggregate(group_by="w.v").num_rows == count
    with pytest.raises(cerlab.ResourceLimit, match=code), at_most_calls(1_000_000):
        matches.aggregate(group_by=["w.v", "x.v", "y.v", "z.v"])


@pytest.mark.parametrize(
    ("query", "aggregates", "error"),
    [
        ("SELECT * WHERE BUY LIMIT 3", {}, "CER0420"),
        ("SELECT * WHERE BUY AS a", {"sum": "a.name"}, "CER0306"),
        ("SELECT * WHERE BUY AS a", {"sum": "b.price"}, "CER0863"),
        ("SELECT * WHERE BUY AS a", {"sum": "a.prize"}, "CER0864"),
        ("SELECT * WHERE BUY AS a", {"sum": "a"}, "CER0862"),
        ("SELECT * WHERE BUY+ AS a", {"group_by": "a.name"}, "CER0866"),
        ("SELECT * WHERE BUY AS a", {"group_by": "key"}, "CER0866"),
        ("SELECT * WHERE BUY AS a", {"group_by": "a.prize"}, "CER0864"),
        ("SELECT * WHERE BUY AS a", {"sliding": "3 EVENTS"}, "CER0868"),
        ("SELECT * WHERE BUY AS a", {"sliding": "3", "group_by": "end"}, "CER0868"),
        ("SELECT * WHERE BUY AS a", {"sliding": "3 EVENTS LIMIT 3", "group_by": "end"}, "CER0868"),
    ],
)
def test_an_aggregate_is_refused_by_its_code(
    query: str, aggregates: dict[str, Any], error: str
) -> None:
    with pytest.raises(cerlab.CerlabError) as caught:
        aggregate(query, STOCKS, **aggregates)
    assert caught.value.code == error
    assert caught.value.hint


@pytest.mark.parametrize(
    ("aggregates", "rows"),
    [
        ({"sum": "b.v", "min": "b.v"}, [{"count": 3, "sum(b.v)": 8, "min(b.v)": 2}]),
        (
            {"max": "b.v", "group_by": "a.v"},
            [{"a.v": 1, "count": 2, "max(b.v)": 3}, {"a.v": 2, "count": 1, "max(b.v)": 3}],
        ),
        (
            {"avg": "b.v", "group_by": "end", "sliding": "1 EVENTS"},
            [{"end": 1, "count": 1, "avg(b.v)": 2.0}, {"end": 3, "count": 2, "avg(b.v)": 3.0}],
        ),
    ],
)
def test_filters_that_compare_labels(
    aggregates: dict[str, Any], rows: list[dict[str, Any]]
) -> None:
    """The answers are (0, 1), (0, 3) and (2, 3)."""
    events = [{"type": kind, "v": v} for kind, v in [("A", 1), ("B", 2), ("A", 2), ("B", 3)]]
    query = "SELECT * WHERE A AS a ; B AS b FILTER a.v < b.v"
    assert aggregate(query, events, **aggregates) == rows
    session = cerlab.parse_query(query).aggregating(**aggregates)
    assert session.push(events).to_pylist() == rows


@pytest.mark.parametrize(
    ("aggregates", "first", "second"),
    [
        ({"sum": "b.v"}, {"count": 1, "sum(b.v)": 2}, [{"count": 3, "sum(b.v)": 8}]),
        (
            {"max": "b.v", "group_by": "a.v"},
            {"a.v": 1, "count": 1, "max(b.v)": 2},
            [{"a.v": 1, "count": 2, "max(b.v)": 3}, {"a.v": 2, "count": 1, "max(b.v)": 3}],
        ),
        (
            {"group_by": ["start", "end"]},
            {"start": 0, "end": 1, "count": 1},
            [{"start": 0, "end": 3, "count": 1}, {"start": 2, "end": 3, "count": 1}],
        ),
    ],
)
def test_a_session_where_filters_compare_labels(
    aggregates: dict[str, Any], first: dict[str, Any], second: list[dict[str, Any]]
) -> None:
    """The answers are (0, 1), then (0, 3) and (2, 3); after each event the session moves."""
    query = cerlab.parse_query("SELECT * WHERE A AS a ; B AS b FILTER a.v < b.v")
    session, tables = query.aggregating(**aggregates), []
    for kind, v in [("A", 1), ("B", 2), ("A", 2), ("B", 3)]:
        tables.append(session.push([{"type": kind, "v": v}]).to_pylist())
        session = query.aggregating(**aggregates, state=session.state())
    assert tables == [[], [first], [], second]


def test_a_session_where_filters_compare_labels_keeps_the_events_of_the_window() -> None:
    query = cerlab.parse_query("SELECT * WHERE A AS a ; B AS b FILTER a.v < b.v WITHIN 9 EVENTS")
    session = query.aggregating(sum="b.v")
    sizes = []
    for _ in range(60):
        (row,) = session.push([{"type": "AB"[m % 2], "v": m} for m in range(100)]).to_pylist()
        sizes.append(len(session.state()))
    assert row["count"] == 60 * sum(min(m // 2 + 1, 5) for m in range(1, 100, 2))
    assert max(sizes[5:]) < 1.2 * sizes[5]


def test_a_time_that_goes_back_where_filters_compare_labels() -> None:
    query = cerlab.parse_query("SELECT * WHERE A AS a ; A AS b FILTER a.v < b.v WITHIN 9 [t]")
    for sliding in (None, "5 [t]"):
        session = query.aggregating(group_by="end", sliding=sliding)
        events = [{"type": "A", "v": v, "t": t} for v, t in [(1, 1), (2, 2), (3, 0)]]
        with pytest.raises(cerlab.BadData, match="backwards") as caught:
            session.push(events)
        rows: Any = caught.value.matches
        assert rows.to_pylist() == [{"end": 1, "count": 1}]
        assert session.pushed == 2
        (row,) = session.push([{"type": "A", "v": 3, "t": 3}]).to_pylist()
        assert row == {"end": 2, "count": 3 if sliding else 2}


def test_a_session_where_filters_compare_labels_under_a_strategy() -> None:
    text = "SELECT MAX * WHERE A{1,2} AS a ; B AS b FILTER a.v < b.v WITHIN 5 EVENTS"
    query = cerlab.parse_query(text)
    events = [{"type": "AAB"[n % 3], "v": n * 7 % 5} for n in range(15)]
    session = query.aggregating(group_by="end")
    counts = [row for event in events for row in session.push([event]).to_pylist()]
    answers = cerlab.evaluate(text, events, evaluator="reference")
    assert counts == [
        {"end": end, "count": n} for end, n in Counter(a.end for a in answers).items()
    ]
    assert len(answers) == 2
    with pytest.raises(
        cerlab.Unsupported, match="depends on the answers that MAX selects inside WITHIN"
    ):
        cerlab.parse_query(f"{text} CONSUME BY ANY").aggregating()


def test_integers_that_are_no_doubles_beside_doubles_have_exact_sums() -> None:
    large = 2**53 + 1
    events = [{"type": "A", "v": large}, {"type": "B", "v": 0.5}, {"type": "B", "v": large + 1}]
    query = cerlab.parse_query("SELECT * WHERE A AS a ; B AS b FILTER a.v != b.v")
    (row,) = query.aggregating(sum="a.v", max="b.v").push(events).to_pylist()
    assert row == {"count": 2, "sum(a.v)": float(2 * large), "max(b.v)": large + 1}


LARGE = {"type": "C", "v": 2**64}


@pytest.mark.parametrize("more", [[], [LARGE], [{"type": "C", "v": 2**63}], [{"type": "C"}, LARGE]])
@pytest.mark.parametrize("clause", ["", " FILTER a.w != b.w"])
def test_a_large_integer_elsewhere_rounds_no_sum(more: list[dict[str, Any]], clause: str) -> None:
    """Doubles hold 2^64 and 10^18, and not their sum with 7."""
    events = [*more, {"type": "A", "w": 0}, *({"type": "B", "v": v, "w": 1} for v in (10**18, 7))]
    query = cerlab.parse_query(f"SELECT * WHERE A AS a ; B AS b{clause}")
    row = {"count": 2, "sum(b.v)": 10**18 + 7, "avg(b.v)": (10**18 + 7) / 2}
    for rows in (events, [*reversed(events[:-2]), *events[-2:]]):
        asked: Any = {"sum": "b.v", "avg": "b.v"}
        assert query.run(rows).aggregate(**asked).to_pylist() == [row]
        assert query.aggregating(**asked).push(rows).to_pylist() == [row]
    (whole,) = (
        cerlab.parse_query("SELECT * WHERE C OR B").run(events).aggregate(sum="C.v").to_pylist()
    )
    assert whole["sum(C.v)"] == (sum(each.get("v", 0) for each in more) if more else None)


def test_sums_beyond_64_bits_where_filters_compare_labels() -> None:
    events = [{"type": "A", "v": 1}, *({"type": "B", "v": 2**63 - 1} for _ in range(3))]
    query = "SELECT * WHERE A AS a ; B+ AS b FILTER a.v < b.v"
    (row,) = aggregate(query, events, sum="b.v")
    assert row == {"count": 7, "sum(b.v)": 12 * (2**63 - 1)}


def test_an_infinity_has_no_sum_but_is_the_greatest() -> None:
    events = [{"type": "A", "v": 1.0}, {"type": "A", "v": float("inf")}]
    with pytest.raises(cerlab.BadData, match="infinity"):
        aggregate("SELECT * WHERE A", events, sum="A.v")
    assert aggregate("SELECT * WHERE A", events, max="A.v")[0]["max(A.v)"] == float("inf")


@pytest.mark.parametrize("values", [[2**63 - 1, -(2**63)], [2**63 - 1] * 3, [5e-324, 1e300]])
def test_sums_of_the_largest_and_smallest(values: list[Any]) -> None:
    events = [{"type": "A", "v": v} for v in values] * 200
    (row,) = aggregate("SELECT * WHERE A", events, sum="A.v", avg="A.v")
    total = sum(map(Fraction, values)) * 200
    assert row["sum(A.v)"] == (total if isinstance(values[0], int) else float(total))
    assert row["avg(A.v)"] == float(total / len(events))


@pytest.mark.parametrize("value", [2**62 - 1, 2**62, -(2**62), 2**63 - 1, 2**64])
def test_integers_that_may_leave_64_bits_are_those_of_python(value: int) -> None:
    """Any two 64-bit values have an exact sum; larger ones are checked before they are summed."""
    integers = end_totals.integers([value, 0])
    assert (integers + integers).tolist() == [2 * value, 0]
    zero = np.zeros(3, np.int64)
    rows = end_totals.EndTotals(zero, zero, zero, zero + 1, (end_totals.integers([value] * 3),), ())
    (total,) = end_totals.group_rows(rows, [rows.group]).sums
    assert total.tolist() == [3 * value]


RISES = [
    {"type": kind, "v": v, "t": t}
    for kind, v, t in [("A", 1, 0), ("B", 2, 1), ("A", 3, 5), ("B", 4, 6), ("B", 5, 20)]
]


@pytest.mark.parametrize(
    ("sliding", "expected"),
    [
        (None, [(1, 1, 2), (3, 2, 8), (4, 2, 10)]),
        ("0 EVENTS", [(1, 1, 2), (3, 2, 8), (4, 2, 10)]),
        ("1 EVENTS", [(1, 1, 2), (3, 2, 8), (4, 4, 18)]),
        ("3 EVENTS", [(1, 1, 2), (3, 3, 10), (4, 5, 20)]),
        ("5 [t]", [(1, 1, 2), (3, 3, 10), (4, 2, 10)]),
        ("4.5 [t]", [(1, 1, 2), (3, 2, 8), (4, 2, 10)]),
        ("14 SECONDS", [(1, 1, 2), (3, 3, 10), (4, 4, 18)]),
    ],
)
def test_sliding_by_hand(sliding: str | None, expected: list[Any]) -> None:
    query = cerlab.parse_query("SELECT * WHERE A AS a ; B AS b")
    arguments: dict[str, Any] = {"sum": "b.v", "group_by": "end", "sliding": sliding}
    at_once = query.run(RISES, time="t", unit="s").aggregate(**arguments).to_pylist()
    session = query.aggregating(**arguments, time="t", unit="s")
    one_by_one = [row for event in RISES for row in session.push([event]).to_pylist()]
    assert [tuple(row.values()) for row in at_once] == expected
    assert one_by_one == at_once


def test_select_says_what_is_aggregated() -> None:
    text = "SELECT COUNT(*), SUM(b.v), MAX(b.v) WHERE A AS a ; B AS b GROUP BY a.v"
    expected = [(1, 3, 11, 5), (3, 2, 9, 5)]
    query = cerlab.parse_query(text)
    assert [tuple(row.values()) for row in query.run(RISES).aggregate().to_pylist()] == expected
    assert [tuple(row.values()) for row in query.aggregating().push(RISES).to_pylist()] == expected
    (row,) = query.run(RISES).aggregate(min="b.v").to_pylist()
    assert row == {"count": 5, "min(b.v)": 2}
    assert cerlab.count(query, RISES) == 5
    with pytest.warns(cerlab.AnswerWarning, match="CER0913"):
        assert len(cerlab.evaluate(query, RISES)) == 5


@pytest.mark.parametrize(
    "text",
    [
        "SELECT COUNT(*)\nWHERE A\nGROUP BY end",
        "SELECT SUM(x.v), AVG(x.v), MIN(x.v), MAX(x.`two words`)\nWHERE A AS x\nPARTITION BY [k]\n"
        "WITHIN 3 EVENTS\nCONSUME BY ANY\nGROUP BY k, x.v",
        "SELECT MAX(x.v)\nWHERE A AS x",
        "SELECT MAX x\nWHERE A AS x",
        "SELECT count, sum\nWHERE A AS count ; A AS sum",
    ],
)
def test_aggregates_are_printed_as_they_are_read(text: str) -> None:
    assert cerlab.parse_query(text).text == text


def test_a_schema_knows_what_is_aggregated() -> None:
    schema = "CREATE STREAM S { EVENT A { v:int } }\n"
    cerlab.parse_query(schema + "SELECT SUM(x.v) WHERE A AS x GROUP BY x.v")
    for wrong in ("SELECT SUM(x.w) WHERE A AS x", "SELECT SUM(x.v) WHERE A AS x GROUP BY x.w"):
        with pytest.raises(cerlab.TypeMismatch, match="w"):
            cerlab.parse_query(schema + wrong)


def test_totals_of_more_than_76_digits_are_refused_by_every_door() -> None:
    # 2^252 - 1 has 76 digits, 2^253 has 77
    events = [{"type": "A", "v": 1}] * 254
    query = cerlab.parse_query("SELECT COUNT(*) WHERE A+")
    fits = query.run(events[:252]).aggregate()
    assert str(fits.schema.field("count").type) == "decimal256(76, 0)"
    assert fits.to_pylist() == [{"count": Decimal(2**252 - 1)}]
    refused: list[Callable[[], Any]] = [
        lambda: query.run(events).aggregate(),
        lambda: query.run(events).aggregate(count=True, group_by="end"),
        lambda: query.run(events).aggregate(count=False, sum="A.v"),
        lambda: query.aggregating(group_by="end").push(events),
        lambda: query.aggregating().push(events),
    ]
    for ask in refused:
        with pytest.raises(cerlab.ResourceLimit, match="CER0619"):
            ask()
    assert query.run(events).count() == 2**254 - 1
    large = [{"type": "A", "v": 10**76 + n} for n in range(2)]
    single = cerlab.parse_query("SELECT * WHERE A")
    with pytest.raises(cerlab.ResourceLimit, match="CER0619"):
        single.run(large).aggregate(sum="A.v")
    with pytest.raises(cerlab.BadData, match="an integer of more than 76 digits"):
        single.run(large).aggregate(max="A.v")
    with pytest.raises(cerlab.BadData, match="an integer of more than 76 digits"):
        single.run(large).aggregate(group_by="A.v")
