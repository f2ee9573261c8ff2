"""Theorem 31: union, concatenation and iteration of closed transducers (SRT Thm. 31)."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from cerlab import Event
from cerlab.automata.epsilon import streaming, without_epsilon
from cerlab.automata.registers import Srt
from cerlab.theorems import srt as runs
from cerlab.theorems.srt import concatenation, star, union
from proofs_tests.srt.cases import (
    Matches,
    random_epsilon_srt,
    random_srt,
    random_word,
    shift,
    with_word,
)
from proofs_tests.suite import random_suite


@random_suite(10_000)
def test_p5_union(rng: Random) -> bool:
    A, B = random_epsilon_srt(rng), random_epsilon_srt(rng)
    S = random_word(rng, rng.choice((A, B)))
    matches = runs.matches(union(A, B), S)
    assert matches == runs.matches(A, S) | runs.matches(B, S)
    return bool(matches)


@random_suite(10_000)
def test_p5_concatenation_over_all_splits(rng: Random) -> bool:
    """Both parts begin with empty registers, and the second match is shifted (SRT Def. 30)."""
    (A, S1), (B, S2) = (with_word(rng, random_epsilon_srt, 3) for _ in range(2))
    S = S1 + S2
    matches = runs.matches(concatenation(A, B), S)
    splits = [(runs.matches(A, S[:m]), shift(runs.matches(B, S[m:]), m)) for m in range(len(S) + 1)]
    assert matches == {M + N for before, after in splits for M in before for N in after}
    return bool(matches)


@random_suite(10_000)
def test_p5_iteration_begins_with_empty_registers_each_time(rng: Random) -> bool:
    T = random_srt(rng) if rng.random() < 0.5 else without_epsilon(random_epsilon_srt(rng))
    S = [t for _ in range(rng.choice((1, 2, 2, 3))) for t in random_word(rng, T, 2)]
    matches = runs.matches(star(T), S)
    assert matches == matches_of_parts(T, S), f"{T}\non {S}"
    return bool(matches)


def matches_of_parts(T: Srt, S: Sequence[Event]) -> Matches:
    """Over all decompositions of S into parts that are not empty, a match of each."""
    until: list[Matches] = [frozenset({()})]
    for k in range(1, len(S) + 1):
        until.append(
            frozenset(
                M + N for m in range(k) for N in shift(runs.matches(T, S[m:k]), m) for M in until[m]
            )
        )
    return until[-1]


@random_suite(10_000)
def test_p7_streaming_is_the_union_over_starts(rng: Random) -> bool:
    """``Match(streaming(T), S[..k])`` is that of T on all S[m..k] (SRT Def. 32)."""
    T = random_epsilon_srt(rng)
    S = [*random_word(rng, T, 2), *random_word(rng, T, 3)]
    for k in range(len(S) + 1):
        matches = runs.matches(streaming(T), S[:k])
        starts = [shift(runs.matches(T, S[m:k]), m) for m in range(k + 1)]
        assert matches == frozenset[tuple[int, ...]]().union(*starts)
    return bool(matches)
