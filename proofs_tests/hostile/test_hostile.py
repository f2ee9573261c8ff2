"""Nothing that anybody may send escapes as another error, crashes, or takes long or much."""

from __future__ import annotations

import pytest

from proofs_tests.hostile.kinds import kind_of
from proofs_tests.hostile.watchdog import Verdict, verdicts
from proofs_tests.suite import Profile, Suite

INPUTS = {Profile.SMOKE: 60, Profile.QUICK: 150, Profile.DEEP: 100_000}
"""A nineteenth of them is of each kind: so 10,500 of the deep ones go through the command line."""

FORMER_FAULTS = [
    *(("events", 92), ("events", 242), ("columnar", 31), ("rows", 21416), ("bucket", 1289)),
    *(("converted", 9894), ("lab", 23708), ("lab", 34918), ("bucket", 44977), ("rows", 61686)),
    *(("columns", 26176), ("command", 47005), ("columnar", 97870), ("columns", 311822)),
    *(("converted", 337435), ("columns", 342735), ("columnar", 425468), ("rows", 489661)),
    *(("columnar", 543287), ("columns", 561615)),
]
"""The inputs of faults that were found."""


def test_hostile_inputs_are_taken_or_refused(suite: Suite, request: pytest.FixtureRequest) -> None:
    """By calls; the deep profile measures time and memory, and has no time to count."""
    faults, longest = [], Verdict(0, "none", "taken")
    seeds = range(INPUTS[suite.profile])
    inputs = [*FORMER_FAULTS, *((kind_of(seed), seed) for seed in seeds)]
    for verdict in verdicts(inputs, measured=suite.deep):
        longest = max(longest, verdict, key=lambda each: (each.cpu, each.calls))
        if verdict.is_fault:
            faults.append(verdict)
    took = f"{longest.cpu:.1f} CPU s" if suite.deep else f"{longest.calls:,} calls"
    summary = f"longest: {took}, {longest.kind} {longest.seed}"
    request.node.user_properties.append(("suite", f"{INPUTS[suite.profile]} inputs, {summary}"))
    assert not faults
