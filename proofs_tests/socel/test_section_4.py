"""FO-CEL by clauses with a start and an end is the one without (SOCEL Sec. 4; FOUND Sec. 3)."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from cerlab import Event, parse_formula
from cerlab.logic.cel import syntax as cel
from cerlab.logic.cel.semantics import is_atom
from cerlab.logic.focel.semantics import (
    Assignment,
    Sets,
    assignments,
    complex_events,
    free_variables,
    holds_under,
    vdef,
    vdef_plus,
    with_variables,
)
from cerlab.testing import Shape, random_events, random_fo_formula
from proofs_tests.suite import random_suite

SHAPE = Shape(depth=2, events=4, rich=False)


def between(phi: cel.Formula, S: Sequence[Event], i: int, j: int, nu: Assignment) -> Sets:
    """``[[phi]](S, i, j, nu)``: what begins at i or later and ends at j."""
    match phi:
        case cel.As(cel.Atom(R, stream), x):
            holds = i <= j == nu[x] and is_atom(S[j], R, stream)
            return frozenset({frozenset({j})}) if holds else frozenset()
        case cel.Filter(psi, condition):
            return between(psi, S, i, j, nu) if holds_under(condition, S, nu) else frozenset()
        case cel.Or(left, right):
            return between(left, S, i, j, nu) | between(right, S, i, j, nu)
        case cel.Seq(left, right):
            return frozenset(
                C1 | C2
                for k in range(i, j)
                for C1 in between(left, S, i, k, nu)
                for C2 in between(right, S, k + 1, j, nu)
            )
        case cel.Plus(psi):
            bindings = [{**nu, **rebound} for rebound in assignments(vdef_plus(psi), S)]
            once: Sets = frozenset().union(*(between(psi, S, i, j, each) for each in bindings))
            return once | frozenset(
                C1 | C2
                for k in range(i, j)
                for each in bindings
                for C1 in between(psi, S, i, k, each)
                for C2 in between(phi, S, k + 1, j, nu)
            )
        case cel.Count(psi, least, most, gaps=True):
            rounds = [{**nu, **rebound} for rebound in assignments(vdef_plus(psi), S)]
            last = least == 1
            later = cel.Count(psi, max(least - 1, 1), None if most is None else most - 1)
            return frozenset(
                C for each in rounds if last for C in between(psi, S, i, j, each)
            ) | frozenset(
                C1 | C2
                for k in range(i, j if most != 1 else i)
                for each in rounds
                for C1 in between(psi, S, i, k, each)
                for C2 in between(later, S, k + 1, j, nu)
            )
        case _:
            raise AssertionError(f"not in FO-CEL: {phi}")


def answers_at(phi: cel.Formula, S: Sequence[Event], n: int) -> Sets:
    """``[[phi]]_n(S)``: from the beginning to n, for some assignment."""
    return frozenset().union(
        *(between(phi, S, 0, n, nu) for nu in assignments(free_variables(phi), S))
    )


def small(rng: Random) -> cel.Formula:
    """One with up to three variables, as all assignments are tried."""
    while True:
        phi = with_variables(random_fo_formula(rng, SHAPE, binary=rng.random() < 0.3))
        if len(vdef(phi)) <= 3:
            return phi


@random_suite(2_000)
def test_the_greatest_position_is_the_end(rng: Random) -> bool:
    phi = small(rng)
    S = tuple(random_events(rng, phi, SHAPE))
    answers = complex_events(phi, S)
    for n in range(len(S)):
        expected = {C for C in answers if max(C) == n}
        assert answers_at(phi, S, n) == expected, (str(phi), S, n)
    return bool(answers)


def test_each_iteration_binds_its_variable_again() -> None:
    """An atom skips on its left; each iteration binds x anew."""
    S = [Event(kind) for kind in "ABA"]
    phi = with_variables(parse_formula("(A AS x)+"))
    assert [sorted(map(sorted, answers_at(phi, S, n))) for n in range(3)] == [
        [[0]],
        [],
        [[0, 2], [2]],
    ]
    assert between(parse_formula("A AS x"), S, 1, 2, {"x": 2}) == {frozenset({2})}
    assert not between(parse_formula("A AS x"), S, 1, 2, {"x": 0})
