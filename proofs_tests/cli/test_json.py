"""Commands that write JSON write what every JSON reader accepts: no NaN, no Infinity."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest

from cerlab.cli import main

EVENTS = "type,v,t\nA,NaN,1\nB,Infinity,2\nA,-Infinity,3\nB,1.5,4\n"
QUERY = "SELECT * WHERE A AS a ; B AS b"
FILTERED = "SELECT * WHERE A AS a ; B AS b FILTER a[v > 1]"
ROWS = """MATCH_RECOGNIZE (
    ORDER BY t MEASURES A.v AS m ALL ROWS PER MATCH PATTERN (A) DEFINE A AS A.t > 0)"""
AS_JSON = ("--format", "json")
AS_LINES = ("--format", "ndjson")


def _refuse(constant: str) -> object:
    raise AssertionError(f"JSON has no {constant}")


@pytest.mark.parametrize(
    "command",
    [
        ("run", QUERY, "events.csv", "--events", *AS_LINES),
        ("run", QUERY, "events.csv", "--columns", "a.v,b.v", *AS_LINES),
        ("run", QUERY, "-", "--events"),
        ("run", QUERY, "-", "--columns", "a.v"),
        ("run", "SELECT MAX(b.v), MIN(a.v) WHERE A AS a ; B AS b", "events.csv", *AS_LINES),
        ("run", "--language", "rows", ROWS, "events.csv", *AS_LINES),
        ("sql", f"SELECT * FROM events {ROWS}", "events.csv", *AS_LINES),
        ("why", FILTERED, "events.csv", "--positions", "0,1", *AS_JSON),
        ("why", FILTERED, "events.csv", *AS_JSON),
        ("show", FILTERED, "events.csv", "--what", "ast", *AS_JSON),
    ],
    ids=lambda command: " ".join(word for word in command if word.isascii() and " " not in word),
)
def test_nan_and_infinities_are_text(
    command: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("events.csv").write_text(EVENTS)
    if "-" in command:
        monkeypatch.setattr("sys.stdin", StringIO(EVENTS))
    assert main([*command]) in (0, 1)
    lines = capsys.readouterr().out.splitlines()
    for line in lines:
        json.loads(line, parse_constant=_refuse)
    assert any(
        word in line for line in lines for word in ("nan", "NaN", "-inf", "failures", "changes")
    )
