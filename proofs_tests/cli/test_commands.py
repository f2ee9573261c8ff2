"""The command line: what it prints where, and its exit status."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as parquet
import pytest

import cerlab
from cerlab import budget
from cerlab.cli import main
from cerlab.evaluate import EVALUATORS
from cerlab.io.machines import machine_from_json, machine_to_json
from proofs_tests.command import Cli

EXAMPLES = Path(__file__).parents[2] / "examples"
Q1 = str(EXAMPLES / "core_q1" / "query.ceql")
EVENTS = str(EXAMPLES / "core_q1" / "events.core")


def test_run_prints_one_object_a_line(cli: Cli) -> None:
    out = cli("run", Q1, EVENTS).lines
    assert out[0] == '{"start": 1, "end": 4, "positions": [1, 2, 4]}'
    assert len(out) == 6


def test_run_without_answers_is_a_success(cli: Cli) -> None:
    assert cli("run", "NOSUCH", EVENTS).lines == []


def test_limit_is_in_all(cli: Cli) -> None:
    assert len(cli("run", Q1, EVENTS, "--limit", "4").lines) == 4


def test_a_query_with_2_to_the_40_answers_and_a_limit(tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "e.core").write_text("A()\n" * 40)
    assert len(set(cli("run", "A+", tmp_path / "e.core", "--limit", "10").lines)) == 10


def test_labels_give_valuations(cli: Cli) -> None:
    rows = cli("run", Q1, EVENTS, "--labels", "--limit", "6").rows
    expected = {"SELL": [0, 2, 4], "amzn": [4], "intel": [2], "msft": [0]}
    assert expected in [row["labels"] for row in rows]


@pytest.mark.parametrize("evaluator", ["reference", "automaton", "compiled", "auto"])
def test_labels_by_every_evaluator_that_keeps_them(evaluator: str, cli: Cli) -> None:
    assert len(cli("run", Q1, EVENTS, "--labels", "--evaluator", evaluator).lines) == 6


def test_auto_is_the_reference_where_there_is_no_automaton(cli: Cli) -> None:
    query = "SELECT LAST * WHERE SELL AS a ; SELL AS b FILTER a.price > b.price"
    assert cli("run", query, EVENTS).lines
    assert main(["run", query, EVENTS, "--evaluator", "tecs"]) == 2


def test_events_are_carried_with_the_chosen_attributes(cli: Cli) -> None:
    query = "SELECT msft[price], intel WHERE SELL AS msft ; BUY AS intel FILTER msft[price = 101]"
    (row,) = cli("run", query, EVENTS, "--events").rows
    assert row["events"] == [
        {"position": 0, "type": "SELL", "price": 101},
        {"position": 3, "type": "BUY", "name": "INTC", "price": 80},
    ]


def test_a_table_of_answers(cli: Cli) -> None:
    out = cli("run", Q1, EVENTS, "--format", "table").out
    assert "positions" in out
    assert "0, 2, 4" in out


def test_parquet(tmp_path: Path, cli: Cli) -> None:
    out = tmp_path / "out.parquet"
    assert main(["run", Q1, EVENTS, "--format", "parquet", "-o", str(out)]) == 0
    assert parquet.read_table(out).num_rows == 6
    assert "CER0809" in cli("run", Q1, EVENTS, "--format", "parquet", status=2).err


def test_output_to_a_file(tmp_path: Path, cli: Cli) -> None:
    assert not cli("run", Q1, EVENTS, "-o", tmp_path / "out").out
    assert len((tmp_path / "out").read_text().splitlines()) == 6


@pytest.mark.parametrize("what", ["ast", "vcea", "cea", "det", "nxt", "last", "max", "strict"])
@pytest.mark.parametrize("form", ["text", "dot"])
def test_show(what: str, form: str, cli: Cli) -> None:
    out = cli("show", Q1, "--what", what, "--format", form).out
    assert "MSFT" in out
    assert out.startswith("digraph") == (form == "dot")
    assert cli("show", Q1, "--what", what, "--format", form).out == out


@pytest.mark.parametrize(
    ("query", "status", "text"),
    [
        (Q1, 0, "yes: has an answer on 3 events"),
        (Q1, 0, "polynomial of degree 2"),
        ("A+", 0, "exponential"),
        ("A : B", 0, "constant"),
        (
            "SELECT * WHERE A ; B WITHIN 9 EVENTS",
            0,
            "bounded by the window; polynomial of degree 1",
        ),
        ("A FILTER A[v > 1] AND A[v < 1]", 1, "no stream has an answer"),
        ("A ; (B FILTER B[v = 1] AND B[v = TRUE])", 1, "no stream has an answer"),
        ("(A FILTER A[v = 1] AND A[v = 2]) OR B", 0, "dead:        A FILTER A[v = 1] AND A[v = 2]"),
        ("(A FILTER A[v = 1] AND A[v = 2]) OR B", 0, "yes"),
        ("SELECT * WHERE A ; B ; C WITHIN 1 EVENTS", 1, "no stream has an answer"),
        ("SELECT * WHERE A ; B WITHIN 1 EVENTS", 0, "yes"),
        ("A FILTER A[n LIKE '^xy+$']", 0, '"n": "xy"'),
        ("A FILTER A[n LIKE 'x'] AND A[v = 1] AND A[v = 2]", 1, "no stream has an answer"),
        ("SELECT * WHERE A ; B PARTITION BY [k]", 0, "yes"),
        ("A AS x ; B AS y FILTER x.v = y.v", 0, "yes: found by search"),
        ("MAX(A) ; B", 0, "no automaton for MAX"),
    ],
)
def test_check(query: str, status: int, text: str, cli: Cli) -> None:
    assert text in cli("check", query, status=status).out


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        (
            "A AS x ; B AS y FILTER x[v = 1]",
            "well-formed, scoped, safe, unary; of size 6, disjunctive 6, safe 6, LP-normal form 6",
        ),
        ("A AS x ; A AS x FILTER x[v = 1]", "not safe"),
        ("A AS x ; B AS y FILTER x.v = y.v", "not unary"),
        ("A AS x FILTER y[v = 1]", "not well-formed, but 'y' is filtered outside its scope"),
        ("A AS x ; ((B AS x OR C AS y) FILTER x[v = 1])+", "well-formed as printed, but 'x'"),
        ("A : B", "no: FO-CEL has no :"),
    ],
)
def test_check_reports_on_fo_cel(formula: str, text: str, cli: Cli) -> None:
    assert text in cli("check", formula).out


@pytest.mark.parametrize(
    ("command", "left", "right", "status", "text"),
    [
        ("equivalent", "A ; (B OR C)", "A ; B OR (A ; C)", 0, "yes: the same answers"),
        ("equivalent", "A+", "A:+", 1, "answer: [0, 2] at [0, 2], on the left only"),
        ("contained", "A : B", "A ; B", 0, "yes"),
        ("contained", "A ; B", "A : B", 1, '{"type": "A"}'),
        ("equivalent", "MAX(A+) ; B", "MAX(A+ OR A) ; B", 3, "not decided"),
    ],
)
def test_decisions(command: str, left: str, right: str, status: int, text: str, cli: Cli) -> None:
    assert text in cli(command, left, right, status=status).out


def test_a_certificate_is_written_if_the_answer_is_yes(tmp_path: Path) -> None:
    path = tmp_path / "certificate.json"
    assert main(["equivalent", "A+", "A:+", "--certificate", str(path)]) == 1
    assert not path.exists()
    assert main(["equivalent", "A OR B", "B OR A", "--certificate", str(path)]) == 0
    [line] = path.read_text().splitlines()
    assert json.loads(line)["format"] == "cerlab-certificate"


def test_a_budget_inside_the_class_is_exit_2(monkeypatch: pytest.MonkeyPatch, cli: Cli) -> None:
    monkeypatch.setattr(budget, "STEPS", 500)
    assert "CER0605" in cli("equivalent", "A ; B ; C", "A ; B ; C", status=2).err


@pytest.mark.parametrize("form", ["json", "tikz", "mata"])
@pytest.mark.parametrize("what", ["vcea", "cea", "det", "nxt", "max"])
def test_show_in_formats_for_files(what: str, form: str, cli: Cli) -> None:
    out = cli("show", "A ; B+", "--what", what, "--format", form).out
    if form == "json":
        assert machine_to_json(machine_from_json(out)).strip() == out.strip()
        assert json.loads(out)["format"] == "cerlab-machine"


def test_what_a_format_cannot_say_is_refused_by_name(cli: Cli) -> None:
    query = "SELECT A WHERE A ; B"
    assert "CER0411" in cli("show", query, "--what", "nxt", "--format", "json", status=2).err
    assert "CER0410" in cli("show", "A", "--what", "ast", "--format", "tikz", status=2).err


def test_a_byte_order_mark_is_no_part_of_a_query(tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "e.core").write_text("A()\nB()\n")
    (tmp_path / "q.ceql").write_bytes("\ufeffSELECT *\r\nWHERE A ; B -- c\r\n".encode())
    (row,) = cli("run", tmp_path / "q.ceql", tmp_path / "e.core").rows
    assert row["positions"] == [0, 1]


@pytest.mark.parametrize(
    ("query", "takers"),
    [
        ("A ; B", "reference, automaton, tecs, lists, compiled, registers"),
        ("SELECT * WHERE A WITHIN 3 EVENTS", "reference, automaton, tecs, compiled, registers"),
        ("A AS x ; B AS y FILTER x.v < y.v", "reference, compiled, registers"),
        ("MAX(A+) ; B", "reference, automaton, tecs, compiled"),
        ("MAX(A AS a ; B AS b FILTER a.v < b.v) ; C", "reference"),
    ],
)
def test_check_and_errors_name_the_evaluators_that_take_a_query(
    query: str, takers: str, cli: Cli
) -> None:
    assert f"evaluators:  {takers}\n" in cli("check", query).out
    for name in EVALUATORS:
        if name in takers.split(", "):
            cerlab.evaluate(query, [{"type": "A", "v": 1}], evaluator=name)  # type: ignore[arg-type]
        else:
            with pytest.raises(cerlab.Unsupported) as caught:
                cerlab.evaluate(query, [], evaluator=name, limit=0)  # type: ignore[arg-type]
            assert caught.value.hint == f"evaluators that support it: {takers}"


def test_the_version(cli: Cli) -> None:
    assert cli("--version").out.startswith("cerlab 0.")


def test_standard_input_is_utf_8_whatever_the_locale() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "cerlab", "run", "A", "-"],
        input=b"A(n=\xff)\n",
        capture_output=True,
        env={**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0"},
        check=False,
    )
    assert done.returncode == 2
    assert b"CER0745" in done.stderr


def test_fmt_is_idempotent(cli: Cli) -> None:
    output = cli("fmt", "select * where (a;b)+ within 3 events -- why")
    assert "comments" in output.err
    assert cli("fmt", output.out).out == output.out == "SELECT *\nWHERE (a ; b)+\nWITHIN 3 EVENTS\n"
    assert cli("fmt", "(A)").out == "A\n"


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["nosuch"],
        ["run"],
        ["run", "A ;", EVENTS],
        ["run", "A", EVENTS, "--evaluator", "guess"],
        ["run", "((A AS a)+ ; B FILTER a.v != B.v) ; B", EVENTS, "--evaluator", "registers"],
        ["run", "A", EVENTS, "--evaluator", "tecs", "--labels"],
        ["run", "SELECT * WHERE MAX(A) ; B CONSUME BY ANY", EVENTS, "--evaluator", "compiled"],
        ["run", "A", EVENTS, "--events", "--format", "table"],
        ["run", "SELECT * WHERE A WITHIN 3 SECONDS", "-"],
        ["run", "A", EVENTS, "--limit", "-1"],
        ["run", "nosuch.ceql", EVENTS],
        ["run", "A", EVENTS, "--schema", "nosuch.core"],
        ["run", "(" * 10_000 + "A" + ")" * 10_000, EVENTS],
        ["run", "A;" * 500_000 + "A", EVENTS],
    ],
)
def test_bad_usage_is_exit_2_without_a_traceback(arguments: list[str], cli: Cli) -> None:
    output = cli(*arguments, status=2)
    assert output.out == ""
    assert output.err
    assert "Traceback" not in output.err


def test_an_unknown_stream_in_the_query_is_an_error_against_the_schema(cli: Cli) -> None:
    schema = str(EXAMPLES / "stocks_s3" / "schema.core")
    assert "CER0304" in cli("check", "SELECT * FROM Sx WHERE BUY", "--schema", schema, status=2).err


def test_warnings_go_to_stderr(cli: Cli) -> None:
    assert "warning: CER0901" in cli("run", "A FILTER x[v = 1]", EVENTS).err


def test_the_demo_runs_without_anything(cli: Cli) -> None:
    out = cli("demo").out
    assert "reference" in out
    assert "agrees with the reference" in out
    assert "DISAGREES" not in out


def test_a_closed_pipe_is_no_error() -> None:
    script = f"{sys.executable} -m cerlab run 'SELL+' {EVENTS} | head -1"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert len(done.stdout.splitlines()) == 1
    assert done.stderr == ""


def test_importing_cerlab_is_light() -> None:
    script = "import sys, cerlab; print([m for m in HEAVY if m in sys.modules])"
    heavy = ("pandas", "numba", "pyspark", "matplotlib", "z3", "pyarrow", "rich")
    done = subprocess.run(
        [sys.executable, "-c", script.replace("HEAVY", repr(heavy))],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("terminal", [True, False])
def test_errors_have_colours_on_a_terminal_alone(
    terminal: bool, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    coloured = cli("show", "A ;; B", status=2).err
    assert ("\x1b[1;31mCER0101:\x1b[0m" in coloured) is terminal
    assert ("\x1b[1;36mhint:\x1b[0m" in coloured) is terminal
    monkeypatch.setenv("NO_COLOR", "1")
    plain = cli("show", "A ;; B", status=2).err
    assert plain == re.sub(r"\x1b\[[\d;]*m", "", coloured)
