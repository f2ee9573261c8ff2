"""Sessions of row patterns: all that they give is the result of `match_recognize` on all rows."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from random import Random
from typing import Any, get_args
from unittest.mock import patch

import pyarrow as pa
import pytest

import cerlab
from cerlab import CerlabError
from cerlab.rows import session as row_session
from cerlab.rows import syntax as rp
from cerlab.rows.session import ROW_SESSION, RowPatternSession
from cerlab.rows.syntax import RowPattern
from cerlab.testing import random_row_pattern, random_row_table
from cerlab.testing.rows import Reach
from proofs_tests.engine.hostile_states import parts_of, with_digest
from proofs_tests.engine.test_session_states import other_documents
from proofs_tests.rows.tables import typed_table
from proofs_tests.suite import Suite

CLAUSE = "MATCH_RECOGNIZE (PARTITION BY k ORDER BY t MEASURES {} PATTERN ({}) DEFINE {})"
GAP = CLAUSE.format("FIRST(t) AS b, LAST(t) AS e, COUNT(*) AS n", "A B*", "B AS t - PREV(t) <= 30")
RISING = CLAUSE.format("FIRST(A.t) AS b, LAST(B.x) AS top", "A B+", "B AS x > PREV(x)")


def sorted_rows(query: RowPattern, table: Any) -> list[dict[str, Any]]:
    """Return the rows of a table in the order of ORDER BY, which a session expects."""
    rows: list[dict[str, Any]] = table.to_pylist()
    for item in reversed(query.order_by):
        name = item.column.name
        edge = -1 if item.nulls_first != item.descending else 1

        def key(row: dict[str, Any], name: str = name, edge: int = edge) -> tuple[Any, ...]:
            return (edge, 0) if row[name] is None else (0, row[name])

        rows.sort(key=key, reverse=item.descending)
    return rows


def by_partition(query: RowPattern, rows: list[dict[str, Any]]) -> dict[str, list[str]]:
    """Return the rows of a result, those of each partition in order."""
    found: dict[str, list[str]] = {}
    for row in rows:
        key = repr([row[column.name] for column in query.partition_by])
        found.setdefault(key, []).append(repr(row))
    return found


def agree(rng: Random) -> bool:
    """Compare a session, which drops rows as soon as it can, with the search on all rows.

    Conditions are tested by columns, one by one, or both.
    """
    fewest, few, early = rng.choice((1, 2, 64)), rng.choice((1, 1, 2, 99)), rng.choice((0, 3))
    with (
        patch.object(row_session, "FEWEST", fewest),
        patch.object(row_session, "FEW", few),
        patch.object(row_session, "EARLY", early),
    ):
        return _agree(rng)


def agree_in_arrays(rng: Random) -> bool:
    """Compare as `agree`, for queries whose partitions arrays can hold."""
    with (
        patch.object(row_session, "FEWEST", rng.choice((1, 4))),
        patch.object(row_session, "FEW", rng.choice((1, 2))),
        patch.object(row_session, "EARLY", rng.choice((0, 3))),
    ):
        return _agree(rng, in_arrays=True)


def _agree(rng: Random, *, in_arrays: bool = False) -> bool:
    query, table, expected = draw(rng, in_arrays=in_arrays)
    if not expected:
        query, table, expected = draw(rng, in_arrays=in_arrays)
    rows = table.to_pylist()
    session, found, at = RowPatternSession(query), list[dict[str, Any]](), 0
    while at < len(rows):
        size = rng.choice((1, 1, 2, 5))
        found += session.push(table.slice(at, size)).to_pylist()
        at += size
        if rng.random() < 0.3:
            session = RowPatternSession(query, session.state())
    found += session.advance("end").to_pylist()
    assert by_partition(query, found) == by_partition(query, expected), f"{query}\n{rows}"
    return bool(expected)


def draw(rng: Random, *, in_arrays: bool = False) -> tuple[RowPattern, Any, list[dict[str, Any]]]:
    """Return a query, a table in the order of ORDER BY, and the result by the search."""
    while True:
        query = random_row_pattern(rng, rng.choice(get_args(Reach)))
        if in_arrays:
            rows, skip = rp.RowsPerMatch.ONE, rp.PastLastRow()
            query = replace(query, rows=rows, skip=skip, within=None)
        drawn = typed_table(random_row_table(rng, rows=rng.choice((3, 6, 12))))
        table = pa.Table.from_pylist(sorted_rows(query, drawn), schema=drawn.schema)
        try:
            return (
                query,
                table,
                cerlab.match_recognize(query, table, evaluator="search").to_pylist(),
            )
        except CerlabError:  # the skip clause, or the kinds of columns
            continue


def test_a_session_gives_the_result_on_all_rows(suite: Suite) -> None:
    suite.run(agree, deep_count=20_000)


def test_a_session_in_arrays_gives_the_result_on_all_rows(suite: Suite) -> None:
    suite.run(agree_in_arrays, deep_count=20_000)


def agree_in_any_order(rng: Random) -> bool:
    """Rows that come late by no more than the lateness have the result of rows in order."""
    clause = rng.choice((GAP, RISING))
    rows: list[dict[str, Any]] = [
        {"k": rng.choice("ab"), "t": 3 * rng.randrange(30), "x": rng.randrange(4)}
        for _ in range(30)
    ]
    lateness = rng.choice((0, 7, 40))
    arriving = sorted(rows, key=lambda row: row["t"] + rng.random() * lateness)
    session: Any = cerlab.session(clause, lateness=lateness)
    found, at = list[dict[str, Any]](), 0
    while at < len(arriving):
        size = rng.choice((1, 2, 9))
        found += session.push(arriving[at : at + size]).to_pylist()
        at += size
        if rng.random() < 0.3:
            session = cerlab.session(clause, state=session.state())
    assert (session.pushed, session.late) == (len(rows), 0)
    if rng.random() < 0.5:
        found += session.advance(rng.choice((10**6, max(session._order._last or 0, 5)))).to_pylist()
    found += session.advance("end").to_pylist()
    query = cerlab.parse_rows(clause)
    # ties are in the order of arrival
    expected = cerlab.match_recognize(query, arriving).to_pylist()
    assert by_partition(query, found) == by_partition(query, expected)
    return bool(expected)


def test_late_rows_have_the_result_of_rows_in_order(suite: Suite) -> None:
    suite.run(agree_in_any_order, deep_count=2_000)


def test_a_row_that_is_too_late_is_bad_data_and_rows_that_wait_are_in_the_state() -> None:
    session: Any = cerlab.session(GAP, lateness=10)
    session.push([{"k": 1, "t": 100}, {"k": 1, "t": 95}, {"k": 1, "t": 200}])
    with pytest.raises(cerlab.BadData, match="CER0727") as caught:
        session.push([{"k": 1, "t": 300}, {"k": 1, "t": 99}, {"k": 1, "t": 301}])
    matches: Any = caught.value.matches
    assert matches.to_pylist() == [{"k": 1, "b": 95, "e": 100, "n": 2}]
    assert (session.pushed, session.late, session.read) == (4, 1, 3)
    again: Any = cerlab.session(GAP, state=session.state())
    assert again.push([{"k": 1, "t": 295}]).num_rows == 0
    assert again.advance(300).to_pylist() == [{"k": 1, "b": 200, "e": 200, "n": 1}]
    assert again.advance("end").to_pylist() == [{"k": 1, "b": 295, "e": 300, "n": 2}]
    with pytest.raises(cerlab.UsageError, match="CER0777"):
        cerlab.session(GAP, state=session.state(), lateness=11)
    with pytest.raises(cerlab.UsageError, match="CER0802"):
        cerlab.session(GAP.replace("BY t", "BY t DESC"), lateness=10)


def test_ties_beyond_the_time_are_in_the_order_of_arrival() -> None:
    clause = GAP.replace("ORDER BY t", "ORDER BY t, x")
    moment = pa.array([0, 0, 10**7], pa.timestamp("us"))
    rows = pa.table({"k": [1, 1, 1], "t": moment, "x": [2, 1, 3]})
    clause_of_moments = clause.replace("t - PREV(t) <= 30", "t - PREV(t) <= INTERVAL '1' SECOND")
    session: Any = cerlab.session(clause_of_moments, lateness="5 seconds")
    with pytest.raises(cerlab.BadData, match="CER0714"):
        session.push(rows)
    assert session.advance("end").num_rows == 2


def given(clause: str, *batches: list[dict[str, Any]]) -> list[list[tuple[Any, ...]]]:
    """Return the rows of the result after each batch, and after the end."""
    session: Any = cerlab.session(clause)
    tables = [*(session.push(batch) for batch in batches), session.advance("end")]
    return [[tuple(row.values()) for row in table.to_pylist()] for table in tables]


def rows_of_x(*values: Any) -> list[dict[str, Any]]:
    return [{"x": x} for x in values]


CERTAIN = [
    # a match of two rows is certain with its second row, one with a greedy end with the row after
    ("A B", "A AS x = 1", [[1], [2], [1, 2]], [[], [(2,)], [(2,)], []]),
    ("A+", "A AS x = 1", [[1], [1], [2, 1]], [[], [], [(2,)], [(1,)]]),
    ("A+?", "A AS x = 1", [[1], [1]], [[(1,)], [(1,)], []]),
    # NEXT in DEFINE asks for a row more
    ("A", "A AS x < NEXT(x)", [[1], [2], [1]], [[], [(1,)], [], []]),
    ("A", "A AS NEXT(5) = 5", [[1], [1]], [[], [(1,)], []]),
    # `$` is known at the end
    ("A $", "A AS x = 1", [[1], [1]], [[], [], [(1,)]]),
    ("^ A", "A AS x = 1", [[1], [1]], [[(1,)], [], []]),
    # the preferred alternative is still open
    ("A A B | A", "A AS x = 1, B AS x = 2", [[1], [1], [1], [2]], [[], [], [(1,)], [(3,)], []]),
]


@pytest.mark.parametrize(("pattern", "define", "batches", "expected"), CERTAIN)
def test_a_match_is_given_when_it_is_certain(
    pattern: str, define: str, batches: list[list[int]], expected: list[Any]
) -> None:
    clause = f"MATCH_RECOGNIZE (MEASURES COUNT(*) AS n PATTERN ({pattern}) DEFINE {define})"
    assert given(clause, *(rows_of_x(*batch) for batch in batches)) == expected


def test_a_measure_waits_for_the_row_that_it_reads() -> None:
    clause = "MATCH_RECOGNIZE (MEASURES NEXT(LAST(x)) AS n PATTERN (A) DEFINE A AS x = 1)"
    assert given(clause, rows_of_x(1), rows_of_x(7, 1)) == [[], [(7,)], [(None,)]]


def test_unmatched_rows_and_empty_matches_are_given_when_the_search_has_passed_them() -> None:
    clause = """MATCH_RECOGNIZE (MEASURES COUNT(*) AS n ALL ROWS PER MATCH {} PATTERN ({})
        DEFINE A AS x = 1)"""
    found = given(
        clause.format("WITH UNMATCHED ROWS", "A A"), rows_of_x(1), rows_of_x(2), rows_of_x(2)
    )
    assert found == [[], [(None, 1), (None, 2)], [(None, 2)], []]
    assert given(clause.format("", "A*?"), rows_of_x(1), rows_of_x(2)) == [[(0, 1)], [(0, 2)], []]


def test_partitions_of_one_push_are_in_order_of_appearance() -> None:
    rows = [{"k": k, "t": t} for k, t in [("b", 0), ("a", 0), ("a", 99), ("b", 99), ("b", 300)]]
    found = given(GAP, rows[:2], rows[2:])
    assert [[row[0] for row in each] for each in found] == [[], ["b", "b", "a"], ["b", "a"]]


def test_a_row_before_its_predecessor_is_bad_data_after_the_rows_before_it() -> None:
    session: Any = cerlab.session(GAP)
    session.push([{"k": 1, "t": 0}, {"k": 2, "t": 50}])
    with pytest.raises(cerlab.BadData, match="CER0714") as caught:
        session.push([{"k": 1, "t": 99}, {"k": 2, "t": 49}, {"k": 1, "t": 300}])
    matches: Any = caught.value.matches
    assert matches.to_pylist() == [{"k": 1, "b": 0, "e": 0, "n": 1}]
    assert session.pushed == 3
    assert session.push([{"k": 1, "t": 300}, {"k": 2, "t": 50}]).num_rows == 1
    descending = cerlab.session(GAP.replace("BY t", "BY t DESC"))
    with pytest.raises(cerlab.BadData, match="CER0714"):
        descending.push([{"k": 1, "t": 0}, {"k": 1, "t": 1}])


def test_the_skip_clause_may_end_a_session() -> None:
    clause = """MATCH_RECOGNIZE (MEASURES COUNT(*) AS n AFTER MATCH SKIP TO FIRST B PATTERN (A B?)
        DEFINE A AS x = 1, B AS x = 2)"""
    session: Any = cerlab.session(clause)
    with pytest.raises(cerlab.BadData, match="CER0788") as caught:
        session.push(rows_of_x(1, 2, 1, 1))
    matches: Any = caught.value.matches
    assert matches.num_rows == 2
    assert caught.value.row == 3
    with pytest.raises(cerlab.UsageError, match="CER0832"):
        session.push(rows_of_x(1))


def test_columns_join_and_keep_their_types() -> None:
    clause = "MATCH_RECOGNIZE (MEASURES LAST(x) AS x PATTERN (A A))"
    assert given(clause, [{"x": None}], [{"x": 1.5, "y": 1}]) == [[], [(1.5,)], []]
    assert given(clause, [{"x": 1.5}], [{"x": 2}], [{"y": 2}], [{"x": 0.5}]) == [
        [], [(2.0,)], [], [(0.5,)], []
    ]  # fmt: skip
    session: Any = cerlab.session(clause)
    session.push(rows_of_x(1))
    for value in (1.5, "a"):
        with pytest.raises(cerlab.TypeMismatch, match="CER0350"):
            session.push(rows_of_x(value))
    assert session.push(rows_of_x(2)).to_pylist() == [{"x": 2}]


def test_what_a_session_of_rows_refuses() -> None:
    session: Any = cerlab.session(GAP)
    with pytest.raises(cerlab.UsageError, match="CER0828"):
        session.advance(5)
    session.advance("end")
    with pytest.raises(cerlab.UsageError, match="CER0829"):
        session.push([{"k": 1, "t": 1}])
    with pytest.raises(cerlab.UsageError, match="CER0847"):
        cerlab.session(GAP, time="t")
    state = cerlab.session(GAP).state()
    with pytest.raises(cerlab.BadData, match="CER0773"):
        cerlab.session(RISING, state=state)
    with pytest.raises(cerlab.BadData, match="CER0771"):
        cerlab.session(GAP, state=b"no state")


def test_a_state_of_another_shape_is_refused_or_goes_on() -> None:
    session: Any = cerlab.session(RISING)
    session.push([{"k": "a", "t": 1, "x": 1.5}, {"k": "b", "t": 2, "x": None}])
    _, header, arrays = parts_of(session.state(), ROW_SESSION)
    refusals = 0
    for values in islice(other_documents([*header["values"].values()]), 5, None):
        changed = dict(zip(header["values"], values, strict=True))
        try:
            again: Any = cerlab.session(
                RISING, state=with_digest({**header, "values": changed}, arrays)
            )
            again.push([{"k": "a", "t": 3, "x": 2.5}, {"k": "c", "t": 2, "x": 0.5}])
            again.state()
            again.advance("end")
        except (cerlab.BadData, cerlab.UsageError):
            refusals += 1
    assert refusals > 50


LARGE = [
    (pa.timestamp("us"), [0, 5_000, 9_000, 99_000, 101_000], "x <= PREV(x) + INTERVAL '4' SECOND"),
    (pa.timestamp("s"), [0, 3, 2**37, 2**37 + 3, 9], "x <= PREV(x) + INTERVAL '4' SECOND"),
    (pa.uint64(), [1, 2**63 + 1, 2**63 + 2, 3, 4], "x > PREV(x)"),
]


@pytest.mark.parametrize(("kind", "values", "condition"), LARGE)
def test_values_that_no_column_holds_are_tested_one_by_one(
    kind: Any, values: list[int], condition: str
) -> None:
    clause = CLAUSE.format("COUNT(*) AS n", "A B*", f"B AS {condition}")
    columns = {"k": [n % 2 for n in range(45)], "t": range(45), "x": pa.array(values * 9, kind)}
    table = pa.table(columns)
    expected = cerlab.match_recognize(clause, table, evaluator="search").to_pylist()
    with patch.object(row_session, "FEW", 1), patch.object(row_session, "EARLY", 0):
        session: Any = cerlab.session(clause)
        parts = session.push(table.slice(0, 20)), session.push(table.slice(20))
    found = [row for part in (*parts, session.advance("end")) for row in part.to_pylist()]
    query = cerlab.parse_rows(clause)
    assert by_partition(query, found) == by_partition(query, expected)


STEADY = [
    (GAP, lambda n: {"k": 0, "t": n}),
    (RISING, lambda n: {"k": 0, "t": n, "x": n}),
    (
        CLAUSE.format("COUNT(*) AS n", "A B* C", "B AS x < 9, C AS x > 9"),
        lambda n: {"k": 0, "t": n, "x": 1},
    ),
]


@pytest.mark.parametrize(("clause", "row"), STEADY, ids=["session", "rising", "until"])
def test_a_row_costs_the_same_however_long_the_match_is(clause: str, row: Any) -> None:
    session: Any = cerlab.session(clause)
    session.push([row(n) for n in range(10)])
    (part,) = session._partitions.values()
    costs = list[int]()
    for n in range(10, 5_010):
        before = part.search.attempts
        session.push([row(n)])
        costs.append(part.search.attempts - before)
    assert max(costs) <= 4
    assert len(part.positions) == 5_010, "one match is open"


@pytest.mark.parametrize(("clause", "row"), STEADY, ids=["session", "rising", "until"])
def test_a_batch_costs_the_same_however_long_the_match_is(clause: str, row: Any) -> None:
    session, costs = RowPatternSession(clause), list[int]()
    with patch.object(row_session, "EARLY", 0):
        for n in range(0, 100_100, 1_001):
            before = session._live.attempts if session._live is not None else 0
            session.push([row(i) for i in range(n, n + 1_000)])
            assert session._live is not None
            costs.append(session._live.attempts - before)
            few = session._live.attempts
            session.push([row(n + 1_000)])
            assert session._live.attempts - few <= 4
    assert max(costs) <= 4_000
    assert session._live is not None
    assert session._live.count == session.pushed == 100_100, "one match is open"


def test_arrays_drop_rows_before_the_open_matches() -> None:
    session = RowPatternSession(GAP)
    with patch.object(row_session, "EARLY", 0):
        for n in range(100):
            session.push([{"k": k, "t": n * 40} for k in range(100)])
    assert session._live is not None
    assert session._live.count <= 4 * 100
    ends = [row["e"] for row in session.advance("end").to_pylist()]
    assert ends == [99 * 40] * 100


def test_rows_before_the_open_match_are_dropped() -> None:
    session: Any = cerlab.session(GAP)
    for n in range(200):
        session.push([{"k": 0, "t": n * 40 + i} for i in range(10)])
    (part,) = session._partitions.values()
    assert len(part.positions) <= 150
    assert session.pushed == 2_000
    assert len(session.state()) < 2_500
