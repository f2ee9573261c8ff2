"""Questions and pictures about time, arithmetic between labels, counts, windows inside and waits.

Each is exact, or refused by name with a code and a hint; a verdict names what is not decided.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

import cerlab
from cerlab import contained, equivalent, satisfiable
from cerlab.decisions import search

TABLE = """
formula                                     | why step cea srt
A FILTER A[d > 5 SECONDS]                   | yes yes yes yes
A ; B FILTER A[t >= DATE '2024-01-31']      | yes yes yes yes
A AS a ; B AS b FILTER b.n > 1.05 * a.n     | yes CER0403 CER0403 yes
A AS a ; B AS b FILTER b.t - a.t <= 5 HOURS | yes CER0403 CER0403 yes
A{2,3} ; B                                  | yes yes yes yes
A:{2}                                       | yes yes yes yes
(A ; B WITHIN 3 EVENTS) ; A                 | yes yes yes yes
(A ; B WITHIN 3 SECONDS) ; A                | yes CER0403 CER0403 CER0403
(A ; B WITHIN 3 [n])                        | yes CER0403 CER0403 CER0403
A WAIT 3 SECONDS                            | yes CER0403 CER0403 CER0403
(A WAIT 3 [n]) UNLESS B                     | yes CER0403 CER0403 CER0403
(A WAIT 3 [n]) ; B                          | yes CER0403 CER0403 CER0403
"""
"""yes: exact; else the code of the refusal. The suite has the verdicts of these formulas."""
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
    "why": why,
    "step": step,
    "cea": lambda f: picture(lambda query: query.cea, f),
    "srt": lambda f: picture(lambda query: query.srt, f),
}


@pytest.mark.filterwarnings("ignore::cerlab.CerlabWarning")
@pytest.mark.parametrize(("formula", "question", "cell"), CASES)
def test_it_is_exact_or_refused_by_name(formula: str, question: str, cell: str) -> None:
    if not cell.startswith("CER"):
        assert ASK[question](formula) == cell
        return
    with pytest.raises(cerlab.Unsupported) as error:
        ASK[question](formula)
    assert error.value.code == cell
    assert error.value.hint
    assert any(words in error.value.message for words in NAMED), error.value.message


UNDECIDED = {
    "A AS a ; B AS b FILTER b.n > 1.05 * a.n": (contained, equivalent),
    "A AS a ; B AS b FILTER b.t - a.t <= 5 HOURS": (satisfiable, contained, equivalent),
    "(A ; B WITHIN 3 SECONDS) ; A": (equivalent,),
    "(A ; B WITHIN 3 [n])": (contained, equivalent),
    "A WAIT 3 SECONDS": (equivalent,),
    "(A WAIT 3 [n]) UNLESS B": (equivalent,),
    "(A WAIT 3 [n]) ; B": (contained, equivalent),
}
"""The questions about a formula, itself, and `A ; B` that small streams leave open."""


@pytest.mark.parametrize("formula", UNDECIDED)
def test_a_verdict_names_what_is_not_decided(formula: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "MAX_TRIED", 200)
    for ask in UNDECIDED[formula]:
        others = {
            satisfiable: [],
            contained: ["A ; B"],
            equivalent: [f"({formula}) OR ({formula})"],
        }
        verdict = ask(formula, *others[ask])
        assert (verdict.holds, verdict.witness) == (None, None)
        assert verdict.reason.startswith("not decided: ")
        assert any(words in verdict.reason for words in NAMED), verdict.reason


@pytest.mark.parametrize("formula", [formula.strip() for formula, _ in ROWS])
def test_pictures_that_all_of_them_have(formula: str) -> None:
    stream = stream_for(formula)
    answers = cerlab.evaluate(formula, stream)
    assert repr(cerlab.timeline(formula, stream)).startswith(f"<Timeline of {len(answers)} answers")
    assert picture(lambda query: query.formula, formula) == "yes"
    nothing = [{"type": "X", "n": 1, "t": EVENTS[0]["t"], "d": EVENTS[0]["d"]}]
    assert str(cerlab.why_none(formula, cerlab.Stream(nothing, time="t"))).startswith("no answer")
