"""Errors of row patterns by name, with place and hint, and what is refused by name."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from cerlab.errors import (
    CerlabError,
    IllFormed,
    QuerySyntaxError,
    ResourceLimit,
    SourcePlace,
    TypeMismatch,
    Unsupported,
)
from cerlab.rows.recognise import match_recognize, parse_rows
from cerlab.rows.syntax import CODES
from proofs_tests.rows.tables import numbers

TABLE = pa.table({"i": [0], "x": [1], "t": ["a"], "o": [[1]], "ab": [1], "aB": [2]})


def error(clauses: str, name: str, at: str, *, id: str, hint: str = "") -> Any:
    """A row: a wrong clause, the name of its error, what is under the caret, part of the hint."""
    return pytest.param(f"MATCH_RECOGNIZE ({clauses})", name, at, hint, id=id)


M = "MEASURES 1 AS m"
ILL_FORMED = [
    error(f"{M} PATTERN (A{{0}})", "quantifier", "A{0}", id="D11-exactly-none"),
    error(f"{M} PATTERN (A{{0,0}})", "quantifier", "A{0,0}", id="D11-from-none-to-none"),
    error(f"{M} PATTERN (A{{,0}})", "quantifier", "A{,0}", id="D11-at-most-none"),
    error(f"{M} PATTERN (B A{{3,2}})", "quantifier", "A{3,2}", id="4.2-bounds-in-order"),
    error("MEASURES C.x AS m PATTERN (A B)", "unknown-variable", "C.x", id="2.4-measure"),
    error(
        "MEASURES CLASSIFIER(C) AS m PATTERN (A)",
        "unknown-variable",
        "CLASSIFIER",
        id="2.4-classifier",
    ),
    error(f"{M} PATTERN (A) DEFINE UPP AS x", "unknown-variable", "UPP", id="3.4-define"),
    error(
        f"{M} PATTERN (UP) DEFINE UPP AS x",
        "unknown-variable",
        "UPP",
        id="3.4-nearest",
        hint="did you mean 'UP'",
    ),
    error(f'{M} PATTERN ("a") DEFINE A AS x', "unknown-variable", "A", id="2.1-of-another-case"),
    error(f"{M} PATTERN (A) SUBSET U = (A, B)", "unknown-variable", "U", id="2.3-subset"),
    error(f"{M} AFTER MATCH SKIP TO B PATTERN (A)", "unknown-variable", "B", id="3.3-skip"),
    error(
        "PARTITION BY t.g MEASURES 1 AS m PATTERN (A)",
        "unknown-variable",
        "t",
        id="3.5-qualified-by-nothing",
    ),
    error(f"{M} PATTERN (A) DEFINE A AS x, a AS y", "duplicate-variable", "A", id="3.4-two"),
    error(f"{M} PATTERN (A) SUBSET A = (A)", "duplicate-variable", "A", id="2.3-a-variable"),
    error(f"{M} PATTERN (A) SUBSET U = (A), U = (A)", "duplicate-variable", "U", id="2.3-twice"),
    error(
        f"{M} PATTERN (A) SUBSET U = (A) DEFINE U AS x",
        "unknown-variable",
        "U",
        id="3.4-a-subset-may-not-be-defined",
    ),
    error(
        "MEASURES SUM(A.x + B.y) AS m PATTERN (A B)",
        "mixed-variables",
        "SUM(A.x + B.y",
        id="6.3-two-variables",
    ),
    error(
        "MEASURES LAST(A.x + y) AS m PATTERN (A B)",
        "mixed-variables",
        "LAST(A.x + y",
        id="6.3-one-and-none",
    ),
    error(
        "MEASURES PREV(A.x || CLASSIFIER()) AS m PATTERN (A)",
        "mixed-variables",
        "PREV",
        id="6.3-with-classifier",
    ),
    error(
        "MEASURES FIRST(LAST(x)) AS m PATTERN (A)",
        "nesting",
        "FIRST(LAST(x",
        id="6.9-first-of-last",
        hint="PREV(LAST(",
    ),
    error("MEASURES LAST(PREV(x)) AS m PATTERN (A)", "nesting", "LAST", id="6.9-the-wrong-way"),
    error("MEASURES PREV(NEXT(x)) AS m PATTERN (A)", "nesting", "PREV", id="6.9-prev-of-next"),
    error("MEASURES PREV(SUM(x)) AS m PATTERN (A)", "nesting", "PREV", id="6.9-of-an-aggregate"),
    error("MEASURES SUM(PREV(x)) AS m PATTERN (A)", "nesting", "SUM", id="6.9-in-an-aggregate"),
    error("MEASURES COUNT(SUM(x)) AS m PATTERN (A)", "nesting", "COUNT", id="6.9-aggregates"),
    error("MEASURES PREV(LAST(x) + 1) AS m PATTERN (A)", "nesting", "PREV", id="6.9-not-directly"),
    error("MEASURES PREV(x, -1) AS m PATTERN (A)", "offset", "PREV", id="6.9-negative-offset"),
    error("MEASURES PREV(x, 1.5) AS m PATTERN (A)", "offset", "PREV", id="6.9-fraction"),
    error("MEASURES LAST(x, y) AS m PATTERN (A)", "offset", "LAST", id="6.9-column"),
    error("MEASURES LAST(x, '1') AS m PATTERN (A)", "offset", "LAST", id="6.9-text"),
    error("MEASURES FIRST() AS m PATTERN (A)", "arguments", "FIRST", id="10.1-none"),
    error("MEASURES FIRST(x, 1, 2) AS m PATTERN (A)", "arguments", "FIRST", id="10.1-three"),
    error("MEASURES LAST(A.*) AS m PATTERN (A)", "arguments", "LAST", id="10.1-star"),
    error("MEASURES SUM(*) AS m PATTERN (A)", "arguments", "SUM", id="6.6-only-count-takes-rows"),
    error("MEASURES COUNT() AS m PATTERN (A)", "arguments", "COUNT", id="10.1-count-of-nothing"),
    error(
        "MEASURES MATCH_NUMBER(1) AS m PATTERN (A)",
        "arguments",
        "MATCH_NUMBER",
        id="10.1-match-number",
    ),
    error("MEASURES CLASSIFIER(A.x) AS m PATTERN (A)", "arguments", "CLASSIFIER", id="10.1-column"),
    error("MEASURES ABS(x, 1) AS m PATTERN (A)", "arguments", "ABS", id="10.1-abs"),
    error("MEASURES NULLIF(x) AS m PATTERN (A)", "arguments", "NULLIF", id="10.1-nullif"),
    error(
        "MEASURES NULLIF(x, 1, 2) AS m PATTERN (A)", "arguments", "NULLIF", id="10.1-nullif-three"
    ),
    error("MEASURES MOD(x) AS m PATTERN (A)", "arguments", "MOD", id="10.1-mod"),
    error("MEASURES MOD(x, 1, 2) AS m PATTERN (A)", "arguments", "MOD", id="10.1-mod-three"),
    error(
        "MEASURES CHAR_LENGTH(s, s) AS m PATTERN (A)", "arguments", "CHAR_LENGTH", id="10.1-length"
    ),
    error("MEASURES FINAL A.x AS m PATTERN (A)", "running-final", "x", id="6.8-before-a-column"),
    error("MEASURES FINAL PREV(x) AS m PATTERN (A)", "running-final", "PREV", id="6.8-before-prev"),
    error(
        "MEASURES RUNNING CLASSIFIER() AS m PATTERN (A)",
        "running-final",
        "CLASSIFIER",
        id="6.8-before-classifier",
    ),
    error("MEASURES RUNNING ABS(x) AS m PATTERN (A)", "running-final", "ABS", id="6.8-a-function"),
    error(
        f"{M} PATTERN (A) DEFINE A AS FINAL LAST(x) > 1",
        "final-in-define",
        "LAST",
        id="6.8-final-in-define",
    ),
    error(
        f"{M} PATTERN (A) DEFINE A AS PREV(FINAL LAST(x)) > 1",
        "final-in-define",
        "LAST",
        id="6.8-below-a-step",
    ),
    error(
        f"{M} ALL ROWS PER MATCH WITH UNMATCHED ROWS PATTERN (A {{- B -}})",
        "exclusion-unmatched",
        "A",
        id="D9-exclusion-with-unmatched-rows",
    ),
    error("MEASURES 1 AS m, 2 AS M PATTERN (A)", "duplicate-column", "M", id="8.4-two-measures"),
    error("PARTITION BY g MEASURES 1 AS G PATTERN (A)", "duplicate-column", "G", id="8.4-a-key"),
    error(
        "ORDER BY g MEASURES 1 AS G ALL ROWS PER MATCH PATTERN (A)",
        "duplicate-column",
        "G",
        id="8.4-an-order-key",
    ),
    error("PATTERN (A)", "no-columns", "A", id="8.4-no-columns"),
    error("ORDER BY x PATTERN (A)", "no-columns", "A", id="8.4-order-by-gives-none"),
    error(f"{M} PATTERN (A) WITHIN 3", "within-order", "3", id="9.1-no-order"),
    error(f"ORDER BY x DESC {M} PATTERN (A) WITHIN 3", "within-order", "3", id="9.1-descending"),
]
OF_COLUMNS = [
    error("MEASURES A.y AS m PATTERN (A)", "unknown-column", "A.y", id="2.2-measure"),
    error(
        f"{M} PATTERN (A) DEFINE A AS PREV(tt) = 'a'",
        "unknown-column",
        "tt",
        id="2.2-nearest",
        hint="did you mean 't'",
    ),
    error("PARTITION BY y MEASURES 1 AS m PATTERN (A)", "unknown-column", "y", id="2.2-partition"),
    error("ORDER BY y MEASURES 1 AS m PATTERN (A)", "unknown-column", "y", id="2.2-order"),
    error("MEASURES A.AB AS m PATTERN (A)", "ambiguous-column", "A.AB", id="2.2-two-but-for-case"),
    error(
        "MEASURES 1 AS X ALL ROWS PER MATCH PATTERN (A)",
        "duplicate-column",
        "X",
        id="D10-a-measure-named-as-a-column",
    ),
]
OF_TYPES = [
    error(f"{M} PATTERN (A) DEFINE A AS x = t", "type", "t", id="6.11-number-and-text"),
    error(f"{M} PATTERN (A) DEFINE A AS x", "type", "x", id="D20-an-integer-is-no-condition"),
    error("MEASURES t + 1 AS m PATTERN (A)", "type", "t", id="6.11-sum-of-a-text"),
    error("MEASURES x || t AS m PATTERN (A)", "type", "x", id="6.11-concatenation-of-a-number"),
    error("MEASURES SUM(t) AS m PATTERN (A)", "type", "t", id="6.11-sum-of-texts"),
    error("MEASURES LOWER(x) AS m PATTERN (A)", "type", "x", id="6.11-lower-of-a-number"),
    error("MEASURES x IN (1, t) AS m PATTERN (A)", "type", "t", id="6.11-in"),
    error("MEASURES COALESCE(x, t) AS m PATTERN (A)", "type", "t", id="6.11-coalesce"),
    error(
        "MEASURES CASE WHEN TRUE THEN x ELSE t END AS m PATTERN (A)", "type", "t", id="6.11-case"
    ),
    error("MEASURES NOT x AS m PATTERN (A)", "type", "x", id="6.11-not"),
    error("MEASURES x = TRUE AS m PATTERN (A)", "type", "x", id="6.11-number-and-truth"),
    error("MEASURES LAST(o) AS m PATTERN (A)", "type", "o", id="6.11-no-scalar"),
    error("ORDER BY t MEASURES 1 AS m PATTERN (A) WITHIN 3", "type", "t", id="9.1-of-texts"),
    error(
        "ORDER BY x MEASURES 1 AS m PATTERN (A) WITHIN INTERVAL '1' DAY",
        "type",
        "x",
        id="9.1-interval-of-numbers",
    ),
]


def under_caret(caught: CerlabError) -> str:
    """The source text of an error's place."""
    assert isinstance(caught.place, SourcePlace)
    span = caught.place.span
    line = caught.place.text.splitlines()[span.line - 1]
    return line[span.column - 1 : span.end_column - 1]


@pytest.mark.parametrize(("text", "name", "at", "hint"), ILL_FORMED)
def test_ill_formed_before_any_table(text: str, name: str, at: str, hint: str) -> None:
    with pytest.raises(IllFormed, match=f"{CODES[name]}: {name}: ") as caught:
        parse_rows(text)
    assert at in under_caret(caught.value)
    assert hint in caught.value.hint


@pytest.mark.parametrize(("text", "name", "at", "hint"), OF_COLUMNS)
def test_ill_formed_on_a_table(text: str, name: str, at: str, hint: str) -> None:
    parse_rows(text)
    with pytest.raises(IllFormed, match=name) as caught:
        match_recognize(text, TABLE)
    assert under_caret(caught.value) == at
    assert hint in caught.value.hint


@pytest.mark.parametrize(("text", "name", "at", "hint"), OF_TYPES)
def test_types_on_a_table(text: str, name: str, at: str, hint: str) -> None:
    parse_rows(text)
    with pytest.raises(TypeMismatch, match=name) as caught:
        match_recognize(text, TABLE)
    assert under_caret(caught.value) == at
    assert caught.value.code == CODES["type"]


SYNTAX = [
    "",
    "SELECT",
    "MATCH_RECOGNIZE",
    "MATCH_RECOGNIZE (",
    "MATCH_RECOGNIZE ()",
    "MATCH_RECOGNIZE (MEASURES 1 AS m PATTERN ())",
    "MATCH_RECOGNIZE (MEASURES 1 AS m PATTERN (A**))",
    "MATCH_RECOGNIZE (MEASURES 1 AS m PATTERN (A???))",
    "MATCH_RECOGNIZE (MEASURES 1 AS m PATTERN (A{1}{2}))",
    "MATCH_RECOGNIZE (MEASURES 1 AS m PATTERN (A |))",
    "MATCH_RECOGNIZE (MEASURES 1 AS m PATTERN (A)))",
    "MATCH_RECOGNIZE (MEASURES 1 AS m PATTERN ((A))",
    "MATCH_RECOGNIZE (MEASURES 1 AS m PATTERN ({- A))",
    "MATCH_RECOGNIZE (MEASURES 1 AS m PATTERN (PERMUTE()))",
    "MATCH_RECOGNIZE (MEASURES 1 AS m PATTERN (A) PATTERN (B))",
    "MATCH_RECOGNIZE (MEASURES 1 AS m ONE ROW PER MATCH ALL ROWS PER MATCH PATTERN (A))",
    "MATCH_RECOGNIZE (MEASURES 1 AS m)",
    "MATCH_RECOGNIZE (MEASURES 1 m PATTERN (A))",
    "MATCH_RECOGNIZE (MEASURES 1 AS m, PATTERN (A))",
    "MATCH_RECOGNIZE (MEASURES PREV(x,) AS m PATTERN (A))",
    "MATCH_RECOGNIZE (MEASURES x BETWEEN 1 2 AS m PATTERN (A))",
    "MATCH_RECOGNIZE (MEASURES x + AS m PATTERN (A))",
    "MATCH_RECOGNIZE (MEASURES 'x AS m PATTERN (A))",
    "MATCH_RECOGNIZE (MEASURES 1 AS m AFTER MATCH SKIP PATTERN (A))",
    "MATCH_RECOGNIZE (MEASURES 1 AS m AFTER MATCH SKIP PAST LAST PATTERN (A))",
    "MATCH_RECOGNIZE (ORDER BY x MEASURES 1 AS m PATTERN (A) WITHIN -1)",
    "MATCH_RECOGNIZE (MEASURES 1 AS m PATTERN (A) SUBSET U = A)",
    "MATCH_RECOGNIZE (MEASURES 1 AS m PATTERN (A) SUBSET U = ())",
    "MATCH_RECOGNIZE (MEASURES 1 AS m PATTERN (A) DEFINE A x > 1)",
    "MATCH_RECOGNIZE (MEASURES 1 AS m PATTERN (A) FOO)",
    "MATCH_RECOGNIZE (MEASURES 1 AS m PATTERN (A)) AS t",
    "MATCH_RECOGNIZE (MEASURES 1e999 AS m PATTERN (A))",
]


@pytest.mark.parametrize("text", SYNTAX)
def test_syntax(text: str) -> None:
    """3.1, 4.1, 4.2: what is no clause."""
    with pytest.raises(QuerySyntaxError) as caught:
        parse_rows(text)
    assert caught.value.code == "CER0101"
    assert caught.value.line == 1
    assert 1 <= caught.value.column <= len(text) + 1


def test_what_sqlglot_says_is_said_once() -> None:
    """Its own text repeats the place, with codes of terminals around it."""
    with pytest.raises(QuerySyntaxError) as caught:
        parse_rows("MATCH_RECOGNIZE (MEASURES x BETWEEN 1 2 AS m PATTERN (A))")
    assert caught.value.message == "Expecting AND"


REFUSALS = [
    ("PARTITION BY g + 1 MEASURES 1 AS m PATTERN (A)", "an expression in PARTITION BY"),
    ("ORDER BY ABS(x) MEASURES 1 AS m PATTERN (A)", "an expression in ORDER BY"),
    ("MEASURES SUM(DISTINCT x) AS m PATTERN (A)", "DISTINCT"),
    ("MEASURES SUM(x) FILTER (WHERE y) AS m PATTERN (A)", "FILTER"),
    ("MEASURES SUM(x) OVER () AS m PATTERN (A)", "OVER"),
    ("MEASURES SUM(x ORDER BY y) AS m PATTERN (A)", "ORDER BY"),
    ("MEASURES STDDEV(x) AS m PATTERN (A)", "the function STDDEV"),
    ("MEASURES NVL(x, 1) AS m PATTERN (A)", "the function NVL"),
    ("MEASURES CAST(x AS INT) AS m PATTERN (A)", "CAST"),
    ("MEASURES x::INT AS m PATTERN (A)", "a cast"),
    ("MEASURES (SELECT 1) AS m PATTERN (A)", "a subquery"),
    ("MEASURES x IN (SELECT 1) AS m PATTERN (A)", "IN"),
    ("MEASURES t LIKE 'a' AS m PATTERN (A)", "LIKE"),
    ("MEASURES x + INTERVAL '1' DAY AS m PATTERN (A)", "INTERVAL outside WITHIN"),
    ("MEASURES 1 AS m INITIAL PATTERN (A)", "INITIAL"),
    ("MEASURES 1 AS m SEEK PATTERN (A)", "SEEK"),
    ("MEASURES 1 AS m PATTERN (A) DEFINE AUTO", "DEFINE AUTO"),
    ("MEASURES 1 AS m PATTERN (PERMUTE(A, B, C, D, E, F, G, H, I))", "PERMUTE of 9 parts"),
]


@pytest.mark.parametrize(("clauses", "what"), REFUSALS)
def test_refused_by_name(clauses: str, what: str) -> None:
    """6.6, 6.11, 10.3."""
    with pytest.raises(Unsupported, match=what) as caught:
        parse_rows(f"MATCH_RECOGNIZE ({clauses})")
    assert caught.value.place is not None


CLAUSE = "MATCH_RECOGNIZE (MEASURES 1 AS m PATTERN (A))"


@pytest.mark.parametrize(
    "text",
    [
        f"SELECT DISTINCT m FROM t {CLAUSE}",
        f"SELECT m + 1 FROM t {CLAUSE}",
        f"SELECT * FROM (SELECT 1) {CLAUSE}",
        f"SELECT * FROM s.t {CLAUSE}",
        f"SELECT * FROM t {CLAUSE} WHERE m > 1",
        f"SELECT * FROM t {CLAUSE} AS r ORDER BY m",
        f"SELECT * FROM t, u {CLAUSE}",
    ],
)
def test_other_sql_around_the_clause_is_refused(text: str) -> None:
    """3.6."""
    with pytest.raises(Unsupported):
        parse_rows(text)


def test_select_of_an_unknown_column() -> None:
    """3.6."""
    with pytest.raises(IllFormed, match="unknown-column") as caught:
        match_recognize(f"SELECT k FROM t {CLAUSE}", numbers("1"))
    assert under_caret(caught.value) == "k"
    with pytest.raises(IllFormed, match="duplicate-column"):
        match_recognize(f"SELECT m, m AS M FROM t {CLAUSE}", numbers("1"))
    with pytest.raises(IllFormed, match="unknown-variable"):
        parse_rows(f"SELECT r.m FROM t {CLAUSE} AS s")


def test_too_long_and_too_deep() -> None:
    deep = "(" * 300 + "x" + ")" * 300
    chain = " AND ".join(["x"] * 300)
    for text in (
        f"{CLAUSE}{' ' * 100_000}",
        *(f"MATCH_RECOGNIZE (MEASURES {e} AS m PATTERN (A))" for e in (deep, chain)),
    ):
        with pytest.raises(ResourceLimit):
            parse_rows(text)
    with pytest.raises(ResourceLimit):
        parse_rows(f"MATCH_RECOGNIZE (MEASURES 1 AS m PATTERN ({'(' * 300}A{')' * 300}))")


@pytest.mark.parametrize(
    "where", ["1 AS m PATTERN (A{N})", "PREV(x, N) AS m PATTERN (A)", "N AS m"]
)
def test_a_number_of_thousands_of_digits(where: str) -> None:
    with pytest.raises(IllFormed, match="CER0204"):
        parse_rows(f"MATCH_RECOGNIZE (MEASURES {where.replace('N', '1' * 5_000)})")


def test_a_column_of_mixed_values_is_refused() -> None:
    with pytest.raises(TypeMismatch, match="type: column 'x'"):
        match_recognize(CLAUSE, [{"x": 1}, {"x": "a"}])


def test_an_integer_beyond_64_bits_is_no_result() -> None:
    text = "MATCH_RECOGNIZE (MEASURES SUM(x) AS m PATTERN (A+))"
    with pytest.raises(CerlabError, match="CER0787"):
        match_recognize(text, [{"x": 2**62}, {"x": 2**62}])
