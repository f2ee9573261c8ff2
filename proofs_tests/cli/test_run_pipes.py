"""``cerlab run`` on live pipes: the same answers, as early as they can be.

A pipe that is read piece by piece shows that the answers of all events so far are out before the
next piece is asked for.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pyarrow.parquet as parquet
import pytest

import cerlab
from cerlab import ComplexEvent, Event
from cerlab.cli import answer_warnings, main
from cerlab.evaluate import thresholds
from cerlab.logic.ceql.syntax import Aggregate, query_text
from cerlab.model.stream import Stream
from cerlab.testing import with_limit
from proofs_tests.cli.run_cases import Lines, Pieces, answers_of_lines, compilable, ndjson_lines
from proofs_tests.command import Cli
from proofs_tests.random_cases import Case
from proofs_tests.suite import random_suite


@pytest.mark.parametrize("evaluator", ["compiled", "auto"])
@random_suite(4_000)
def test_answers_are_out_before_the_next_wait(
    evaluator: str, rng: Random, monkeypatch: pytest.MonkeyPatch
) -> bool | None:
    """In pieces cut anywhere; auto goes from the tECS to the engine after any number of events."""
    example = compilable(rng)
    if rng.random() < 0.2:
        example = Case(with_limit(example.ast, rng.choice((1, 3))), example.stream)
    if not len(example.stream):
        return None
    expected = cerlab.evaluate(example.query, example.stream, evaluator="tecs")
    lines = [line.encode() for line in ndjson_lines(example)]
    data = b"".join(lines)
    cuts = sorted({rng.randrange(len(data)) for _ in range(rng.randrange(5))} | {0, len(data)})
    out = Lines()

    def check(piece: int) -> None:
        events_read = data[: cuts[piece]].count(b"\n")
        due = sum(answer.end < events_read for answer in expected)
        assert out.flushed.count("\n") == due, (example.describe(), cuts, piece)

    pieces = Pieces([data[a:b] for a, b in pairwise(cuts)], check)
    with monkeypatch.context() as patch:
        patch.setattr(thresholds, "SHORT", rng.randrange(1, len(lines) + 2))
        patch.setattr(sys, "stdin", pieces)
        patch.setattr(sys, "stdout", out)
        text = query_text(example.ast)
        assert main(["run", text, "-", "--time", "t:s", "--evaluator", evaluator]) == 0
    answers = answers_of_lines(out.flushed)
    assert set(answers) == set(expected), example.describe()
    assert len(set(answers)) == len(answers) == len(expected)
    return bool(expected)


@random_suite(2_000)
def test_aggregates_by_end_are_out_before_the_next_wait(
    rng: Random, monkeypatch: pytest.MonkeyPatch
) -> bool | None:
    trial = compilable(rng)
    doubles = [{**e.attributes, "d": rng.choice((0.1, -3.5, 7, None))} for e in trial.stream]
    pairs = zip(trial.stream, doubles, strict=True)
    events = Stream([Event(e.type, d, e.stream) for e, d in pairs], time=trial.stream.time)
    labels = sorted(label for t in trial.query.plan.vcea.Delta for label in t.labels)
    if not len(events) or not labels or all(d["d"] is None for d in doubles):
        return None
    sums = Aggregate("count"), Aggregate("sum", labels[0], "d")
    ast = replace(trial.ast, items=None, limit=None, aggregates=sums, groups=(("end",),))
    with_sums = Case(ast, events)
    expected = with_sums.query.run(events).aggregate().to_pylist()
    data = b"".join(line.encode() for line in ndjson_lines(with_sums))
    cuts = sorted({rng.randrange(len(data)) for _ in range(rng.randrange(5))} | {0, len(data)})
    out = Lines()

    def waits(piece: int) -> None:
        events_read = data[: cuts[piece]].count(b"\n")
        due = sum(row["end"] < events_read for row in expected)
        assert out.flushed.count("\n") == due, (with_sums.describe(), cuts, piece)

    pieces = Pieces([data[a:b] for a, b in pairwise(cuts)], waits)
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdin", pieces)
        patch.setattr(sys, "stdout", out)
        assert main(["run", query_text(ast), "-", "--time", "t:s"]) == 0
    assert list(map(json.loads, out.flushed.splitlines())) == expected, with_sums.describe()
    return bool(expected)


@pytest.mark.parametrize(
    ("line", "status", "message"),
    [
        ('{"type": "A", "v": "x"}', 2, "CER0306"),
        ('{"type": "A", "v": 1e999}', 2, "CER0720"),
        ('{"type": "A"', 2, "standard input"),
        ('{"type": "A", "v": 4}', 0, ""),
    ],
)
def test_rows_of_ends_come_before_the_event_that_has_no_total(
    line: str, status: int, message: str, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    data = "".join(f'{{"type": "A", "v": {v}}}\n' for v in (1, 2)) + line + "\n"
    monkeypatch.setattr(sys, "stdin", Pieces([data.encode()], lambda piece: None))
    query = "SELECT SUM(A.v) WHERE A GROUP BY end"
    out, err = cli("run", query, "-", "--format", "csv", status=status)
    assert out.splitlines()[:3] == ["end,sum(A.v)", "0,1", "1,2"]
    assert len(out.splitlines()) == (3 if status else 4)
    assert message in err


def test_totals_where_filters_compare_labels_come_with_the_events(
    monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    out = Lines()
    pieces = [f'{{"type": "A", "v": {v}}}\n'.encode() for v in (1, 2, 3)]

    def check(piece: int) -> None:
        assert out.flushed.splitlines()[1:] == ["1,1", "2,3"][: max(0, piece - 1)]

    monkeypatch.setattr(sys, "stdin", Pieces(pieces, check))
    monkeypatch.setattr(sys, "stdout", out)
    query = "SELECT SUM(x.v) WHERE A AS x ; A AS y FILTER x.v < y.v GROUP BY end"
    assert main(["run", query, "-", "--format", "csv"]) == 0
    assert out.flushed == "end,sum(x.v)\n1,1\n2,3\n"


def test_an_attribute_that_no_event_of_a_pipe_has_is_said_at_its_end(
    monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    monkeypatch.setattr(sys, "stdin", Pieces([b'{"type": "A", "v": 1}\n'], lambda piece: None))
    error = cli("run", "SELECT SUM(A.w) WHERE A GROUP BY end", "-", "--limit", "9", status=2).err
    assert "CER0864" in error
    monkeypatch.setattr(sys, "stdin", Pieces([b"A()\n"] * 5, lambda piece: None))
    out = cli("run", "SELECT COUNT(*) WHERE A GROUP BY end", "-", "--limit", "2").out
    assert out.count("count") == 2


def test_a_promise_changes_nothing_in_totals_of_a_pipe(
    monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    monkeypatch.setattr(sys, "stdin", Pieces([b"A()\n"] * 2, lambda piece: None))
    written = cli("run", "SELECT COUNT(*) WHERE A GROUP BY end", "-", "--until", "end")
    assert written.out.count("count") == 2
    assert written.err.count("CER0916") == 1


@pytest.mark.parametrize(
    "bad", [b'{"type": "A", "v": "x"}\n', b'{"type": "A", "v": Infinity}\n', b"A(v=\n"]
)
def test_totals_of_a_pipe_end_with_the_event_before_one_that_has_none(
    bad: bytes, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    """The events are one backlog, which a session would refuse as a whole."""
    events = b'{"type": "A", "v": 1}\n' * 2 + bad + b'{"type": "A", "v": 1}\n'
    monkeypatch.setattr(sys, "stdin", Pieces([events], lambda piece: None))
    assert cli("run", "SELECT SUM(A.v) WHERE A GROUP BY end", "-", status=2).out.count("sum") == 2


@pytest.mark.parametrize("by_tecs", [1, 5, 9, 100])
def test_a_pipe_into_parquet(by_tecs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One answer at a time from the tECS, batches from the engine, in the order of the ends."""
    monkeypatch.setattr(thresholds, "SHORT", by_tecs)
    monkeypatch.setattr(sys, "stdin", Pieces([b"A()\n"] * 10, lambda piece: None))
    out = tmp_path / "out.parquet"
    assert main(["run", "A : A", "-", "--format", "parquet", "-o", str(out)]) == 0
    assert parquet.read_table(out).column("start").to_pylist() == list(range(9))


@contextmanager
def open_pipe(*arguments: str) -> Iterator[tuple[Any, Callable[[], Any]]]:
    """Yield a process of ``cerlab run QUERY -``: its input, and a reader of its next line."""
    command = [sys.executable, "-m", "cerlab", "run", *arguments]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        late = threading.Timer(600, process.kill)  # then the line is empty, and no JSON
        late.start()
        try:
            output = process.stdout
            yield process.stdin, lambda: json.loads(output.readline())
            process.stdin.close()
            assert output.read() == ""
            assert process.wait() == 0
        finally:
            late.cancel()
            process.kill()


@pytest.mark.parametrize("evaluator", ["compiled", "auto", "tecs"])
def test_an_answer_arrives_while_the_pipe_is_open(evaluator: str) -> None:
    with open_pipe("A ; B", "-", "--evaluator", evaluator) as (stdin, answer):
        stdin.write("A(v=1)\nC()\n")
        stdin.write("B(v=2)\n# a comment after the event\n")
        assert answer() == {"start": 0, "end": 2, "positions": [0, 2]}
        stdin.write("B(v=3)\nA(v=")
        stdin.flush()
        assert answer() == {"start": 0, "end": 3, "positions": [0, 3]}
        stdin.write("4)\nB(v=5)\n")
        assert sorted(answer()["start"] for _ in range(2)) == [0, 4]


def test_a_long_pipe_goes_over_to_the_engine() -> None:
    """Past the events that the tECS takes, and back to one event at a time."""
    rows = ["A(n=1)\n", "B(n=2)\n"] * 11_000
    with open_pipe("A : B FILTER A[n = 1]", "-") as (stdin, answer):
        writer = threading.Thread(target=lambda: (stdin.writelines(rows), stdin.flush()))
        writer.start()
        starts = [answer()["start"] for _ in range(11_000)]
        writer.join()
        assert starts == list(range(0, 22_000, 2))
        stdin.write("A(n=1)\nB()\n")
        assert answer() == {"start": 22_000, "end": 22_001, "positions": [22_000, 22_001]}


def test_a_short_pipe_never_loads_the_engine() -> None:
    script = (
        "import sys; from cerlab.cli import main; main(['run', 'A ; B', '-']); "
        "print([m for m in ('numba', 'pandas') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        input="A()\nB()\n",
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[1:] == ["[]"]


@pytest.mark.parametrize("evaluator", ["compiled", "auto", "tecs"])
def test_a_pipe_with_a_bad_row_gives_the_answers_before_it(
    evaluator: str, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    monkeypatch.setattr(sys, "stdin", Pieces([b"A()\nA(\nA()\n"], lambda piece: None))
    output = cli("run", "A", "-", "--evaluator", evaluator, status=2)
    assert len(output.out.splitlines()) == 1
    assert "standard input, row 2" in output.err


def test_enough_answers_end_a_pipe_that_stays_open() -> None:
    for evaluator in ("compiled", "auto"):
        arguments = ("A", "-", "--limit", "2", "--evaluator", evaluator)
        with open_pipe(*arguments) as (stdin, answer):
            stdin.write("A()\nA()\nA()\n")
            assert [answer()["start"] for _ in range(2)] == [0, 1]


@pytest.mark.parametrize("evaluator", ["compiled", "auto", "tecs"])
def test_a_schema_with_one_timestamp_tells_the_time_of_a_pipe(
    evaluator: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    schema = tmp_path / "schema"
    schema.write_text("CREATE STREAM S { EVENT A { t:timestamp }, EVENT B { t:timestamp } }")
    query = "SELECT * WHERE A ; B WITHIN 1 HOUR"
    rows = b"A(t='2020-01-01T00:00')\nB(t='2020-01-01T01:00')\nB(t='2020-01-01T01:01')\n"
    monkeypatch.setattr(sys, "stdin", Pieces([rows], lambda piece: None))
    out = cli("run", query, "-", "--evaluator", evaluator, "--schema", schema).out
    assert answers_of_lines(out) == [ComplexEvent(0, 1, (0, 1))]


@pytest.mark.parametrize("from_pipe", [False, True])
@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("A ; A", 1),
        ("A+", 1),
        ("A AS x ; A AS y FILTER x.v < y.v", 1),
        ("A", 0),
        ("A : A", 0),
        ("SELECT * WHERE A ; A WITHIN 9 EVENTS", 0),
    ],
)
def test_a_query_that_holds_all_events_is_warned_of_once_after_many(
    query: str,
    said: int,
    from_pipe: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(answer_warnings, "MANY", 4)
    for count in (4, 9):
        lines = "".join(f'{{"type": "A", "v": {n}}}\n' for n in range(count))
        (path := tmp_path / "e.ndjson").write_text(lines)
        with path.open() as lines_of_file:
            monkeypatch.setattr(sys, "stdin", lines_of_file)
            assert main(["run", query, "-" if from_pipe else str(path)]) == 0
        assert capsys.readouterr().err.count("CER0914") == (said if count > 4 else 0)
