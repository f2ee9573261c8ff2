"""`cerlab why`: what it prints, and its exit status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cerlab.cli import main
from proofs_tests.command import Cli


@pytest.fixture
def events(tmp_path: Path) -> str:
    path = tmp_path / "events.core"
    path.write_text("A(v=1)\nC()\nB(v=2)\n")
    return str(path)


def test_a_match(events: str, cli: Cli) -> None:
    out = cli("why", "A ; B", events, "--positions", "0,2").lines
    assert out[0] == "a match: {0, 2} in [0, 2]"
    assert out[-1] == "└─ B 2: B(v=2)"


def test_no_match(events: str, cli: Cli) -> None:
    out = cli("why", "A : B", events, "--positions", "0,2", status=1).out
    assert "  gap of 1 event at ':', between 0 and 2" in out.splitlines()


def test_the_interval(events: str) -> None:
    command = ["why", "SELECT B WHERE A ; B", events, "--positions", "2"]
    assert main([*command, "--start", "0", "--end", "2"]) == 0
    assert main([*command, "--start", "1", "--end", "2"]) == 1


def test_json(events: str, cli: Cli) -> None:
    out = cli("why", "A : B", events, "--positions", "0,2", "--format", "json", status=1).out
    document = json.loads(out)
    assert document["holds"] is False
    (failure,) = document["failures"]
    assert (failure["kind"], failure["positions"], failure["path"]) == ("gap", [0, 2], [])
    assert failure["repairs"] == [
        {"do": "relax", "path": [], "into": "A ; B"},
        {"do": "remove", "positions": [1]},
    ]
    assert document["repairs"] == failure["repairs"]
    assert [child["labels"] for child in document["derivation"]["children"]] == [
        {"A": [0]},
        {"B": [2]},
    ]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["A ; B", "--positions", "0,x"], "CER0836"),
        (["A ; ", "--positions", "0"], "CER01"),
        (["<type = 'A'>^ | ", "--positions", "0"], "CER01"),
        (["A ; B", "--positions", ""], "CER0835"),
    ],
)
def test_bad_usage(arguments: list[str], code: str, events: str, cli: Cli) -> None:
    output = cli("why", arguments[0], events, *arguments[1:], status=2)
    assert code in output.err
    assert output.out == ""


def test_a_position_that_is_not_there_is_no_match(events: str, cli: Cli) -> None:
    out = cli("why", "A ; B", events, "--positions", "0,7", status=1).out
    assert "position 7 is out of the stream, which has 3 events" in out


def test_a_sremo(events: str, capsys: pytest.CaptureFixture[str], cli: Cli) -> None:
    pattern = "<type = 'A'>^ -> r . <TRUE>* . <v > r.v>^"
    out = cli("why", pattern, events, "--positions", "0,2").lines
    assert out[:2] == ["a match: {0, 2} in [0, 2]", ". [0, 2]  ^ {0, 2}  r = 0"]
    assert main(["why", pattern, events, "--positions", "0,1"]) == 1
    message = "event 1 fails v > r.v: v is missing, r is event 0 with v 1"
    assert f"  {message}" in capsys.readouterr().out.splitlines()


def test_a_sremo_that_does_not_look_like_one(events: str, cli: Cli) -> None:
    pattern = "EPS . <type = 'A'>^"
    command = ["why", pattern, events, "--positions", "0", "--language", "sremo"]
    assert json.loads(cli(*command, "--format", "json").out)["derivation"]["marks"] == [0]


def test_without_positions_why_there_is_no_answer(events: str, cli: Cli) -> None:
    out = cli("why", "A : B FILTER A[v = 1]", events, status=1).out
    assert out.splitlines() == [
        "no answer on 3 events; each of these changes alone gives one:",
        "  ';' for ':' before B: {0, 2}",
    ]
    document = json.loads(cli("why", "A : b", events, "--format", "json", status=1).out)
    assert document["absent"] == [{"kind": "type", "name": "b"}]
    (change,) = document["changes"]
    assert change["words"] == "leave out b"
    assert change["repair"] == {"do": "relax", "path": [], "into": "A"}
    assert change["answer"] == {"start": 0, "end": 0, "positions": [0]}
    assert cli("why", "A ; B", events).out == "there is an answer on 3 events: {0, 2}\n"


@pytest.mark.parametrize(
    ("arguments", "code"), [(["<TRUE>^"], "CER0495"), (["A ; B", "--end", "2"], "CER0836")]
)
def test_bad_usage_without_positions(
    arguments: list[str], code: str, events: str, cli: Cli
) -> None:
    assert code in cli("why", arguments[0], events, *arguments[1:], status=2).err
