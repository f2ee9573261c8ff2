"""Rows of answers by label and attribute, computed by hand."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import cerlab
from cerlab import ComplexEvent
from cerlab.engine.answers import batched_answers
from cerlab.evaluate.labelled import answer_columns, labelled_answers

EVENTS = [
    {"type": "BUY", "name": "X", "price": 3.5},
    {"type": "SELL", "name": "X", "price": 4.0},
    {"type": "SELL", "name": "Y", "price": None},
    {"type": "SELL", "name": "X", "price": 6.0},
]

A_THEN_B = "WHERE BUY AS a ; SELL AS b FILTER b[name = 'X']"
A_THEN_BS = "WHERE BUY AS a ; (SELL AS b) :+ FILTER b[price < 5] OR b[name = 'Y']"


def rows(query: str, columns: list[str] | None = None, events: Any = EVENTS) -> list[Any]:
    return list(cerlab.parse_query(query).run(events).table(columns).to_pylist())


@pytest.mark.parametrize(
    ("select", "expected"),
    [
        ("SELECT a[price], b[name]", [(0, 1, 3.5, "X"), (0, 3, 3.5, "X")]),
        ("SELECT b[name], a[price]", [(0, 1, "X", 3.5), (0, 3, "X", 3.5)]),
        ("SELECT b", [(0, 1, "X", 4.0), (0, 3, "X", 6.0)]),
        ("SELECT *", [(0, 1, "X", 3.5, "X", 4.0), (0, 3, "X", 3.5, "X", 6.0)]),
        ("SELECT NONE", [(0, 1), (0, 3)]),
        ("SELECT BUY[price]", [(0, 1, 3.5), (0, 3, 3.5)]),
    ],
)
def test_by_default_what_select_names(select: str, expected: list[Any]) -> None:
    assert [tuple(row.values()) for row in rows(f"{select} {A_THEN_B}")] == expected


def test_without_variables_the_event_types() -> None:
    (row, _) = rows("SELECT * WHERE BUY ; SELL FILTER SELL[name = 'X']")
    assert list(row) == ["start", "end", "BUY.name", "BUY.price", "SELL.name", "SELL.price"]


def test_a_label_of_several_events_is_a_list() -> None:
    result = rows("SELECT * WHERE BUY ; (SELL AS b) :+", ["b.price", "BUY.price"])
    longest = max(result, key=lambda row: len(row["b.price"]))
    assert longest["b.price"] == [4.0, None, 6.0]
    assert longest["BUY.price"] == 3.5


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ("b", [1, 2, 3]),
        ("first(b)", 1),
        ("last(b)", 3),
        ("first(b.price)", 4.0),
        ("last(b.price)", 6.0),
        ("count(b)", 3),
        ("count(b.price)", 2),
        ("b.type", ["SELL"] * 3),
        ("a", 0),
        ("first(a.price)", 3.5),
        ("count(a)", 1),
        ("FIRST( `b` . price )", 4.0),
    ],
)
def test_columns_of_the_longest_answer(column: str, expected: object) -> None:
    result = rows("SELECT MAX * WHERE BUY AS a : (SELL AS b) :+", [column])
    assert result[-1][column] == expected


EITHER = "(A AS x ; A AS y OR A AS y ; A AS x) ; B"
TOGETHER = "(A AS x : A AS y ; B) OR (A AS y ; A AS x : B)"


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        # positions {0, 1, 3}, {0, 2, 3}, {1, 2, 3} of A(1) A(3) A(2) B(9); by position, x.v and y.v
        (f"({EITHER}) FILTER x.v < y.v", [(0, 1, 3), (0, 1, 2), (1, 2, 3)]),
        (f"({EITHER}) FILTER x.v > y.v", [(0, 3, 1), (0, 2, 1), (1, 3, 2)]),
        (
            f"({EITHER}) FILTER x.v != y.v",
            [(0, 1, 3), (0, 3, 1), (0, 1, 2), (0, 2, 1), (1, 3, 2), (1, 2, 3)],
        ),
        (f"({EITHER}) FILTER x.v = y.v", []),
        (f"({EITHER}) FILTER x.v < y.v AND x[v > 1]", [(1, 2, 3)]),
        (f"({TOGETHER}) FILTER x.v < y.v", [(0, 1, 3), (1, 2, 3)]),
        (f"({TOGETHER}) FILTER x.v > y.v", [(0, 2, 1), (1, 3, 2)]),
        ("(A+ AS x ; A+ AS y ; B) FILTER x.v < y.v", [(0, 1, 3), (0, 1, 2), (0, 1, [3, 2])]),
        ("(A+ AS x ; A+ AS y ; B) FILTER x.v > y.v", [(1, 3, 2)]),
    ],
)
def test_ways_that_comparisons_leave(formula: str, expected: list[Any]) -> None:
    events = [*({"type": "A", "v": v} for v in (1, 3, 2)), {"type": "B", "v": 9}]
    ways = rows(f"SELECT * WHERE {formula}", ["x.v", "y.v"], events)
    triples = [(row["start"], _plain(row["x.v"]), _plain(row["y.v"])) for row in ways]
    assert sorted(triples, key=str) == sorted(expected, key=str)


def _plain(cell: Any) -> Any:
    """Return the only element of a list of one, and anything else unchanged."""
    return cell[0] if isinstance(cell, list) and len(cell) == 1 else cell


def test_a_label_that_an_answer_lacks_is_null() -> None:
    result = rows("SELECT * WHERE (BUY AS a) OR (SELL AS b)", ["a.price", "b.price", "count(b)"])
    assert [tuple(row.values())[2:] for row in result] == [
        (3.5, None, 0),
        (None, 4.0, 1),
        (None, None, 1),
        (None, 6.0, 1),
    ]


def test_the_key_of_the_partition_comes_after_start_and_end() -> None:
    query = "SELECT b[price] WHERE BUY AS a ; SELL AS b PARTITION BY [name]"
    assert rows(query) == [
        {"start": 0, "end": 1, "name": "X", "b.price": 4.0},
        {"start": 0, "end": 3, "name": "X", "b.price": 6.0},
    ]


def test_no_answers_are_a_table_of_the_same_columns() -> None:
    query = cerlab.parse_query("SELECT a[price] WHERE BUY AS a ; BUY")
    table = query.run(EVENTS).table()
    assert table.num_rows == 0
    assert table.schema == pa.schema(
        {"start": pa.int64(), "end": pa.int64(), "a.price": pa.float64()}
    )
    assert query.run([]).table().column_names == ["start", "end", "a.price"]


def test_a_wait_and_a_window_in_time_leave_columns_of_one_event_alone() -> None:
    """They have lists for labels that repeat, as the formula without them has."""
    events = [{"type": name, "v": n, "ts": n} for n, name in enumerate("AACB")]
    for query in ("(A WAIT 1 [ts]) UNLESS B", "(A : C WITHIN 5 [ts])", "A ; (C WAIT 1 [ts])"):
        table = cerlab.parse_query(f"SELECT * WHERE {query}").run(events).table(["A.v"])
        assert table["A.v"].type == pa.int64(), query
    iterated = cerlab.parse_query("SELECT * WHERE (A:+ WAIT 1 [ts]) UNLESS B").run(events)
    assert iterated.table(["A.v"])["A.v"].to_pylist() == [[0], [0, 1], [1]]


def test_rows_of_unequal_lengths_whose_sum_could_be_of_equal_ones() -> None:
    """Answers of 2, 1 and 3 positions: six in all, as three answers of two would have."""
    query = cerlab.parse_query("SELECT * WHERE (A AS x) :+")
    stream = cerlab.Stream.from_events([{"type": "A"}] * 6)
    answers = [ComplexEvent(D[0], D[-1], D) for D in ((0, 1), (2,), (3, 4, 5))]
    columns, labels = answer_columns(query, stream, ["x"])
    (some,) = labelled_answers(query, stream, batched_answers(answers, 3), labels)
    assert columns.table(some)["x"].to_pylist() == [[0, 1], [2], [3, 4, 5]]


def test_strategies_consumption_and_limits_are_those_of_the_answers() -> None:
    query = cerlab.parse_query("SELECT LAST b[price] WHERE BUY AS a ; SELL AS b CONSUME BY ANY")
    assert [row["b.price"] for row in query.run(EVENTS).table().to_pylist()] == [4.0]


@pytest.mark.parametrize(
    ("column", "code", "hint"),
    [
        ("c.price", "CER0863", "a"),
        ("b.prize", "CER0864", "price"),
        ("sum(b.price)", "CER0862", "first"),
        ("b price", "CER0862", "b.price"),
        ("first(b.price", "CER0862", "first(b.price)"),
        ("BUY.price", "CER0863", "a"),
    ],
)
def test_what_is_no_column_is_refused_with_the_nearest(column: str, code: str, hint: str) -> None:
    query = cerlab.parse_query(f"SELECT a, b {A_THEN_B}")
    with pytest.raises(cerlab.UsageError) as caught:
        query.run(EVENTS).table([column])
    assert caught.value.code == code
    assert hint in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("column", "hint"),
    [
        ("usr", "did you mean 'user'?"),
        ("zzz", "known: a, b, end, start, user"),
        ("zzz.v", "known: a, b"),
    ],
)
def test_a_column_without_a_label_is_named_among_the_known(column: str, hint: str) -> None:
    query = cerlab.parse_query("SELECT a, b WHERE A AS a ; B AS b PARTITION BY [user]")
    with pytest.raises(cerlab.UsageError, match="CER0863") as caught:
        query.run([{"type": "A", "user": 1, "v": 2}]).table([column])
    assert caught.value.hint == hint


@pytest.mark.parametrize("columns", [None, ["a.v"]])
def test_a_key_that_has_the_name_of_a_position_is_refused(columns: list[str] | None) -> None:
    """It once stood in the place of the position."""
    query = cerlab.parse_query("SELECT * WHERE A AS a ; B PARTITION BY [start]")
    matches = query.run([{"type": x, "start": 7, "v": 1} for x in "AB"])
    assert [m.start for m in matches] == [0]
    with pytest.raises(cerlab.UsageError, match="CER0862"):
        matches.table(columns)


def test_a_column_of_several_types_is_refused_by_name() -> None:
    events = [{"type": "A", "v": 1}, {"type": "A", "v": "x"}]
    with pytest.raises(cerlab.BadData, match="'v' has values of several types"):
        rows("SELECT * WHERE A", ["A.v"], events)


def test_integers_among_doubles_are_doubles_where_that_is_exact() -> None:
    events = [{"type": "A", "v": 1}, {"type": "A", "v": 2.5}]
    assert [row["A.v"] for row in rows("SELECT * WHERE A", ["A.v"], events)] == [1.0, 2.5]
    events[0]["v"] = 2**53 + 1
    with pytest.raises(cerlab.BadData, match="several types"):
        rows("SELECT * WHERE A", ["A.v"], events)


def test_columns_of_a_declared_type_are_those_declared() -> None:
    text = "CREATE STREAM S { EVENT BUY { price:double }, EVENT SELL { name:string } } "
    (first, *_) = rows(f"{text} SELECT * WHERE BUY AS a ; SELL AS b")
    assert list(first) == ["start", "end", "a.price", "b.name"]


def test_frames_of_answers() -> None:
    matches = cerlab.parse_query(f"SELECT a {A_THEN_B}").run(EVENTS)
    polars = pytest.importorskip("polars")
    assert matches.to_polars().equals(polars.from_arrow(matches.to_arrow()))


def test_unsigned_integers_keep_all_their_bits() -> None:
    large = 2**64 - 1
    table = pa.table({"type": ["A", "A", "B"], "u": pa.array([large, 1, None], pa.uint64())})
    matches = cerlab.parse_query("SELECT * WHERE A AS a ; B AS b").run(table)
    assert sorted(matches.table(["a.u"])["a.u"].to_pylist()) == [1, large]
    totals = matches.aggregate(sum="a.u", max="a.u", min="a.u").to_pylist()
    assert totals == [{"count": 2, "sum(a.u)": large + 1, "max(a.u)": large, "min(a.u)": 1}]
