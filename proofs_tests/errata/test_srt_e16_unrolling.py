"""SRT-E16 for transducers: unrolling bounds the length, not the span (SRT Lemma 46; SRT Def. 39).

``test_srt_e16_span_and_length`` tests the semantics.
"""

from __future__ import annotations

from random import Random

from cerlab.automata.epsilon import without_epsilon
from cerlab.automata.unrolled import length_window, mark_bounded, span_window, unroll
from cerlab.compile.sremo_to_srt import sremo_to_srt
from cerlab.theorems import srt as runs
from proofs_tests.sremo.tables import sre
from proofs_tests.srt.cases import events, random_srt, with_word

ANYWHERE = without_epsilon(sremo_to_srt(sre("_* . A^")))


def test_unrolling_loses_a_match_that_the_span_window_keeps() -> None:
    S = events("BBA")
    assert runs.matches(span_window(ANYWHERE, 1), S) == {(2,)}
    assert runs.matches(unroll(ANYWHERE, 1), S) == frozenset()
    assert runs.matches(length_window(ANYWHERE, 1), S) == frozenset()


def test_unrolling_is_right_where_both_ends_are_marked() -> None:
    differ = with_bounds = 0
    for seed in range(400):
        rng = Random(seed)
        T, S = with_word(rng, random_srt)
        w = rng.choice((1, 2, 3))
        span, length = runs.matches(span_window(T, w), S), runs.matches(unroll(T, w), S)
        assert length <= span
        assert length == span or not mark_bounded(T)
        differ += length != span
        with_bounds += mark_bounded(T) and bool(span)
    assert differ > 20
    assert with_bounds > 20
