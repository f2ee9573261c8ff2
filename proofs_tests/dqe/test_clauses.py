"""Generalised conjunctive queries clause by clause, by hand (DQE Def. 1; DQE Sec. 2)."""

from __future__ import annotations

from typing import Any

import pytest

from cerlab import BadData, ResourceLimit
from cerlab.errors import IllFormed
from cerlab.logic.gcq import (
    Atom,
    Delete,
    Gcq,
    Insert,
    answers,
    answers_after_each,
    database,
    parse_gcq,
)
from proofs_tests.dqe.cases import updates

ATOM = [
    pytest.param("x <- r(x)", "+r(1) +r(2)", {(1,), (2,)}, id="every-tuple"),
    pytest.param("x <- r(x)", "", set(), id="empty-relation"),
    pytest.param("x <- r(x)", "+s(1)", set(), id="of-that-relation-only"),
    pytest.param("x, y <- r(x, y)", "+r(1, 2)", {(1, 2)}, id="columns-by-place"),
    pytest.param("x <- r(x, x)", "+r(1, 1) +r(1, 2)", {(1,)}, id="a-variable-twice"),
    pytest.param("<- p()", "+p()", {()}, id="no-columns-true"),
    pytest.param("<- p()", "+p() -p()", set(), id="no-columns-false"),
    pytest.param("x <- r(x)", "+r('1') +r(1)", {("1",), (1,)}, id="text-is-no-number"),
]
JOIN = [
    pytest.param("x <- r(x), s(x)", "+r(1) +r(2) +s(2)", {(2,)}, id="on-one-variable"),
    pytest.param("x, y <- r(x), s(y)", "+r(1) +r(2) +s(3)", {(1, 3), (2, 3)}, id="no-common-one"),
    pytest.param(
        "x, y <- r(x, y), s(y, x)", "+r(1, 2) +s(1, 2) +r(3, 4) +s(4, 3)", {(3, 4)}, id="on-two"
    ),
    pytest.param(
        "x, z <- e(x, y), e(y, z)",
        "+e(1, 2) +e(2, 3) +e(3, 3)",
        {(1, 3), (2, 3), (3, 3)},
        id="with-itself",
    ),
    pytest.param("x <- r(x), s(x), t(x)", "+r(1) +s(1) +t(1) +r(2) +s(2)", {(1,)}, id="of-three"),
    pytest.param("x <- r(x), s(x)", "+r(1) +s(1.0)", {(1,)}, id="numbers-by-value"),
    pytest.param("x <- r(x), s(x)", "+r(1) +s('1')", set(), id="kinds-differ"),
    pytest.param("x <- r(x), s(y)", "+r(1)", set(), id="empty-side"),
]
PREDICATE = [
    pytest.param("x <- r(x) | x < 2", "+r(1) +r(2) +r(3)", {(1,)}, id="less"),
    pytest.param("x <- r(x) | x <= 2", "+r(1) +r(2) +r(3)", {(1,), (2,)}, id="at-most"),
    pytest.param("x <- r(x) | x > 2", "+r(1) +r(2) +r(3)", {(3,)}, id="greater"),
    pytest.param("x <- r(x) | x >= 2", "+r(1) +r(2) +r(3)", {(2,), (3,)}, id="at-least"),
    pytest.param("x <- r(x) | x = 2.0", "+r(1) +r(2)", {(2,)}, id="equal-by-value"),
    pytest.param("x <- r(x) | x != 2", "+r(1) +r(2) +r('a')", {(1,)}, id="different-of-one-kind"),
    pytest.param("x <- r(x) | x = 'a'", "+r('a') +r('b')", {("a",)}, id="text"),
    pytest.param("x <- r(x) | x < 3, x > 1", "+r(1) +r(2) +r(3)", {(2,)}, id="all-of-them"),
    pytest.param("x <- r(x), s(y) | y - 2 * x < 1", "+r(1) +r(2) +s(4)", {(2,)}, id="linear"),
    pytest.param("x <- r(x), s(y) | x < y < 3", "+r(1) +r(2) +s(2) +s(3)", {(1,)}, id="chain"),
    pytest.param("x <- r(x) | x + 1 > 0", "+r('a') +r(1)", {(1,)}, id="no-arithmetic-on-text"),
    pytest.param("x <- r(x) | x <-1", "+r(-2) +r(2)", {(-2,)}, id="less-than-a-negative-number"),
]
PROJECTION = [
    pytest.param("y <- r(x, y)", "+r(1, 2) +r(3, 4)", {(2,), (4,)}, id="one-column"),
    pytest.param("y, x <- r(x, y)", "+r(1, 2)", {(2, 1)}, id="in-the-order-of-the-head"),
    pytest.param("<- r(x)", "+r(1)", {()}, id="boolean-yes"),
    pytest.param("<- r(x)", "", set(), id="boolean-no"),
    pytest.param("x <- r(x), s(y)", "+r(1) +s(2) +s(3)", {(1,)}, id="of-an-atom-not-in-the-head"),
    pytest.param("y <- r(x, y) | x > 1", "+r(1, 2) +r(2, 3)", {(3,)}, id="after-the-predicates"),
]
DELETION = [
    pytest.param("x <- r(x)", "+r(1) +r(2) -r(1)", {(2,)}, id="of-a-tuple"),
    pytest.param("x <- r(x)", "-r(1)", set(), id="of-what-is-not-there"),
    pytest.param("x <- r(x)", "-r(1) +r(1)", {(1,)}, id="before-the-insertion"),
    pytest.param("x <- r(x)", "+r(1) -r(1) +r(1)", {(1,)}, id="and-back"),
    pytest.param("x <- r(x)", "+r(1) -r(1.0)", set(), id="by-value"),
    pytest.param("x <- r(x), s(x)", "+r(1) +s(1) -s(1)", set(), id="of-one-side"),
    pytest.param("y <- r(x, y)", "+r(1, 2) +r(3, 2) -r(1, 2)", {(2,)}, id="of-one-witness-of-two"),
    pytest.param("x <- r(x)", "+r(1) -s(1)", {(1,)}, id="in-another-relation"),
]
SET_SEMANTICS = [
    pytest.param("x <- r(x)", "+r(1) +r(1)", {(1,)}, id="inserted-twice-is-once"),
    pytest.param("x <- r(x)", "+r(1) +r(1) -r(1)", set(), id="and-goes-with-one-deletion"),
    pytest.param("x <- r(x)", "+r(1) -r(1) -r(1) +r(1)", {(1,)}, id="deletions-do-not-add-up"),
    pytest.param("y <- r(x, y)", "+r(1, 2) +r(3, 2)", {(2,)}, id="two-witnesses-one-answer"),
    pytest.param("x <- r(x), r(x)", "+r(1)", {(1,)}, id="an-atom-twice-is-once"),
    pytest.param("x <- r(x)", "+r(1) +r(1.0)", {(1,)}, id="values-not-spellings"),
]


@pytest.mark.parametrize(
    ("query", "stream", "expected"),
    ATOM + JOIN + PREDICATE + PROJECTION + DELETION + SET_SEMANTICS,
)
def test_clause(query: str, stream: str, expected: set[tuple[Any, ...]]) -> None:
    Q = parse_gcq(query)
    assert answers(Q, database(updates(stream))) == expected


EXAMPLE = "+r('x', 1) +s('x', 'y', 2) +t('y', 3) +r('w', 4) +s('w', 'y', 5) +t('y', 6) +t('y', 9)"


def test_the_query_of_example_1_after_each_update() -> None:
    """With x in the output (DQE Sec. 4): two r for one t, and the window shuts one out."""
    Q = parse_gcq(
        "x, y, ts3 <- r(x, ts1), s(x, y, ts2), t(y, ts3) | ts1 < ts2 < ts3, ts3 - ts1 < 6"
    )
    tables = [set(rows) for rows in answers_after_each(Q, updates(EXAMPLE))]
    first, second, third = ("x", "y", 3), ("x", "y", 6), ("w", "y", 6)
    fourth = ("w", "y", 9)
    assert tables == [
        set(),
        set(),
        {first},
        {first},
        {first},
        {first, second, third},
        {first, second, third, fourth},
    ]


def test_free_timestamps_and_deletions_take_answers_back() -> None:
    Q = parse_gcq("y, ts3 <- r(x, ts1), s(x, y, ts2), t(y, ts3) | ts1 < ts2 < ts3")
    S = updates("+t(7, 3) +s(1, 7, 2) +r(1, 1) +r(1, 0) -r(1, 1) -r(1, 0)")
    tables = [set(each) for each in answers_after_each(Q, S)]
    assert tables == [set(), set(), {(7, 3)}, {(7, 3)}, {(7, 3)}, set()]


@pytest.mark.parametrize("value", [None, float("nan"), True])
def test_values_outside_the_domain_are_refused(value: Any) -> None:
    with pytest.raises(BadData, match="not a value of a relation"):
        database([Insert("r", (value,))])
    with pytest.raises(BadData, match="not a value of a relation"):
        database([Delete("r", (value,))])
    with pytest.raises(BadData, match="not a value of a relation"):
        answers(parse_gcq("x <- r(x)"), {"r": {(value,)}})


def test_a_tuple_with_other_columns_is_refused() -> None:
    with pytest.raises(BadData, match="has 2 columns, 'r' has 1"):
        answers(parse_gcq("x <- r(x)"), {"r": {(1, 2)}})


def test_the_reference_refuses_large_joins_at_once() -> None:
    D = {"r": {(i,) for i in range(200)}}
    with pytest.raises(ResourceLimit, match="combinations"):
        answers(parse_gcq("x <- r(x), r(y), r(z)"), D)


def test_what_is_no_query_has_no_answers() -> None:
    with pytest.raises(IllFormed):
        answers(Gcq(("y",), (Atom("r", ("x",)),)), {})
