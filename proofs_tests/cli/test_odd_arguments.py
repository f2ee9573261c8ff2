"""Characters that a terminal lacks, numbers at the edge of types, texts like file names."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any, get_args

import pytest

import cerlab
from cerlab.cli import main
from cerlab.evaluate import EvaluatorName
from proofs_tests.command import Cli

EVALUATORS = set(get_args(EvaluatorName))
EVENTS = [{"type": "A"}, {"type": "B"}]


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_text_outside_the_encoding_of_the_terminal_is_escaped(
    tmp_path: Path, encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "e.ndjson").write_text(json.dumps({"type": "A", "n": "é 𝄞"}))
    commands = [
        ["run", "A AS `é`", "e.ndjson", "--labels", "--events"],
        ["run", "A AS `é`", "e.ndjson", "--labels", "--format", "table"],
        ["fmt", "A AS `é`"],
        ["show", "A AS `é`"],
        ["check", "A AS `𝄞`"],
        ["why", "A AS `é`", "e.ndjson", "--positions", "0"],
    ]
    terminal = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    monkeypatch.chdir(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", terminal)
        for command in commands:
            assert main(command) == 0
    terminal.seek(0)
    first = json.loads(terminal.readline())
    assert first["events"][0]["n"] == "é 𝄞"
    assert first["labels"] == {"A": [0], "é": [0]}


WIDTHS = [2**31 - 1, 2**31, 2**62, 2**63 - 1]


@pytest.mark.parametrize("limit", [*WIDTHS, 2**63, 2**64, 10**30])
def test_limits_beyond_what_there_can_be(limit: int, tmp_path: Path, cli: Cli) -> None:
    for evaluator in EVALUATORS:
        assert len(cerlab.evaluate("A ; B", EVENTS, evaluator=evaluator, limit=limit)) == 1
    path = tmp_path / "e.csv"
    path.write_text("type,v\nA,1\nB,2\n")
    clause = "MATCH_RECOGNIZE (MEASURES LAST(A.v) AS m PATTERN (A) DEFINE A AS v > 1)"
    for command in (["A ; B"], [clause, "--language", "rows"]):
        query, *options = command
        assert len(cli("run", query, path, "--limit", limit, *options).lines) == 1


def test_a_long_text_is_no_file_name(cli: Cli) -> None:
    text = " ; ".join(["AAAAAAAAAAAAAAAAAAAAAAAAAAAA"] * 12)
    assert cli("fmt", text).out == text + "\n"


def test_a_stream_of_dicts() -> None:
    three: Any = 3
    nothing: Any = None
    events: list[Any] = [{"type": "A", "v": 1}, cerlab.Event("B")]
    stream = cerlab.Stream(events)
    assert stream.events == (cerlab.Event("A", {"v": 1}), cerlab.Event("B"))
    assert len(cerlab.evaluate("A ; B", stream)) == 1
    with pytest.raises(cerlab.BadData, match="expected a dictionary as an event"):
        cerlab.Stream([*events, three])
    with pytest.raises(cerlab.UsageError, match="CER0812"):
        cerlab.Stream(nothing)


@pytest.mark.parametrize("state", [1, "x", [], b"", b"x", True, 1.5])
def test_a_state_that_is_none(state: Any) -> None:
    with pytest.raises(cerlab.BadData, match="CER0771"):
        cerlab.parse_query("SELECT * WHERE A").open(state=state)


def test_why_not_on_columns_of_several_types(tmp_path: Path) -> None:
    lines = ['{"type": "A", "v": 1}'] * 3 + ['{"type": "A", "v": "x"}'] * 3
    (tmp_path / "e.ndjson").write_text("\n".join(lines))
    (first, second) = cerlab.io.batches(tmp_path / "e.ndjson", size=3)
    assert [len(first), len(second)] == [3, 3]
    assert not cerlab.why_none("A : B FILTER A[w = 1]", tmp_path / "e.ndjson").answer
