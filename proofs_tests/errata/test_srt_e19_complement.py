"""SRT-E19: the sink that completes an automaton must accept in the complement (SRT Alg. 8).

In print, the sink does not accept, and a state without conditions has no transition. Strings that
are longer than the window are then neither in the language nor in its complement (SRT Cor. 43).
"""

from __future__ import annotations

from random import Random

import pytest

from cerlab.automata.registers import Srt, longest
from cerlab.automata.unrolled import complement, unroll
from cerlab.theorems import srt as runs
from proofs_tests.srt.cases import events, random_event, random_srt, random_word, step
from proofs_tests.srt.printed import complement_without_sink

A = unroll(Srt(2, (step(0, "type = 'A' ^", 1),), frozenset({0}), frozenset({1})), 1)


@pytest.mark.parametrize("types", ["BB", "AA", "B"])
def test_the_printed_complement_forgets_strings(types: str) -> None:
    """One A in a window of 1: BB is in neither."""
    S = events(types)
    assert not runs.accepts(A, S)
    assert not runs.accepts(complement_without_sink(A), S)
    assert runs.accepts(complement(A), S)


def test_the_complement_of_a_window_is_none() -> None:
    assert longest(A) == 1
    assert longest(complement(A)) is None


def test_on_random_transducers_the_printed_one_fails_and_the_corrected_one_never() -> None:
    failures = rejects = accepts = 0
    for seed in range(300):
        rng = Random(seed)
        T = random_srt(rng)
        U = unroll(T, 3)
        S = random_word(rng, T, 3)
        if rng.random() < 0.6:
            S = [*S[:2], random_event(rng)]
        is_accepted = runs.accepts(U, S)
        assert runs.accepts(complement(U), S) != is_accepted
        failures += runs.accepts(complement_without_sink(U), S) == is_accepted
        rejects += not is_accepted
        accepts += is_accepted
    assert min(rejects, accepts) > 80
    assert failures > 0
