"""Witnesses and reasons of verdicts; the conformance suite has the verdicts themselves."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest

import cerlab
from cerlab import Timestamp, contained, equivalent, satisfiable
from cerlab.compile.pattern import as_pattern
from cerlab.conformance import case_of
from cerlab.decisions import dead_branches
from proofs_tests.conformance.questions import verdict_of


def q(text: str) -> str:
    return f"SELECT * WHERE {text}"


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


REASONS = {
    "comparison-between-labels-turned-round": "labels",
    "comparison-between-labels-against-none": "search",
    "partition-against-none": "PARTITION BY differs",
    "patterns-that-contradict": "not every combination",
    "same-consumption": "every stream",
    "consumption-against-none": "CONSUME BY differs",
    "consumption-of-different-formulas": "CONSUME BY",
    "different-streams": "FROM differs",
    "same-streams-in-another-order": "every stream",
    "stream-against-all": "FROM differs",
    "filter-on-the-time-of-the-window": "tested too",
}
"""Cases of the conformance suite outside the decidable class, with words of the reasons."""


@pytest.mark.parametrize("name", REASONS)
def test_outside_the_decidable_class_a_verdict_gives_the_reason(name: str) -> None:
    assert REASONS[name] in verdict_of(case_of(f"equivalent/{name}")).reason


PAIR = "A AS x ; B AS y FILTER x.v < y.v"


@pytest.mark.parametrize(
    ("left", "right", "holds"),
    [
        (PAIR, PAIR, True),
        (PAIR, "A AS y ; B AS x FILTER y.v < x.v", True),
        (PAIR, "A AS x ; B AS y FILTER x.v < x.v", False),
        (PAIR, "A AS x ; B AS x FILTER x.v < y.v", False),
        (f"SELECT x WHERE {PAIR}", "SELECT p WHERE A AS p ; B AS q FILTER p.v < q.v", True),
        (f"SELECT x WHERE {PAIR}", f"SELECT y WHERE {PAIR}", False),
        (q("A LIMIT 1"), q("A LIMIT 1"), True),
        (q("A+ ; B CONSUME BY ANY LIMIT 1"), q("A+ ; B CONSUME BY ANY LIMIT 2"), False),
        ("MAX(A AS x) ; B AS B", "MAX(A AS y) ; B AS B", True),
        (f"RENAME[x -> z]({PAIR})", f"RENAME[x -> w]({PAIR})", True),
        (
            f"RENAME[x -> A]({PAIR}) FILTER A[v = 1]",
            f"RENAME[x -> B]({PAIR}) FILTER A[v = 1]",
            None,
        ),
        (f"PROJECT[x]({PAIR})", f"PROJECT[x]({PAIR.replace('y', 'u')})", True),
        # nothing sets u or w: they are other names of no event
        (
            f"{PAIR} FILTER u[v = 1] FILTER x.v != y.w",
            f"{PAIR} FILTER w[v = 1] FILTER x.v != y.w",
            None,
        ),
        ("A AS x ; B FILTER x.v < B.v", "A AS B ; B FILTER B.v < B.v", False),
    ],
)
@pytest.mark.filterwarnings("ignore::cerlab.CerlabWarning")
def test_a_query_is_equivalent_to_itself_whatever_its_labels_are_called(
    left: str, right: str, holds: bool | None
) -> None:
    verdict = equivalent(left, right)
    assert verdict.holds is holds, verdict
    if holds:
        assert verdict.reason == "the same query, up to the names of labels"
        assert contained(left, right).holds


def test_a_verdict_is_not_true_or_false() -> None:
    """`if equivalent(..)` was true of every verdict, also of those that are open."""
    for verdict in (equivalent("A", "A"), equivalent("A", "B"), equivalent(PAIR, f"{PAIR}+")):
        with pytest.raises(TypeError, match=r"use \.holds"):
            bool(verdict)


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


def test_a_search_varies_keys_as_they_are_declared() -> None:
    schema = "CREATE STREAM S { EVENT A { k:string } } "
    keys = equivalent(schema + q("A ; A"), schema + q("A ; A PARTITION BY [k]")).witness
    assert keys is not None
    assert len({event["k"] for event in keys.events}) == 2
    assert all(isinstance(event["k"], str) for event in keys.events)


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
def test_equal_answers_may_have_different_totals(compare: Any) -> None:
    """`A AS x ; A AS y` and `A AS y ; A AS x` have equal answers, and different sums over x."""
    sums = "SELECT SUM(x.v) WHERE A AS x ; A AS y", "SELECT SUM(x.v) WHERE A AS y ; A AS x"
    events = [{"type": "A", "v": 1}, {"type": "A", "v": 2}]
    totals = [cerlab.parse_query(text).run(events).aggregate().to_pylist() for text in sums]
    assert totals == [[{"sum(x.v)": 1}], [{"sum(x.v)": 2}]]
    assert compare(*(cerlab.parse_query(text).formula for text in sums)).holds
