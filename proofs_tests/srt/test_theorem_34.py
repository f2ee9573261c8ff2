"""Theorem 34: intersection, closed, and open with registers that both read (SRT Thm. 34)."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from cerlab import Event, IllFormed
from cerlab.automata.automaton import Mark
from cerlab.automata.compose import intersection, product
from cerlab.automata.registers import Srt, rename, written_registers
from cerlab.model.answer import Registers
from cerlab.theorems import srt as runs
from proofs_tests.srt.cases import random_event, random_srt, step, with_word
from proofs_tests.suite import Suite, random_suite


def pair_of_transducers(rng: Random) -> tuple[Srt, Srt, list[Event]]:
    """Two transducers that have much in common, neither all of the other, and a string."""
    T, S = with_word(rng, random_srt)
    return vary(rng, T), vary(rng, T), S


def vary(rng: Random, T: Srt) -> Srt:
    """Up to two transitions more, one with another mark, and sometimes one less."""
    more = [t for t in random_srt(rng).Delta if max(t.source, t.target) < T.states][:2]
    t = rng.choice(T.Delta)
    more.append(t._replace(mark=Mark.SKIP if t.mark is Mark.TAKE else Mark.TAKE))
    less = rng.randrange(len(T.Delta)) if rng.random() < 0.15 else len(T.Delta)
    return replace(T, Delta=(*T.Delta[:less], *T.Delta[less + 1 :], *more))


def check_intersection(rng: Random) -> bool:
    """Most have a match that both have, and one that the other has not."""
    A, B, S = pair_of_transducers(rng)
    left, right = runs.matches(A, S), runs.matches(B, S)
    assert runs.matches(intersection(A, B), S) == left & right, f"{A}\nand {B}\non {S}"
    return bool(left & right) and left != right


def test_p6_intersection_from_empty_registers(suite: Suite) -> None:
    suite.run(check_intersection, deep_count=10_000, needs_answers=0.4)


@random_suite(10_000)
def test_p6_with_registers_that_both_read(rng: Random) -> bool:
    """Each side writes separate registers, and their contents at the end are united."""
    A, B, S = pair_of_transducers(rng)
    A = rename(A, {"r": "a", "s": "c"}.__getitem__)
    B = rename(B, {"r": "b", "s": "c"}.__getitem__)
    A, B = without_writes_of("c", A), without_writes_of("c", B)
    v = Registers({r: random_event(rng) for r in "abc" if rng.random() < 0.6})
    expected = {
        (M1, Registers({**v1, **{r: t for r, t in v2.items() if r == "b"}}))
        for M1, v1 in runs.outcomes(A, S, v)
        for M2, v2 in runs.outcomes(B, S, v)
        if M1 == M2
    }
    assert runs.outcomes(product(A, B), S, v) == expected, f"{A}\nand {B}\non {S} from {v}"
    return bool(expected)


def without_writes_of(r: str, T: Srt) -> Srt:
    return replace(T, Delta=tuple(t._replace(writes=t.writes - {r}) for t in T.Delta))


def test_what_one_side_writes_the_other_may_not_use() -> None:
    writer = Srt(2, (step(0, "TRUE -> r", 1),), frozenset({0}), frozenset({1}), R=frozenset("r"))
    reader = Srt(2, (step(0, "v = r.v", 1),), frozenset({0}), frozenset({1}), R=frozenset("r"))
    assert written_registers(writer) == {"r"}
    assert product(reader, reader).states == 2
    for A, B in ((writer, reader), (reader, writer), (writer, writer)):
        with pytest.raises(IllFormed, match="CER0284"):
            product(A, B)
    assert {"r", "r_"} == intersection(writer, reader).R
