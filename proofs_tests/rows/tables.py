"""Notation for row patterns, tables and results in hand-computed tables."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import pyarrow as pa
import pytest

from cerlab.rows.recognise import RowEvaluator, RowPattern, match_recognize, parse_rows

EVALUATORS: tuple[RowEvaluator, ...] = ("reference", "search", "auto")
"""In these tests ``"auto"`` is what is compiled wherever it takes a query."""

Row = tuple[Any, ...]
Dict = dict[str, Any]


def letters(text: str) -> list[Dict]:
    """``letters("a ab .")``: rows numbered by i, with a truth value for each of a, b, c, d.

    A letter stands where the row has that truth value TRUE, ``.`` for a row without any, and a
    letter after ``~`` where it is NULL.
    """
    rows = []
    for i, word in enumerate(text.split()):
        null = word.partition("~")[2]
        holds = word.partition("~")[0]
        rows.append({"i": i, **{c: None if c in null else c in holds for c in "abcd"}})
    return rows


def numbers(text: str, column: str = "x") -> list[Dict]:
    """``numbers("3 . 1.5")``: rows numbered by i, with a number each, ``.`` for NULL."""
    return [{"i": i, column: _number(word)} for i, word in enumerate(text.split())]


def _number(word: str) -> int | float | None:
    if word == ".":
        return None
    return float(word) if "." in word else int(word)


def define_clause(pattern: str) -> str:
    """``DEFINE A AS A.a, ..`` for those of A, B, C, D that a pattern has."""
    variables = [v for v in "ABCD" if any(w == v for w in _words(pattern))]
    return "DEFINE " + ", ".join(f"{v} AS {v}.{v.lower()}" for v in variables) if variables else ""


def _words(pattern: str) -> list[str]:
    return "".join(c if c.isalnum() else " " for c in pattern).split()


@cache
def read(text: str) -> RowPattern:
    """The query of a text; mutants judge the same ones over and over."""
    return parse_rows(text)


def scan_of(
    pattern: str, text: str, clauses: str = "", evaluator: RowEvaluator = "reference"
) -> str:
    """What the scan finds, ``"0:AAB 3:"``: where each match begins, and its labels.

    Rows are those of `letters`; variables A to D hold where their letter stands.
    """
    query = f"""MATCH_RECOGNIZE (ORDER BY i
        MEASURES MATCH_NUMBER() AS n, COALESCE(CLASSIFIER(), '') AS v
        ALL ROWS PER MATCH {clauses} PATTERN ({pattern}) {define_clause(pattern)})"""
    matches: dict[int, list[str]] = {}
    result = match_recognize(read(query), letters(text), evaluator=evaluator)
    for row in result.to_pylist():
        matches.setdefault(row["n"], [f"{row['i']}:"]).append(row["v"])
    return " ".join("".join(parts) for parts in matches.values())


def rows_of(query: str, table: Any, evaluator: RowEvaluator = "reference") -> list[Row]:
    """The rows of a result, as tuples in the order of its columns."""
    result = match_recognize(read(query), table, evaluator=evaluator)
    return [tuple(row.values()) for row in result.to_pylist()]


def pattern_case(pattern: str, text: str, expected: str, *, id: str, clauses: str = "") -> Any:
    """A row of `scan_of`."""
    return pytest.param(pattern, text, clauses, expected, id=id)


def case(clauses: str, table: Sequence[Dict], *expected: Row, id: str) -> Any:
    """A row: what stands in ``MATCH_RECOGNIZE (..)``, a table, the rows of the result."""
    return pytest.param(f"MATCH_RECOGNIZE ({clauses})", table, list(expected), id=id)


def typed_table(rows: Sequence[Dict]) -> Any:
    """The rows of `random_row_table` as a Table; columns have their types where all is NULL."""
    schema = pa.schema({"g": pa.int64(), "t": pa.int64(), "x": pa.int64(), "s": pa.string()})
    return pa.Table.from_pylist(list(rows), schema=schema)
