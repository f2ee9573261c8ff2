"""Queries that are small as text and large as work are answered or refused soon (`hostile`)."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

import cerlab
from cerlab import budget
from proofs_tests.limits.calls import at_most_calls
from proofs_tests.limits.hostile import FAMILIES, ask

NAMES = (
    "fifty negations",
    "fifty negations around",
    "fifty negations in a row",
    "fifty negations at once",
    "fourteen ALL",
    "far from the end",
    "twelve registers",
    "twelve registers ahead",
    "28 correlations",
    "28 correlations of <",
    "forty iterations",
    "maximal answers by the reference",
)
UNCOUNTED = (
    *("answers that runs share", "undecided", "matches", "registers on a stream"),
    *("why of iterations", "why of ALL", "why none"),
)
"""Families whose work other bounds than the steps of a budget end; they run at night."""

LINEAR = ("NXT on many", "LAST on many", "MAX on many", "reference of UNLESS")
"""Families that are answered: their calls follow the events, not the steps."""

CALLS_OF_A_STEP = 50

WATCHDOG = 60
"""Seconds of CPU: far more than any of them takes, far less than work that is not counted."""


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in NAMES else pytest.mark.services)
        for name in FAMILIES
        if name not in UNCOUNTED
    ],
)
def test_a_step_is_few_operations(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundredth of the steps bounds the number of calls: all work is counted.

    A call of Python or of C is an operation.
    """
    steps = budget.STEPS // 100
    monkeypatch.setattr(budget, "STEPS", steps)
    with at_most_calls(CALLS_OF_A_STEP * steps * (2 if name in LINEAR else 1)):
        outcome, _ = ask(name)
    codes = "0605|0487" if name in NAMES else r"0[46]\d\d"
    assert re.match(f"answered|refused CER({codes})", outcome), outcome


@pytest.mark.night
@pytest.mark.parametrize("name", FAMILIES)
def test_each_is_answered_or_refused(name: str) -> None:
    """The system ends a process without end; how long one takes is printed, not judged."""
    call = ["bash", "-c", f'ulimit -t {WATCHDOG} && exec "$@"', "-", sys.executable]
    call += ["-m", "proofs_tests.limits.hostile", name]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert re.search(r": (answered|refused .*CER\d{4})", done.stdout), done.stdout


def test_a_legitimate_query_is_far_from_its_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "STEPS", budget.STEPS // 100)
    query = "SELECT MAX * WHERE (SELL AS a ; BUY+ AS b ; SELL AS c) FILTER b[p > 3] WITHIN 9 EVENTS"
    assert cerlab.satisfiable(query).holds
    assert cerlab.equivalent("A ; (B OR C)", "A ; B OR (A ; C)").holds
