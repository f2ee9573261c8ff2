"""``cerlab run QUERY -``: whatever is asked for, an answer is out when its last event has come.

A pipe that is read piece by piece shows, whenever the next piece is asked for, that the answers on
all events so far are out. By the evaluators that read events one by one, and by the reference; the
compiled engine has its tests in `test_run_pipes`.
"""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest

import cerlab
from cerlab import Event, Formula
from cerlab.cli import main
from cerlab.evaluate import valuations_of
from cerlab.logic.cel.syntax import is_timed
from cerlab.logic.ceql.semantics import query_valuations
from cerlab.logic.ceql.syntax import CeqlQuery, query_text
from cerlab.logic.sremo import sremo_text
from cerlab.model.answer import complex_event
from cerlab.testing import (
    Shape,
    as_dict,
    random_correlated_events,
    random_correlated_formula,
    random_sremo,
    random_sremo_events,
    with_limit,
)
from proofs_tests.cli.run_cases import Lines, Pieces
from proofs_tests.command import Cli
from proofs_tests.random_cases import random_case
from proofs_tests.suite import Suite, random_suite

SHAPE = Shape(depth=2, events=7, family=True)


def rows_of(
    monkeypatch: pytest.MonkeyPatch,
    rng: Random,
    events: tuple[Event, ...],
    ends: list[int],
    *arguments: str,
) -> list[dict[str, Any]]:
    """Return the rows of ``cerlab run`` on a pipe; before each wait all due rows are out."""
    data = b"".join(json.dumps(as_dict(event)).encode() + b"\n" for event in events)
    cuts = sorted({rng.randrange(len(data)) for _ in range(rng.randrange(5))} | {0, len(data)})
    out = Lines()

    def check(piece: int) -> None:
        events_read = data[: cuts[piece]].count(b"\n")
        due = sum(end < events_read for end in ends)
        assert out.flushed.count("\n") == due, (arguments, data, cuts, piece)

    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdin", Pieces([data[a:b] for a, b in pairwise(cuts)], check))
        patch.setattr(sys, "stdout", out)
        assert main(["run", *arguments]) == 0
    return [json.loads(line) for line in out.flushed.splitlines()]


def correlated_events_in_json(rng: Random, phi: Formula) -> list[Event]:
    """Without moments, which JSON has not."""
    while True:
        events = random_correlated_events(rng, phi, SHAPE)
        if not any(isinstance(v, cerlab.Timestamp) for e in events for v in e.attributes.values()):
            return list(events)


@pytest.mark.parametrize("evaluator", ["automaton", "lists", "reference", "registers"])
@random_suite(1_000)
def test_answers_are_out_before_the_next_wait(
    evaluator: Any, rng: Random, monkeypatch: pytest.MonkeyPatch
) -> bool:
    while True:
        example = random_case(rng, SHAPE)
        try:
            expected = cerlab.evaluate(example.query, example.stream, evaluator=evaluator)
        except cerlab.Unsupported:
            continue
        if len(example.stream) and example.ast.limit is None:
            break
    arguments = [query_text(example.ast), "-", "--time", "t:s", "--evaluator", evaluator]
    ends = [answer.end for answer in expected]
    rows = rows_of(monkeypatch, rng, example.stream.events, ends, *arguments)
    answers = {(row["start"], row["end"], tuple(row["positions"])) for row in rows}
    assert answers == {(m.start, m.end, m.positions) for m in expected}, example.describe()
    assert len(rows) == len(expected)
    return bool(expected)


@random_suite(1_000)
def test_labels_under_limit_and_where_filters_compare_labels(
    rng: Random, monkeypatch: pytest.MonkeyPatch
) -> bool:
    """The compiled automaton answers under LIMIT, the transducer where no automaton exists."""
    if rng.random() < 0.5:
        example = random_case(rng, SHAPE)
        ast, events = with_limit(example.ast, 2), example.stream.events
    else:
        phi = random_correlated_formula(rng, Shape(depth=3, events=6))
        ast, events = CeqlQuery(phi), tuple(correlated_events_in_json(rng, phi))
    stream = cerlab.Stream(events, time="t", unit="s")
    expected = set(query_valuations(ast, stream))
    arguments = [query_text(ast), "-", "--time", "t:s", "--labels"]
    rows = rows_of(monkeypatch, rng, events, [V.end for V in expected], *arguments)
    Vs = [
        cerlab.Valuation(row["start"], row["end"], {x: tuple(D) for x, D in labels.items()})
        for row in rows
        if isinstance(labels := row["labels"], dict)
    ]
    assert set(Vs) == expected, query_text(ast)
    assert len(Vs) == len(expected)
    return bool(expected)


def test_labels_on_a_pipe_do_not_follow_every_run(
    monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    """`A+ ; B` has 2^200 runs before the one B, which an attribute rules out."""
    lines = b"A(v=1)\n" * 200 + b"B(v=0)\nA(v=2)\nB(v=1)\n"
    monkeypatch.setattr(sys, "stdin", Pieces([lines], lambda piece: None))
    query = "SELECT * WHERE (A FILTER A[v = 2])+ ; B OR A+ ; B ; C"
    (row,) = cli("run", query, "-", "--labels").rows
    assert row["labels"] == {"A": [201], "B": [202]}


@pytest.mark.parametrize("show_events", [False, True])
@random_suite(1_000)
def test_labels_are_out_before_the_next_wait(
    show_events: bool, rng: Random, monkeypatch: pytest.MonkeyPatch
) -> bool:
    """By the automaton where there is one, else by the reference; with and without the events."""
    example = random_case(rng, SHAPE)
    while not len(example.stream) or example.ast.limit is not None:
        example = random_case(rng, SHAPE)
    expected = list(valuations_of(example.query, example.stream, "reference"))
    arguments = [query_text(example.ast), "-", "--time", "t:s", "--labels"]
    arguments += ["--events"] if show_events else []
    ends = [V.end for V in expected]
    rows = rows_of(monkeypatch, rng, example.stream.events, ends, *arguments)
    Vs = {
        cerlab.Valuation(row["start"], row["end"], {x: tuple(D) for x, D in labels.items()})
        for row in rows
        if isinstance(labels := row["labels"], dict)
    }
    assert Vs == set(expected), example.describe()
    assert len(rows) == len(expected)
    assert {complex_event(V).positions for V in Vs} == {tuple(r["positions"]) for r in rows}
    if show_events:
        events = [(e["position"], e["type"]) for row in rows for e in row["events"]]
        assert events == [(i, example.stream[i].type) for row in rows for i in row["positions"]]
    return bool(expected)


@pytest.mark.parametrize("evaluator", ["auto", "reference"])
@random_suite(1_000)
def test_what_a_pipe_shows_of_a_sremo_is_out_before_the_next_wait(
    evaluator: Any, rng: Random, monkeypatch: pytest.MonkeyPatch
) -> bool:
    while True:
        e = random_sremo(rng)
        events = tuple(random_sremo_events(rng, e))
        expected = cerlab.evaluate(e, cerlab.Stream(events), evaluator="reference")
        if events and (expected or rng.random() < 0.3):
            break
    arguments = [sremo_text(e), "-", "--language", "sremo", "--evaluator", evaluator]
    rows = rows_of(monkeypatch, rng, events, [m.end for m in expected], *arguments)
    assert sorted(row["positions"] for row in rows) == sorted(list(m.positions) for m in expected)
    return bool(expected)


@pytest.mark.parametrize(
    ("query", "options"),
    [
        ("A ; B", ["--labels"]),
        ("A ; B", ["--events"]),
        ("MAX(A+) ; B", []),
        ("<type = 'A'>^ . <TRUE>* . <type = 'B'>^", []),
    ],
    ids=["labels", "events", "inside", "sremo"],
)
def test_an_answer_arrives_while_the_pipe_is_open_and_an_interrupt_is_130(
    query: str, options: list[str]
) -> None:
    command = [sys.executable, "-m", "cerlab", "run", query, "-", *options]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"A(v=1)\nB(v=2)\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["positions"] == [0, 1]
        process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=60)
        if process.poll() is None:  # CPython loses an interrupt inside a finalizer
            process.send_signal(signal.SIGINT)
        assert process.wait(timeout=600) == 130


@pytest.mark.parametrize(
    ("query", "options", "code"),
    [
        ("A ; B", ["--labels", "--evaluator", "tecs"], "CER0408"),
        ("MAX(A) ; B", ["--evaluator", "no"], "CER0805"),
        ("MAX(A AS a ; B AS b FILTER a.v < b.v) ; C", ["--evaluator", "automaton"], "CER0403"),
        ("MAX(A) ; B", ["--evaluator", "reference", "--labels", "--limit", "-1"], "CER0804"),
    ],
)
def test_what_cannot_be_run_on_a_pipe_leaves_the_output_alone(
    query: str,
    options: list[str],
    code: str,
    tmp_path: Any,
    monkeypatch: pytest.MonkeyPatch,
    cli: Cli,
) -> None:
    def fail(_: int) -> None:
        raise AssertionError("the pipe was read")

    (tmp_path / "out").write_text("kept")
    monkeypatch.setattr(sys, "stdin", Pieces([b"A()\n"], fail))
    assert code in cli("run", query, "-", *options, "-o", tmp_path / "out", status=2).err
    assert (tmp_path / "out").read_text() == "kept"


@pytest.mark.parametrize("options", [[], ["--labels"], ["--events"]])
@pytest.mark.parametrize("evaluator", ["auto", "automaton", "reference"])
def test_a_bad_row_comes_after_the_answers_before_it(
    options: list[str], evaluator: str, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    monkeypatch.setattr(sys, "stdin", Pieces([b"A()\nA(\nA()\n"], lambda piece: None))
    output = cli("run", "A", "-", "--evaluator", evaluator, *options, status=2)
    assert len(output.out.splitlines()) == 1
    assert "standard input, row 2" in output.err


def test_attributes_are_chosen_where_only_the_reference_knows_the_labels(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pieces = [b"A(v=1,w=1)\n", b"A(v=2,w=2)\nB(v=3,w=3)\n"]
    monkeypatch.setattr(sys, "stdin", Pieces(pieces, lambda piece: None))
    assert main(["run", "SELECT a[v], B WHERE MAX(A+ AS a) ; B", "-", "--events"]) == 0
    first = [{"position": 0, "type": "A", "v": 1}, {"position": 1, "type": "A", "v": 2}]
    last = {"position": 2, "type": "B", "v": 3, "w": 3}
    rows = [json.loads(line)["events"] for line in capsys.readouterr().out.splitlines()]
    assert sorted(rows, key=len)[-1] == [*first, last]


AT = b'{"type": "A", "t": 0}\n{"type": "B", "t": 3}\n', b'{"type": "A", "t": 9}\n'

WAITS: list[tuple[str, list[str], list[int], list[dict[str, Any]]]] = [
    ("A WAIT 5 [t]", [], [0, 0, 1], [{"start": 0, "end": 1, "positions": [0]}]),
    (
        "A WAIT 5 SECONDS",
        ["--time", "t:s", "--until", "end"],
        [0, 0, 1],
        [{"start": 0, "end": 1, "positions": [0]}, {"start": 2, "end": 2, "positions": [2]}],
    ),
    ("A WAIT 5 [t]", ["--until", "14"], [0, 0, 1], [{"start": 0, "end": 1, "positions": [0]}]),
    (
        "(A WAIT 2 [t]) UNLESS B",
        ["--until", "12"],
        [0, 1, 1],
        [{"start": 0, "end": 0, "positions": [0]}, {"start": 2, "end": 2, "positions": [2]}],
    ),
    (
        "SELECT a WHERE A AS a WAIT 5 [t]",
        ["--until", "15", "--columns", "a.t"],
        [0, 0, 1],
        [{"start": 0, "end": 1, "a.t": 0}, {"start": 2, "end": 2, "a.t": 9}],
    ),
    (
        "SELECT * WHERE (A AS a WAIT 5 [t]) OR B",
        ["--until", "end", "--columns", "a.t"],
        [0, 0, 0],
        [
            {"start": 0, "end": 1, "a.t": 0},
            {"start": 1, "end": 1, "a.t": None},
            {"start": 2, "end": 2, "a.t": 9},
        ],
    ),
    (
        "A WAIT 5 [t]",
        ["--until", "end", "--labels"],
        [0, 0, 0],
        [
            {"start": 0, "end": 1, "positions": [0], "labels": {"A": [0]}},
            {"start": 2, "end": 2, "positions": [2], "labels": {"A": [2]}},
        ],
    ),
]
"""Queries, options, how many lines are out before each piece is read, and all of them."""


@pytest.mark.filterwarnings("ignore::cerlab.AnswerWarning")
@pytest.mark.parametrize(("query", "options", "due", "expected"), WAITS)
def test_answers_that_wait_are_out_when_the_clock_has_passed_their_wait(
    query: str,
    options: list[str],
    due: list[int],
    expected: list[dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out, seen = Lines(), list[int]()
    pieces = Pieces([*AT], lambda _: seen.append(out.flushed.count("\n")))
    monkeypatch.setattr(sys, "stdin", pieces)
    monkeypatch.setattr(sys, "stdout", out)
    assert main(["run", query, "-", *options]) == 0
    assert [json.loads(line) for line in out.flushed.splitlines()] == expected
    assert seen == due


@pytest.mark.parametrize(
    ("options", "many"), [([], 1), (["--until", "14"], 1), (["--until", "15"], 0)]
)
def test_a_pipe_says_how_many_answers_wait(
    options: list[str], many: int, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    monkeypatch.setattr(sys, "stdin", Pieces([*AT], lambda _: None))
    assert cli("run", "A WAIT 5 [t]", "-", *options).err.count("CER0915: 1 answer waits") == many


@pytest.mark.parametrize(("options", "count"), [([], 1), (["--until", "end"], 2)])
def test_totals_of_answers_that_wait(
    options: list[str], count: int, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    monkeypatch.setattr(sys, "stdin", Pieces([*AT], lambda _: None))
    written = cli("run", "SELECT COUNT(*) WHERE A WAIT 5 [t]", "-", *options)
    assert json.loads(written.out) == {"count": count}
    assert written.err.count("CER0915: 1 answer waits") == 2 - count


@pytest.mark.parametrize("option", ["", "--labels", "--columns"])
def test_a_pipe_that_waits_says_what_a_file_says(
    option: str,
    suite: Suite,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Rows, warnings and errors; windows in time inside, waits, and what selects among both."""
    shape = Shape(depth=2, events=6, family=True, timed=True)
    path = tmp_path / "e.ndjson"

    def said(*arguments: str) -> tuple[int, list[str], set[str]]:
        status = main(["run", *arguments])
        written = capsys.readouterr()
        codes = set(re.findall(r"CER\d+", written.err)) - {"CER0912"}  # files alone are searched
        rows = [str(json.loads(line, parse_int=float)) for line in written.out.splitlines()]
        return status, sorted(rows), codes

    def case(rng: Random) -> bool:
        of_file = (1, [""], {"CER0747"})
        while "CER0747" in of_file[2]:  # a key of several types is no column
            while not is_timed((example := random_case(rng, shape)).ast.formula) or (
                rng.random() < 0.8 and not any(query_valuations(example.ast, example.stream))
            ):
                pass
            lines = [json.dumps(as_dict(event)).encode() + b"\n" for event in example.stream]
            path.write_bytes(b"".join(lines))
            labels = {x for V in query_valuations(example.ast, example.stream) for x in V.labels}
            more = ["--time", "t:s", *([option] if option else [])]
            if option == "--columns":
                more.append(",".join(f"{x}.t,{x}" for x in sorted(labels or {"A"})))
            more += ["--until", "end"] * rng.randrange(2)
            text = query_text(example.ast)
            of_file = said(text, str(path), *more)
        monkeypatch.setattr(sys, "stdin", Pieces([*lines], lambda _: None))
        assert said(text, "-", *more) == of_file, (text, lines, more)
        return bool(of_file[1])

    suite.run(case, deep_count=1_000)
