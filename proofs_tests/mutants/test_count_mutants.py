"""Wrong constructions of counts: the comparison with the reference kills every one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

from cerlab import ResourceLimit, evaluate
from cerlab.automata import compose, epsilon
from cerlab.compile import cel_to_vcea, foundations
from cerlab.logic.focel import semantics
from cerlab.testing import Shape, random_events, random_fo_formula, random_formula
from cerlab.testing.cel import random_count
from cerlab.testing.choices import likely
from proofs_tests.mutants.driver import kills, mutant, on_seeds
from proofs_tests.suite import Suite

ITERATION, REPEAT = compose.iteration, epsilon.repeat
SHAPE = Shape(depth=1, events=7)


COUNTED = 0.5
"""The chance that a case has a count around the whole; every wrong bound is seen there."""


def agree(rng: Random) -> bool:
    """The automaton and the transducer of a count, against the reference."""
    phi = random_formula(rng, SHAPE)
    if likely(rng, COUNTED):
        phi = random_count(rng, phi, gaps=likely(rng, 0.7))
    events = random_events(rng, phi, SHAPE)
    answers = evaluate(phi, events, evaluator="reference")
    for evaluator in ("automaton", "registers"):
        assert evaluate(phi, events, evaluator=evaluator) == answers, (phi, events)
    return bool(answers)


def agree_in_first_order(rng: Random) -> bool:
    """The anchored automaton of FO-CEL, against its reference."""
    phi = random_fo_formula(rng, Shape(depth=1, rich=False))
    counted = random_count(rng, phi)
    if likely(rng, COUNTED) and semantics.unscoped_variable(counted) is None:
        phi = counted
    events = random_events(rng, phi, SHAPE)
    answers = evaluate(phi, events, evaluator="reference", logic="fo")
    try:
        assert evaluate(phi, events, evaluator="lists", logic="fo") == answers, (phi, events)
    except ResourceLimit:
        return False
    return bool(answers)


def counting(change: Callable[[int, int | None], tuple[int, int | None]], name: str) -> Any:
    """The construction with other bounds."""

    def wrong(A: Any, least: int = 1, most: int | None = None, *, gaps: bool) -> Any:
        return ITERATION(A, *change(least, most), gaps=gaps)

    wrong.__name__ = name
    return wrong


def contiguous(A: Any, least: int = 1, most: int | None = None, *, gaps: bool) -> Any:
    """Copies that follow each other at once."""
    return ITERATION(A, least, most, gaps=gaps and most is None)


def with_gaps(A: Any, least: int = 1, most: int | None = None, *, gaps: bool) -> Any:
    return ITERATION(A, least, most, gaps=True)


def one_gap_less(A: Any, least: int = 1, most: int | None = None, *, gaps: bool) -> Any:
    """The last copy follows at once."""
    whole = ITERATION(A, least, most, gaps=gaps)
    width = A.states + 1
    last = [t for t in whole.Delta if t.source == t.target and t.source % width == A.states]
    lost = last[-1:] if (most or least) > 1 else []
    return replace(whole, Delta=tuple(t for t in whole.Delta if t not in lost))


def nothing_in_one_event(A: Any, least: int = 1, most: int | None = None, *, gaps: bool) -> Any:
    """A copy reads two events at least, as in the printed iteration (erratum E9)."""
    whole = ITERATION(A, least, most, gaps=gaps)
    width = A.states + 1
    between = {q for q in range(whole.states) if q % width == A.states}
    lost = [
        t
        for t in whole.Delta
        if t.source in between and t.target in between and t.target > t.source
    ]
    return replace(whole, Delta=tuple(t for t in whole.Delta if t not in lost))


def finals_of_the_last_copy(A: Any, least: int, most: int | None) -> Any:
    return replace(REPEAT(A, least, most), F=REPEAT(A, most or least, most).F)


def finals_of_all_copies(A: Any, least: int, most: int | None) -> Any:
    whole = REPEAT(A, least, most)
    copies = most or least
    return replace(whole, F=frozenset(q + k * A.states for k in range(copies) for q in A.F))


def unrepeated(A: Any, least: int, most: int | None) -> Any:
    return REPEAT(A, least, most or least)


AGREEMENT = on_seeds(agree, 4_000)
FIRST_ORDER = on_seeds(agree_in_first_order, 4_000)
BOUNDS: tuple[tuple[str, Callable[[int, int | None], tuple[int, int | None]]], ...] = (
    ("from_one", lambda least, most: (1, most)),
    ("only_the_most", lambda least, most: (most or least, most)),
    ("only_the_least", lambda least, most: (least, least if most else None)),
    ("without_end", lambda least, most: (least, None)),
    ("always_ends", lambda least, most: (least, most or least + 1)),
    ("one_more", lambda least, most: (least, most and most + 1)),
    ("begins_later", lambda least, most: (least + (most is None and least > 1), most)),
)
MUTANTS = [
    *(mutant(AGREEMENT, cel_to_vcea, "iteration", counting(f, name)) for name, f in BOUNDS),
    mutant(AGREEMENT, cel_to_vcea, "iteration", contiguous),
    mutant(AGREEMENT, cel_to_vcea, "iteration", with_gaps),
    mutant(AGREEMENT, cel_to_vcea, "iteration", one_gap_less),
    mutant(AGREEMENT, cel_to_vcea, "iteration", nothing_in_one_event),
    mutant(FIRST_ORDER, foundations, "repeat", finals_of_the_last_copy),
    mutant(FIRST_ORDER, foundations, "repeat", finals_of_all_copies),
    mutant(FIRST_ORDER, foundations, "repeat", unrepeated),
]


test_the_reference_kills = kills(MUTANTS)


def test_the_right_constructions_agree(suite: Suite) -> None:
    suite.run(agree, deep_count=4_000)
    suite.run(agree_in_first_order, deep_count=4_000, needs_answers=0.4)
