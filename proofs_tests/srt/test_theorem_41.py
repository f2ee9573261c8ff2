"""Theorem 41 and Corollary 43: determinisation and complement (SRT Thm. 41; SRT Cor. 43)."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, combinations
from random import Random

import pytest

from cerlab import Event, ResourceLimit, Unsupported, satisfies
from cerlab.automata.automaton import Mark
from cerlab.automata.epsilon import streaming, without_epsilon
from cerlab.automata.registers import Srt
from cerlab.automata.unrolled import (
    complement,
    determinise,
    io_determinise,
    match_complement,
    minterms,
    unroll,
)
from cerlab.compile.sremo_to_srt import sremo_to_srt
from cerlab.logic.sremo import matches
from cerlab.logic.sremo import syntax as sre
from cerlab.model.answer import Registers
from cerlab.predicates.syntax import And, Not
from cerlab.testing import Shape, random_sremo
from cerlab.theorems import srt as runs
from proofs_tests.srt.cases import (
    Matches,
    guard,
    random_event,
    random_srt,
    random_terminal,
    step,
    with_match,
    with_word,
)
from proofs_tests.suite import Suite, random_suite


def draw(rng: Random) -> tuple[Srt, list[Event], Matches]:
    """A transducer unrolled to a window, a string that may be longer, and the matches on it.

    It is any one, or of an expression whose window says what the matches are, or one that may begin
    anywhere, so that runs that differ write at the same event.
    """
    w = rng.choice((2, 3, 3))
    kind = rng.choice(("any", "any", "expression", "anywhere"))
    if kind == "expression":
        e, S = with_match(rng, lambda rng: random_sremo(rng, Shape(depth=2), "core"))
        U = unroll(without_epsilon(sremo_to_srt(e)), w)
        return U, S[: w + 1], matches(sre.LengthWindow(e, w), S[: w + 1])
    T, S = with_word(rng, random_srt, w)
    if kind == "anywhere":
        w, T, S = 2, without_epsilon(streaming(T)), [random_event(rng), *S][:2]
    if rng.random() < 0.1:
        S.append(random_event(rng))
    return unroll(T, w), S, runs.matches(T, S) if len(S) <= w else frozenset()


def check_language(rng: Random) -> bool:
    U, S, Ms = draw(rng)
    D = determinise(U)
    assert runs.accepts(D, S) == bool(Ms), f"{U}\non {S}"
    assert len(runs.paths(D, S)) == 1
    assert not any(t.mark is Mark.TAKE for t in D.Delta)
    return bool(Ms)


def test_p9_the_language_of_the_determinised_one_and_one_run(suite: Suite) -> None:
    suite.run(check_language, deep_count=10_000)


@random_suite(10_000)
def test_p9_minterms_exclude_each_other_and_leave_nothing_out(rng: Random) -> bool:
    guards = [random_terminal(rng).guard for _ in range(rng.choice((1, 2, 3)))]
    t = random_event(rng)
    v = Registers({r: random_event(rng) for r in ("r", "s") if rng.random() < 0.5})
    true = [m for m in minterms(guards) if satisfies(t, m.guard, v)]
    assert len(true) == 1
    holding = {g for g in guards if satisfies(t, g, v)}
    assert set(guards) & true[0].holding == holding
    return bool(holding)


@random_suite(10_000)
def test_p10_the_complement_accepts_all_other_strings(rng: Random) -> bool:
    """Includes strings longer than the window."""
    U, S, Ms = draw(rng)
    N = complement(U)
    assert runs.matches(N, S) == (frozenset() if Ms else {()}), f"{U}\non {S}"
    return bool(Ms)


@random_suite(10_000)
def test_p11_io_determinised_it_keeps_the_matches(rng: Random) -> bool:
    """Each string with each set of marks has exactly one run."""
    U, S, Ms = draw(rng)
    D = io_determinise(U)
    assert runs.matches(D, S) == Ms, f"{U}\non {S}"
    marks = sorted(map(runs.marks_of, runs.paths(D, S)))
    assert marks == sorted(subsets(len(S)))
    return bool(Ms)


@random_suite(10_000)
def test_p11_the_complement_of_matches(rng: Random) -> bool:
    """Gives, on each string, all sets of positions outside the matches (SRT Def. 33)."""
    U, S, Ms = draw(rng)
    assert runs.matches(match_complement(U), S) == set(subsets(len(S))) - Ms
    return bool(Ms)


def subsets(n: int) -> list[tuple[int, ...]]:
    return list(chain.from_iterable(combinations(range(n), k) for k in range(n + 1)))


def write_free(rng: Random) -> Srt:
    T = random_srt(rng)
    return Srt(
        T.states, tuple(t._replace(writes=frozenset()) for t in T.Delta), frozenset({0}), T.F, R=T.R
    )


@random_suite(10_000)
def test_without_writes_no_window_is_needed(rng: Random) -> bool:
    """Registers that are only read are constants, whatever they hold (SRT Sec. 5.2)."""
    v = Registers({r: random_event(rng) for r in ("r", "s") if rng.random() < 0.7})
    for _ in range(6):
        T, S = with_word(rng, write_free)
        if runs.outcomes(T, S, v):
            break
    Ms = {M for M, _ in runs.outcomes(T, S, v)}
    assert bool(runs.outcomes(complement(T), S, v)) == (not Ms)
    assert {M for M, _ in runs.outcomes(io_determinise(T), S, v)} == Ms
    return bool(Ms)


WRITES = step(0, "type = 'B' ^ -> r", 1)
READS = (step(1, "TRUE", 1), step(1, "v = r.v ^", 2))
LATER = Srt(3, (WRITES, *READS), frozenset({0}), frozenset({2}), R=frozenset("r"))
ANYWHERE = Srt(
    3, (step(0, "TRUE", 0), WRITES, *READS), frozenset({0}), frozenset({2}), R=frozenset("r")
)
"""Fig. 4: a B, and at the end an event with its value."""

SOMETIMES = Srt(
    3,
    (WRITES, step(0, "type = 'A'", 1), step(1, "v = r.v ^", 2)),
    frozenset({0}),
    frozenset({2}),
    R=frozenset("r"),
)
"""Only one of two ways to state 1 writes what it reads."""


BESIDE = replace(SOMETIMES, states=4, Delta=(step(3, "TRUE", 2), *SOMETIMES.Delta))
"""The same after a transition that no run takes."""

REFUSALS = {"Fig. 4": ANYWHERE, "written on some ways": SOMETIMES, "after another one": BESIDE}


@pytest.mark.parametrize("T", REFUSALS.values(), ids=REFUSALS)
@pytest.mark.parametrize("construct", [determinise, io_determinise, complement, match_complement])
def test_what_may_have_no_deterministic_transducer_is_refused(T: Srt, construct: object) -> None:
    """There is neither in general (SRT Thm. 35; SRT Thm. 38)."""
    with pytest.raises(Unsupported, match="CER0484") as caught:
        construct(T)  # type: ignore[operator]
    assert "[len<=w]" in caught.value.hint
    construct(unroll(T, 3))  # type: ignore[operator]


def test_what_a_register_holds_may_depend_on_the_string_alone() -> None:
    """Then a transducer is determinised as it is, without a window and with a loop."""
    D = determinise(LATER)
    for S, belongs in (("B1 A1", True), ("B1 A2 A1", True), ("B1 A2", False), ("A1 A1", False)):
        word = [Event(each[0], {"v": int(each[1])}) for each in S.split()]
        assert runs.accepts(D, word) == runs.accepts(LATER, word) == belongs


def test_too_many_guards_are_refused() -> None:
    Delta = tuple(step(0, f"v = {n}", 0) for n in range(20))
    with pytest.raises(ResourceLimit, match="CER0605"):
        determinise(Srt(1, Delta, frozenset({0}), frozenset({0})))


def test_minterms_of_true_and_false() -> None:
    true, false, a = guard("TRUE"), Not(guard("TRUE")), guard("type = 'A'")
    assert [m.guard for m in minterms([true, false])] == [true]
    assert [m.guard for m in minterms([true, a])] == [a, Not(a)]
    assert [m.holding >= {true} for m in minterms([true, a])] == [True, True]
    b = guard("type = 'B'")
    assert [m.guard for m in minterms([a, b])] == [
        And(a, b),
        And(Not(a), b),
        And(a, Not(b)),
        And(Not(a), Not(b)),
    ]
