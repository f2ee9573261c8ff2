"""Warnings of queries without answers: each missing name once, at the end, at every door."""

from __future__ import annotations

import io
import shlex
import sys
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cerlab
from cerlab.compile.pattern import any_pattern
from cerlab.conformance import cases
from cerlab.evaluate import thresholds
from cerlab.evaluate.missing_names import CODES, requirements_of
from cerlab.io import as_stream
from cerlab.magic import ceql_magic
from proofs_tests.command import Cli
from proofs_tests.suite import random_suite

EVENTS = next(cases("warnings-of-answers")).rows
WARNINGS = [(c.query, c.expected) for c in cases("warnings-of-answers") if c.rows == EVENTS]


def codes(caught: list[warnings.WarningMessage]) -> list[str]:
    return [str(each.message)[:7] for each in caught]


@pytest.mark.parametrize(("query", "expected"), WARNINGS, ids=[query for query, _ in WARNINGS])
@pytest.mark.parametrize("container", [list, pa.Table.from_pylist])
@pytest.mark.parametrize(
    "ask",
    [
        cerlab.evaluate,
        partial(cerlab.evaluate, limit=1),
        cerlab.count,
        lambda query, S: ceql_magic({"S": S}, "S --evaluator auto", query),
    ],
    ids=["evaluate", "first answer", "count", "magic"],
)
def test_python_says_it_in_a_warning(
    query: str, expected: list[str], container: Callable[[Any], Any], ask: Callable[..., Any],
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    with warnings.catch_warnings(record=True, action="always") as caught:
        ask(query, container(EVENTS))
    on_stderr = [line.split()[1][:7] for line in capsys.readouterr().err.splitlines()]
    assert codes(caught) + on_stderr == expected


@pytest.mark.parametrize(("query", "expected"), WARNINGS, ids=[query for query, _ in WARNINGS])
def test_whether_there_are_answers_is_not_known_where_none_are_asked_for(
    query: str, expected: list[str]
) -> None:
    with warnings.catch_warnings(record=True, action="always") as caught:
        assert cerlab.evaluate(query, EVENTS, limit=0) == []
    assert codes(caught) == [code for code in expected if code != "CER0910"]


PATHS: dict[str, Callable[[Any], object]] = {
    "iteration": list,
    "count": lambda matches: matches.count(),
    "to_arrow": lambda matches: matches.to_arrow(),
    "to_pandas": lambda matches: matches.to_pandas(),
    "table": lambda matches: matches.table(["start"]),
    "aggregate": lambda matches: matches.aggregate(),
    "aggregate by end": lambda matches: matches.aggregate(count=False, group_by="end"),
}
"""The ways to ask a query's matches."""


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("most", [0, 20_000], ids=["in batches", "one by one"])
@pytest.mark.parametrize("query", ["BYU OR SELL", "BUY ; SELL", "SELL ; BUY", "BYU"])
def test_matches_say_it_once_whatever_they_are_asked_for(
    query: str, most: int, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = dict(WARNINGS)[query]
    monkeypatch.setattr(thresholds, "TECS_ORDER", most)
    monkeypatch.setattr(thresholds, "SHORT", min(most, thresholds.SHORT))
    matches = cerlab.parse_query(f"SELECT * WHERE {query}").run(EVENTS)
    with warnings.catch_warnings(record=True, action="always") as caught:
        PATHS[path](matches)
        assert codes(caught) == expected
        for ask in PATHS.values():
            ask(matches)
    assert codes(caught) == expected


@pytest.mark.parametrize(("query", "expected"), WARNINGS, ids=[query for query, _ in WARNINGS])
@pytest.mark.parametrize("way", ["file", "pipe", "compiled"])
def test_the_command_line_says_it_on_standard_error(
    query: str, expected: list[str], way: str, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:  # fmt: skip
    text = "type,name,price,stream\nBUY,INTC,27.5,S\nSELL,AMAT,3,S\n"
    path = tmp_path / "e.csv"
    path.write_text(text)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    more = ["--evaluator", "compiled"] if way == "compiled" else []
    lines = cli("run", query, "-" if way == "pipe" else str(path), *more).err.splitlines()
    assert [line.split()[1][:7] for line in lines] == expected
    if way == "file":
        assert not cli("run", "-q", query, path).err


@pytest.mark.parametrize(
    ("query", "expected"), [pair for pair in WARNINGS if not pair[0].startswith("<")]
)
def test_rows_with_names_say_the_same(
    query: str, expected: list[str], tmp_path: Path, cli: Cli
) -> None:
    path = tmp_path / "e.csv"
    path.write_text("type,name,price,stream\nBUY,INTC,27.5,S\nSELL,AMAT,3,S\n")
    for more, expected_codes in (([], expected), (["-q"], [])):
        lines = cli("run", query, path, "--columns", "start", *more).err.splitlines()
        assert [line.split()[1][:7] for line in lines] == expected_codes


@pytest.mark.parametrize(
    ("formula", "expected"),
    [("SELL ; BUY", ["CER0910"]), ("BUY ; SELL", []), ("BYU OR SELL", ["CER0904"])],
)
@pytest.mark.parametrize("group_by", ["", " GROUP BY end"])
@pytest.mark.parametrize("limit", [[], ["--limit", "0"], ["--limit", "1"]])
def test_aggregates_say_the_same(
    formula: str, expected: list[str], group_by: str, limit: list[str],
    tmp_path: Path, cli: Cli
) -> None:  # fmt: skip
    path = tmp_path / "e.csv"
    path.write_text("type,name,price,stream\nBUY,INTC,27.5,S\nSELL,AMAT,3,S\n")
    lines = cli("run", f"SELECT COUNT(*) WHERE {formula}{group_by}", path, *limit).err.splitlines()
    assert [line.split()[1][:7] for line in lines] == [
        c for c in expected if limit != ["--limit", "0"] or c != "CER0910"
    ]


@pytest.mark.parametrize(("value", "expected"), [("3", []), ("300", ["CER0910"])])
def test_row_patterns_say_that_there_is_no_answer(
    value: str, expected: list[str], tmp_path: Path, cli: Cli
) -> None:
    path = tmp_path / "e.csv"
    path.write_text("type,price\nBUY,27.5\n")
    clause = f"MATCH_RECOGNIZE (MEASURES A.price AS p PATTERN (A) DEFINE A AS price > {value})"
    error = cli("run", "--language", "rows", clause, path).err
    assert [x.split()[1][:7] for x in error.splitlines()] == expected


def test_the_command_that_is_named_can_be_run(tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "e f.csv").write_text("t,v\n1,x\n")
    options = ["--type", "A", "--time", "t:s"]
    query = "SELECT * WHERE A FILTER A[v = 'it''s'] WITHIN 1 SECONDS"
    (line,) = cli("run", query, tmp_path / "e f.csv", *options).err.splitlines()
    words = shlex.split(line.partition("; ")[2].removesuffix(" says why"))
    assert words[:2] == ["cerlab", "why"]
    assert "no answer on 1 event" in cli(*words[1:], status=1).out


def test_parquet_names_columns_that_were_not_read(tmp_path: Path, cli: Cli) -> None:
    pq.write_table(pa.Table.from_pylist(EVENTS), tmp_path / "e.parquet")
    query = "BUY FILTER BUY[prize > 1]"
    error = cli("run", query, tmp_path / "e.parquet", "--evaluator", "compiled").err
    assert "did you mean 'price'" in error


def test_nothing_is_said_before_the_end_or_twice() -> None:
    requirements = requirements_of(any_pattern("A ; B FILTER A[v > 1]"))
    requirements.read(as_stream([{"type": "A", "v": "x"}]))
    assert [each.kind for each in requirements.absent()] == ["type", "comparison"]
    requirements.read(as_stream([{"type": "B"}, {"type": "A", "v": 3}]))
    assert not requirements.open
    matches = cerlab.parse_query("SELECT * WHERE A ; B").run([{"type": "A"}])
    with warnings.catch_warnings(record=True, action="always") as caught:
        iterator = iter(matches)
        assert not caught
        assert (list(iterator), matches.count(), list(matches)) == ([], 0, [])
    assert codes(caught) == ["CER0904", "CER0910"]


def test_enough_answers_are_no_end(tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "e.csv").write_text("type\nA\nB\n")
    assert not cli("run", "A OR B OR C", tmp_path / "e.csv", "--limit", "1").err


@random_suite(2_000)
def test_events_and_columns_lack_the_same(rng: Random) -> bool:
    """The same names are missing by events, by columns, and in two parts."""
    events = [
        {
            "type": rng.choice(["BUY", "SELL", "buy"]),
            rng.choice(["name", "nme"]): rng.choice(["INTC", "intc", "IBM", 3, None]),
            rng.choice(["price", "prize"]): rng.choice([1, 27.5, "1", None]),
            "stream": rng.choice(["S", "T", None]),
        }
        for _ in range(rng.randrange(1, 4))
    ]
    pattern = any_pattern(rng.choice(WARNINGS)[0])
    whole = cerlab.Stream(events)
    by_events = [*requirements_of(pattern).read(whole).absent()]
    columnar = cerlab.Stream(events)
    assert columnar.columns
    by_columns = [*requirements_of(pattern).read(columnar).absent()]
    parts = requirements_of(pattern)
    cut = rng.randrange(len(whole) + 1)
    for part in (whole[:cut], whole[cut:]):
        parts.read(part)
    expected = [(each.kind, each.name) for each in by_events]
    assert [(each.kind, each.name) for each in by_columns] == expected
    assert [(each.kind, each.name) for each in parts.absent()] == expected
    return bool(by_events)


def test_every_kind_has_a_code() -> None:
    assert len(set(CODES.values())) == len(CODES) == 8


@pytest.mark.filterwarnings("default::cerlab.AnswerWarning")
@pytest.mark.parametrize(
    "ask",
    [
        lambda events: cerlab.evaluate("BYU", events),
        lambda events: cerlab.count("BYU", events),
        lambda events: cerlab.parse_query("SELECT * WHERE BYU").run(events).count(),
        lambda events: list(cerlab.parse_query("SELECT * WHERE BYU").run(events)),
        lambda events: cerlab.parse_query("SELECT * WHERE BYU").run(events).to_arrow(),
        lambda events: cerlab.parse_query("SELECT * WHERE BYU").run(events).aggregate(),
    ],
    ids=["evaluate", "count", "run-count", "run", "to-arrow", "aggregate"],
)
def test_a_warning_is_at_the_line_that_asked(ask: Callable[[Any], object]) -> None:
    with pytest.warns(cerlab.AnswerWarning) as caught:
        ask([{"type": "BUY"}])
    assert {warning.filename for warning in caught} == {__file__}


def test_a_column_of_nothing_is_not_answered_by_its_own_name() -> None:
    table = pa.table({"type": ["BUY"], "price": pa.array([None], pa.int64())})
    with pytest.warns(cerlab.AnswerWarning) as caught:
        cerlab.evaluate("BUY FILTER BUY[price > 1]", table)
    assert "an attribute 'price': the column is NULL everywhere" in str(caught[0].message)
