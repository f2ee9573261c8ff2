"""SRT-E24: accepting runs must continue, and each match must be reported once (SRT Alg. 1).

The printed algorithm reports and drops an accepting run, so it loses longer matches through a final
state with successors. It also reports a match once for each run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

import pytest

from cerlab import Event, Sremo
from cerlab.automata.plan import RegisterPlan
from cerlab.compile.sremo_to_srt import register_plan
from cerlab.engine.reference.registers import Runs, SharedRuns
from cerlab.logic.sremo import detections
from cerlab.testing import random_sremo, random_sremo_events
from proofs_tests.sremo.tables import sre
from proofs_tests.srt.cases import SHAPE, Matches, events, from_one
from proofs_tests.srt.printed import KilledRuns, runs_reported

TV_11 = "(A^ -> y . (<v = y.v>^)*)[1..3]"
Kind = Callable[[RegisterPlan], Runs | SharedRuns]


def reports(kind: Kind, e: Sremo, S: Sequence[Event]) -> Matches:
    active = kind(register_plan(e))
    return frozenset(M for k, t in enumerate(S) for M in active.advance(t, k))


@pytest.mark.parametrize(
    ("text", "S", "printed", "expected"),
    [
        ("A^ . B^*", events("ABB"), from_one({1}), from_one({1}, {1, 2}, {1, 2, 3})),
        (
            TV_11,
            events("ACBABB", v="221222"),
            from_one({1}, {4}),
            from_one({1}, {1, 2}, {4}, {4, 5}, {4, 5, 6}),
        ),
    ],
)
def test_the_printed_algorithm_loses_longer_matches(
    text: str, S: Sequence[Event], printed: Matches, expected: Matches
) -> None:
    e = sre(text)
    assert reports(KilledRuns, e, S) == printed
    assert reports(Runs, e, S) == reports(SharedRuns, e, S) == expected


def test_the_printed_algorithm_reports_runs() -> None:
    """Two runs of one match; an engine that counts runs finds two answers."""
    plan, S = register_plan(sre("_^ | A^")), events("A")
    assert runs_reported(plan, S) == [(0,), (0,)]
    assert SharedRuns(plan).advance(S[0], 0) == {(0,)}


def test_on_random_expressions_the_printed_one_fails_and_the_corrected_one_never() -> None:
    failures = with_matches = 0
    for seed in range(300):
        rng = Random(seed)
        e = random_sremo(rng, SHAPE, "core")
        S = random_sremo_events(rng, e, SHAPE)
        expected = {C.positions for C in detections(e, S)}
        assert reports(Runs, e, S) == reports(SharedRuns, e, S) == expected
        failures += reports(KilledRuns, e, S) != expected
        with_matches += bool(expected)
    assert with_matches > 150
    assert failures > 0
