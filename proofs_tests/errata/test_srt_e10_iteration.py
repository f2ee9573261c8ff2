"""SRT-E10: the iteration of transducers must empty the registers (SRT Def. 30; SRT Fig. 11).

By the definition, each iteration starts with empty registers. The drawing returns to the start with
the current registers. This is right for the operator ``*`` of expressions, but wrong for
Theorem 31.
"""

from __future__ import annotations

from random import Random

from cerlab.automata.automaton import as_kind
from cerlab.automata.epsilon import sequence, without_epsilon
from cerlab.automata.epsilon import star as star_of_expressions
from cerlab.automata.registers import EpsilonSrt, Srt
from cerlab.compile.sremo_to_srt import sremo_to_srt
from cerlab.theorems import srt as runs
from cerlab.theorems.srt import concatenation, star
from proofs_tests.sremo.tables import sre
from proofs_tests.srt.cases import events, random_srt, random_word
from proofs_tests.srt.test_theorem_31 import matches_of_parts

FRESH = without_epsilon(sremo_to_srt(sre("<NOT type = r.type>^ -> r")))
"""One event whose type is not that of r: any event, if r is empty."""


def as_drawn(T: Srt) -> EpsilonSrt:
    return star_of_expressions(as_kind(T, EpsilonSrt))


def test_the_drawing_fails_on_two_equal_events() -> None:
    S = events("AA")
    assert matches_of_parts(FRESH, S) == {(0, 1)}
    assert runs.matches(as_drawn(FRESH), S) == frozenset()
    assert runs.matches(star(FRESH), S) == {(0, 1)}


def test_concatenation_with_shared_registers_fails_too() -> None:
    """Each part begins with empty registers (SRT Thm. 31)."""
    S, fresh = events("AA"), as_kind(FRESH, EpsilonSrt)
    assert runs.matches(sequence(fresh, fresh), S) == frozenset()
    assert runs.matches(concatenation(FRESH, FRESH), S) == {(0, 1)}


def test_on_random_transducers_the_drawing_fails_and_the_corrected_one_never() -> None:
    failures = with_matches = 0
    for seed in range(300):
        rng = Random(seed)
        T = random_srt(rng)
        S = [t for _ in range(2) for t in random_word(rng, T, 2)]
        expected = matches_of_parts(T, S)
        assert runs.matches(star(T), S) == expected
        failures += runs.matches(as_drawn(T), S) != expected
        with_matches += bool(expected)
    assert with_matches > 100
    assert failures > 0
