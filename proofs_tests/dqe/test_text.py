"""The text of queries: round trip, sugar, errors with their place (DQE Def. 1)."""

from __future__ import annotations

from random import Random

import pytest

from cerlab import IllFormed, QuerySyntaxError, ResourceLimit, parse_gcq
from cerlab.logic.gcq import Atom, Gcq, check_gcq, gcq_text
from cerlab.predicates.syntax import Attribute, Comparison, Constant, Operator
from proofs_tests.dqe.cases import random_gcq
from proofs_tests.suite import random_suite

NAMES = ("x", "ts1", "last", "TRUE", "two words", "a`b", "_")


@random_suite(10_000)
def test_parse_after_print_is_the_identity(rng: Random) -> bool:
    query = random_gcq(rng, NAMES, depth=3)
    text = gcq_text(query)
    assert parse_gcq(text) == query, text
    assert str(query) == text
    assert ", ".join(map(str, query.atoms)) in text
    return True


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("y,ts3<-r(x,ts1),t(y,ts3)|ts1<ts3", "y, ts3 <- r(x, ts1), t(y, ts3) | ts1 < ts3"),
        ("x <- r(x) | 1 < x <= 3", "x <- r(x) | 1 < x, x <= 3"),
        ("x <- r(x) | x == 1, x <> 2", "x <- r(x) | x = 1, x != 2"),
        ("x <- r(x) | x <-1", "x <- r(x) | x < -1"),
        ("x <- r(x) | x - (2 - 3) * +x < 1", "x <- r(x) | x - (2 - 3) * x < 1"),
        ("<-p()", "<- p()"),
        ('x <- -- one\n r(x) /* two */ | x = "it\'s"', "x <- r(x) | x = 'it''s'"),
        ("`a b` <- `r s`(`a b`)", "`a b` <- `r s`(`a b`)"),
        ("SELECT <- From(SELECT)", "`SELECT` <- `From`(`SELECT`)"),
        (
            "x <- r(x) | x > -9223372036854775808, x < 1.5e3",
            "x <- r(x) | x > -9223372036854775808, x < 1500.0",
        ),
    ],
)
def test_canonical_text(text: str, canonical: str) -> None:
    assert str(parse_gcq(text)) == canonical


def test_the_tree_of_a_query() -> None:
    assert parse_gcq("x <- r(x, y), s() | x != 'a'") == Gcq(
        ("x",),
        (Atom("r", ("x", "y")), Atom("s", ())),
        (Comparison(Operator.NE, Attribute("x"), Constant("a")),),
    )


@pytest.mark.parametrize(
    ("text", "line", "column", "expected"),
    [
        ("", 1, 1, "'<-'"),
        ("y", 1, 2, "'<-'"),
        ("y, <- r(y)", 1, 4, "a name"),
        ("y - r(y)", 1, 3, "'<-'"),
        ("y <- r(x, y", 1, 12, "')'"),
        ("y <- r(y) s(y)", 1, 11, "'|'"),
        ("y <-\n r(y),\n 3", 3, 2, "a name"),
        ("y <- r(y) |", 1, 12, "a number"),
        ("y <- r(y) | y", 1, 14, "'<'"),
        ("y <- r(y) | y < < 3", 1, 17, "'('"),
        ("y <- r(y) | (y < 3", 1, 16, "')'"),
        ("y <- r(y) | y ~ 3", 1, 15, "'<'"),
        ("y <- r(y) | y < 3 y < 4", 1, 19, "','"),
        ("y <- r(y) | y < 'a", 1, 17, "a text in quotes"),
    ],
)
def test_syntax_errors_say_where_and_what(text: str, line: int, column: int, expected: str) -> None:
    with pytest.raises(QuerySyntaxError) as caught:
        parse_gcq(text)
    error = caught.value
    assert error.code == "CER0101"
    assert (error.line, error.column) == (line, column)
    assert expected in error.expected
    assert error.caret.splitlines()[1].index("^") - 4 == column - 1
    assert f"line {line}, column {column}" in str(error)


@pytest.mark.parametrize("constant", ["3", "-3", "'a'", ".5"])
@pytest.mark.parametrize("before", ["", "x, "])
def test_a_constant_in_an_atom_gets_a_hint(before: str, constant: str) -> None:
    with pytest.raises(QuerySyntaxError, match=r"write r\(x, v\) \| v = 3"):
        parse_gcq(f"x <- r({before}{constant})")


@pytest.mark.parametrize(
    ("text", "code", "line", "column", "message"),
    [
        ("<-", "CER0260", 1, 1, "one atom or more"),
        ("y <- | y < 3", "CER0260", 1, 1, "one atom or more"),
        ("x <- r(x), r(x, y)", "CER0261", 1, 12, "with 1 and with 2"),
        ("x <- r(x),\n s(), r()", "CER0261", 2, 7, "with 1 and with 0"),
        ("x, ts2 <- r(x, ts1)", "CER0262", 1, 4, "did you mean 'ts1'"),
        ("x <- r(x) | x < 3, x < z + 1", "CER0263", 1, 24, "known: x"),
        ("x <- r(x) | x < 3 < z", "CER0263", 1, 21, "'z'"),
        ("x, x <- r(x)", "CER0264", 1, 4, "occurs twice"),
        ("x <- r(x) | x < 1e999", "CER0204", 1, 17, "64 bits"),
        ("x <- r(x) | x < 99999999999999999999", "CER0204", 1, 17, "64 bits"),
    ],
)
def test_ill_formed_queries(text: str, code: str, line: int, column: int, message: str) -> None:
    with pytest.raises(IllFormed) as caught:
        parse_gcq(text)
    assert caught.value.code == code
    assert message in str(caught.value)
    assert f"line {line}, column {column}" in str(caught.value)
    assert "^" in str(caught.value)


@pytest.mark.parametrize("value", [None, True, float("nan")])
def test_constants_are_numbers_and_texts(value: float | None) -> None:
    P = Comparison(Operator.LT, Attribute("x"), Constant(value))
    with pytest.raises(IllFormed, match="neither number nor text"):
        check_gcq(Gcq((), (Atom("r", ("x",)),), (P,)))


@pytest.mark.parametrize(
    "text",
    [
        "x <- r(x) | " + "x + " * 300 + "x < 1",
        "x <- r(x) | " + "-(" * 300 + "x" + ")" * 300 + " < 1",
        "x <- r(x) | x < 1" + ", x < 1" * 20_000,
    ],
    ids=["chain", "nested", "long"],
)
def test_a_query_that_is_too_large_is_refused(text: str) -> None:
    with pytest.raises(ResourceLimit):
        parse_gcq(text)


def test_a_long_list_of_predicates_is_not_deep() -> None:
    assert len(parse_gcq("x <- r(x) | x < 1" + ", x < 1" * 1_000).predicates) == 1_001
