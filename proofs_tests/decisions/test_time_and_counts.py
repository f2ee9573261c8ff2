"""Questions and pictures about time, arithmetic between labels, counts, windows inside and waits.

Each is exact, or refused by name with a code and a hint; a decider may leave it open and says why.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

import cerlab
from cerlab.decisions import search

TABLE = """
formula                                     | satisfiable equivalent contained why step cea srt
A FILTER A[d > 5 SECONDS]                   | yes yes no  yes yes yes yes
A ; B FILTER A[t >= DATE '2024-01-31']      | yes yes yes yes yes yes yes
A AS a ; B AS b FILTER b.n > 1.05 * a.n     | yes ?   ?   yes CER0403 CER0403 yes
A AS a ; B AS b FILTER b.t - a.t <= 5 HOURS | ?   ?   ?   yes CER0403 CER0403 yes
A{2,3} ; B                                  | yes yes no  yes yes yes yes
A:{2}                                       | yes yes no  yes yes yes yes
(A ; B WITHIN 3 EVENTS) ; A                 | yes yes no  yes yes yes yes
(A ; B WITHIN 3 SECONDS) ; A                | yes ?   no  yes CER0403 CER0403 CER0403
(A ; B WITHIN 3 [n])                        | yes ?   ?   yes CER0403 CER0403 CER0403
A WAIT 3 SECONDS                            | yes ?   no  yes CER0403 CER0403 CER0403
(A WAIT 3 [n]) UNLESS B                     | yes ?   no  yes CER0403 CER0403 CER0403
(A WAIT 3 [n]) ; B                          | yes ?   ?   yes CER0403 CER0403 CER0403
"""
"""yes and no: exact; ?: not decided, by small streams; else the code of the refusal."""
HEADER, *ROWS = (line.split("|") for line in TABLE.strip().splitlines())
QUESTIONS = HEADER[1].split()
CASES = [
    pytest.param(formula.strip(), name, cell, id=f"{name}-{formula.strip()}")
    for formula, cells in ROWS
    for name, cell in zip(QUESTIONS, cells.split(), strict=True)
]
NAMED = ("WAIT", "WITHIN", "a window in time inside", "comparisons between labels")
"""Words of which a refusal has one."""
EVENTS = [
    {"type": kind, "n": 2 * i, "t": datetime(2024, 1, 31, 10, 0, 2 * i), "d": timedelta(seconds=6)}
    for i, kind in enumerate("ABABAAB")
]


def stream_for(formula: str) -> cerlab.Stream:
    return cerlab.Stream(EVENTS, time="t", until="end" if "WAIT" in formula else None)


def verdict(ask: Callable[..., cerlab.Verdict], formula: str, *other: str) -> str:
    """The cell of a decider; a witness is an answer by the reference, on one side alone."""
    found = ask(formula, *other)
    if found.holds is None:
        assert found.witness is None
        assert found.reason.startswith("not decided: ")
        assert any(words in found.reason for words in NAMED), found.reason
    if found.witness is not None:
        answer, events = found.witness.complex_event, found.witness.events
        holding = [
            answer in cerlab.evaluate(each, events, evaluator="reference")
            for each in (formula, *other)
        ]
        assert holding == [True, False][: len(holding)]
    return {True: "yes", False: "no", None: "?"}[found.holds]


def why(formula: str) -> str:
    """The cell of `why`: every answer is a match, and no other positions are one."""
    stream = stream_for(formula)
    answers = {answer.positions for answer in cerlab.evaluate(formula, stream)}
    assert answers
    for positions in (*sorted(answers), (0, 5, 6), (1,)):
        is_match = str(cerlab.why(formula, stream, positions)).startswith("a match")
        assert is_match is (positions in answers)
    return "yes"


def step(formula: str) -> str:
    steps = cerlab.step(formula, stream_for(formula))
    assert len(steps) == len(EVENTS)
    return "yes"


def picture(machine: Callable[[cerlab.Query], Any], formula: str) -> str:
    source = machine(cerlab.parse_query(f"SELECT * WHERE {formula}")).to_graphviz().source
    assert source.startswith("digraph")
    return "yes"


ASK: dict[str, Callable[[str], str]] = {
    "satisfiable": lambda f: verdict(cerlab.satisfiable, f),
    "equivalent": lambda f: verdict(cerlab.equivalent, f, f),
    "contained": lambda f: verdict(cerlab.contained, f, "A ; B"),
    "why": why,
    "step": step,
    "cea": lambda f: picture(lambda query: query.cea, f),
    "srt": lambda f: picture(lambda query: query.srt, f),
}


@pytest.mark.filterwarnings("ignore::cerlab.CerlabWarning")
@pytest.mark.parametrize(("formula", "question", "cell"), CASES)
def test_it_is_exact_or_refused_by_name(
    formula: str, question: str, cell: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "MAX_TRIED", 200)
    if not cell.startswith("CER"):
        assert ASK[question](formula) == cell
        return
    with pytest.raises(cerlab.Unsupported) as error:
        ASK[question](formula)
    assert error.value.code == cell
    assert error.value.hint
    assert any(words in error.value.message for words in NAMED), error.value.message


@pytest.mark.parametrize("formula", [formula.strip() for formula, _ in ROWS])
def test_pictures_that_all_of_them_have(formula: str) -> None:
    stream = stream_for(formula)
    answers = cerlab.evaluate(formula, stream)
    assert repr(cerlab.timeline(formula, stream)).startswith(f"<Timeline of {len(answers)} answers")
    assert picture(lambda query: query.formula, formula) == "yes"
    nothing = [{"type": "X", "n": 1, "t": EVENTS[0]["t"], "d": EVENTS[0]["d"]}]
    assert str(cerlab.why_none(formula, cerlab.Stream(nothing, time="t"))).startswith("no answer")
