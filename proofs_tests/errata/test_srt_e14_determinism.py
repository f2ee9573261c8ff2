"""SRT-E14: any two transitions of a state must exclude each other (SRT Def. 36).

The report requires this only for transitions to different states, so two runs are possible.
"""

from __future__ import annotations

from random import Random

from cerlab.automata.registers import Srt
from cerlab.automata.unrolled import determinise, unroll
from cerlab.model.answer import Registers
from cerlab.theorems import srt as runs
from proofs_tests.srt.cases import events, random_event, random_srt, step, with_word
from proofs_tests.srt.printed import overlapping

TWICE = Srt(
    2,
    (step(0, "TRUE ^ -> r", 1), step(0, "TRUE", 1)),
    frozenset({0}),
    frozenset({1}),
    R=frozenset("r"),
)


def test_the_printed_condition_lets_two_runs_through() -> None:
    (t,) = events("A")
    assert not overlapping(TWICE, t, Registers(), as_printed=True)
    assert len(runs.paths(TWICE, [t])) == 2
    assert runs.matches(TWICE, [t]) == {(), (0,)}


def test_the_corrected_one_does_not() -> None:
    (t,) = events("A")
    assert overlapping(TWICE, t, Registers(), as_printed=False)
    D = determinise(TWICE)
    assert not overlapping(D, t, Registers(), as_printed=False)
    assert len(runs.paths(D, [t])) == 1


def test_what_is_determinised_satisfies_it() -> None:
    events_judged = 0
    for seed in range(200):
        rng = Random(seed)
        T, S = with_word(rng, random_srt, 3)
        D = determinise(unroll(T, 3))
        v = Registers({r: random_event(rng) for r in sorted(D.R) if rng.random() < 0.7})
        assert not any(overlapping(D, t, v, as_printed=False) for t in S)
        events_judged += len(S) if len(D.Delta) > D.states else 0
    assert events_judged > 300, "events, where some state has several transitions"
