"""Notation for row patterns, tables and results in hand-computed tables."""

from __future__ import annotations

import re
from ast import literal_eval
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from cerlab import RowPattern, match_recognize, parse_rows
from cerlab.rows.recognise import RowEvaluator

EVALUATORS: tuple[RowEvaluator, ...] = ("reference", "search", "auto")
"""In these tests ``"auto"`` is a compiled evaluator wherever one accepts the query."""

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
    """Return the matches of the scan, ``"0:AAB 3:"``: the start and the labels of each.

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


def case(clauses: str, table: Sequence[Dict], *expected: Row, id: str) -> Any:
    """A row: what stands in ``MATCH_RECOGNIZE (..)``, a table, the rows of the result."""
    return pytest.param(f"MATCH_RECOGNIZE ({clauses})", table, list(expected), id=id)


def typed_table(rows: Sequence[Dict]) -> Any:
    """The rows of `random_row_table` as a Table; columns have their types where all is NULL."""
    schema = pa.schema({"g": pa.int64(), "t": pa.int64(), "x": pa.int64(), "s": pa.string()})
    return pa.Table.from_pylist(list(rows), schema=schema)


CASES = Path(__file__).parent / "cases"


@cache
def sections(name: str) -> dict[str, list[list[str]]]:
    """The tables of a text file of cases: ``[NAME]``, then a case a line, its columns as it says.

    ``-`` is an empty column.
    """
    result: dict[str, list[list[str]]] = {}
    for line in (CASES / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            result[line.strip("[]")] = rows = []
        elif line and not line.startswith(("#", "@")):
            rows.append(["" if column == "-" else column for column in re.split(r" {2,}", line)])
    return result


@cache
def named_tables(name: str) -> dict[str, list[Dict]]:
    """The tables that a text file gives a name: ``@NAME = [..]``."""
    lines = (CASES / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    pairs = (line[1:].split(" = ", 1) for line in lines if line.startswith("@"))
    return {key: literal_eval(value) for key, value in pairs}


def table_of(name: str, text: str) -> list[Dict]:
    """``3 5 .``, ``@NAME``, ``@NAME[:2]``, ``[{..}, ..]``."""
    if text.startswith("@"):
        key, _, first = text[1:].rstrip("]").partition("[:")
        return named_tables(name)[key][: int(first) if first else None]
    return literal_eval(text) if text.startswith("[") else numbers(text)


def results_of(section: str) -> list[Any]:
    """The cases of ``results.txt``: a query, a table, the rows of the result."""
    return [
        pytest.param(
            text
            if (text := clauses.replace("\\n", "\n")).startswith("SELECT")
            else f"MATCH_RECOGNIZE ({text})",
            table_of("results", table),
            list(literal_eval(f"[{expected}]")),
            id=id,
        )
        for id, clauses, table, expected in ([*row, ""][:4] for row in sections("results")[section])
    ]


def patterns_of(section: str) -> list[Any]:
    """The cases of ``patterns.txt``: rows of `scan_of`."""
    return [
        pytest.param(pattern, text, "".join(clauses), expected, id=id)
        for id, pattern, text, expected, *clauses in sections("patterns")[section]
    ]
