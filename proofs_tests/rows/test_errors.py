"""Errors of row patterns by name, with place and hint, and refusals by name."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from cerlab import match_recognize, parse_rows
from cerlab.errors import (
    CerlabError,
    IllFormed,
    QuerySyntaxError,
    ResourceLimit,
    SourcePlace,
    TypeMismatch,
    Unsupported,
)
from cerlab.rows.syntax import CODES
from proofs_tests.rows.tables import numbers, sections

TABLE = pa.table({"i": [0], "x": [1], "t": ["a"], "o": [[1]], "ab": [1], "aB": [2]})


def errors_of(section: str) -> list[Any]:
    """The cases of ``errors.txt``: a text, its error, the text at the caret, part of the hint."""
    return [
        pytest.param(f"MATCH_RECOGNIZE ({clauses})", name, at, "".join(hint), id=id)
        for id, name, at, clauses, *hint in sections("errors")[section]
    ]


ILL_FORMED, OF_COLUMNS, OF_TYPES = map(errors_of, ("ILL_FORMED", "OF_COLUMNS", "OF_TYPES"))
SYNTAX = [text for (text,) in sections("errors")["SYNTAX"]]
REFUSALS = [(clauses, what) for what, clauses in sections("errors")["REFUSALS"]]


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


@pytest.mark.parametrize("text", SYNTAX)
def test_syntax(text: str) -> None:
    """3.1, 4.1, 4.2: texts that are not a clause."""
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
