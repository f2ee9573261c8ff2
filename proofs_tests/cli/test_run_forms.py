"""Labels, events and columns of answers on files in batches: what the whole stream gives.

Queries of automata and of transducers, windows and none, partitions and LIMIT; batches of three
events, so that answers reach over many of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pyarrow.parquet as parquet
import pytest

import cerlab
from cerlab.cli import main
from cerlab.logic.ceql.syntax import query_text
from cerlab.model.event import Event
from cerlab.model.stream import Stream
from cerlab.predicates.truth import kind_of
from proofs_tests.cli.run_cases import compilable
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
def test_rows_with_names(suite: Suite, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    query = cerlab.parse_query(
        "SELECT * WHERE A AS a ; B+ AS b FILTER a.v <= b.v PARTITION BY [k] WITHIN 6 [t]"
    )

    def case(rng: Random) -> bool:
        events = [
            {"type": rng.choice("AABBC"), "v": rng.randrange(5), "k": rng.randrange(2), "t": n}
            for n in range(20)
        ]
        table = cerlab.Stream.from_events(events).to_arrow()
        parquet.write_table(table, file)
        columns = ["a.v", "last(b.v)", "count(b)", "b"]
        some = lines(
            capsys, str(query), str(file), "--columns", ",".join(columns), "--evaluator", "compiled"
        )
        expected = query.run(table).table(columns).to_pylist()
        assert in_order(some) == in_order(expected)
        return bool(expected)

    suite.run(case, deep_count=500)
