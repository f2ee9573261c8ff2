"""Answers do not depend on ``python -O``, hash seeds, the time zone or summer time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

import cerlab

PROGRAM = """
import hashlib, io, json, os, sys, time
time.tzset()
from contextlib import redirect_stdout
from random import Random
import cerlab
from cerlab.automata.plan import plan_digest
from cerlab.cli import main
from proofs_tests.random_cases import random_case, Shape

found = hashlib.sha256()
for seed in range(int(sys.argv[1])):
    case = random_case(Random(seed), Shape(depth=2, family=True))
    found.update(repr(str(case.query)).encode())
    for evaluator in ("auto", "compiled"):
        try:
            answers = list(case.query.run(case.stream)) if evaluator == "compiled" else (
                cerlab.evaluate(case.query, case.stream))
        except cerlab.CerlabError as error:
            answers = [error.code]
        found.update(repr(answers).encode())
    if case.query.machine_kind == "automaton":
        found.update(plan_digest(case.query.plan).encode())
for path in sys.argv[2:]:
    stream = cerlab.Stream.read(path, schema=sys.stdin.read() or None, time="t")
    query = "SELECT * WHERE A ; B WITHIN 90 MINUTES"
    found.update(repr((cerlab.evaluate(query, stream), [e.attributes for e in stream])).encode())
for words in json.loads(os.environ["COMMANDS"]):
    with redirect_stdout(io.StringIO()) as said:
        status = main([word.replace("FILE", sys.argv[2]) for word in words])
    assert status in (0, 1, 3), words
    found.update(f"{words} {status} {said.getvalue()}".encode())
print(found.hexdigest())
"""
BUSY = "SELECT MAX * WHERE (A AS x OR B AS y)+ ; (A OR B) AS z FILTER x[v > 1 OR w = 2]"
COMMANDS = [
    *(["show", BUSY, "--what", what, "--format", "dot"] for what in ("ast", "vcea", "det", "max")),
    ["show", "!(<v = 1>^ -> r . <v = r.v>)", "--language", "sremo", "--what", "srt"],
    ["show", BUSY, "--what", "cea", "--format", "json"],
    ["run", "SELECT * WHERE A AS x ; (A OR B) AS x", "FILE", "--labels"],
    ["run", "SELECT x, y WHERE A AS x ; B+ AS y", "FILE", "--columns", "x.t,y", "--format", "csv"],
    ["run", "<type = 'A'>^ . <TRUE>* . <TRUE>^", "FILE", "--language", "sremo"],
    ["why", "A ; B", "FILE", "--positions", "0,2"],
    ["equivalent", "A ; (B OR C)", "(A ; B) OR (A ; C)"],
]
"""Each prints the same, whatever order sets and dictionaries have."""
SCHEMA = "CREATE STREAM S { EVENT A { t:timestamp }, EVENT B { t:timestamp } }"


def digest(
    path: Path,
    flags: list[str],
    environment: dict[str, str],
    commands: list[list[str]] | None = None,
) -> str:
    """Return a digest of the answers of random cases, and of the output of commands."""
    cases = "25" if commands is None else "0"
    process = subprocess.run(
        [sys.executable, *flags, "-W", "ignore", "-c", PROGRAM, cases, str(path)],
        input=SCHEMA,
        capture_output=True,
        text=True,
        env={**os.environ, **environment, "COMMANDS": json.dumps(commands or [])},
        check=False,
    )
    assert process.returncode == 0, process.stderr
    return process.stdout


def test_a_whole_run_is_the_same(tmp_path: Path) -> None:
    path = tmp_path / "e.ndjson"
    path.write_text("\n".join(map(json.dumps, summer_time())))
    plain = digest(path, [], {"PYTHONHASHSEED": "0", "TZ": "UTC"})
    other = digest(path, ["-OO"], {"PYTHONHASHSEED": "123", "TZ": "America/St_Johns"})
    assert other == plain


@pytest.mark.services  # three processes that load nearly all there is
def test_commands_print_the_same(tmp_path: Path) -> None:
    path = tmp_path / "e.ndjson"
    path.write_text("\n".join(map(json.dumps, summer_time())))
    plain = digest(path, [], {"PYTHONHASHSEED": "0", "TZ": "UTC"}, COMMANDS)
    for seed, zone in (("123", "America/St_Johns"), ("7", "Pacific/Apia")):
        assert digest(path, ["-OO"], {"PYTHONHASHSEED": seed, "TZ": zone}, COMMANDS) == plain


def summer_time() -> list[dict[str, str]]:
    """Local times with their offsets: an hour that there is not, and one that there is twice."""
    return [
        {"type": "A", "t": "2026-03-29T01:59:00+01:00"},
        {"type": "B", "t": "2026-03-29T03:01:00+02:00"},
        {"type": "A", "t": "2026-10-25T02:30:00+02:00"},
        {"type": "B", "t": "2026-10-25T02:30:00+01:00"},
        {"type": "B", "t": "2026-10-25T04:00:01"},
    ]


def test_summer_time_is_an_hour_of_offsets(tmp_path: Path) -> None:
    """Two minutes over the start of summer time, an hour over its end; without an offset UTC."""
    path = tmp_path / "e.ndjson"
    path.write_text("\n".join(map(json.dumps, summer_time())))
    stream = cerlab.Stream.read(path, schema=SCHEMA, time="t")
    times = [event.attributes["t"].nanoseconds // 10**9 for event in stream]  # type: ignore[union-attr]
    first, _, *others = [b - a for a, b in pairwise(times)]
    assert (first, others) == (120, [3600, 9001])
    for evaluator in ("reference", "compiled", "tecs"):
        query = "SELECT * WHERE A ; B WITHIN 60 MINUTES"
        answers = cerlab.evaluate(query, stream, evaluator=evaluator)
        assert [answer.positions for answer in answers] == [(0, 1), (2, 3)]
