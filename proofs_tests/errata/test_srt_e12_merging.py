"""SRT-E12: transitions that write different registers must not be merged (SRT Alg. 2).

The report merges the transitions of a closure by guard and mark, and unites their registers and
targets. It may also visit the same set several times.
"""

from __future__ import annotations

from random import Random

import pytest

from cerlab.automata.epsilon import merge, without_epsilon
from cerlab.automata.registers import Srt
from cerlab.compile.sremo_to_srt import sremo_to_srt
from cerlab.theorems import srt as runs
from proofs_tests.sremo.tables import sre
from proofs_tests.srt.cases import events, random_epsilon_srt, step, with_word
from proofs_tests.srt.printed import merged_by_guard_and_mark, sets_visited

T = sremo_to_srt(sre("_^ -> r . (_^ -> r . A^ | _^ . <type = r.type>^)"))


@pytest.mark.parametrize(("types", "expected"), [("BCB", {(0, 1, 2)}), ("BCC", set())])
def test_the_printed_merging_fails_on_three_events(
    types: str, expected: set[tuple[int, ...]]
) -> None:
    """The second event is stored by one branch; merged, the other one compares with it."""
    S = events(types)
    assert runs.matches(T, S) == expected
    assert runs.matches(merged_by_guard_and_mark(T), S) == {(0, 1, 2)} - expected
    assert runs.matches(merge(T), S) == runs.matches(without_epsilon(T), S) == expected


def test_the_report_s_pattern_in_wayeb_s_syntax() -> None:
    """``;(A["x"], +(;(B["y"], C), ;(B, EQ(y))))`` on A1 B2 D2."""
    e = sre("A^ -> x . (B^ -> y . C^ | B^ . <v = y.v>^)")
    S = events("ABD", v="122")
    assert runs.matches(sremo_to_srt(e), S) == runs.matches(merge(sremo_to_srt(e)), S) == set()
    assert runs.matches(merged_by_guard_and_mark(sremo_to_srt(e)), S) == {(0, 1, 2)}


def test_the_printed_frontier_does_not_become_empty() -> None:
    """Two states that lead to each other: the sets come back for ever."""
    cycle = Srt(
        2, (step(0, "TRUE", 1), step(1, "TRUE", 0)), frozenset({0}), frozenset({0}), R=frozenset()
    )
    assert sets_visited(cycle, 10_000) == 10_000
    assert merge(cycle).states == 2


def test_on_random_transducers_the_printed_one_fails_and_the_corrected_one_never() -> None:
    failures = with_matches = 0
    for seed in range(600):
        U, S = with_word(Random(seed), random_epsilon_srt)
        expected = runs.matches(U, S)
        assert runs.matches(merge(U), S) == expected
        failures += runs.matches(merged_by_guard_and_mark(U), S) != expected
        with_matches += bool(expected)
    assert with_matches > 300
    assert failures > 0
