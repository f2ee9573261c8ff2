"""Lemma 29: transducers without empty moves, plainly, merged and reduced (SRT Lemma 29)."""

from __future__ import annotations

from random import Random

from cerlab.automata.compose import quotient
from cerlab.automata.epsilon import merge, without_epsilon
from cerlab.automata.registers import prune
from cerlab.compile.sremo_to_srt import sremo_to_srt
from cerlab.testing import random_sremo
from cerlab.theorems import srt as runs
from proofs_tests.sremo.tables import sre
from proofs_tests.srt.cases import SHAPE, random_epsilon_srt, random_srt, with_match, with_word
from proofs_tests.suite import random_suite


@random_suite(10_000)
def test_p3_elimination_keeps_outcomes_of_transducers(rng: Random) -> bool:
    """Cycles of empty moves included; what registers hold at the end is kept too."""
    T, S = with_word(rng, random_epsilon_srt)
    outcomes = runs.outcomes(T, S)
    for eliminate in (without_epsilon, merge):
        assert runs.outcomes(eliminate(T), S) == outcomes, f"{eliminate.__name__} of\n{T}\non {S}"
    return bool(outcomes)


@random_suite(10_000)
def test_p3_elimination_keeps_matches_of_expressions(rng: Random) -> bool:
    e, S = with_match(rng, lambda rng: random_sremo(rng, SHAPE, "core"))
    T = sremo_to_srt(e)
    matches = runs.matches(T, S)
    assert runs.matches(without_epsilon(T), S) == matches
    assert runs.matches(merge(T), S) == matches
    return bool(matches)


@random_suite(10_000)
def test_trimming_and_reducing_keep_outcomes(rng: Random) -> bool:
    T, S = with_word(rng, random_srt)
    if rng.random() < 0.5:
        T_e, S = with_word(rng, random_epsilon_srt)
        T = without_epsilon(T_e)
    outcomes = runs.outcomes(T, S)
    for smaller in (prune(T), quotient(T), quotient(merge(T))):
        assert runs.outcomes(smaller, S) == outcomes, f"{T}\non {S}"
        assert smaller.states <= 2**T.states
    return bool(outcomes)


def test_merging_makes_fewer_runs_and_reducing_no_more() -> None:
    e = sre("A^ . B^ | A^ . C^")
    plain = without_epsilon(sremo_to_srt(e))
    assert len([t for t in plain.Delta if t.source == plain.q0]) == 2
    assert merge(sremo_to_srt(e)).states == 4
    assert quotient(merge(sremo_to_srt(e))).states == 3
