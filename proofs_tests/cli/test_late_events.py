"""``cerlab run - --lateness``: a pipe whose events come late."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from cerlab.cli import main
from proofs_tests.cli.run_cases import Pieces
from proofs_tests.command import Cli, Output

CSV = b"type,t\nA,2\nB,1\nA,3\nB,9\nB,8\nB,1\nB,20\n"
LATE = ["--time", "t:s", "--lateness", "2 s"]


def run(monkeypatch: pytest.MonkeyPatch, cli: Cli, *words: object, status: int = 0) -> Output:
    monkeypatch.setattr(sys, "stdin", Pieces([CSV], lambda _: None))
    return cli("run", "SELECT * WHERE A ; B WITHIN 6 [t]", *words, status=status)


def test_a_late_event_is_an_error_after_the_answers_before_it(
    monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    out, error = run(monkeypatch, cli, "-", *LATE, status=2)
    assert not out
    assert error.startswith("CER0727")


def test_late_events_go_aside_and_the_rest_is_read_at_the_end(
    monkeypatch: pytest.MonkeyPatch, cli: Cli, tmp_path: Path
) -> None:
    aside = tmp_path / "late.ndjson"
    rows = run(monkeypatch, cli, "-", *LATE, "--quarantine", aside).rows
    assert [row["positions"] for row in rows] == [
        [2, 3],
        [1, 3],
        [2, 4],
    ]  # B@1 A@2 A@3 B@8 B@9 B@20
    (row,) = map(json.loads, aside.read_text().splitlines())
    assert (row["code"], json.loads(row["row"])) == ("CER0727", {"type": "B", "t": 1})


@pytest.mark.parametrize(
    "arguments",
    [
        ["-", "--sort"],
        ["-", "--evaluator", "reference", "--columns", "*"],
        ["FILE"],
    ],
)
def test_a_lateness_is_for_events_that_arrive(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, cli: Cli, tmp_path: Path
) -> None:
    file = tmp_path / "events.csv"
    file.write_bytes(CSV)
    named = [str(file) if word == "FILE" else word for word in arguments]
    assert (
        "CER0865: --lateness does not go with" in run(monkeypatch, cli, *named, *LATE, status=2).err
    )


def test_rows_of_a_pattern_may_come_late(
    monkeypatch: pytest.MonkeyPatch, cli: Cli, tmp_path: Path
) -> None:
    clause = "MATCH_RECOGNIZE (ORDER BY t MEASURES FIRST(t) AS b, LAST(t) AS e PATTERN (A B*) "
    clause += "DEFINE B AS t - PREV(t) <= 2)"
    monkeypatch.setattr(sys, "stdin", Pieces([CSV[:-9]], lambda _: None))
    answers = cli("run", clause, "-", "--lateness", "2").rows
    assert answers == [{"b": 1, "e": 3}, {"b": 8, "e": 9}]
    (file := tmp_path / "events.csv").write_bytes(CSV)
    assert main(["run", clause, str(file), "--lateness", "2"]) == 2


def test_bad_and_late_rows_of_a_pattern_go_aside_whole(
    monkeypatch: pytest.MonkeyPatch, cli: Cli, tmp_path: Path
) -> None:
    """Also with the columns that the clause does not read."""
    clause = "MATCH_RECOGNIZE (ORDER BY T MEASURES FIRST(t) AS b, LAST(t) AS e PATTERN (A B*) "
    clause += "DEFINE B AS t - PREV(t) <= 2)"
    rows = ['{"t": 2}', "{", '{"t": 1}', '{"t": 9}', '{"t": 0, "u": "x"}', '{"t": 8}', '{"t": 20}']
    pieces = [f"{row}\n".encode() for row in rows]
    monkeypatch.setattr(sys, "stdin", Pieces(pieces, lambda _: None))
    aside = tmp_path / "aside.ndjson"
    out, error = cli("run", clause, "-", "--lateness", "2", "--quarantine", aside)
    answers = [json.loads(line) for line in out.splitlines()]
    assert answers == [{"b": 1, "e": 2}, {"b": 8, "e": 9}, {"b": 20, "e": 20}]
    assert error == f"2 rows could not be read; they are in {aside}\n"
    bad, late = map(json.loads, aside.read_text().splitlines())
    assert (bad["code"], bad["row"]) == ("CER0733", "{")
    assert (late["code"], json.loads(late["row"])) == ("CER0727", {"t": 0, "u": "x"})


def test_a_quarantine_of_a_pattern_is_for_rows_that_arrive(cli: Cli, tmp_path: Path) -> None:
    (file := tmp_path / "rows.csv").write_bytes(CSV)
    clause = "MATCH_RECOGNIZE (ORDER BY t MEASURES FIRST(t) AS b PATTERN (A))"
    error = cli("run", clause, file, "--quarantine", tmp_path / "aside", status=2).err
    assert "--quarantine" in error
