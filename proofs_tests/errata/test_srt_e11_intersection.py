"""SRT-E11: in a product, both transitions must have the same mark (SRT Thm. 34).

The report also combines transitions with different marks, and lets the pair skip the event.
"""

from __future__ import annotations

from random import Random

from cerlab.automata.compose import intersection
from cerlab.automata.epsilon import without_epsilon
from cerlab.compile.sremo_to_srt import sremo_to_srt
from cerlab.theorems import srt as runs
from proofs_tests.sremo.tables import sre
from proofs_tests.srt.cases import events
from proofs_tests.srt.printed import product_of_any_marks
from proofs_tests.srt.test_theorem_34 import pair_of_transducers

BOTH, SECOND = (without_epsilon(sremo_to_srt(sre(text))) for text in ("A^ . B^", "A . B^"))


def test_the_printed_product_fails_on_two_events() -> None:
    S = events("AB")
    assert runs.matches(BOTH, S) == {(0, 1)}
    assert runs.matches(SECOND, S) == {(1,)}
    assert runs.matches(product_of_any_marks(BOTH, SECOND), S) == {(1,)}


def test_the_corrected_one_does_not() -> None:
    assert runs.matches(intersection(BOTH, SECOND), events("AB")) == frozenset()


def test_on_random_transducers_the_printed_one_fails_and_the_corrected_one_never() -> None:
    failures = with_matches = 0
    for seed in range(300):
        A, B, S = pair_of_transducers(Random(seed))
        expected = runs.matches(A, S) & runs.matches(B, S)
        assert runs.matches(intersection(A, B), S) == expected
        failures += runs.matches(product_of_any_marks(A, B), S) != expected
        with_matches += bool(expected)
    assert with_matches > 150
    assert failures > 0
