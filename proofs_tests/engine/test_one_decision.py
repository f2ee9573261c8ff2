"""One run, one decision: which way evaluates a query is asked once, wherever the query runs."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import cerlab
from cerlab.cli import main
from cerlab.compile.pattern import AnyPattern
from cerlab.evaluate import physical
from proofs_tests.cli.run_cases import Pieces

EVENTS = [{"type": kind, "v": n, "t": n, "k": n % 2} for n, kind in enumerate("AABABB" * 3)]

QUERIES = {
    "automaton": "SELECT * WHERE A AS a ; B AS b PARTITION BY [k]",
    "registers": "SELECT * WHERE A AS a ; B AS b FILTER a.v < b.v",
    "waits": "SELECT * WHERE A AS a WAIT 2 [t]",
    None: "SELECT * WHERE MAX(A+ AS a) ; B",
}

RUNS: dict[str, Callable[[cerlab.Query], Any]] = {
    "evaluate": lambda query: cerlab.evaluate(query, EVENTS),
    "count": lambda query: cerlab.count(query, EVENTS),
    "iterate": lambda query: list(query.run(EVENTS)),
    "number": lambda query: (m := query.run(EVENTS))[0] and (m.count(), m.sample(2, seed=1)),
    "table": lambda query: query.run(EVENTS).table(["a.v"]),
}

SESSIONS: dict[str, Callable[[cerlab.Query], Any]] = {
    "open": lambda query: query.open().push(EVENTS),
    "tabulating": lambda query: query.tabulating(["a.v"]).push(EVENTS),
    "aggregating": lambda query: query.aggregating(sum="a.v").push(EVENTS),
}


@pytest.fixture
def decisions(monkeypatch: pytest.MonkeyPatch) -> list[tuple[AnyPattern, str]]:
    """Return the list of the decisions that are made from here on."""
    made: list[tuple[AnyPattern, str]] = []

    def noted(name: str, make: Callable[[AnyPattern], Any]) -> Callable[[AnyPattern], Any]:
        def decide(pattern: AnyPattern) -> Any:
            made.append((pattern, name))
            return make(pattern)

        return decide

    ways = {name: noted(name, make) for name, make in physical.WAYS.items()}
    monkeypatch.setattr(physical, "WAYS", ways)
    return made


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("kind", QUERIES)
@pytest.mark.filterwarnings("ignore::cerlab.AnswerWarning")
def test_a_run_decides_once(kind: Any, run: str, decisions: list[Any]) -> None:
    query = cerlab.parse_query(QUERIES[kind])
    assert query.machine_kind == kind
    RUNS[run](query)
    assert decisions == [(query, "auto")]


@pytest.mark.parametrize("session", SESSIONS)
@pytest.mark.parametrize("kind", ["automaton", "registers", "waits"])
def test_a_session_decides_once(kind: Any, session: str, decisions: list[Any]) -> None:
    query = cerlab.parse_query(QUERIES[kind])
    SESSIONS[session](query)
    # aggregates of automata are those of a kernel of their own
    has_choice = (kind, session) != ("automaton", "aggregating")
    assert decisions == [(query, "compiled")] * has_choice


@pytest.mark.parametrize("kind", QUERIES)
@pytest.mark.parametrize("evaluator", ["auto", "reference"])
@pytest.mark.parametrize("as_file", [True, False])
def test_a_file_and_a_pipe_decide_once(
    kind: Any,
    evaluator: str,
    as_file: bool,
    tmp_path: Path,
    decisions: list[Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lines = "".join(json.dumps(event) + "\n" for event in EVENTS)
    path = tmp_path / "events.ndjson"
    path.write_text(lines)
    monkeypatch.setattr(sys, "stdin", Pieces([lines.encode()], lambda _: None))
    where = str(path) if as_file else "-"
    assert main(["run", QUERIES[kind], where, "--evaluator", evaluator]) == 0
    # the remark on answers that wait counts them by the quickest way
    remark = ["auto"] if as_file and kind == "waits" else []
    assert [name for _, name in decisions] == [evaluator, *remark]
