"""SRT-E7 for transducers: with the last-mark condition, Theorem 31 is false (SRT Def. 24).

``test_srt_e7_last_mark`` tests the semantics.
"""

from __future__ import annotations

from random import Random

from cerlab.automata.epsilon import without_epsilon
from cerlab.automata.unrolled import match_complement, unroll
from cerlab.compile.sremo_to_srt import sremo_to_srt
from cerlab.logic.sremo import matches
from cerlab.testing import random_sremo, random_sremo_events
from cerlab.theorems import srt as runs
from cerlab.theorems.srt import concatenation
from proofs_tests.sremo.tables import sre
from proofs_tests.srt.cases import SHAPE, events

as_printed = runs.detects
"""The matches of runs whose last transition marks."""


def test_a_part_without_a_match_gives_one_in_a_concatenation() -> None:
    first, second = (sremo_to_srt(sre(text)) for text in ("A", "B^"))
    S = events("AB")
    assert all(not as_printed(first, S[:m]) for m in range(3))
    assert as_printed(concatenation(first, second), S) == {(1,)}
    assert runs.matches(first, S[:1]) == {()}


def test_no_transducer_has_the_empty_match_nor_its_complement() -> None:
    """So the complement of matches would not exist (SRT Def. 33)."""
    T = unroll(without_epsilon(sremo_to_srt(sre("A^"))), 1)
    for S in (events("A"), events("B")):
        assert () not in as_printed(T, S) | as_printed(match_complement(T), S)
        assert () in runs.matches(T, S) | runs.matches(match_complement(T), S)


def test_random_transducers_meet_it_and_theorem_27_fails_with_it() -> None:
    differ = 0
    for seed in range(300):
        rng = Random(seed)
        e = random_sremo(rng, SHAPE, "core")
        S = random_sremo_events(rng, e, SHAPE)
        T = sremo_to_srt(e)
        assert runs.matches(T, S) == matches(e, S)
        differ += as_printed(T, S) != matches(e, S)
    assert differ > 30
