"""Public results of queries on registers: every door gives the same answers."""

from __future__ import annotations

import io
import json
from pathlib import Path
from random import Random

import pytest

import cerlab
from cerlab import parse_query
from cerlab.compile.pattern import Pattern, as_pattern
from cerlab.engine.answers import batched_answers
from cerlab.evaluate.labelled import event_texts
from proofs_tests.command import Cli
from proofs_tests.srt.correlated_cases import correlated_case
from proofs_tests.suite import random_suite

QUERY = """SELECT a[v], b WHERE (A AS a ; B AS b) FILTER b.v > a.v PARTITION BY [k]"""
EVENTS = [
    {"type": "A", "v": 1, "k": 1, "z": 7},
    {"type": "A", "v": 0, "k": 2},
    {"type": "B", "v": 2, "k": 1},
]


@random_suite(2_000)
def test_the_engine_gives_the_answers_of_the_reference(rng: Random) -> bool:
    example = correlated_case(rng)
    expected = cerlab.evaluate(example.query, example.stream, evaluator="reference")
    assert cerlab.evaluate(example.query, example.stream, evaluator="compiled") == expected
    assert cerlab.count(example.query, example.stream) == len(expected)
    return bool(expected)


def test_counting_does_not_list() -> None:
    events = [{"type": "A", "v": n} for n in range(60)] + [{"type": "B", "v": 60}]
    with pytest.raises(cerlab.ResourceLimit, match="CER0618"):
        cerlab.count("(A+ AS a ; B AS b) FILTER a.v < b.v", events)
    sremo = "<type = 'A'>^ -> r . <TRUE>* . <type = 'B' AND v > r.v>^"
    assert cerlab.count(sremo, events) == 60


def test_select_chooses_what_is_shown() -> None:
    query, stream = parse_query(QUERY), cerlab.Stream.from_events(EVENTS)
    (answer,) = cerlab.evaluate(query, stream)
    assert shown(query, stream, answer)[0] == {"position", "type", "v"}
    both = as_pattern("SELECT a[v], b[k] WHERE (A AS a AS b ; B AS c) FILTER c.v > a.v")
    (answer, *_) = cerlab.evaluate(both, stream)
    assert shown(both, stream, answer)[0] == {"position", "type", "v", "k"}


def shown(query: Pattern, stream: cerlab.Stream, answer: cerlab.ComplexEvent) -> list[set[str]]:
    """The names in the events of an answer; from columns also the names that others have."""
    (batch,) = batched_answers([answer], 1)
    attributes = [name for name in stream.columns if name not in ("type", "stream")]
    texts = (event_texts(query, stream, 0, batch, names) for names in (None, attributes))
    by_event, by_column = ([set(json.loads(t)) for t in each.to_pylist()[0]] for each in texts)
    assert all(a <= b for a, b in zip(by_event, by_column, strict=True))
    return by_event


@pytest.mark.parametrize("options", [(), ("--evaluator", "compiled"), ("--evaluator", "registers")])
@pytest.mark.parametrize("source", ["file", "-"])
def test_the_command_line_runs_them(
    options: tuple[str, ...], source: str, tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "".join(json.dumps(event) + "\n" for event in EVENTS)
    path = tmp_path / "events.ndjson"
    path.write_text(text)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    events = str(path) if source == "file" else source
    (row,) = cli("run", QUERY, events, *options).rows
    assert row == {"start": 0, "end": 2, "positions": [0, 2]}
