"""One register written at a time is enough (SRT Lemma S1)."""

from __future__ import annotations

from random import Random

from cerlab.automata.registers import Srt
from cerlab.theorems import srt as runs
from cerlab.theorems.srt import single_register
from proofs_tests.srt.cases import random_srt, step, with_word
from proofs_tests.suite import random_suite


@random_suite(10_000)
def test_p4_the_same_matches_with_as_many_registers(rng: Random) -> bool:
    T, S = with_word(rng, random_srt)
    one = single_register(T)
    matches = runs.matches(T, S)
    assert runs.matches(one, S) == matches, f"{T}\non {S}"
    assert all(len(t.writes) <= 1 for t in one.Delta)
    assert len(one.R) == len(T.R)
    assert one.states <= T.states * (len(T.R) + 1) ** len(T.R)
    return bool(matches)


def test_registers_share_a_place_while_they_hold_one_event() -> None:
    Delta = (
        step(0, "TRUE -> r, s", 1),
        step(1, "v != r.v -> s", 2),
        step(2, "v = r.v AND v != s.v ^", 3),
    )
    one = single_register(Srt(4, Delta, frozenset({0}), frozenset({3}), R=frozenset("rs")))
    assert [sorted(t.writes) for t in one.Delta] == [["p1"], ["p2"], []]
    assert one.Delta[2].guard == step(0, "v = p1.v AND v != p2.v", 0).guard
