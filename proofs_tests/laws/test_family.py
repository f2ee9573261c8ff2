"""Laws of the whole family, by the reference: strategies, AND, ALL, UNLESS, filters."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import combinations
from random import Random

import pytest

from cerlab import Event
from cerlab.logic.cel import syntax as cel
from cerlab.logic.cel.semantics import last_at_most, next_at_most, valuations
from cerlab.logic.cel.text import formula_text
from cerlab.logic.ceql.parser import parse_cel
from cerlab.model.answer import complex_event
from cerlab.model.clauses import Strategy
from cerlab.testing import Shape, random_events, random_formula
from proofs_tests.suite import random_suite

SHAPE = Shape(depth=2, events=5, family=True)


def random_example(rng: Random) -> tuple[cel.Formula, tuple[Event, ...]]:
    phi = random_formula(rng, SHAPE)
    return phi, tuple(random_events(rng, phi, SHAPE))


@pytest.mark.parametrize("at_most", [next_at_most, last_at_most])
def test_lemma_1_the_orders_are_total(at_most: object) -> None:
    """On all subsets of five positions (FOUND Lemma 1)."""
    assert callable(at_most)
    sets = [frozenset(c) for r in range(6) for c in combinations(range(5), r)]
    above = {X: {Y for Y in sets if at_most(X, Y)} for X in sets}
    for X in sets:
        for Y in sets:
            assert Y in above[X] or X in above[Y]
            assert not (Y in above[X] and X in above[Y]) or X == Y
            assert Y not in above[X] or above[Y] <= above[X], "not transitive"
            for Z in sets[::5]:
                assert not (at_most(X, Y) and at_most(Y, Z)) or at_most(X, Z)


@random_suite(20_000)
def test_p15_next_and_last_are_among_max_and_at_most_one(rng: Random) -> bool:
    phi, S = random_example(rng)
    every = valuations(phi, S)
    selections = {s: valuations(cel.Select(s, phi), S) for s in Strategy}
    assert all(some <= every for some in selections.values())
    assert selections[Strategy.NXT] <= selections[Strategy.MAX]
    assert selections[Strategy.LAST] <= selections[Strategy.MAX]
    for strategy in (Strategy.NXT, Strategy.LAST):
        sets = {(V.end, complex_event(V).positions) for V in selections[strategy]}
        assert max(Counter(end for end, _ in sets).values(), default=0) <= 1
    ends = {V.end for V in every}
    for strategy in (Strategy.NXT, Strategy.LAST, Strategy.MAX):
        assert {V.end for V in selections[strategy]} == ends, "an end with answers keeps one"
    return bool(every)


@random_suite(4_000)
def test_laws_of_and_all_unless(rng: Random) -> bool:
    phi, S = random_example(rng)
    psi = random_formula(rng, replace(SHAPE, depth=1))
    chi = random_formula(rng, replace(SHAPE, depth=1))

    def equal(left: cel.Formula, right: cel.Formula) -> None:
        assert valuations(left, S) == valuations(right, S), (str(left), str(right))

    equal(cel.And(phi, phi), phi)
    equal(cel.And(phi, psi), cel.And(psi, phi))
    equal(cel.And(phi, cel.Or(psi, chi)), cel.Or(cel.And(phi, psi), cel.And(phi, chi)))
    equal(cel.All(phi, psi), cel.All(psi, phi))
    equal(cel.All(phi, cel.Or(psi, chi)), cel.Or(cel.All(phi, psi), cel.All(phi, chi)))
    equal(cel.Unless(cel.Or(phi, psi), chi), cel.Or(cel.Unless(phi, chi), cel.Unless(psi, chi)))
    equal(cel.Unless(phi, cel.Or(psi, chi)), cel.Unless(cel.Unless(phi, psi), chi))
    equal(cel.Unless(phi, phi), cel.And(cel.Unless(phi, phi), phi))
    assert not valuations(cel.Unless(phi, phi), S)
    assert valuations(cel.Seq(phi, psi), S) <= valuations(cel.All(phi, psi), S)
    return bool(valuations(phi, S))


@random_suite(10_000)
def test_text_of_the_whole_family(rng: Random) -> bool:
    phi = random_formula(rng, Shape(family=True))
    assert parse_cel(formula_text(phi))[0] == phi, formula_text(phi)
    return True
