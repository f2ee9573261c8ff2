"""Lemma 46: unrolling to a window, one register for each depth (SRT Lemma 46; SRT Lemma S3)."""

from __future__ import annotations

from collections import Counter
from random import Random

from cerlab.automata.epsilon import without_epsilon
from cerlab.automata.registers import Srt, longest
from cerlab.automata.unrolled import depths, length_window, mark_bounded, span_window, unroll
from cerlab.compile.sremo_to_srt import sremo_to_srt
from cerlab.logic.sremo import matches
from cerlab.logic.sremo import syntax as sre
from cerlab.model.answer import Registers
from cerlab.testing import random_sremo
from cerlab.theorems import srt as runs
from cerlab.theorems.srt import single_register
from proofs_tests.srt.cases import (
    SHAPE,
    Matches,
    random_event,
    random_srt,
    step,
    with_match,
    with_word,
)
from proofs_tests.suite import random_suite


@random_suite(10_000)
def test_p8_unrolled_it_matches_strings_up_to_the_window(rng: Random) -> bool:
    """No state is passed twice, and each register is written at most once in a run."""
    T, S = with_word(rng, random_srt, 4)
    w = rng.choice((len(S), len(S), len(S) + 1, len(S) - 1)) if S else 1
    U = unroll(T, w)
    expected = runs.matches(T, S) if len(S) <= w else frozenset()
    assert runs.matches(U, S) == expected, f"{T}\nin {w} on {S}"
    assert all(len(t.writes) <= 1 for t in U.Delta)
    at = depths(U)
    assert None not in at.values()
    writes = {(r, at[t.source]) for t in U.Delta for r in t.writes}
    assert len(writes) == len({r for r, _ in writes}), "a register at two depths"
    for path in runs.paths(U, S):
        assert len({U.q0, *(t.target for t in path)}) == len(path) + 1
        assert max(Counter(r for t in path for r in t.writes).values(), default=0) <= 1
    return bool(expected)


@random_suite(4_000)
def test_p8_of_an_expression_compiled_and_reduced_to_one_write(rng: Random) -> bool:
    """The three steps of (SRT Alg. 3), against the length window of the relation."""
    e, S = with_match(rng, lambda rng: random_sremo(rng, SHAPE, "core"))
    w = max(0, len(S) + rng.choice((0, 0, 1, -1)))
    T = single_register(without_epsilon(sremo_to_srt(e)))
    expected = matches(sre.LengthWindow(e, w), S)
    assert runs.matches(unroll(T, w), S) == expected, f"{e}\nin {w} on {S}"
    return bool(expected)


@random_suite(10_000)
def test_p8_with_registers_from_before(rng: Random) -> bool:
    """Registers of the context keep their names and are read until they are written anew."""
    T, S = with_word(rng, random_srt, 4)
    v = Registers({r: random_event(rng) for r in ("r", "s") if rng.random() < 0.7})
    U = unroll(T, len(S), T.R)
    expected = {M for M, _ in runs.outcomes(T, S, v)}
    assert {M for M, _ in runs.outcomes(U, S, v)} == expected, f"{T}\non {S} from {v}"
    return bool(expected)


def test_unrolled_by_zero_steps_it_is_the_initial_state_and_by_one_its_transitions() -> None:
    """Copies the initial state's transitions, each to a new state (SRT Alg. 5; SRT Alg. 6)."""
    Delta = (step(0, "TRUE -> r", 0), step(0, "v = r.v", 1), step(1, "TRUE", 1))
    T = Srt(2, Delta, frozenset({0}), frozenset({0, 1}), R=frozenset({"r"}))
    zero, one = unroll(T, 0), unroll(T, 1)
    assert (zero.states, zero.Delta, zero.F) == (1, (), frozenset({0}))
    assert [(t.source, t.target, len(t.writes)) for t in one.Delta] == [(0, 1, 1)]
    assert {0, 1} == one.F, "what reads r before it is written can never be passed"


@random_suite(10_000)
def test_windows_keep_the_matches_that_are_short_enough(rng: Random) -> bool:
    """Length of the string, span of the marks (SRT Def. 39): P12 of the specification."""
    T, S = with_word(rng, random_srt)
    whole = runs.matches(T, S)
    for w in range(len(S) + 2):
        long_enough = len(S) <= w
        assert runs.matches(length_window(T, w), S) == (whole if long_enough else frozenset())
        if w:
            assert runs.matches(span_window(T, w), S) == short(whole, w), f"{T}\non {S}"
        if mark_bounded(T) and S:
            assert short(whole, w) == (whole if long_enough else frozenset())
    return bool(whole)


def short(Ms: Matches, w: int) -> Matches:
    return frozenset(M for M in Ms if not M or M[-1] - M[0] + 1 <= w)


@random_suite(1_000)
def test_the_longest_string_of_an_acyclic_transducer(rng: Random) -> bool:
    T = random_srt(rng)
    w = rng.choice((1, 2, 3))
    U = unroll(T, w)
    assert len(U.R) == w
    bound = longest(U)
    assert bound is not None
    assert bound <= w
    assert bound == max((d for q, d in depths(U).items() if q in U.F and d), default=0)
    return bound > 0
