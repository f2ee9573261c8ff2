"""Texts: parse . print is the identity, canonical texts, what a value shows."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from cerlab import QuerySyntaxError, ResourceLimit, parse_rows
from cerlab.conformance import cases
from cerlab.model.clauses import TimeWindow
from cerlab.rows import expressions as ex
from cerlab.rows import syntax as rp
from cerlab.rows.text import expression_text, pattern_text

QUERIES = {case.query for case in cases() if case.language == "rows" and case.kind == "rows"}


@pytest.mark.parametrize("text", sorted(QUERIES))
def test_printing_is_read_back(text: str) -> None:
    query = parse_rows(text)
    output = str(query)
    assert parse_rows(output) == query
    assert str(parse_rows(output)) == output
    assert hash(parse_rows(output)) == hash(query)
    assert "source" not in repr(query)


def test_the_order_of_nothing_else_is_ascending_with_nulls_last() -> None:
    query = parse_rows("MATCH_RECOGNIZE (ORDER BY x MEASURES 1 AS m PATTERN (A))")
    assert query.order_by == (rp.OrderItem(ex.Column("x")),)


CANONICAL = [
    ("((A) (B))", "A B"),
    ("A (B C)", "A (B C)"),
    ("A{0,}|B{1,}?|C{0,1}|D{2,2}", "A* | B+? | C? | D{2}"),
    ("(A|B) C", "(A | B) C"),
    ("(A*)*", "(A*)*"),
    ("permute(a,b c)", "PERMUTE(A, B C)"),
    ("{-a{-b-}-}", "{- A {- B -} -}"),
    ('"a" "B" "x y" "q""q"', '"a" B "x y" "q""q"'),
    ('permute | "PERMUTE"', '"PERMUTE" | "PERMUTE"'),
    ("^ (()) $", "^ () $"),
]


def of_pattern(text: str) -> str:
    """A clause with a pattern."""
    return f"MATCH_RECOGNIZE (MEASURES 1 AS m PATTERN ({text}))"


def of_measure(text: str) -> str:
    """A clause with a measure."""
    return f'MATCH_RECOGNIZE (MEASURES {text} AS m PATTERN (A "a"))'


@pytest.mark.parametrize(("text", "canonical"), CANONICAL)
def test_patterns_have_a_canonical_text(text: str, canonical: str) -> None:
    assert pattern_text(parse_rows(of_pattern(text)).pattern) == canonical


EXPRESSIONS = [
    ("a.x", "A.x"),
    ('"a"."x"', '"a".x'),
    ("running last(x, 0)", "LAST(x)"),
    ("final first(x, 2)", "FINAL FIRST(x, 2)"),
    ("prev(x, 1) + next(x, 0)", "PREV(x) + NEXT(x, 0)"),
    ("x not in (1, 2)", "NOT x IN (1, 2)"),
    ("x is not null", "NOT x IS NULL"),
    ("x is unknown", "x IS NULL"),
    ("(x + 1) * 2 - -y", "(x + 1) * 2 - -y"),
    ("- - x", "-(-x)"),
    ("x - (1 - 2)", "x - (1 - 2)"),
    ("(x and y) or z and (x or y)", "x AND y OR z AND (x OR y)"),
    ("(x = y) is true", "(x = y) IS TRUE"),
    ("not (x and y)", "NOT (x AND y)"),
    ("case x when 1 then 2 end", "CASE x WHEN 1 THEN 2 END"),
    ("count(*) + count(a.*)", "COUNT(*) + COUNT(A.*)"),
    ("match_number() + 1.0", "MATCH_NUMBER() + 1.0"),
    ('"first" + "a b"', '"first" + "a b"'),
]


@pytest.mark.parametrize(("text", "canonical"), EXPRESSIONS)
def test_expressions_have_a_canonical_text(text: str, canonical: str) -> None:
    (measure,) = parse_rows(of_measure(text)).measures
    assert expression_text(measure.expression) == canonical


FULL = """select n as m, sym from ticks as t match_recognize (
    partition by t.sym order by ts desc nulls first, day measures last(a.x) as n
    all rows per match with unmatched rows after match skip to first u
    pattern (a b) subset u = (a, b) define a as t.x > 1) as r"""
CANONICAL_FULL = """\
SELECT n AS m, sym FROM TICKS AS T MATCH_RECOGNIZE (
  PARTITION BY sym
  ORDER BY ts DESC NULLS FIRST, day
  MEASURES LAST(A.x) AS n
  ALL ROWS PER MATCH WITH UNMATCHED ROWS
  AFTER MATCH SKIP TO FIRST U
  PATTERN (A B)
  SUBSET U = (A, B)
  DEFINE A AS x > 1
) AS R"""


@pytest.mark.parametrize(
    ("node", "text"),
    [
        (ex.First(ex.Column("x")), "FIRST(x)"),
        (ex.Last(ex.Column("x")), "LAST(x)"),
        (ex.Prev(ex.Column("x")), "PREV(x)"),
        (ex.Next(ex.Column("x")), "NEXT(x)"),
        (ex.Aggregate(ex.AggregateFunction.SUM, ex.Column("x")), "SUM(x)"),
        (ex.Aggregate(ex.AggregateFunction.COUNT, ex.AllRows()), "COUNT(*)"),
    ],
)
def test_what_is_left_out_of_a_text_is_left_out_of_the_node(node: Any, text: str) -> None:
    assert str(node) == text
    assert parse_rows(of_measure(text)).measures[0].expression == node


@pytest.mark.parametrize("opening", ["(", "{-"])
def test_as_many_brackets_as_said_are_taken(opening: str) -> None:
    closing = {"(": ")", "{-": "-}"}[opening]
    deepest, too_deep = (of_pattern(opening * n + "A" + closing * n) for n in (50, 101))
    assert parse_rows(deepest)
    with pytest.raises(ResourceLimit, match="CER0602"):
        parse_rows(too_deep)


def test_a_second_quantifier_gets_a_hint() -> None:
    with pytest.raises(QuerySyntaxError, match="in parentheses only"):
        parse_rows(of_pattern("A+ *"))


def test_the_table_may_have_an_alias() -> None:
    clause = of_pattern("A")
    with_as, without = (parse_rows(f"SELECT * FROM t {word} {clause}") for word in ("AS a", "a"))
    assert with_as == without
    assert str(without).startswith("SELECT * FROM T AS A MATCH_RECOGNIZE")
    assert str(parse_rows(f"SELECT * FROM t {clause}")).startswith("SELECT * FROM T MATCH_")


def test_an_order_by_default_has_nulls_last() -> None:
    query = parse_rows("MATCH_RECOGNIZE (ORDER BY x DESC MEASURES 1 AS m PATTERN (A*))")
    assert query.order_by == (rp.OrderItem(ex.Column("x"), True),)
    assert query.pattern == rp.Repetition(rp.Variable("A"), 0, None, False)


def test_a_whole_query() -> None:
    query = parse_rows(FULL)
    assert str(query) == CANONICAL_FULL
    assert parse_rows(CANONICAL_FULL) == query
    assert query.rows is rp.RowsPerMatch.WITH_UNMATCHED
    assert query.skip == rp.ToFirst("U")
    assert [union.name for union in query.subsets] == ["U"]
    assert [item.descending for item in query.order_by] == [True, False]
    assert query.within is None
    with pytest.raises(dataclasses.FrozenInstanceError):
        query.within = 3  # type: ignore[misc]


@pytest.mark.parametrize("after", ["SUBSET U = (A, B)", "PATTERN (LAST A B)", "DEFINE A AS x > 1"])
def test_a_variable_may_be_named_like_the_word_before_it(after: str) -> None:
    """``SKIP TO LAST`` names the variable LAST where a clause follows, in any order of clauses."""
    pattern = "" if after.startswith("PATTERN") else "PATTERN (LAST A B)"
    skip = "AFTER MATCH SKIP TO LAST"
    query = parse_rows(f"MATCH_RECOGNIZE (MEASURES 1 AS m {skip} {after} {pattern})")
    assert query.skip == rp.ToLast("LAST")


@pytest.mark.parametrize("word", ["drop", "on", "insert", "union", "right", "pattern"])
def test_words_of_statements_are_names(word: str) -> None:
    """3.1."""
    clause = f"""MATCH_RECOGNIZE (MEASURES LAST({word}.x) AS m, COUNT({word}) AS n
        PATTERN (A {word}) DEFINE {word} AS {word}.x < PREV({word}.x))"""
    query = parse_rows(clause)
    assert query.define[0].variable == word.upper()
    assert parse_rows(str(query)) == query


def test_a_width_keeps_its_kind() -> None:
    def width(text: str) -> object:
        clause = f"MATCH_RECOGNIZE (ORDER BY x MEASURES 1 AS m PATTERN (A) WITHIN {text})"
        query = parse_rows(clause)
        assert parse_rows(str(query)) == query
        return query.within

    assert width("3") == 3
    assert width("0.5") == 0.5
    assert width("INTERVAL '1.5' SECONDS") == TimeWindow(1_500_000_000)
    assert width("INTERVAL '2' HOUR") == TimeWindow(7_200 * 10**9)
