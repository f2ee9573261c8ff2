"""``cerlab run`` of a row pattern on a pipe: rows of the result as soon as they are certain."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

import cerlab
from cerlab.cli import main
from proofs_tests.cli.run_cases import Lines, Pieces

CLAUSE = """MATCH_RECOGNIZE (PARTITION BY k ORDER BY t MEASURES FIRST(t) AS b, COUNT(*) AS n
    PATTERN (A B*) DEFINE B AS t - PREV(t) <= 30)"""
ROWS = [("x", 0), ("x", 9), ("y", 5), ("x", 50), ("y", 6), ("y", 99)]
DUE = [0, 0, 0, 0, 1, 1, 2]
"""The number of rows of the result that are certain after so many rows."""


def run(pieces: list[bytes], monkeypatch: pytest.MonkeyPatch, *more: str) -> tuple[int, str]:
    out = Lines()

    def check(piece: int) -> None:
        if not more:
            assert out.flushed.count("\n") == DUE[piece]

    monkeypatch.setattr(sys, "stdin", Pieces(pieces, check))
    monkeypatch.setattr(sys, "stdout", out)
    return main(["run", CLAUSE, "-", *more]), out.flushed


@pytest.mark.parametrize("typed", [False, True], ids=["no type", "types"])
def test_rows_are_out_before_the_next_wait(typed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{**({"type": "V"} if typed else {}), "k": k, "t": t} for k, t in ROWS]
    status, out = run([json.dumps(row).encode() + b"\n" for row in rows], monkeypatch)
    found = [tuple(json.loads(line).values()) for line in out.splitlines()]
    assert status == 0
    assert found == [("x", 0, 2), ("y", 5, 2), ("x", 50, 1), ("y", 99, 1)]


def test_a_limit_and_csv(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "k,t\n" + "".join(f"{k},{t}\n" for k, t in ROWS)
    status, out = run([text.encode()], monkeypatch, "--limit", "3", "--format", "csv")
    assert (status, out.splitlines()) == (0, ["k,b,n", "x,0,2", "y,5,2", "x,50,1"])


def test_a_row_that_goes_back_is_an_error_after_the_rows_before_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out = run([b"k,t\nx,0\nx,50\nx,49\n"], monkeypatch, "--format", "csv")
    assert (status, out.splitlines()) == (2, ["k,b,n", "x,0,1"])
    assert "CER0714" in capsys.readouterr().err


EVERY = "MATCH_RECOGNIZE (ALL ROWS PER MATCH PATTERN (A))"
NESTED = "MATCH_RECOGNIZE (MEASURES A.x AS v, A.u.id AS w PATTERN (A))"

KINDS = {
    "numbers and texts": [{"x": 1, "u": "a"}, {"x": 2, "u": "b"}],
    "objects": [{"x": 1, "u": {"id": 3}}, {"x": 2, "u": {"id": 4}}],
    "objects in some rows": [{"x": 1, "u": {"id": 3, "l": [1]}}, {"x": 2, "u": None}],
    "integers before a double": [{"x": 1}, {"x": 2.5}],
    "a column that some rows lack": [{"x": 1, "y": 3}, {"y": 2}],
    "types and streams": [
        {"type": "A", "stream": "S", "x": 1},
        {"type": "B", "stream": "S", "x": 2},
    ],
    "types and streams that some rows lack": [{"x": 1, "stream": "S"}, {"x": 2, "type": "A"}],
}


@pytest.mark.parametrize("rows", KINDS.values(), ids=KINDS)
def test_a_pipe_has_the_rows_of_a_file(
    rows: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "rows.ndjson"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    clause = NESTED if isinstance(rows[0].get("u"), dict) else EVERY
    out = Lines()
    monkeypatch.setattr(sys, "stdin", Pieces([file.read_bytes()], lambda _: None))
    monkeypatch.setattr(sys, "stdout", out)
    assert main(["run", clause, "-"]) == 0
    expected = cerlab.match_recognize(clause, file).to_pylist()
    assert [json.loads(line) for line in out.flushed.splitlines()] == expected
    assert len(expected) == len(rows)
