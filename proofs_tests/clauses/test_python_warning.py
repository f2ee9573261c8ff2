"""Long streams that are evaluated in Python are warned of, once, with the reason."""

from __future__ import annotations

import io
import json
import warnings

import pyarrow as pa
import pytest

import cerlab
from cerlab.cli import main
from cerlab.compile.pattern import any_pattern
from cerlab.engine.registers import program
from cerlab.evaluate import thresholds
from cerlab.evaluate.physical import why_in_python
from proofs_tests.command import Cli

TABLE = pa.table(
    {"type": ["A", "B", "C", "A"] * 6, "v": range(24), "k": [n % 2 for n in range(24)]}
)
IN_PYTHON = {
    "A AS a ; B AS b FILTER a.v * b.v > 3 WITHIN 3 EVENTS": "computes with values of two events",
    "A AS a ; B AS b FILTER a.v < b.v PARTITION BY [k] WITHIN 2 EVENTS": "WITHIN n EVENTS",
    "(A WITHIN 3 [v]) ; B FILTER A.v * B.v > 3": "computes with values of two events",
}
IN_KERNELS = (
    "A ; B WITHIN 3 EVENTS",
    "A AS a ; B AS b FILTER a.v < b.v WITHIN 3 EVENTS",
    "(A WITHIN 3 [v]) ; B",
)


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let 20 events be a long stream."""
    monkeypatch.setattr(program, "LONG", 20)
    monkeypatch.setattr(thresholds, "SHORT", 10)


def codes(caught: list[warnings.WarningMessage]) -> list[str]:
    return [str(each.message).partition(":")[0] for each in caught]


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("text", IN_PYTHON)
def test_what_python_evaluates_is_warned_of_once(text: str) -> None:
    reason = why_in_python(any_pattern(f"SELECT * WHERE {text}"))
    assert reason is not None
    assert IN_PYTHON[text] in reason
    query = cerlab.parse_query(f"SELECT * WHERE {text}")
    for ask in (lambda m: m.count(), list, lambda m: m.to_arrow()):
        with pytest.warns(cerlab.AnswerWarning, match="CER0932") as caught:
            ask(query.run(TABLE))
        assert codes(list(caught)) == ["CER0932"]
        assert reason in str(caught[0].message)
        ask(query.run(TABLE.slice(0, 19)))  # a short stream


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("text", IN_KERNELS)
def test_what_kernels_evaluate_is_not(text: str) -> None:
    assert why_in_python(any_pattern(f"SELECT * WHERE {text}")) is None
    assert cerlab.parse_query(f"SELECT * WHERE {text}").run(TABLE).count()


@pytest.mark.usefixtures("short")
def test_pipes_and_check_name_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], cli: Cli
) -> None:
    text = "SELECT * WHERE A AS a ; B AS b FILTER a.v * b.v > 3 WITHIN 3 EVENTS"
    lines = "".join(json.dumps(row) + "\n" for row in TABLE.to_pylist())
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(lines.encode())))
    assert cli("run", text, "-").err.count("CER0932") == 1
    main(["check", text])
    assert "computes with values of two events" in capsys.readouterr().out
    main(["check", "A ; B"])
    assert "Python" not in capsys.readouterr().out
