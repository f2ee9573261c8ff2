"""The deciders on whole queries: windows, strategies, partitions, schemas; undecided cases."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest

import cerlab
from cerlab import Timestamp, contained, equivalent, evaluate, satisfiable
from cerlab.compile.pattern import as_pattern
from cerlab.decisions import dead_branches

SCHEMA = """CREATE STREAM S {
    EVENT A { v:int, k:string, t:int }, EVENT B { v:int?, k:string, t:int }
}
"""


def q(text: str) -> str:
    return f"SELECT * WHERE {text}"


@pytest.mark.parametrize(
    ("left", "right", "holds", "length"),
    [
        (q("A ; B WITHIN 3 EVENTS"), q("A ; B"), True, None),
        (q("A ; B"), q("A ; B WITHIN 3 EVENTS"), False, 5),
        (q("A ; B WITHIN 3 EVENTS"), q("A ; B WITHIN 2 EVENTS"), False, 4),
        (q("A : B"), q("A : B WITHIN 1 EVENTS"), True, None),
        (q("A WITHIN 0 EVENTS"), q("A"), True, None),
        (q("A ; B WITHIN 2 SECONDS"), q("A ; B WITHIN 3 SECONDS"), True, None),
        (q("A ; B WITHIN 3 SECONDS"), q("A ; B WITHIN 2 SECONDS"), False, 2),
        (q("A WITHIN 3 SECONDS"), q("A WITHIN 2 SECONDS"), True, None),
        (q("A ; B WITHIN 1 MINUTE"), q("A ; B WITHIN 60 SECONDS"), True, None),
        (q("A ; B WITHIN 2 [t]"), q("A ; B WITHIN 2.5 [t]"), True, None),
        (q("A ; B WITHIN 2.5 [t]"), q("A ; B WITHIN 2 [t]"), False, 2),
        (q("A ; B WITHIN 2 [t]"), q("A ; B WITHIN 2 [u]"), False, 2),
        (q("A ; B WITHIN 2 [t]"), q("A ; B WITHIN 1 EVENTS"), False, 3),
        (q("A : B WITHIN 2 [t]"), q("A : B WITHIN 1 EVENTS"), True, None),
        (q("A : B WITHIN 1 EVENTS"), q("A : B WITHIN 2 [t]"), False, 2),
        ("SELECT NEXT * WHERE A ; B", q("A ; B"), True, None),
        (q("A ; B"), "SELECT NEXT * WHERE A ; B", False, 3),
        ("SELECT NEXT * WHERE A+ ; B", "SELECT MAX * WHERE A+ ; B", True, None),
        ("SELECT LAST * WHERE A+ ; B", "SELECT MAX * WHERE A+ ; B", True, None),
        ("SELECT MAX * WHERE A ; B", "SELECT LAST * WHERE A ; B", False, 3),
        ("SELECT STRICT * WHERE A ; B", q("A : B"), True, None),
        (q("A : B"), "SELECT STRICT * WHERE A ; B", True, None),
        (
            "SELECT NEXT * WHERE A ; B WITHIN 1 EVENTS",
            "SELECT LAST * WHERE A ; B WITHIN 1 EVENTS",
            True,
            None,
        ),
        (
            "SELECT LAST * WHERE A ; B WITHIN 1 EVENTS",
            "SELECT NEXT * WHERE A ; B WITHIN 1 EVENTS",
            False,
            3,
        ),
        ("SELECT A WHERE A ; B", "SELECT NONE WHERE A ; B", False, 2),
        ("SELECT x WHERE A AS x ; B", "SELECT A WHERE A ; B", True, None),
        (q("A ; B PARTITION BY [k]"), q("A ; B PARTITION BY [k]"), True, None),
        (q("A ; B PARTITION BY [k]"), q("A : B PARTITION BY [k]"), False, 3),
        (
            q("A FILTER A[k > 0] ; B PARTITION BY [k]"),
            q("A ; B FILTER B[k > 0] PARTITION BY [k]"),
            True,
            None,
        ),
        (
            q("A FILTER A[k > 0] ; B PARTITION BY [k]"),
            q("A ; B FILTER B[k >= 0] PARTITION BY [k]"),
            True,
            None,
        ),
        (
            q("A FILTER A[k >= 0] ; B PARTITION BY [k]"),
            q("A ; B FILTER B[k > 0] PARTITION BY [k]"),
            False,
            2,
        ),
        ("SELECT * FROM S WHERE A ; B", "SELECT * FROM S WHERE A ; B", True, None),
        ("SELECT * FROM S WHERE S>A", "SELECT * FROM S WHERE A", True, None),
        ("SELECT * FROM S WHERE A", "SELECT * FROM S WHERE S>A", True, None),
        (q("A"), q("S>A"), False, 1),  # an A of another stream
    ],
)
def test_contained(left: str, right: str, holds: bool, length: int | None) -> None:
    verdict = contained(left, right)
    assert verdict.holds is holds, verdict
    if length is not None:
        assert verdict.witness is not None
        assert len(verdict.witness.events) == length
        recompute(left, right, verdict.witness)


def recompute(left: str, right: str, witness: cerlab.Witness) -> None:
    is_answer_of = [
        witness.complex_event in cerlab.evaluate(text, witness.events, evaluator="reference")
        for text in (left, right)
    ]
    assert is_answer_of == [witness.side == "left", witness.side == "right"]


def test_times_of_a_witness_lie_between_the_two_windows() -> None:
    verdict = contained(q("A ; B WITHIN 3 SECONDS"), q("A ; B WITHIN 2 SECONDS"))
    assert verdict.witness is not None
    times = [event["time"] for event in verdict.witness.events]
    assert times == [Timestamp(0), Timestamp(3_000_000_000)]


@pytest.mark.parametrize("kind", [None, "int", "double"])
@pytest.mark.parametrize(
    ("left", "right", "times"),
    [
        ("A ; B WITHIN 3 [t]", "A ; B WITHIN 2 [t]", {"t": [0, 3]}),
        ("A ; B WITHIN 3.5 [t]", "A ; B WITHIN 1 [t]", {"t": [0, 3.5]}),
        ("A ; B WITHIN 1 [t]", "A ; B WITHIN 0 [t]", {"t": [0, 1]}),
        ("A ; B", "A ; B WITHIN 3 [t]", {"t": [0, 4]}),
        ("A ; B", "A ; B WITHIN 2.5 [t]", {"t": [0, 3]}),
        ("A ; B WITHIN 5 [t]", "A ; B WITHIN 3 [u]", {"t": [0, 0], "u": [0, 4]}),
        ("A ; B WITHIN 5 [t]", "A ; C WITHIN 3 [u]", {"t": [0, 0], "u": [0, 0]}),
        ("A ; B", "A ; C WITHIN 3 [t]", {"t": [0, 0]}),
    ],
)
def test_times_differ_where_a_window_tells_apart_and_nowhere_else(
    left: str, right: str, times: dict[str, list[float]], kind: str | None
) -> None:
    """Declared integers are the integers that the widths hold."""
    types = "ABC" if kind else ""
    events = [f"EVENT {name} {{ t:{kind}, u:{kind} }}" for name in types]
    schema = f"CREATE STREAM S {{ {', '.join(events)} }} " if kind else ""
    witness = contained(schema + q(left), schema + q(right)).witness
    assert witness is not None
    if kind == "int":
        times = {name: [int(time) for time in column] for name, column in times.items()}
    assert {name: [event[name] for event in witness.events] for name in times} == times
    recompute(schema + q(left), schema + q(right), witness)


@pytest.mark.parametrize(("kind", "holds"), [("int", True), ("double", False)])
def test_integers_leave_no_room_between_two_windows(kind: str, holds: bool) -> None:
    schema = f"CREATE STREAM S {{ EVENT A {{ t:{kind} }}, EVENT B {{ t:{kind} }} }} "
    two, more = (schema + q(f"A ; B WITHIN {width} [t]") for width in ("2", "2.5"))
    assert equivalent(two, more).holds is holds


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("A FILTER A[v = 1] AND A[v = 2]", False),
        ("A FILTER A[v = 1] OR A[v = 2]", True),
        ("A FILTER A[v + 1 = 2] AND A[v = 2]", False),
        ("A FILTER A[v + w = 2] AND A[v = w]", True),
        ("A FILTER A[v < w] AND A[w < v]", False),
        ("A FILTER A[v LIKE '^ab$'] AND A[v = 'ab']", True),
        ("A FILTER A[v LIKE '^ab$'] AND A[v = 'ac']", False),
        ("A AND B", False),
        ("A UNLESS A", False),
        (q("A : B : C WITHIN 1 EVENTS"), False),
        (q("A : B : C WITHIN 2 EVENTS"), True),
        (q("A ; B CONSUME BY ANY"), True),
        ("SELECT NEXT * WHERE A ; B FILTER A[v = 1] AND B[v > 1] PARTITION BY [v]", False),
        ("SELECT NEXT * WHERE A ; B LIMIT 1", True),
    ],
)
@pytest.mark.filterwarnings("ignore:CER0918")  # UNLESS of the left side itself is judged too
def test_satisfiable(text: str, holds: bool) -> None:
    verdict = satisfiable(text)
    assert verdict.holds is holds, verdict
    if verdict.witness is not None:
        answers = cerlab.evaluate(text, verdict.witness.events, evaluator="reference")
        assert verdict.witness.complex_event in answers


@pytest.mark.parametrize(
    ("left", "right", "holds"),
    [
        ("A FILTER A[v = 1] OR A[v != 1]", "A", True),
        ("B FILTER B[v = 1] OR B[v != 1]", "B", False),  # NULL compares with nothing
        ("A FILTER A[v > 1 AND v < 3]", "A FILTER A[v = 2]", True),  # integers
        ("A FILTER A[v >= 0 OR v < 0]", "A", True),
    ],
)
def test_a_schema_says_which_events_there_are(left: str, right: str, holds: bool) -> None:
    with_schema = [cerlab.parse_query(SCHEMA + q(text)) for text in (left, right)]
    assert equivalent(*with_schema).holds is holds
    assert equivalent(left, right).holds is False


BOTH_CASES = "A FILTER A[v LIKE '(?i)^a$' AND v LIKE '^b$']"
KEYED_BY_TEXT = q("A ; B FILTER A[k LIKE 'x'] PARTITION BY [k]")


@pytest.mark.parametrize(
    ("text", "dead"),
    [
        ("(A FILTER A[v = 1 AND v = 2] OR B)+ ; C", ["A FILTER A[v = 1 AND v = 2]"]),
        ("C ; ((B OR (A FILTER A[v = 1 AND v = 2])) AS x)", ["A FILTER A[v = 1 AND v = 2]"]),
        (
            "((A FILTER A[v = 1 AND v = 2] OR C) OR (B FILTER B[v = 1 AND v = 2])) ; C",
            ["A FILTER A[v = 1 AND v = 2]", "B FILTER B[v = 1 AND v = 2]"],
        ),
        ("(A OR B) ; C", []),
        ("A FILTER A[v = 1 AND v = 2]", []),
    ],
)
def test_dead_branches_are_found_below_every_operator(text: str, dead: list[str]) -> None:
    assert sorted(dead_branches(as_pattern(text))) == dead


@pytest.mark.parametrize(
    ("left", "right", "holds", "reason"),
    [
        ("A AS x ; B AS y FILTER x.v = y.v", "A AS x ; B AS y FILTER y.v = x.v", None, "labels"),
        ("A AS x ; B AS y FILTER x.v = y.v", "A ; B", False, "search"),
        (q("A ; B PARTITION BY [k]"), q("A ; B"), False, "PARTITION BY differs"),
        (BOTH_CASES, "A FILTER A[v = 1 AND v = 2]", None, "not every combination"),
        (KEYED_BY_TEXT, KEYED_BY_TEXT, None, "tested with more than constants"),
        (q("A LIMIT 1"), q("A LIMIT 1"), None, "LIMIT"),
        (q("A ; B CONSUME BY ANY"), q("A ; B CONSUME BY ANY"), True, "every stream"),
        (q("A ; B CONSUME BY ANY"), q("A ; B"), False, "CONSUME BY differs"),
        (q("A ; B CONSUME BY ANY"), q("A : B CONSUME BY ANY"), False, "CONSUME BY"),
        ("SELECT * FROM S WHERE A", "SELECT * FROM T WHERE A", False, "FROM differs"),
        ("SELECT * FROM S, T WHERE A", "SELECT * FROM T, S, T WHERE A", True, "every stream"),
        ("SELECT * FROM S WHERE A", "SELECT * WHERE A", False, "FROM differs"),
        (q("A ; B FILTER A[t = 1] WITHIN 2 [t]"), q("A ; B WITHIN 2 [t]"), False, "tested too"),
        ("MAX(A+) ; B", "MAX(A+) ; B", None, "MAX"),
        ("A FILTER A[v LIKE '(?i)a']", "A FILTER A[v LIKE '(?i)b']", False, ""),
    ],
)
def test_outside_the_decidable_class(
    left: str, right: str, holds: bool | None, reason: str
) -> None:
    verdict = equivalent(left, right)
    assert verdict.holds is holds, verdict
    assert reason in verdict.reason


def test_a_search_says_whose_answer_it_found() -> None:
    pair, all_pairs = "A AS x ; B AS y FILTER x.v = y.v", "A ; B"
    for left, right, side in ((pair, all_pairs, "right"), (all_pairs, pair, "left")):
        witness = equivalent(left, right).witness
        assert witness is not None
        assert witness.side == side
    alone = satisfiable(pair).witness
    assert alone is not None
    assert alone.side is None


@pytest.mark.parametrize(
    ("left", "right", "length"),
    [
        (q("NOT(A FILTER A[w < v]) ; B CONSUME BY ANY"), "NOT(A FILTER A[w < v]) ; B", 3),
        ("A : B FILTER A[v IN {2, 0}] : LAST(A)", "A : B : LAST(A)", 3),
        ("A ; B AS x FILTER A.v = x.w", "A ; B AS x FILTER A.v = x.w OR (C ; C)", 2),
        (q("A ; A PARTITION BY [k]"), q("A ; A"), 2),
    ],
)
def test_what_a_search_finds_holds_nothing_that_can_go(left: str, right: str, length: int) -> None:
    """Long streams are drawn at random; the witness is a shortest part that still tells apart."""
    witness = equivalent(left, right).witness
    assert witness is not None
    assert len(witness.events) == length
    sides = [set(evaluate(text, witness.events, evaluator="reference")) for text in (left, right)]
    for rest in combinations(witness.events, length - 1):
        ours, theirs = (set(evaluate(t, list(rest), evaluator="reference")) for t in (left, right))
        assert ours == theirs
    assert witness.complex_event in sides[0] ^ sides[1]


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("(A OR B) AS x ; (A OR B) AS y FILTER x.type != y.type", True),
        ("A AS x ; B AS y FILTER x[v > 10] AND y[v > 10] AND x.v = y.v", True),
        ("A AS x ; B AS y FILTER x[v > 10] AND y[v > 10] AND x.v < y.v", True),
        ("A AS x ; B AS y FILTER x[v < 10] AND y[v < 10] AND x.v < y.v", True),
        ("A AS x ; B AS y FILTER x[v = 7] AND x.v = y.w", True),
        ("A AS x ; B AS y FILTER x[n LIKE '^ab'] AND x.n = y.n", True),
        ("A AS x ; B AS y FILTER x.v = y.v AND x.v != y.v", None),
    ],
)
def test_a_search_tries_the_values_that_comparisons_need(text: str, holds: bool | None) -> None:
    assert satisfiable(text).holds is holds


@pytest.mark.parametrize(
    ("type_of_v", "apart", "holds"),
    [("boolean", 2, True), ("boolean", 3, None), ("string", 3, True), ("int", 3, True)],
)
def test_a_search_keeps_to_the_schema(type_of_v: str, apart: int, holds: bool | None) -> None:
    """Three different values there are of every type but of booleans."""
    schema = f"CREATE STREAM S {{ EVENT A {{ v:{type_of_v} }}, EVENT B {{ }} }} "
    names = [f"x{i}" for i in range(apart)]
    pairs = " AND ".join(f"{a}.v != {b}.v" for a, b in combinations(names, 2))
    text = q(" ; ".join(f"A AS {name}" for name in names) + f" FILTER {pairs}")
    verdict = satisfiable(schema + text)
    assert verdict.holds is holds
    if verdict.witness is not None:
        kinds = {"boolean": bool, "string": str, "int": int}
        assert {type(event["v"]) for event in verdict.witness.events} == {kinds[type_of_v]}


def test_a_search_varies_streams_where_the_schema_has_several() -> None:
    schema = (
        "CREATE STREAM S { EVENT A { v:int }, EVENT B { v:int } } CREATE STREAM T { EVENT B {} } "
    )
    assert equivalent(schema + q("B"), schema + "SELECT * FROM S WHERE B").holds is False
    assert equivalent(schema + q("A"), schema + "SELECT * FROM S WHERE A").holds is None
    assert equivalent("MAX(A+) ; S>B", "MAX(A+) ; B").holds is False


def test_a_search_varies_keys_and_times_as_they_are_declared() -> None:
    schema = "CREATE STREAM S { EVENT A { k:string, t:timestamp, v:int } } "
    keys = equivalent(schema + q("A ; A"), schema + q("A ; A PARTITION BY [k]")).witness
    assert keys is not None
    assert len({event["k"] for event in keys.events}) == 2
    assert all(isinstance(event["k"], str) for event in keys.events)
    late = equivalent(schema + q("A ; A WITHIN 2 SECONDS CONSUME BY ANY"), schema + q("A ; A"))
    assert late.holds is False


def test_decisions_of_nothing_are_errors_of_the_text() -> None:
    with pytest.raises(cerlab.QuerySyntaxError):
        equivalent("A ;", "A")


def stock(n: int, *, other_price_at: int | None = None) -> str:
    """A sequence of n stock events as CORE writes them, with filters at the end."""
    names = ["MSFT", "ORCL", "CSCO", "AMAT", "IPIX", "RIMM", "YHOO", "DELL", "QQQ", "INTC", "JNPR"]
    events = " ; ".join(f"{'SELL' if k % 3 else 'BUY'} AS x{k}" for k in range(n))
    filters = " AND ".join(
        f"x{k}[name = '{names[k % len(names)]}']"
        + (f" AND x{k}[price > {25 + (k == other_price_at)}]" if k % 6 == 0 else "")
        for k in range(n)
    )
    return f"SELECT * FROM S WHERE {events} FILTER {filters} WITHIN 10000 [stock_time]"


@pytest.mark.long
def test_two_24_step_stock_queries() -> None:
    verdict = equivalent(stock(24), stock(24))
    assert verdict.holds is True, verdict
    price_verdict = equivalent(stock(24), stock(24, other_price_at=12))
    assert price_verdict.holds is False
    witness: Any = price_verdict.witness
    assert len(witness.events) == 24
    assert witness.side == "left"
    assert 25 < witness.events[12]["price"] <= 26


@pytest.mark.parametrize("compare", [equivalent, contained])
def test_totals_of_answers_are_not_compared(compare: Any) -> None:
    """`A AS x ; A AS y` and `A AS y ; A AS x` have equal answers, and different sums over x."""
    sums = "SELECT SUM(x.v) WHERE A AS x ; A AS y", "SELECT SUM(x.v) WHERE A AS y ; A AS x"
    events = [{"type": "A", "v": 1}, {"type": "A", "v": 2}]
    totals = [cerlab.parse_query(text).run(events).aggregate().to_pylist() for text in sums]
    assert totals == [[{"sum(x.v)": 1}], [{"sum(x.v)": 2}]]
    assert compare(*(cerlab.parse_query(text).formula for text in sums)).holds
    for left, right in (sums, (sums[0], q("A")), (q("A"), sums[0])):
        with pytest.raises(cerlab.Unsupported, match="CER0421"):
            compare(left, right)
