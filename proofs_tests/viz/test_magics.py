"""``%load_ext cerlab`` in a real IPython shell: what cells give, print and refuse."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import cerlab
from cerlab.api import Answers

pytest.importorskip("IPython", reason="the magics are IPython's")

EVENTS = [{"type": kind, "v": n} for n, kind in enumerate("HTHHT")]


@pytest.fixture
def shell() -> Iterator[Any]:
    from IPython.core.interactiveshell import InteractiveShell

    InteractiveShell.clear_instance()
    instance: Any = InteractiveShell.instance()
    instance.run_cell("%load_ext cerlab")
    instance.user_ns["events"] = EVENTS
    instance.user_ns["stream"] = cerlab.Stream.from_events(EVENTS)
    yield instance
    InteractiveShell.clear_instance()


def test_a_cell_without_a_stream_gives_the_query(shell: Any) -> None:
    query = shell.run_cell("%%ceql\nSELECT *\nWHERE H ; T").result
    assert isinstance(query, cerlab.Query)
    assert query.text == "SELECT *\nWHERE H ; T"
    assert shell.run_cell("%%ceql --language sremo\nEPS").success
    assert shell.run_cell("%ceql <type = 'H'>^").success


def test_a_cell_on_a_stream_gives_its_answers(shell: Any) -> None:
    expected = cerlab.evaluate("H ; T", EVENTS)
    for cell in (
        "%%ceql events\nSELECT * WHERE H ; T",
        "%%ceql stream --as found\nSELECT * WHERE H ; T",
        "%%ceql --on events\nH ; T",
        "%ceql --on stream H ; T",
    ):
        answers = shell.run_cell(cell).result
        assert isinstance(answers, cerlab.Matches), cell
        assert set(answers) == set(expected)
    assert isinstance(shell.user_ns["found"], cerlab.Matches)


def test_evaluators_limits_and_names(shell: Any) -> None:
    cell = "%%ceql events --evaluator reference --limit 2 --as some\nSELECT * WHERE H ; T"
    answers = shell.run_cell(cell).result
    assert isinstance(answers, Answers)
    assert len(answers) == answers.count() == 2
    assert set(answers) <= set(cerlab.evaluate("H ; T", EVENTS))
    assert shell.user_ns["some"] is answers
    sremo = shell.run_cell("%ceql --on=events <type = 'H'>^ . <type = 'T'>^").result
    assert [answer.positions for answer in sremo] == [(0, 1), (3, 4)]


def test_a_syntax_error_shows_its_caret_and_no_traceback(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    result = shell.run_cell("%%ceql events\nSELECT *\nWHERE H ;; T")
    assert isinstance(result.error_in_exec, cerlab.QuerySyntaxError)
    output = capsys.readouterr().out
    assert "Traceback" not in output
    lines = output.splitlines()
    at = next(n for n, line in enumerate(lines) if line.endswith("WHERE H ;; T"))
    assert lines[at][lines[at + 1].index("^")] == ";"
    assert lines[at + 1].strip() == "^"
    assert "line 2, column 10" in output


def test_so_does_one_of_the_functions(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_cell("import cerlab\ncerlab.parse_formula('A ;; B')")
    output = capsys.readouterr().out
    assert "Traceback" not in output
    assert "    A ;; B\n       ^" in output


def test_warnings_are_shown_each_time(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        result = shell.run_cell("%%ceql\nSELECT y WHERE H AS x ; T")
        assert result.success
        messages = capsys.readouterr().err.splitlines()
        assert len(messages) == 1
        assert messages[0].startswith("warning: CER0902: SELECT y gives nothing")


@pytest.mark.parametrize(
    ("cell", "code", "message"),
    [
        ("%%ceql evens\nH ; T", "CER0846", "did you mean 'events'?"),
        ("%%ceql events stream\nH ; T", "CER0842", "one variable"),
        ("%%ceql events --on stream\nH ; T", "CER0842", "one variable"),
        ("%%ceql events --limt 3\nH ; T", "CER0843", "did you mean 'limit'?"),
        ("%%ceql events --limit\nH ; T", "CER0844", "needs a value"),
        ("%%ceql events --limit few\nH ; T", "CER0804", "not a number"),
        ("%%ceql --limit 3\nH ; T", "CER0845", "a stream"),
        ("%%ceql events --evaluator tec\nH ; T", "CER0805", "did you mean 'tecs'?"),
        ("%%ceql --language cql\nH ; T", "CER0806", "did you mean"),
    ],
)
def test_a_cell_is_refused_by_its_code(
    shell: Any, capsys: pytest.CaptureFixture[str], cell: str, code: str, message: str
) -> None:
    result = shell.run_cell(cell)
    assert isinstance(result.error_in_exec, cerlab.UsageError)
    output = capsys.readouterr().out
    assert output.startswith(f"UsageError: {code}")
    assert message in output


def test_answers_are_displayed_as_pictures(shell: Any) -> None:
    answers = shell.run_cell("%%ceql events\nSELECT * WHERE H ; T").result
    data, _ = shell.display_formatter.format(answers)
    assert data.keys() >= {"text/plain", "text/html", "image/svg+xml"}
    data, _ = shell.display_formatter.format(cerlab.ComplexEvent(0, 1, (0,)))
    assert data["text/plain"] == "ComplexEvent(start=0, end=1, positions=(0,))"
    assert "<caption>Complex event</caption>" in data["text/html"]
