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
from proofs_tests.suite import Suite

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
LONG = (
    *("twelve registers", "matches", "reference of ALL", "reference of AND", "far from the end"),
    *("minterms of LIKE, joined", "minterms by z3, products", "why of iterations", "wide windows"),
    *("answers that runs share", "strict answers of registers", "fifty negations at once"),
)
"""Inputs that take long; `NAMES` has some of them, counted."""
WATCHDOG = 60
"""Seconds of CPU: far more than any of them takes, far less than work that is not counted."""
CALLS_OF_A_STEP = 50


@pytest.mark.parametrize("name", NAMES)
def test_a_step_is_few_operations(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundredth of the steps bounds the number of calls: all work is counted.

    A call of Python or of C is an operation.
    """
    steps = budget.STEPS // 100
    monkeypatch.setattr(budget, "STEPS", steps)
    with at_most_calls(CALLS_OF_A_STEP * steps):
        outcome, _ = ask(name)
    assert outcome == "answered" or "CER0605" in outcome or "CER0487" in outcome


@pytest.mark.services  # a process for each
@pytest.mark.parametrize("name", FAMILIES)
def test_each_is_answered_or_refused(name: str, suite: Suite) -> None:
    """The system ends a process without end; how long one takes is printed, not judged."""
    if name in LONG and not suite.deep:
        pytest.skip("with --profile deep only: it takes up to ten seconds")
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
