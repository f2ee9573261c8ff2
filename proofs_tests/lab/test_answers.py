"""The lab's replies are what `cerlab` gives, with no more than there is in Pyodide, too."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from operator import itemgetter
from random import Random

import pytest

import cerlab
from cerlab.lab import MOST_STEPS, PANELS, answer, stream_of
from cerlab.logic.ceql.syntax import query_text
from cerlab.testing import as_dict
from cerlab.viz.timeline_value import own_numbers
from proofs_tests.random_cases import random_case
from proofs_tests.suite import random_suite

WITHOUT = """
import sys
import time

del time.thread_time, time.thread_time_ns

ABSENT = {"numba", "numpy", "pandas", "pyarrow", "pygraphviz", "z3"}
ABSENT |= {"fcntl", "resource", "sqlite3", "ssl", "termios"}

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ABSENT:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
import json
from cerlab.lab import answer
for line in sys.stdin:
    print(json.dumps(answer(json.loads(line))))
"""


def replies_without_libraries(requests: list[dict[str, object]]) -> list[dict[str, object]]:
    """Return the replies of a process that lacks libraries, modules and clocks as Pyodide does."""
    lines = "".join(f"{json.dumps(request)}\n" for request in requests)
    run = subprocess.run(
        [sys.executable, "-c", WITHOUT], input=lines, capture_output=True, text=True, check=True
    )
    return [json.loads(line) for line in run.stdout.splitlines()]


@pytest.mark.parametrize(
    ("text", "types"),
    [
        ("A C B", "ACB"),
        ("A(v=1) B(v=2)\nC()", "ABC"),
        ("S>A(v=1)", "A"),
        ('{"type": "A"}\n{"type": "B"}', "AB"),
        ("type,v\nA,1\nB,2", "AB"),
        ("type\nA", "A"),
        ("", ""),
    ],
)
def test_events_are_read_from_any_text(text: str, types: str) -> None:
    assert [event.type for event in stream_of(text)] == list(types)


@random_suite(1_000)
def test_answers_are_those_of_evaluate(rng: Random) -> bool:
    sample = random_case(rng)
    query, events = query_text(sample.ast), [as_dict(event) for event in sample.stream]
    text = "\n".join(json.dumps(event) for event in events)
    reply = answer({"panel": "answers", "query": query, "events": text})
    try:
        with warnings.catch_warnings(action="ignore", category=cerlab.CerlabWarning):
            expected = cerlab.evaluate(query, stream_of(text))
    except cerlab.CerlabError as error:
        return _refused_with(error, reply)
    assert reply["answers"] == [[a.start, a.end, list(a.positions)] for a in expected][:200]
    assert reply["total"] == str(len(expected))
    return bool(expected)


def _refused_with(error: cerlab.CerlabError, reply: dict[str, object]) -> bool:
    message = f"{error.code}: {error.message}"
    assert reply == {"error": {"message": message, "hint": error.hint, "box": "query"}}
    return False


def test_an_error_says_under_which_text_it_belongs() -> None:
    texts = {"query": "A ; B", "events": "A B", "other": "A : B"}
    wrong = {"query": "A ;; B", "events": 'A(v="x"', "other": "A :: B"}
    for box, text in wrong.items():
        error = answer({"panel": "compare" if box == "other" else "answers", **texts, box: text})
        assert error["error"]["box"] == box


def test_a_window_in_seconds_has_a_time() -> None:
    window = {"query": "SELECT * WHERE A ; B WITHIN 2 SECONDS", "events": "A(t=1) B(t=2) B(t=9)"}
    assert "error" in answer({"panel": "answers", **window})
    assert answer({"panel": "answers", **window, "time": "t:s"})["total"] == "1"


def test_an_answer_that_waits_is_given_where_nothing_comes_after() -> None:
    absence = {"query": "(A WAIT 10 [t]) UNLESS B", "events": "A(t=1) B(t=2) A(t=9) C(t=12)"}
    waiting = answer({"panel": "answers", **absence})
    assert waiting["total"] == "0"
    assert any(line.startswith("CER0915: 1 answer waits") for line in waiting["warnings"])
    reply = answer({"panel": "answers", **absence, "end": True})
    assert reply["answers"] == [[2, 3, [2]]]
    assert reply["warnings"] == []
    assert answer({"panel": "answers", **absence, "end": "yes"})["error"]["message"]


def test_a_fault_of_ours_is_a_reply(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(PANELS, "answers", itemgetter("nothing"))
    reply = answer({"panel": "answers", "query": "A", "events": "A"})
    assert reply["error"]["message"] == "internal error: KeyError: 'nothing'"
    assert "Traceback" in capsys.readouterr().err


def test_a_wrong_query_has_its_place() -> None:
    error = answer({"panel": "check", "query": "A ;; B", "events": ""})["error"]
    assert (error["line"], error["column"], error["end"]) == (1, 4, 5)
    assert error["message"].startswith("CER0101")


ROWS = "MATCH_RECOGNIZE (MEASURES LAST(v) AS low PATTERN (A D+) DEFINE D AS v < PREV(v))"


def test_row_patterns_are_asked_at_every_panel() -> None:
    request = {"query": ROWS, "events": "A(v=3) A(v=2) A(v=1) A(v=4)", "positions": [0, 1, 2]}
    assert answer({**request, "panel": "check"})["count"] == 4
    found = answer({**request, "panel": "answers"})
    assert (found["total"], found["shown"]) == ("1", 1)
    assert ">1</th>" in found["html"]
    assert "<svg" in answer({**request, "panel": "machine"})["html"]
    assert answer({**request, "panel": "why"})["holds"]
    assert not answer({**request, "panel": "why", "positions": [0, 1]})["holds"]
    assert answer({**request, "panel": "why", "positions": []})["holds"]
    assert "row patterns" in answer({**request, "panel": "steps"})["error"]["message"]
    other = {**request, "panel": "compare", "other": ROWS.replace("D+", "D")}
    assert answer(other)["holds"] is False
    assert answer({**other, "other": ROWS})["holds"]
    wrong = answer({**request, "panel": "check", "query": ROWS.replace("(A D+)", "(A D+")})
    assert wrong["error"]["message"].startswith("CER")


def test_a_wrong_event_has_its_row() -> None:
    error = answer({"panel": "check", "query": "A", "events": "A(v=1)\nB(v="})["error"]
    assert "row 2" in error["message"]


@pytest.mark.parametrize("query", ["A ; B", "SELECT MAX *\nWHERE A+ ; B WITHIN 3 EVENTS"])
def test_every_panel_shows_something(query: str) -> None:
    stages = ("cea", "det", "vcea", "ast", "table", "minterms")
    request = {"query": query, "events": "A A B", "other": "A : B", "positions": [0, 2]}
    for panel in PANELS.keys() - {"machine"}:
        assert answer({"panel": panel, **request}).keys() & {"html", "frames", "events"}, panel
    for what in stages:
        assert answer({"panel": "machine", "what": what, **request})["html"]


def test_the_same_replies_without_arrow_numba_numpy_and_z3() -> None:
    questions = [
        {"query": "A ; B FILTER B[v > 1]", "events": "A(v=1) B(v=2) B(v=0)", "other": "A : B"},
        {"query": "SELECT NEXT * WHERE A+ ; B", "events": "A A B", "other": "A ; B"},
        {"query": "<type = 'A'>^ . <TRUE>* . <type = 'B'>^", "events": "A C B", "other": "A"},
    ]
    requests: list[dict[str, object]] = [
        {"panel": panel, "positions": [0, 1], "what": "table", **request}
        for request in questions
        for panel in ("answers", "check", "compare")
    ]
    replies = replies_without_libraries(requests)
    with own_numbers():  # as in a process that draws for the first time
        for request, reply in zip(requests, replies, strict=True):
            assert reply == json.loads(json.dumps(answer(request))), request


def test_what_needs_a_library_that_is_absent_says_so() -> None:
    like: dict[str, object] = {"query": "A FILTER A[v LIKE 'x']", "events": "A(v=x)"}
    (reply,) = replies_without_libraries([{"panel": "answers", **like}])
    assert "pyarrow" in str(reply["error"])


def test_a_long_stream_is_followed_from_its_beginning() -> None:
    reply = answer({"panel": "steps", "query": "A ; B", "events": "A B " * MOST_STEPS})
    assert len(reply["frames"]) == MOST_STEPS


@pytest.mark.parametrize(("panel", "code"), [("machine", "CER0403"), ("steps", "CER0403")])
def test_panels_without_waits_refuse_them_by_name(panel: str, code: str) -> None:
    request = {"query": "(A WAIT 5 [t]) UNLESS B", "events": "A(t=0) C(t=9)", "positions": [0]}
    assert answer({"panel": "answers", **request})["answers"] == [[0, 0, [0]]]
    error = answer({"panel": panel, "stage": "det", **request})["error"]
    assert error["message"].startswith(code)
    assert "WAIT 5 [t]" in error["message"]
    assert "evaluate" in error["hint"] or "timeline" in error["hint"]
