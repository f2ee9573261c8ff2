"""Theorem 27: every expression has a transducer with the same matches (SRT Thm. 27).

P2 of the specification: closed, from empty registers, and open, from any registers to any. The
cases that were computed by hand are a way of `proofs_tests.conformance.ways`.
"""

from __future__ import annotations

from random import Random

import pytest

from cerlab import ResourceLimit, Sremo, Unsupported
from cerlab.automata.epsilon import without_epsilon
from cerlab.compile.sremo_to_srt import registers, sremo_to_srt
from cerlab.logic.sremo import derivations, matches
from cerlab.logic.sremo import syntax as sre
from cerlab.model.answer import Registers
from cerlab.testing import random_sremo
from cerlab.theorems import srt as runs
from cerlab.theorems.srt import Outcome
from proofs_tests.sremo.tables import sre as parsed
from proofs_tests.srt.cases import SHAPE, random_event, with_match, without_clocks
from proofs_tests.suite import random_suite


@random_suite(10_000)
def test_p2_the_transducer_has_the_matches_of_the_expression(rng: Random) -> bool | None:
    e, S = with_match(rng, without_clocks)
    try:
        T = sremo_to_srt(e)
    except (Unsupported, ResourceLimit) as refused:
        may_refuse(e, refused)
        return None
    expected = matches(e, S)
    assert runs.matches(T, S) == expected, f"{e}\non {S}"
    return bool(expected)


def may_refuse(e: Sremo, error: Exception) -> None:
    """Only a negation may be refused; such a case is not judged."""
    assert any(isinstance(each, sre.Negation | sre.SkipNext) for each in sre.subexpressions(e))
    assert isinstance(error, Unsupported | ResourceLimit)
    assert error.code in ("CER0487", "CER0605")


@random_suite(10_000)
def test_p2_from_any_registers_to_any(rng: Random) -> bool | None:
    """``M(T, S, v, v') = {M | (e, S, M, v) |- v'}`` (SRT Def. 17)."""
    e, S = with_match(rng, lambda rng: random_sremo(rng, SHAPE, "core"))
    v = Registers({r: random_event(rng) for r in ("r", "s") if rng.random() < 0.5})
    right = {(tuple(sorted(M)), v2) for end, M, v2 in derivations(e, S, 0, v) if end == len(S)}
    T = sremo_to_srt(e)
    assert runs.outcomes(T, S, v) == right, f"{e}\non {S} from {v}"
    assert runs.outcomes(without_epsilon(T), S, v) == right
    return bool(right)


@random_suite(10_000)
def test_p2_from_any_registers_with_all_operators(rng: Random) -> bool | None:
    """Registers that complements add are not part of the expression's result."""
    e, S = with_match(rng, without_clocks)
    v = Registers({r: random_event(rng) for r in ("r", "s") if rng.random() < 0.5})
    try:
        T = sremo_to_srt(e)
    except (Unsupported, ResourceLimit) as refused:
        may_refuse(e, refused)
        return None
    right = {(tuple(sorted(M)), v2) for end, M, v2 in derivations(e, S, 0, v) if end == len(S)}
    private = T.R - registers(e)
    outcomes = {Outcome(M, without(private, v2)) for M, v2 in runs.outcomes(T, S, v)}
    assert outcomes == right, f"{e}\non {S} from {v}"
    return bool(right)


def without(these: frozenset[str], v: Registers) -> Registers:
    return Registers({r: t for r, t in v.items() if r not in these})


@pytest.mark.parametrize(
    ("text", "states", "transitions", "silent"),
    [
        ("EPS", 2, 0, 1),
        ("EMPTY", 2, 0, 0),
        ("A^ -> r", 2, 1, 0),
        ("A . B", 4, 2, 1),
        ("A | B", 6, 2, 4),
        ("A*", 4, 1, 4),
        ("(A | B) . (C*)", 10, 3, 9),
    ],
)
def test_the_size_is_linear(text: str, states: int, transitions: int, silent: int) -> None:
    T = sremo_to_srt(parsed(text))
    assert (T.states, len(T.Delta), len(T.moves), len(T.F)) == (states, transitions, silent, 1)


def test_registers_that_are_only_read_are_registers() -> None:
    """Also below NOT, AND and OR, and where nothing is written (erratum SRT-E9)."""
    e = parsed("<NOT (v = r.v AND v < s.v)> -> t")
    assert registers(e) == sremo_to_srt(e).R == {"r", "s", "t"}
