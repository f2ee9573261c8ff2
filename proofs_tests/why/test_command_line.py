"""`cerlab why`: what it prints, and its exit status (DESIGN 2.2)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cerlab.cli import main


@pytest.fixture
def events(tmp_path: Path) -> str:
    path = tmp_path / "events.core"
    path.write_text("A(v=1)\nC()\nB(v=2)\n")
    return str(path)


def test_a_match(events: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["why", "A ; B", events, "--positions", "0,2"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "a match: {0, 2} in [0, 2]"
    assert out[-1] == "└─ B 2: B(v=2)"


def test_no_match(events: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["why", "A : B", events, "--positions", "0,2"]) == 1
    assert "  gap of 1 event at ':', between 0 and 2" in capsys.readouterr().out.splitlines()


def test_the_interval(events: str) -> None:
    command = ["why", "SELECT B WHERE A ; B", events, "--positions", "2"]
    assert main([*command, "--start", "0", "--end", "2"]) == 0
    assert main([*command, "--start", "1", "--end", "2"]) == 1


def test_json(events: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["why", "A : B", events, "--positions", "0,2", "--format", "json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["holds"] is False
    (failure,) = found["failures"]
    assert (failure["kind"], failure["positions"], failure["path"]) == ("gap", [0, 2], [])
    assert failure["repairs"] == [
        {"do": "relax", "path": [], "into": "A ; B"},
        {"do": "remove", "positions": [1]},
    ]
    assert found["repairs"] == failure["repairs"]
    assert [child["labels"] for child in found["derivation"]["children"]] == [
        {"A": [0]},
        {"B": [2]},
    ]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["A ; B", "--positions", "0,x"], "CER0836"),
        (["A ; ", "--positions", "0"], "CER01"),
        (["<type = 'A'>^", "--positions", "0"], "CER0495"),
        (["A ; B", "--positions", ""], "CER0835"),
    ],
)
def test_bad_usage(
    arguments: list[str], code: str, events: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["why", arguments[0], events, *arguments[1:]]) == 2
    captured = capsys.readouterr()
    assert code in captured.err
    assert captured.out == ""


def test_a_position_that_is_not_there_is_no_match(
    events: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["why", "A ; B", events, "--positions", "0,7"]) == 1
    assert "position 7 is out of the stream, which has 3 events" in capsys.readouterr().out
