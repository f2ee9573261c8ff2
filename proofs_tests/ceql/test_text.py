"""Parse after print is the identity, print after parse is idempotent, precedence as documented."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from importlib.resources import files
from random import Random

import pytest

import cerlab
from cerlab import QuerySyntaxError, parse_formula, parse_schema
from cerlab.logic.cel import syntax as cel
from cerlab.logic.cel.text import formula_text, node_text
from cerlab.logic.ceql.parser import parse_cel, parse_ceql
from cerlab.logic.ceql.syntax import query_text
from cerlab.model.clauses import (
    AttributeWindow,
    Consume,
    EventWindow,
    Limit,
    Strategy,
    TimeWindow,
)
from cerlab.model.event import AttributeType
from cerlab.predicates import syntax as pred
from cerlab.predicates.condition import Correlation, On
from cerlab.predicates.text import KEYWORDS, PREFIXES
from cerlab.testing import random_formula, random_query
from proofs_tests.suite import random_suite

A, B, C, D = map(cel.Atom, "ABCD")
CORRELATION = Correlation(
    pred.Operator.LT, pred.LabelAttribute("x", "v"), pred.LabelAttribute("y", "w")
)
OF_GROUPS = [
    Correlation(
        pred.Operator.LT,
        pred.Computed(
            pred.Arithmetic.SUB,
            pred.LabelAttribute("x", "v"),
            pred.Negated(pred.OfGroup(function, "y", name)),
        ),
        pred.Computed(
            pred.Arithmetic.ADD,
            pred.Previous("max", "count"),
            pred.Negated(pred.Previous("x", "v")),
        ),
    )
    for function in pred.Group
    for name in [None if function is pred.Group.COUNT else "v"]
]


def test_an_atom_of_a_stream_has_it_in_its_text() -> None:
    assert [node_text(cel.Atom("A", stream)) for stream in (None, "S")] == ["A", "S>A"]


@random_suite(10_000)
def test_parse_after_print_is_the_identity_on_queries(rng: Random) -> bool:
    query = random_query(rng)
    text = query_text(query)
    assert parse_ceql(text)[0] == query, text
    return True


@random_suite(10_000)
def test_print_after_parse_is_idempotent_with_every_operator(rng: Random) -> bool:
    wrap: tuple[Callable[[cel.Formula], cel.Formula], ...] = (
        lambda phi: cel.And(phi, A),
        lambda phi: cel.All(B, phi),
        lambda phi: cel.Unless(cel.Unless(A, phi), phi),
        lambda phi: cel.Rename("A", "select", phi),
        lambda phi: cel.Select(Strategy.LAST, phi),
        lambda phi: cel.Project(frozenset({"and", "x"}), phi),
        lambda phi: cel.As(phi, "two words"),
        lambda phi: cel.Within(phi, EventWindow(3)),
        lambda phi: cel.Wait(phi, TimeWindow(1_500_000_000)),
        lambda phi: cel.Wait(phi, AttributeWindow(2, "wait")),
        lambda phi: cel.Within(phi, AttributeWindow(0.5, "within")),
        lambda phi: cel.Within(phi, TimeWindow(3_690_500_000_000)),
        lambda phi: cel.Select(Strategy.STRICT, cel.Within(phi, EventWindow(0))),
        lambda phi: cel.Count(phi, 2, 2),
        lambda phi: cel.Count(phi, 1, None),
        lambda phi: cel.Count(phi, 2, 11, gaps=False),
        lambda phi: cel.Filter(phi, CORRELATION),
        *(partial(cel.Filter, condition=each) for each in OF_GROUPS),
    )
    phi = random_formula(rng)
    for _ in range(3):
        phi = rng.choice(wrap)(phi)
    text = formula_text(phi)
    again, _ = parse_cel(text)
    assert again == phi, text
    assert formula_text(again) == text
    return True


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A ; B : C", cel.Concat(cel.Seq(A, B), C)),
        ("A : B ; C", cel.Concat(A, cel.Seq(B, C))),
        ("A OR B ; C", cel.Or(A, cel.Seq(B, C))),
        ("A OR B AND C ALL D", cel.All(cel.And(cel.Or(A, B), C), D)),
        ("A UNLESS B OR C", cel.Unless(A, cel.Or(B, C))),
        ("A ; B ; C", cel.Seq(cel.Seq(A, B), C)),
        ("A ; B+", cel.Seq(A, cel.Plus(B))),
        ("A:+ : B", cel.Concat(cel.ConcatPlus(A), B)),
        ("(A ; B WITHIN 2 EVENTS)", cel.Within(cel.Seq(A, B), EventWindow(2))),
        ("(A WITHIN 2 [t]) ; B", cel.Seq(cel.Within(A, AttributeWindow(2, "t")), B)),
        ("((A WITHIN 1 SECOND)) ; B", cel.Seq(cel.Within(A, TimeWindow(10**9)), B)),
        ("MAX(A within 1 events)", cel.Select(Strategy.MAX, cel.Within(A, EventWindow(1)))),
        ("A ; B{2}", cel.Seq(A, cel.Count(B, 2, 2))),
        ("A:{2,} : B", cel.Concat(cel.Count(A, 2, None, gaps=False), B)),
        ("A AS x{1 , 3}+", cel.Plus(cel.Count(cel.As(A, "x"), 1, 3))),
        (
            "A{2}{3}:{4} AS x",
            cel.As(cel.Count(cel.Count(cel.Count(A, 2, 2), 3, 3), 4, 4, False), "x"),
        ),
        ("(A OR B){007,7}", cel.Count(cel.Or(A, B), 7, 7)),
        ("(A OR B)+ AS x", cel.As(cel.Plus(cel.Or(A, B)), "x")),
        ("A AS x+", cel.Plus(cel.As(A, "x"))),
        ("a ; A", cel.Seq(cel.Atom("a"), A)),
        ("S>A", cel.Atom("A", "S")),
        ("PROJECT[](A)", cel.Project(frozenset(), A)),
        ("PROJECT[S>A, B](A)", cel.Project(frozenset("B"), A, frozenset({("S", "A")}))),
        ("PROJECT[S>A, A](A)", cel.Project(frozenset("A"), A)),
        ("rename[A -> b](A)", cel.Rename("A", "b", A)),
        ("NXT(A)", cel.Select(Strategy.NXT, A)),
        ("`AND` ; `x``y`", cel.Seq(cel.Atom("AND"), cel.Atom("x`y"))),
    ],
)
def test_precedence(text: str, expected: cel.Formula) -> None:
    assert parse_cel(text)[0] == expected


@pytest.mark.parametrize(
    "text",
    ["v / 2 * 3 > 1", "v * (2 / 3) > 1", "v + w - 1 > v * w % 2", "v - (w - 1) > -(v + 1)"],
)
def test_expressions_have_the_parentheses_that_they_need(text: str) -> None:
    assert formula_text(parse_cel(f"A FILTER A[{text}]")[0]) == f"A FILTER A[{text}]"


def test_filter_is_a_suffix_on_everything_to_its_left() -> None:
    def formula(text: str) -> cel.Formula:
        phi, _ = parse_cel(text)
        return phi

    match formula("A FILTER A[v = 1] ; B"):
        case cel.Seq(cel.Filter(left, On()), right):
            assert (left, right) == (A, B)
        case other:
            pytest.fail(str(other))
    match formula("A ; B FILTER A[v = 1] AND B[v = 2] OR C"):
        case cel.Or(cel.Filter(cel.Seq(), pred.And(On("A"), On("B"))), right):
            assert right == C
        case other:
            pytest.fail(str(other))
    match formula("A FILTER (A[v = 1] OR A[v = 2]) AND (x[w = 1]) AND (B ; C)"):
        case cel.And(cel.Filter(_, pred.And(pred.Or(), On("x"))), cel.Seq()):
            pass
        case other:
            pytest.fail(str(other))
    match formula("A FILTER x.v = y.w OR (B FILTER B[v = 1])"):
        case cel.Or(cel.Filter(_, Correlation()), cel.Filter()):
            pass
        case other:
            pytest.fail(str(other))
    assert formula("A FILTER A.v > -1") == formula("A FILTER A[v > -1]")
    assert formula("A FILTER A.v > A.w") == formula("A FILTER A[v > w]")


@pytest.mark.parametrize("comment", ["-- B[v = 2] OR B.v = 1 (\n", "/* B[v = 2] ( */", "\ufeff"])
@pytest.mark.parametrize("operator", ["AND", "OR"])
def test_comments_stand_wherever_blanks_do(operator: str, comment: str) -> None:
    """The text of a comment does not decide whether a filter follows AND or OR."""
    for text in (
        f"A FILTER A[v = 1] {operator} # B ; C",
        f"A FILTER A[v = 1] {operator} # (B FILTER # B # [v = 3])",
        f"A FILTER A[v = 1] {operator} # B # [v = 3]",
        f"A FILTER A[v = 1] {operator} ( # ( # B # . # v # = 3 # ))",
    ):
        assert parse_cel(text.replace("#", comment))[0] == parse_cel(text.replace("#", " "))[0]


@pytest.mark.parametrize(
    ("text", "value"),
    [("1.e5", 1e5), ("1.E-5", 1e-5), (".5", 0.5), (".5e-3", 5e-4), ("2.5e+1", 25.0), ("2e1", 20.0)],
)
def test_numbers_of_core(text: str, value: float) -> None:
    phi = parse_cel(f"A FILTER A[v = {text} OR v IN {{{text}..{text}}}]")[0]
    assert phi == parse_cel(f"A FILTER A[v = {value!r} OR v IN {{{value!r}..{value!r}}}]")[0]
    assert parse_cel("A FILTER A[v IN {1..5}]")[0] != phi


def test_the_files_of_core_load_unchanged() -> None:
    query, _, _ = parse_ceql(
        """-- appendix G
        SELECT * FROM S
        WHERE (SELL as msft; (BUY OR SELL)+ as qqq; SELL as amat)
        FILTER msft[name = 'MSFT'] AND qqq[name = 'QQQ'] and
               qqq[volume=4000] AND amat[name = 'AMAT']
        WITHIN 30000 [stock_time] /* ms */
        CONSUME BY ANY limit 1000"""
    )
    assert query.consume is Consume.ANY
    assert query.limit == Limit(1000)


def test_clauses() -> None:
    query, schema, _ = parse_ceql(
        "declare stream S { event A { v:int, name:string?, t:primary_time }, EVENT B {} } "
        "select next x, y[v, name] from S, `T` where A as x ; B as y "
        "partition by [a, b], [c] within 1 hour 2 minutes 0.5 seconds consume by partition"
    )
    assert query.strategy is Strategy.NXT
    assert [item.attributes for item in query.items or ()] == [(), ("v", "name")]
    assert query.streams == ("S", "T")
    assert query.partition == (("a", "b"), ("c",))
    assert query.window == TimeWindow((3720 * 10 + 5) * 10**8)
    assert schema is not None
    event_type = schema.event("A")
    assert event_type is not None
    assert [each.type for each in event_type.attributes] == [
        AttributeType.INT,
        AttributeType.STRING,
        AttributeType.INT,
    ]
    assert [each.nullable for each in event_type.attributes] == [False, True, False]
    assert parse_schema(str(schema)) == schema


def test_names_in_back_quotes_are_declared_without_them() -> None:
    schema = parse_schema("DECLARE STREAM `a b` { EVENT `SELECT` { `c``d`: int } }")
    event = schema.event("SELECT")
    assert event is not None
    assert [each.name for each in event.attributes] == ["c`d"]
    assert parse_schema(str(schema)) == schema


def test_a_text_declares_beside_the_schema_that_is_given() -> None:
    text = "DECLARE STREAM S { EVENT A { v: int } } SELECT * WHERE A ; B"
    query = cerlab.parse_query(text, "DECLARE STREAM T { EVENT B { w: int } }")
    assert query.schema is not None
    assert query.schema.event("A") is not None
    assert query.schema.event("B") is not None


@pytest.mark.parametrize("word", ["ALL", "any"])
def test_all_and_any_are_no_strategy(word: str) -> None:
    assert parse_ceql(f"SELECT {word} * WHERE A")[0].strategy is None


def test_keywords_are_names_where_no_keyword_can_stand() -> None:
    query, _, _ = parse_ceql("SELECT * WHERE A AS x FILTER x[events > 1] WITHIN 3 EVENTS")
    assert query.window == EventWindow(3)


def test_every_word_of_the_grammar_is_a_keyword() -> None:
    """Else a label of that name is written bare, and read back as the operator."""
    grammar = files("cerlab.logic.ceql").joinpath("grammar.lark").read_text(encoding="utf-8")
    words = set(re.findall(r'"([A-Z]+)"i', grammar))
    assert words == KEYWORDS - {"NULL", "BOOLEAN"}


def expected_after(prefix: str) -> set[str]:
    """Return the tokens that the grammar allows after the beginning of a formula."""
    with pytest.raises(QuerySyntaxError) as error:
        parse_formula(prefix)
    return set(error.value.expected)


def test_the_words_that_formulas_begin_with_are_listed() -> None:
    """The parser tells AND before a formula from AND before a filter by that list."""
    starts = {word for word in expected_after("") if word.isupper()}
    assert starts == {word for words in PREFIXES.values() for word in words}
    for sign, words in PREFIXES.items():
        for word in words:
            assert expected_after(word) == {f"'{sign}'"}


@pytest.mark.parametrize("operator", ["AND", "OR"])
@pytest.mark.parametrize("word", [*PREFIXES["("], "PROJECT[A]", "RENAME[A -> B]"])
def test_after_a_filter_a_prefix_begins_a_formula(word: str, operator: str) -> None:
    whole = parse_formula(f"A FILTER A[v = 1] {operator} /* ( */ {word} -- x[\n (B)")
    assert isinstance(whole, cel.And if operator == "AND" else cel.Or)
    assert whole.right == parse_formula(f"{word}(B)")


@pytest.mark.parametrize("label", ["project_", "last", "max", "nott", "`NOT`"])
def test_after_a_filter_a_label_goes_on_with_it(label: str) -> None:
    whole = parse_formula(f"A AS {label} FILTER A[v = 1] AND (({label}[v = 2]))")
    assert isinstance(whole, cel.Filter)


VALUES = {"TRUE": True, "false": False, "-3": -3, "+.5": 0.5, "2e3": 2e3, "'it''s'": "it's"}


@pytest.mark.parametrize(("constant", "value"), VALUES.items())
def test_a_constant_is_its_value(constant: str, value: bool | int | float | str) -> None:
    for read in (f"A[v = {constant}]", f"A[v IN {{{constant}}}]", f"A.v = {constant}"):
        whole = parse_formula(f"A FILTER {read}")
        assert isinstance(whole, cel.Filter)
        assert isinstance(whole.condition, On)
        constants = {
            each for atom in pred.atoms(whole.condition.predicate) for each in pred.operands(atom)
        }
        assert constants == {pred.Attribute("v"), pred.Constant(value)}
