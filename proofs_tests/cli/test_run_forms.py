"""Labels, events and columns of answers on files in batches: what the whole stream gives.

Queries of automata and of transducers, windows and none, partitions and LIMIT; batches of three
events, so that answers reach over many of them.
"""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pyarrow.parquet as parquet
import pytest

import cerlab
from cerlab import Event
from cerlab.cli import main
from cerlab.evaluate import thresholds
from cerlab.logic.ceql.syntax import query_text
from cerlab.model.stream import Stream
from cerlab.predicates.truth import kind_of
from proofs_tests.cli.run_cases import Pieces, compilable
from proofs_tests.command import Cli
from proofs_tests.random_cases import Case
from proofs_tests.srt.correlated_cases import under_clauses
from proofs_tests.suite import random_suite

FORMS = {"labels": ["--labels"], "events": ["--events"], "both": ["--labels", "--events"]}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "e.parquet"


def cases(rng: Random) -> Case | None:
    """A case whose events are a table: of each attribute the values of one kind are left."""
    for _ in range(4):
        case = rng.choice((compilable, under_clauses))(rng)
        kinds: dict[str, str | None] = {}
        events = []
        for event in case.stream.events:
            pairs = {
                name: value
                for name, value in event.attributes.items()
                if value is not None and kinds.setdefault(name, kind_of(value)) == kind_of(value)
            }
            floats = {n: float(v) if type(v) is int and n != "t" else v for n, v in pairs.items()}
            events.append(Event(event.type, floats, event.stream))
        case = replace(case, stream=Stream(events, time=case.stream.time))
        if events and cerlab.evaluate(case.query, case.stream, evaluator="compiled"):
            return case
    return None


def in_order(rows: Iterator[Any] | list[Any]) -> list[str]:
    return sorted(json.dumps(row, sort_keys=True, default=str) for row in rows)


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize("form", FORMS)
@random_suite(2_000)
def test_lines_of_answers(form: str, rng: Random, file: Path, cli: Cli) -> bool | None:
    if (drawn := cases(rng)) is None:
        return None
    try:
        parquet.write_table(cerlab.Stream.from_events(drawn.stream.events).to_arrow(), file)
    except cerlab.BadData:  # values of several types
        return None
    text, time = query_text(drawn.ast), ["--time", "t:s"]
    compiled = cli("run", text, file, *time, *FORMS[form], "--evaluator", "compiled", "-q").rows
    try:
        expected = cli(
            "run", text, file, *time, *FORMS[form], "--evaluator", "reference", "-q"
        ).rows
    except AssertionError as error:
        if "CER0605" in str(error):  # too many steps for the reference: not judged
            return None
        raise
    assert in_order(compiled) == in_order(expected), drawn.describe()
    return bool(expected)


@pytest.mark.usefixtures("small_batches", "never_whole")
@pytest.mark.parametrize("form", ["parquet", "ndjson", "core", "pipe"])
@random_suite(500)
def test_rows_with_names(
    form: str, rng: Random, tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> bool:
    """Some batches have no event with ``w``, and integers come before doubles."""
    query = cerlab.parse_query(
        "SELECT * WHERE A AS a ; B+ AS b FILTER a.v <= b.v PARTITION BY [k] WITHIN 6 [t]"
    )
    columns = ["a.v", "a.w", "last(b.v)", "count(b)", "b"]
    events = []
    for n in range(20):
        v = rng.choice([0, 1, 2, 3.5, 4] if n > 9 else [0, 1, 2, 3])
        late = {"w": rng.choice(["x", "y"])} if n == 19 or rng.random() < 0.1 else {}
        k = rng.randrange(2)
        events.append({"type": rng.choice("AABBC"), "v": v, "k": k, "t": n, **late})
    table = cerlab.Stream.from_events(events).to_arrow()
    path, to, data = tmp_path / f"e.{form}", tmp_path / "out.parquet", b""
    match form:
        case "parquet":
            parquet.write_table(table, path)
        case "core":
            path.write_text("".join(core_line(event) for event in events))
        case _:
            data = "".join(json.dumps(event) + "\n" for event in events).encode()
            path.write_bytes(data)
    cuts = sorted({0, len(data), *(rng.randrange(len(data) + 1) for _ in range(4))})
    pieces = [data[i:j] for i, j in pairwise(cuts)]
    monkeypatch.setattr(thresholds, "SHORT", rng.randrange(1, 30))
    source = "-" if form == "pipe" else str(path)
    how = ["--columns", ",".join(columns)]
    how += ["--evaluator", rng.choice(["auto", "compiled"]) if form == "pipe" else "compiled"]
    monkeypatch.setattr(sys, "stdin", Pieces(pieces, lambda piece: None))
    some = cli("run", query, source, *how, "-q").rows
    monkeypatch.setattr(sys, "stdin", Pieces(pieces, lambda piece: None))
    cli("run", query, source, *how, "--format", "parquet", "-o", to, "-q")
    expected = query.run(table).table(columns)
    assert in_order(numbers(some)) == in_order(numbers(expected.to_pylist()))
    written = parquet.read_table(to)
    assert in_order(numbers(written.to_pylist())) == in_order(numbers(expected.to_pylist()))
    assert not expected or written.schema.field("last(b.v)").type in ("int64", "double")
    return bool(expected)


def core_line(event: dict[str, Any]) -> str:
    pairs = ",".join(f"{name}={value}" for name, value in event.items() if name != "type")
    return f"{event['type']}({pairs})\n"


def numbers(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same rows, with doubles for all numbers."""
    return [json.loads(json.dumps(row), parse_int=float) for row in rows]


NOTHING: dict[str, list[str]] = {
    "positions": ["A ; Z"],
    "labels": ["A ; Z", "--labels"],
    "none asked for": ["A ; B", "--limit", "0"],
    "labels, none asked for": ["A ; B", "--labels", "--limit", "0"],
    "columns": ["SELECT * WHERE A AS a ; Z", "--columns", "a.v"],
    "columns, none asked for": ["SELECT * WHERE A AS a ; B", "--columns", "a.v", "--limit", "0"],
    "a SREMO": ["<type = 'Z'>^", "--language", "sremo"],
    "the reference": ["A ; Z", "--evaluator", "reference"],
    "totals": ["SELECT COUNT(*) WHERE A ; Z GROUP BY end"],
}


@pytest.mark.parametrize("source", ["file", "long file", "pipe", "no events"])
@pytest.mark.parametrize("name", NOTHING)
def test_no_answers_are_an_empty_table(
    name: str, source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In place of the file of another run, with the columns that answers have."""
    path, out = tmp_path / "e.csv", tmp_path / "out.parquet"
    rows = "A,1\nB,2\n" * {"long file": 5_000, "no events": 0}.get(source, 1)
    path.write_text(f"type,v\n{rows}")
    events = str(path)
    if source == "pipe":
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
        events = "-"
    query, *options = NOTHING[name]
    if name == "the reference" and source == "long file":
        return
    if source == "no events" and "a.v" in options:
        rows = "C,1\n"  # a column of no event is an error
        path.write_text(f"type,v\n{rows}")
    out.write_text("yesterday")
    command = ["run", query, events, *options, "-q", "--format", "parquet", "-o", str(out)]
    assert main(command) == 0
    table = parquet.read_table(out)
    assert table.num_rows == 0
    assert table.column_names[:1] in (["start"], ["end"], ["count"])


def test_a_narrow_terminal_cuts_no_cell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    path = tmp_path / "e.csv"
    path.write_text("type,v\nA,1234567\nB,2\n")
    for columns in range(0, 40, 4):
        monkeypatch.setenv("COLUMNS", str(columns))
        command = ["run", "SELECT * WHERE A AS a ; B", str(path), "--columns", "a.v"]
        shown = cli(*command, "--format", "table", "-q").out
        assert all(word in shown for word in ("start", "end", "a.v", "1234567")), shown


@pytest.mark.parametrize("form", ["csv", "ndjson"])
def test_a_pipe_gives_no_row_before_the_error_of_a_column(
    form: str, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    """An attribute that comes late is no error, and no row waits longer than for it."""
    rows = [{"type": "A", "v": 1}, {"type": "B", "v": 2}, {"type": "A", "v": 3, "w": 4}]
    for known, status in ((2, 2), (3, 0)):
        lines = [json.dumps(row) for row in rows[:known]]
        if form == "csv":
            names = ["type", "v", "w"][:known]
            lines = [",".join(names)]
            lines += [",".join(str(row.get(name, "")) for name in names) for row in rows]
        data = "".join(f"{line}\n" for line in lines).encode()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        command = ["run", "SELECT * WHERE A AS a", "-", "--columns", "a.v,a.w"]
        output = cli(*command, status=status)
        assert ("CER0864" in output.err) == (status == 2)
        assert output.out.count("\n") == (0 if status else 2)


def test_a_time_whose_name_has_a_colon(tmp_path: Path, cli: Cli) -> None:
    """As every file has that was made of XES."""
    path = tmp_path / "e.csv"
    path.write_text("type,time:timestamp,n:x\nA,2020-01-01T00,1\nB,2020-01-01T01,9\n")
    for time, within in (("time:timestamp", "2 HOURS"), ("n:x:s", "8 SECONDS")):
        command = ["run", f"SELECT * WHERE A ; B WITHIN {within}", str(path), "--time", time]
        assert cli(*command).out.count("\n") == 1
    assert "CER0801" in cli(*command[:-1], "n:sec", status=2).err
