"""Answers do not depend on ``python -O``, hash seeds, the time zone or summer time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import cerlab

PROGRAM = """
import hashlib, sys, time
time.tzset()
from random import Random
import cerlab
from cerlab.automata.plan_json import plan_digest
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
    if case.query.has_automaton:
        found.update(plan_digest(case.query.plan).encode())
for path in sys.argv[2:]:
    stream = cerlab.Stream.read(path, schema=sys.stdin.read() or None, time="t")
    query = "SELECT * WHERE A ; B WITHIN 90 MINUTES"
    found.update(repr((cerlab.evaluate(query, stream), [e.attributes for e in stream])).encode())
print(found.hexdigest())
"""
SCHEMA = "CREATE STREAM S { EVENT A { t:timestamp }, EVENT B { t:timestamp } }"


def digest(path: Path, flags: list[str], environment: dict[str, str]) -> str:
    ended = subprocess.run(
        [sys.executable, *flags, "-W", "ignore", "-c", PROGRAM, "25", str(path)],
        input=SCHEMA,
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_a_whole_run_is_the_same(tmp_path: Path) -> None:
    path = tmp_path / "e.ndjson"
    path.write_text("\n".join(map(json.dumps, summer_time())))
    plain = digest(path, [], {"PYTHONHASHSEED": "0", "TZ": "UTC"})
    other = digest(path, ["-OO"], {"PYTHONHASHSEED": "123", "TZ": "America/St_Johns"})
    assert other == plain


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
        found = cerlab.evaluate(query, stream, evaluator=evaluator)
        assert [answer.positions for answer in found] == [(0, 1), (2, 3)]
