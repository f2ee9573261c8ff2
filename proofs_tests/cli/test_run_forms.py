"""Labels, events and columns of answers on files in batches: what the whole stream gives.

Queries of automata and of transducers, windows and none, partitions and LIMIT; batches of three
events, so that answers reach over many of them.
"""

from __future__ import annotations

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
from cerlab.cli import live, main
from cerlab.logic.ceql.syntax import query_text
from cerlab.model.event import Event
from cerlab.model.stream import Stream
from cerlab.predicates.truth import kind_of
from proofs_tests.cli.run_cases import Pieces, compilable
from proofs_tests.random_cases import Case
from proofs_tests.srt.correlated_cases import under_clauses
from proofs_tests.suite import Suite

FORMS = {"labels": ["--labels"], "events": ["--events"], "both": ["--labels", "--events"]}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "e.parquet"


def lines(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
    """The lines of ``cerlab run``, which succeeds."""
    assert main(["run", *arguments, "-q"]) == 0, capsys.readouterr().err
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


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
def test_lines_of_answers(
    form: str, suite: Suite, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def case(rng: Random) -> bool | None:
        if (drawn := cases(rng)) is None:
            return None
        try:
            parquet.write_table(cerlab.Stream.from_events(drawn.stream.events).to_arrow(), file)
        except cerlab.BadData:  # values of several types
            return None
        text, time = query_text(drawn.ast), ["--time", "t:s"]
        compiled = lines(capsys, text, str(file), *time, *FORMS[form], "--evaluator", "compiled")
        try:
            expected = lines(
                capsys, text, str(file), *time, *FORMS[form], "--evaluator", "reference"
            )
        except AssertionError as error:
            if "CER0605" in str(error):  # too many steps for the reference: not judged
                return None
            raise
        assert in_order(compiled) == in_order(expected), drawn.describe()
        return bool(expected)

    suite.run(case, deep_count=2_000)


@pytest.mark.usefixtures("small_batches", "never_whole")
@pytest.mark.parametrize("form", ["parquet", "ndjson", "core", "pipe"])
def test_rows_with_names(
    form: str,
    suite: Suite,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Some batches have no event with ``w``, and integers come before doubles."""
    query = cerlab.parse_query(
        "SELECT * WHERE A AS a ; B+ AS b FILTER a.v <= b.v PARTITION BY [k] WITHIN 6 [t]"
    )
    columns = ["a.v", "a.w", "last(b.v)", "count(b)", "b"]

    def case(rng: Random) -> bool:
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
        monkeypatch.setattr(live, "SHORT", rng.randrange(1, 30))
        source = "-" if form == "pipe" else str(path)
        how = ["--columns", ",".join(columns)]
        how += ["--evaluator", rng.choice(["auto", "compiled"]) if form == "pipe" else "compiled"]
        monkeypatch.setattr(sys, "stdin", Pieces(pieces, lambda piece: None))
        some = lines(capsys, str(query), source, *how)
        monkeypatch.setattr(sys, "stdin", Pieces(pieces, lambda piece: None))
        lines(capsys, str(query), source, *how, "--format", "parquet", "-o", str(to))
        expected = query.run(table).table(columns)
        assert in_order(numbers(some)) == in_order(numbers(expected.to_pylist()))
        written = parquet.read_table(to)
        assert in_order(numbers(written.to_pylist())) == in_order(numbers(expected.to_pylist()))
        assert not expected or written.schema.field("last(b.v)").type in ("int64", "double")
        return bool(expected)

    suite.run(case, deep_count=500)


def core_line(event: dict[str, Any]) -> str:
    pairs = ",".join(f"{name}={value}" for name, value in event.items() if name != "type")
    return f"{event['type']}({pairs})\n"


def numbers(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same rows, with doubles for all numbers."""
    return [json.loads(json.dumps(row), parse_int=float) for row in rows]
