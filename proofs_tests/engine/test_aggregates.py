"""Aggregates without listing are those of the listed rows (CORE Sec. 4.3)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Any

import pytest

import cerlab
from cerlab.engine import totals
from cerlab.engine.reference import totals as reference
from cerlab.evaluate.labelled import repeated
from cerlab.logic.ceql.semantics import query_valuations
from cerlab.logic.ceql.syntax import partition_attributes
from cerlab.model.answer import Valuation, complex_event
from cerlab.model.columns import is_arrow
from cerlab.model.event import Event, Value, value_of
from cerlab.model.stream import Stream
from cerlab.testing import ATTRIBUTES, Shape
from proofs_tests.random_cases import Case, random_case
from proofs_tests.suite import Suite

Group = tuple[Value, ...]
Row = tuple[int, int, tuple[tuple[Value, ...], ...]]


def by_definition(
    case: Case, columns: Sequence[tuple[str, str]], groups: Sequence[str]
) -> dict[Group, list[Row]]:
    """The rows of each group, listed from the valuations of the reference."""
    key = partition_attributes(case.ast)
    labels = {label for label, _ in columns} | {g.partition(".")[0] for g in groups if "." in g}
    found: dict[Group, dict[Any, Valuation]] = {}
    for V in query_valuations(case.ast, case.stream):
        held = {X: D for X, D in V.labels.items() if X in labels}
        group = tuple(_group_value(case.stream, V, g, key) for g in groups)
        identity = (complex_event(V), tuple(sorted(held.items())))
        found.setdefault(group, {})[identity] = V
    return {
        group: [
            (V.start, V.end, tuple(_values(case.stream, V, *column) for column in columns))
            for V in rows.values()
        ]
        for group, rows in found.items()
    }


def _group_value(stream: Stream, V: Valuation, group: str, key: Sequence[str]) -> Value:
    if group in ("start", "end"):
        return V.start if group == "start" else V.end
    if group in key:
        return _plain(value_of(stream[V.end], group))
    label, _, attribute = group.partition(".")
    values = _values(stream, V, label, attribute, nulls=True)
    return values[0] if values else None


def _values(
    stream: Stream, V: Valuation, label: str, attribute: str, *, nulls: bool = False
) -> tuple[Value, ...]:
    values = [_plain(value_of(stream[p], attribute)) for p in V.labels.get(label, ())]
    return tuple(value for value in values if nulls or value is not None)


def _plain(value: Value) -> Value:
    """NaN as NULL, integers as the doubles that they stand among."""
    return None if value != value else value


FUNCTIONS: dict[str, Callable[[list[Any]], Any]] = {
    "sum": lambda values: sum(map(Fraction, values)),
    "avg": lambda values: sum(map(Fraction, values)) / len(values),
    "min": min,
    "max": max,
}


Made = Callable[..., dict[Group, dict[str, Any]]]
"""The rows by group that a query has on a stream, of the arguments of `Matches.aggregate`."""


def of_matches(query: cerlab.Query, stream: Stream, group_by: list[str], **asked: Any) -> Any:
    table = query.run(stream).aggregate(group_by=group_by, **asked)
    found = {tuple(row[g] for g in group_by): row for row in table.to_pylist()}
    assert len(found) == table.num_rows
    return found


def slid(
    listed: dict[Group, list[Row]], groups: Sequence[str], width: int
) -> dict[Group, list[Row]]:
    """Of each group the rows of all that differ in the end alone, and end so far back at most."""
    at = groups.index("end")

    def others(group: Group) -> Group:
        return group[:at] + group[at + 1 :]

    def inside(group: Group, before: Group) -> bool:
        ends: Any = group[at], before[at]
        return others(group) == others(before) and 0 <= ends[0] - ends[1] <= width

    return {g: [r for b, rows in listed.items() if inside(g, b) for r in rows] for g in listed}


def agrees(case: Case, rng: Random, made: Made = of_matches) -> bool:
    """Random measures and groups of a case, against the listed rows."""
    query = case.query
    labels = sorted(label for t in query.plan.vcea.Delta for label in t.labels)
    columns = [(X, a) for X in dict.fromkeys(labels) for a in usable(case.stream)]
    rng.shuffle(columns)
    columns = columns[: rng.randrange(3)]
    single = sorted(set(labels) - repeated(query))
    key = [a for a in partition_attributes(case.ast) if a in usable(case.stream)]
    choices = ["start", "end", *key, *(f"{X}.{a}" for X in single for a in usable(case.stream))]
    groups = rng.sample(choices, rng.randrange(min(3, len(choices)) + 1))
    named = [f"{X}.{a}" for X, a in columns]
    functions = dict.fromkeys(FUNCTIONS, named)
    width = rng.randrange(5) if "end" in groups and rng.random() < 0.5 else None
    sliding = None if width is None else f"{width} EVENTS"
    found = made(query, case.stream, groups, sliding=sliding, **functions)
    expected = by_definition(case, columns, groups)
    if width is not None:
        expected = slid(expected, groups, width)
    if not groups:
        expected.setdefault((), [])
        found.setdefault(
            (), {"count": 0} | dict.fromkeys(f"{f}({c})" for f in FUNCTIONS for c in named)
        )
    assert found.keys() == expected.keys(), (groups, case.describe())
    for group, rows in expected.items():
        row = found[group]
        assert row["count"] == len(rows), (groups, columns, case.describe())
        for n, column in enumerate(named):
            values = [value for _, _, held in rows for value in held[n]]
            for name, function in FUNCTIONS.items():
                exact: Any = function(values) if values else None
                given = row[f"{name}({column})"]
                right = float(exact) if isinstance(given, float) and values else exact
                assert given == right, (name, column, groups, case.describe())
    return bool(expected.get((), True)) and bool(expected)


def usable(stream: Stream) -> list[str]:
    """The attributes that hold numbers of one type."""
    columns = stream.columns
    plain = [a for a in columns if a not in ("type", "stream") and is_arrow(columns[a])]
    return [a for a in plain if str(columns[a].type) in ("int64", "double", "null")]


def drawn(rng: Random, shape: Shape | None = None) -> Iterator[Case]:
    shape = shape or rng.choice((Shape(), Shape(depth=3, events=7), ATTRIBUTES))
    while True:
        case = random_case(rng, shape)
        if case.ast.limit is None and case.query.has_automaton:
            yield case


def pushed(rng: Random) -> Made:
    """The same of a session, in batches as they may come."""

    def made(query: cerlab.Query, stream: Stream, group_by: list[str], **asked: Any) -> Any:
        time = stream.time
        how: dict[str, Any] = {} if time is None else {"time": time.attribute, "unit": time.unit}
        session = query.aggregating(group_by=group_by, **asked, **how)
        found: dict[Group, dict[str, Any]] = {}
        while session.pushed < len(stream):
            size = 1 + rng.randrange(4)
            for row in session.push(stream[session.pushed :][:size]).to_pylist():
                group = tuple(row[g] for g in group_by)
                assert "end" not in group_by or group not in found
                found[group] = row
        return found

    return made


def test_aggregates_of_a_session_are_those_of_the_listed_rows(suite: Suite) -> None:
    def case(rng: Random) -> bool:
        return agrees(with_doubles(next(drawn(rng)), rng), rng, pushed(rng))

    suite.run(case, deep_count=20_000)


def with_doubles(case: Case, rng: Random) -> Case:
    """The same with an attribute of doubles that no query reads."""
    doubles = [0.1, 27.85, -3.3, 1e16, 2.5e-10, float("nan"), None]
    events = [
        Event(e.type, {**e.attributes, "d": rng.choice(doubles)}, e.stream) for e in case.stream
    ]
    return Case(case.ast, Stream(events, time=case.stream.time))


@pytest.mark.parametrize("way", ["kernel", "exact"])
def test_aggregates_are_those_of_the_listed_rows(
    way: str, suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(totals, "SHORT", -1 if way == "kernel" else 10**9)

    def case(rng: Random) -> bool:
        return agrees(with_doubles(next(drawn(rng)), rng), rng)

    suite.run(case, deep_count=10_000)


def test_both_ways_agree_on_longer_streams(suite: Suite) -> None:
    def case(rng: Random) -> bool:
        drawn_case = next(drawn(rng, Shape(depth=3, events=40)))
        query, stream = drawn_case.query, with_doubles(drawn_case, rng).stream
        labels = sorted({label for t in query.plan.vcea.Delta for label in t.labels})
        named = [f"{label}.d" for label in labels[:2]]
        groups = rng.choice(([], ["end"], ["start", "end"]))
        made = []
        for short in (-1, 10**9):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(totals, "SHORT", short)
                rows = query.run(stream).aggregate(sum=named, min=named, group_by=groups)
                made.append(sorted(map(str, rows.to_pylist())))
        assert made[0] == made[1], drawn_case.describe()
        return bool(made[0])

    suite.run(case, deep_count=2_000)


def test_more_starts_in_a_window_than_there_is_room_for_at_first() -> None:
    """Of 300 events 200 are in a window: the ring grows, and the sums are those of the listed."""
    events = [{"type": "AB"[n % 3 == 2], "v": n} for n in range(600)]
    query = cerlab.parse_query("SELECT * WHERE A AS a ; B AS b WITHIN 200 EVENTS")
    table = query.run(events).table(["a.v"])
    listed = table.group_by("end").aggregate([("a.v", "sum"), ([], "count_all")])
    made = query.run(events).aggregate(sum="a.v", group_by="end")
    assert made["sum(a.v)"].to_pylist() == listed.sort_by("end")["a.v_sum"].to_pylist()
    assert made["count"].to_pylist() == listed.sort_by("end")["count_all"].to_pylist()


STOCKS = [
    {"type": "BUY", "name": "X", "price": 0.1},
    {"type": "SELL", "name": "X", "price": 0.25},
    {"type": "SELL", "name": "Y", "price": None},
    {"type": "SELL", "name": "X", "price": 0.5},
]


def aggregated(query: str, events: Any, **aggregates: Any) -> list[Any]:
    return list(cerlab.parse_query(query).run(events).aggregate(**aggregates).to_pylist())


def test_sums_of_doubles_are_the_nearest_to_the_exact_sum() -> None:
    """From left to right 1e16 + 1 - 1e16 is 0."""
    query = "SELECT * WHERE BUY AS a : BUY AS b"
    events = [{"type": "BUY", "price": p} for p in (1e16, 1.0, -1e16, 1.0)]
    (row,) = aggregated(query, events, sum="a.price", avg="b.price")
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
    found = aggregated(query, STOCKS, sum=price, avg=price, min=price, max=price, group_by=group_by)
    assert [tuple(row.values()) for row in found][: len(expected)] == expected


def test_the_key_of_the_partition() -> None:
    query = "SELECT * WHERE BUY AS a ; SELL AS b PARTITION BY [name]"
    assert aggregated(query, STOCKS, group_by="key") == [{"name": "X", "count": 2}]
    assert aggregated(query, STOCKS, group_by=["name"]) == [{"name": "X", "count": 2}]


def test_one_attribute_of_a_key_of_two() -> None:
    events = [{"type": "A", "k": 1, "v": v} for v in (1, 2, 2)]
    query = "SELECT * WHERE A PARTITION BY [k], [v]"
    assert aggregated(query, events, group_by="k") == [{"k": 1, "count": 3}]
    assert aggregated(query, events, group_by="v") == [{"v": 1, "count": 1}, {"v": 2, "count": 2}]
    session = cerlab.parse_query(query).aggregating(group_by="k")
    assert [session.push([event]).to_pylist() for event in events[1:]] == [
        [{"k": 1, "count": 1}],
        [{"k": 1, "count": 2}],
    ]


def test_all_events_of_a_repeated_label_count_and_text_has_a_least_and_a_greatest() -> None:
    query = "SELECT MAX * WHERE BUY AS a ; SELL+ AS b"
    names = {"min": "b.name", "max": "b.name"}
    *_, row = aggregated(query, STOCKS, sum="b.price", group_by="end", **names)
    assert row.pop("sum(b.price)") == 0.75
    assert row == {"end": 3, "count": 1, "min(b.name)": "X", "max(b.name)": "Y"}


def test_no_answers() -> None:
    query = "SELECT * WHERE SELL AS a ; BUY AS b"
    assert aggregated(query, STOCKS, sum="a.price") == [{"count": 0, "sum(a.price)": None}]
    assert aggregated(query, STOCKS, group_by="end") == []
    assert aggregated(query, []) == [{"count": 0}]


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
    written = []
    for n in (110, 220):
        events = [{"type": "A", "v": 1}] * n + [{"type": "B"}]
        written.append(totals_written(f"SELECT * WHERE A+ ; B {window}", events))
    assert written[1] <= 2.5 * written[0]


class Counted:
    """How many totals the reference writes."""

    def __init__(self) -> None:
        self.total = 0
        before = reference.RunTotals._add

        def add(runs: reference.RunTotals, q: int, place: reference.Place, total: Any) -> None:
            self.total += 1
            before(runs, q, place, total)

        self.add = add


def totals_written(text: str, events: list[Any]) -> int:
    """How many totals the reference writes for a query."""
    counted = Counted()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reference.RunTotals, "_add", counted.add)
        cerlab.parse_query(text).run(events).aggregate(sum="A.v", group_by="end")
    return counted.total


@pytest.mark.parametrize(
    ("query", "aggregates", "error"),
    [
        ("SELECT * WHERE BUY LIMIT 3", {}, "CER0420"),
        ("SELECT * WHERE (BUY AS a ; SELL AS b) FILTER a.price < b.price", {}, "CER0418"),
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
def test_what_is_refused(query: str, aggregates: dict[str, Any], error: str) -> None:
    with pytest.raises(cerlab.CerlabError) as raised:
        aggregated(query, STOCKS, **aggregates)
    assert raised.value.code == error
    assert raised.value.hint


def test_an_infinity_has_no_sum_but_is_the_greatest() -> None:
    events = [{"type": "A", "v": 1.0}, {"type": "A", "v": float("inf")}]
    with pytest.raises(cerlab.BadData, match="infinity"):
        aggregated("SELECT * WHERE A", events, sum="A.v")
    assert aggregated("SELECT * WHERE A", events, max="A.v")[0]["max(A.v)"] == float("inf")


@pytest.mark.parametrize("values", [[2**63 - 1, -(2**63)], [2**63 - 1] * 3, [5e-324, 1e300]])
def test_sums_of_the_largest_and_smallest(values: list[Any]) -> None:
    events = [{"type": "A", "v": v} for v in values] * 200
    (row,) = aggregated("SELECT * WHERE A", events, sum="A.v", avg="A.v")
    total = sum(map(Fraction, values)) * 200
    assert row["sum(A.v)"] == (total if isinstance(values[0], int) else float(total))
    assert row["avg(A.v)"] == float(total / len(events))


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
    asked: dict[str, Any] = {"sum": "b.v", "group_by": "end", "sliding": sliding}
    at_once = query.run(RISES, time="t", unit="s").aggregate(**asked).to_pylist()
    session = query.aggregating(**asked, time="t", unit="s")
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
    found = [m for event in RISES for m in above.push(below.push([event]), type="RISE")]
    assert [m.positions for m in found] == [(1,), (2,)]


@pytest.mark.parametrize("window", ["", "WITHIN 50 EVENTS"])
def test_what_a_session_does_for_an_event_does_not_depend_on_how_many_answers_there_are(
    window: str,
) -> None:
    written = []
    for n in (110, 220):
        events = [{"type": "A", "v": 1}] * n + [{"type": "B"}]
        query = cerlab.parse_query(f"SELECT * WHERE A+ ; B {window}")
        counted = Counted()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(reference.RunTotals, "_add", counted.add)
            (row,) = query.aggregating(group_by="end").push(events).to_pylist()
        assert row["count"] == 2 ** (50 if window else n) - 1
        written.append(counted.total)
    assert written[1] <= 2.5 * written[0]


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
    batch: list[dict[str, Any]], error: str
) -> None:
    query = cerlab.parse_query("SELECT * WHERE A AS a ; A AS b")
    session = query.aggregating(sum="b.v", min="b.w")
    session.push([{"type": "A", "v": 1, "w": 5}])
    with pytest.raises(cerlab.CerlabError) as raised:
        session.push([{"type": "A", "v": 2}, *batch])
    assert raised.value.code == error
    assert session.pushed == 1
    (row,) = session.push([{"type": "A", "v": 3, "w": 4}]).to_pylist()
    assert row == {"count": 1, "sum(b.v)": 3, "min(b.w)": 4}


def test_a_time_that_goes_back_comes_after_the_rows_before_it() -> None:
    query = cerlab.parse_query("SELECT * WHERE A AS a ; A AS b WITHIN 9 [t]")
    session = query.aggregating(group_by="end")
    with pytest.raises(cerlab.BadData, match="backwards") as raised:
        session.push([{"type": "A", "t": t} for t in (1, 2, 0)])
    rows: Any = raised.value.matches
    assert rows.to_pylist() == [{"end": 1, "count": 1}]
    assert session.pushed == 2
    assert session.push([{"type": "A", "t": 3}]).to_pylist() == [{"end": 2, "count": 2}]
