"""Every transducer has an equivalent expression, by elimination of states (SRT Lemma S2).

Expressions mean what the relation says, transducers what their runs do; neither knows the other.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise, product
from random import Random

import pytest

import cerlab
from cerlab import Event, Sremo, parse_sremo
from cerlab.automata.automaton import EmptyMove
from cerlab.automata.registers import EpsilonSrt, Srt, Transducer
from cerlab.compile.sremo_to_srt import sremo_to_srt
from cerlab.logic.sremo import derivations, matches, sremo_text
from cerlab.logic.sremo import syntax as sre
from cerlab.logic.sremo.syntax import subexpressions
from cerlab.model.answer import Registers
from cerlab.testing import random_sremo
from cerlab.theorems import elimination as decompiler
from cerlab.theorems import srt as runs
from cerlab.theorems.elimination import srt_to_sremo
from cerlab.theorems.srt import single_register
from proofs_tests.sremo.tables import sre as parsed
from proofs_tests.srt.cases import (
    SHAPE,
    random_epsilon_srt,
    random_event,
    random_srt,
    step,
    with_match,
    with_word,
)
from proofs_tests.srt.figures import FIG_4, FIG_12
from proofs_tests.suite import Suite, random_suite

CORE = (sre.Epsilon, sre.Empty, sre.Terminal, sre.Concat, sre.Alternation, sre.Star)


def some_transducer(rng: Random) -> Transducer:
    return random_epsilon_srt(rng) if rng.random() < 0.5 else random_srt(rng)


def check_there(rng: Random) -> bool:
    """``M(T, S, v, v') = {M | (e, S, M, v) |- v'}``, from empty registers or from others."""
    T, S = with_word(rng, some_transducer)
    e = srt_to_sremo(T)
    v = Registers({r: random_event(rng) for r in ("r", "s") if rng.random() < 0.3})
    outcomes = {(tuple(sorted(M)), v2) for end, M, v2 in derivations(e, S, 0, v) if end == len(S)}
    assert outcomes == runs.outcomes(T, S, v), f"{T}\nis not {e}\non {S} from {v}"
    return bool(outcomes)


def check_by_one_register(rng: Random) -> bool:
    """With no sets to write, which are not in the grammar as printed (erratum SRT-E9)."""
    T, S = with_word(rng, random_srt)
    e = srt_to_sremo(single_register(T))
    assert all(len(part.writes) <= 1 for part in terminals(e))
    assert matches(e, S) == runs.matches(T, S), f"{T}\nis not {e}\non {S}"
    return bool(matches(e, S))


def check_there_and_back(rng: Random) -> bool:
    e, S = with_match(rng, lambda rng: random_sremo(rng, SHAPE, "core"))
    again = srt_to_sremo(sremo_to_srt(e))
    assert matches(again, S) == matches(e, S), f"{e}\nis not {again}\non {S}"
    return bool(matches(e, S))


@pytest.mark.parametrize("check", [check_there, check_by_one_register, check_there_and_back])
def test_p4_transducers_and_expressions_have_the_same_matches(
    check: Callable[[Random], bool], suite: Suite
) -> None:
    suite.run(check, deep_count=10_000)


LETTERS = [Event(R, {"v": v, "w": 0}) for R in "AB" for v in (1, 2)]


@random_suite(400)
def test_on_all_strings_of_up_to_three_events(rng: Random) -> bool:
    T = some_transducer(rng)
    e = srt_to_sremo(T)
    has_match = False
    for length in range(4):
        for S in product(LETTERS, repeat=length):
            Ms = runs.matches(T, S)
            assert matches(e, S) == Ms, f"{T}\nis not {e}\non {S}"
            has_match |= bool(Ms)
    return has_match


@random_suite(4_000)
def test_it_has_the_operators_of_the_definition_alone_and_a_text(rng: Random) -> bool:
    T = some_transducer(rng)
    e = srt_to_sremo(T)
    parts = list(subexpressions(e))
    assert all(isinstance(part, CORE) for part in parts)
    assert not any(isinstance(part, sre.Empty) for part in parts if part is not e)
    letters = {(t.guard, t.mark.name == "TAKE", t.writes) for t in T.Delta}
    assert {(t.guard, t.marked, t.writes) for t in terminals(e)} <= letters
    assert parse_sremo(sremo_text(e)) == e
    return len(parts) > 3


def terminals(e: Sremo) -> list[sre.Terminal]:
    return [part for part in subexpressions(e) if isinstance(part, sre.Terminal)]


@pytest.mark.parametrize(
    "text",
    ["EPS", "EMPTY", "A^ -> r", "A . B", "A | B", "EPS | A", "A*", "(A | B)* . C", "A . (B . C)*"],
)
def test_an_expression_comes_back_from_its_transducer(text: str) -> None:
    assert sremo_text(srt_to_sremo(sremo_to_srt(parsed(text)))) == sremo_text(parsed(text))


@pytest.mark.parametrize(
    ("T", "text"),
    [
        (FIG_4, "_* . B^ -> r1 . _* . <type = 'S' AND id = r1.id>^"),
        (FIG_12, "_* . _^ -> r . _* . <type = r.type>^"),
        (Srt(1, (), frozenset({0}), frozenset()), "EMPTY"),
        (Srt(1, (), frozenset({0}), frozenset({0})), "EPS"),
        (Srt(2, (step(0, "TRUE", 0),), frozenset({0}), frozenset({1})), "EMPTY"),
        (
            Srt(
                2,
                (step(0, "TRUE", 0), step(1, "TRUE", 0)),
                frozenset({0}),
                frozenset({0}),
                R=frozenset(),
            ),
            "_*",
        ),
        (
            EpsilonSrt(
                1, (), frozenset({0}), frozenset({0}), moves=(EmptyMove(0, 0),), R=frozenset()
            ),
            "EPS",
        ),
        (
            Srt(
                1,
                (step(0, "TRUE ^ -> r, s", 0),),
                frozenset({0}),
                frozenset({0}),
                R=frozenset("rs"),
            ),
            "(_^ -> {r, s})*",
        ),
        (
            Srt(2, (step(0, "v = 1", 1),) * 2, frozenset({0}), frozenset({1})),
            "<v = 1>",
        ),
    ],
)
def test_transducers_by_hand(T: Transducer, text: str) -> None:
    assert sremo_text(srt_to_sremo(T)) == sremo_text(parsed(text))


def complete(n: int) -> Srt:
    """All transitions between n states, each with its own guard."""
    Delta = tuple(step(p, f"v = {p * n + q}", q) for p in range(n) for q in range(n))
    return Srt(n, Delta, frozenset({0}), frozenset({n - 1}))


def test_sizes_grow_by_a_factor_with_each_state(monkeypatch: pytest.MonkeyPatch) -> None:
    """The exponential family; one that is too large is refused before it is written out."""
    sizes = [len(list(subexpressions(srt_to_sremo(complete(n))))) for n in range(1, 6)]
    assert all(later > 3 * earlier for earlier, later in pairwise(sizes))
    monkeypatch.setattr(decompiler, "MAX_SIZE", sizes[-1])
    assert srt_to_sremo(complete(5))
    monkeypatch.setattr(decompiler, "MAX_SIZE", sizes[-1] - 1)
    with pytest.raises(cerlab.ResourceLimit, match=f"CER0687.*{sizes[-1]:,}"):
        srt_to_sremo(complete(5))
    with pytest.raises(cerlab.ResourceLimit, match="CER0687"):
        srt_to_sremo(complete(40))


def test_what_is_nested_too_deep_is_refused() -> None:
    chain = Srt(
        300,
        tuple(step(q, "TRUE", q + 1) for q in range(299)),
        frozenset({0}),
        frozenset({299}),
        R=frozenset(),
    )
    with pytest.raises(cerlab.ResourceLimit, match="CER0680"):
        srt_to_sremo(chain)
