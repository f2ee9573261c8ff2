"""Adapters of `cerlab trial`: the requests to engines, and the cases refused for them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from cerlab import parse_rows
from cerlab.fuzz.engines import AnswerRows, Failure, Refusal
from cerlab.trial import adapter
from cerlab.trial.adapters import Absent, running
from cerlab.trial.children import failure
from cerlab.trial.languages import Case


def case(pattern: str, clauses: str = "") -> Case:
    """A pattern on one row."""
    clause = f"MATCH_RECOGNIZE ({clauses} MEASURES 1 AS m PATTERN ({pattern}))"
    return Case("rows", parse_rows(clause), ({"g": None, "t": 0, "x": 2, "s": "it's"},))


REFUSALS = [
    pytest.param("A* B", None, id="taken"),
    pytest.param("A B+?", None, id="reluctant-at-the-end"),
    pytest.param("A B{2}", None, id="counted-at-the-end"),
    pytest.param("A B*", "greedy", id="greedy-at-the-end"),
    pytest.param("A B A", "once", id="a-variable-twice"),
    pytest.param("A*?", "empty", id="no-row"),
    pytest.param("A?? B", "reluctant optional", id="reluctant-optional"),
    pytest.param("A{1,2} (B? C)", "preceded by a greedy", id="optional-after-greedy"),
    pytest.param("A+ B*? C", "preceded by a greedy", id="a-loop-after-greedy"),
    pytest.param("A? B? C", None, id="optional-after-optional"),
    pytest.param("A{2} B* C", None, id="a-loop-after-so-many"),
]


@pytest.mark.parametrize(("pattern", "word"), REFUSALS)
def test_what_the_planner_of_flink_refuses(pattern: str, word: str | None) -> None:
    why = adapter("flink").refuses(case(pattern))
    assert why is None if word is None else word in str(why)


def test_what_flink_is_asked() -> None:
    """Tables are partitions; columns that a case has lost are NULL; a DEFINE there must be."""
    (row,) = case("A* B").data
    row_without_x = {name: value for name, value in row.items() if name != "x"}
    question = adapter("flink").question(
        Case("rows", case("A* B", "PARTITION BY g").query, (row_without_x,))
    )
    assert question["rows"] == [{**row, "x": None}]
    assert question["columns"] == ["g", "m"]
    text = " ".join(question["query"].split())
    assert "PARTITION BY c, g ORDER BY ts MEASURES" in text
    assert "AFTER MATCH SKIP PAST LAST ROW PATTERN (A* B)" in text
    assert "DEFINE A AS TRUE" in text
    assert adapter("flink").orders(case("A"))
    assert not adapter("flink").orders(case("A", "PARTITION BY g"))


MESSAGES = [
    pytest.param("it ended", {"crash": "it ended"}, id="one-line"),
    pytest.param("called\n: a.Fault: no\n\tat b", {"crash": "a.Fault: no"}, id="one-exception"),
    pytest.param(
        "called\n: a.Fault: no\nCaused by: c.Cause: why\n\tat d",
        {"crash": "c.Cause: why"},
        id="the-cause-said-last",
    ),
    pytest.param(
        "called\n: a.Fault: not supported", {"refused": "a.Fault: not supported"}, id="no"
    ),
]


@pytest.mark.parametrize(("text", "expected"), MESSAGES)
def test_what_flink_says_of_a_job_that_fails(text: str, expected: dict[str, str]) -> None:
    assert failure(text) == expected


SHELL = """#!{python}
import sys
asked = sys.stdin.read()
if "PERMUTE" in asked:
    sys.exit("Not implemented Error: PERMUTE")
if "|" in asked:
    sys.exit("INTERNAL Error: no such state")
assert "CAST('it''s' AS VARCHAR) AS s" in asked or "SELECT 1 AS x" in asked, asked
print('[{{"m": 1}}]')
"""


@pytest.fixture
def shell(tmp_path: Path) -> Path:
    """A program that reads SQL and prints rows as JSON."""
    path = tmp_path / "duckdb"
    path.write_text(SHELL.format(python=sys.executable))
    path.chmod(0o755)
    return path


def test_a_build_of_duckdb_by_its_path(shell: Path) -> None:
    with running(adapter(f"duckdb={shell}"), 20.0) as engine:
        rows, refusal, error_outcome = engine.ask([case("A"), case("PERMUTE(A, B)"), case("A | B")])
        engine.serving.stop()
        assert engine.ask([case("A")]) == [rows]  # by a process that was started again
    assert rows == AnswerRows(({"m": 1},))
    assert isinstance(refusal, Refusal)
    assert isinstance(error_outcome, Failure)
    assert "no such state" in error_outcome.how


def test_an_engine_without_the_clause_is_absent(shell: Path) -> None:
    shell.write_text(SHELL.format(python=sys.executable).replace("|", "MATCH_RECOGNIZE"))
    with (
        pytest.raises(Absent, match="does not run MATCH_RECOGNIZE"),
        running(adapter(f"duckdb={shell}"), 20.0),
    ):
        pass
