"""Equivalences of CEL as the oracle sees them: P14 of the differential properties.

Each law is an equality of sets of valuations on random formulas and streams (CORE Table 2).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from random import Random

import pytest

from cerlab import Event
from cerlab.logic.cel import syntax as cel
from cerlab.logic.cel.semantics import valuations
from cerlab.logic.cel.text import formula_text
from cerlab.predicates.condition import On
from cerlab.predicates.syntax import And, Or
from cerlab.testing import Shape, random_condition, random_events, random_formula, random_predicate
from proofs_tests.suite import Suite, random_suite

SHAPE = Shape(depth=2, events=5)
Law = Callable[[Random, cel.Formula, cel.Formula, cel.Formula], tuple[cel.Formula, cel.Formula]]


def plus_twice(
    rng: Random, f: cel.Formula, g: cel.Formula, h: cel.Formula
) -> tuple[cel.Formula, cel.Formula]:
    return cel.Plus(cel.Plus(f)), cel.Plus(f)


def star_twice(
    rng: Random, f: cel.Formula, g: cel.Formula, h: cel.Formula
) -> tuple[cel.Formula, cel.Formula]:
    return cel.ConcatPlus(cel.ConcatPlus(f)), cel.ConcatPlus(f)


def plus_unfolded(
    rng: Random, f: cel.Formula, g: cel.Formula, h: cel.Formula
) -> tuple[cel.Formula, cel.Formula]:
    return cel.Plus(f), cel.Or(f, cel.Seq(f, cel.Plus(f)))


def plus_unfolded_at_the_end(
    rng: Random, f: cel.Formula, g: cel.Formula, h: cel.Formula
) -> tuple[cel.Formula, cel.Formula]:
    return cel.Plus(f), cel.Or(f, cel.Seq(cel.Plus(f), f))


def associative(op: type[cel.Seq] | type[cel.Concat] | type[cel.Or]) -> Law:
    def law(
        rng: Random, f: cel.Formula, g: cel.Formula, h: cel.Formula
    ) -> tuple[cel.Formula, cel.Formula]:
        return op(op(f, g), h), op(f, op(g, h))

    return law


def distributive(op: type[cel.Seq] | type[cel.Concat], *, left: bool) -> Law:
    def law(
        rng: Random, f: cel.Formula, g: cel.Formula, h: cel.Formula
    ) -> tuple[cel.Formula, cel.Formula]:
        if left:
            return op(f, cel.Or(g, h)), cel.Or(op(f, g), op(f, h))
        return op(cel.Or(g, h), f), cel.Or(op(g, f), op(h, f))

    return law


def filters_commute(
    rng: Random, f: cel.Formula, g: cel.Formula, h: cel.Formula
) -> tuple[cel.Formula, cel.Formula]:
    c, d = (random_condition(rng, labels_of(f), SHAPE) for _ in range(2))
    return cel.Filter(cel.Filter(f, c), d), cel.Filter(cel.Filter(f, d), c)


def filter_over_or(
    rng: Random, f: cel.Formula, g: cel.Formula, h: cel.Formula
) -> tuple[cel.Formula, cel.Formula]:
    c = random_condition(rng, labels_of(f, g), SHAPE)
    return cel.Filter(cel.Or(f, g), c), cel.Or(cel.Filter(f, c), cel.Filter(g, c))


def unary_filter_into_sequence(
    rng: Random, f: cel.Formula, g: cel.Formula, h: cel.Formula
) -> tuple[cel.Formula, cel.Formula]:
    """``X[P]`` is for all events of X, so it may be asked of each side."""
    c = On(rng.choice(labels_of(f, g)), random_predicate(rng, SHAPE))
    return cel.Filter(cel.Seq(f, g), c), cel.Seq(cel.Filter(f, c), cel.Filter(g, c))


def unary_filter_into_plus(
    rng: Random, f: cel.Formula, g: cel.Formula, h: cel.Formula
) -> tuple[cel.Formula, cel.Formula]:
    c = On(rng.choice(labels_of(f)), random_predicate(rng, SHAPE))
    return cel.Filter(cel.Plus(f), c), cel.Plus(cel.Filter(f, c))


def two_filters_are_one(
    rng: Random, f: cel.Formula, g: cel.Formula, h: cel.Formula
) -> tuple[cel.Formula, cel.Formula]:
    X = rng.choice(labels_of(f))
    P, Q = (random_predicate(rng, SHAPE) for _ in range(2))
    return cel.Filter(cel.Filter(f, On(X, P)), On(X, Q)), cel.Filter(f, On(X, And(P, Q)))


def filter_and_nests(
    rng: Random, f: cel.Formula, g: cel.Formula, h: cel.Formula
) -> tuple[cel.Formula, cel.Formula]:
    c, d = (random_condition(rng, labels_of(f), SHAPE) for _ in range(2))
    return cel.Filter(f, And(c, d)), cel.Filter(cel.Filter(f, c), d)


def filter_or_copies(
    rng: Random, f: cel.Formula, g: cel.Formula, h: cel.Formula
) -> tuple[cel.Formula, cel.Formula]:
    c, d = (random_condition(rng, labels_of(f), SHAPE) for _ in range(2))
    return cel.Filter(f, Or(c, d)), cel.Or(cel.Filter(f, c), cel.Filter(f, d))


def projections_compose(
    rng: Random, f: cel.Formula, g: cel.Formula, h: cel.Formula
) -> tuple[cel.Formula, cel.Formula]:
    L, M = (frozenset(X for X in labels_of(f) if rng.random() < 0.6) for _ in range(2))
    return cel.Project(L, cel.Project(M, f)), cel.Project(L & M, f)


def projection_over_sequence(
    rng: Random, f: cel.Formula, g: cel.Formula, h: cel.Formula
) -> tuple[cel.Formula, cel.Formula]:
    L = frozenset(X for X in labels_of(f, g) if rng.random() < 0.6)
    return cel.Project(L, cel.Seq(f, g)), cel.Seq(cel.Project(L, f), cel.Project(L, g))


def or_is_idempotent_and_commutative(
    rng: Random, f: cel.Formula, g: cel.Formula, h: cel.Formula
) -> tuple[cel.Formula, cel.Formula]:
    return cel.Or(cel.Or(f, g), f), cel.Or(g, f)


def sequence_by_contiguity(
    rng: Random, f: cel.Formula, g: cel.Formula, h: cel.Formula
) -> tuple[cel.Formula, cel.Formula]:
    """``f ; g`` is ``f : g``, or with an unlabelled contiguous gap between (SOCEL Sec. 6)."""
    anything = cel.Or(cel.Atom("A"), cel.Not(cel.Atom("A")))
    gap = cel.Project(frozenset(), cel.ConcatPlus(anything))
    return cel.Seq(f, g), cel.Or(cel.Concat(f, g), cel.Concat(cel.Concat(f, gap), g))


def random_count(rng: Random) -> tuple[int, int | None]:
    """Least and most of a count."""
    least = rng.choice((1, 1, 2, 2, 3))
    return least, rng.choice((None, least, least, least + 1, least + 2))


def counts_multiply(
    rng: Random, f: cel.Formula, g: cel.Formula, h: cel.Formula
) -> tuple[cel.Formula, cel.Formula]:
    m, k = rng.choice((1, 2)), rng.choice((1, 2, 3))
    gaps = rng.random() < 0.7
    return cel.Count(cel.Count(f, m, m, gaps), k, k, gaps), cel.Count(f, m * k, m * k, gaps)


def count_of_plus(
    rng: Random, f: cel.Formula, g: cel.Formula, h: cel.Formula
) -> tuple[cel.Formula, cel.Formula]:
    m, gaps = rng.choice((1, 2, 3)), rng.random() < 0.7
    some = cel.Plus(f) if gaps else cel.ConcatPlus(f)
    return cel.Count(some, m, m, gaps), cel.Count(f, m, None, gaps)


def count_of_one(
    rng: Random, f: cel.Formula, g: cel.Formula, h: cel.Formula
) -> tuple[cel.Formula, cel.Formula]:
    return cel.Count(f, 1, 1, rng.random() < 0.5), f


def count_written_out(
    rng: Random, f: cel.Formula, g: cel.Formula, h: cel.Formula
) -> tuple[cel.Formula, cel.Formula]:
    least, most = random_count(rng)
    gaps = rng.random() < 0.7
    join = cel.Seq if gaps else cel.Concat
    times: list[cel.Formula] = [reduce(join, [f] * k) for k in range(1, (most or least) + 1)]
    if most is None:
        some = cel.Plus(f) if gaps else cel.ConcatPlus(f)
        times.append(join(times[-1], some))
    return cel.Count(f, least, most, gaps), reduce(cel.Or, times[least - 1 :])


LAWS: dict[str, Law] = {
    "(f+)+ = f+": plus_twice,
    "(f:+):+ = f:+": star_twice,
    "f+ = f OR f ; f+": plus_unfolded,
    "f+ = f OR f+ ; f": plus_unfolded_at_the_end,
    "f{m}{k} = f{mk}": counts_multiply,
    "f+{m} = f{m,}": count_of_plus,
    "f{1} = f": count_of_one,
    "f{n,m} is the OR of f ; .. ; f": count_written_out,
    "; is associative": associative(cel.Seq),
    ": is associative": associative(cel.Concat),
    "OR is associative": associative(cel.Or),
    "OR is idempotent and commutative": or_is_idempotent_and_commutative,
    "; distributes from the left": distributive(cel.Seq, left=True),
    "; distributes from the right": distributive(cel.Seq, left=False),
    ": distributes from the left": distributive(cel.Concat, left=True),
    ": distributes from the right": distributive(cel.Concat, left=False),
    "filters commute": filters_commute,
    "FILTER distributes over OR": filter_over_or,
    "X[P] distributes over ;": unary_filter_into_sequence,
    "X[P] distributes over +": unary_filter_into_plus,
    "X[P] and X[Q] are X[P AND Q]": two_filters_are_one,
    "FILTER c AND d nests": filter_and_nests,
    "FILTER c OR d copies": filter_or_copies,
    "projections compose": projections_compose,
    "projection distributes over ;": projection_over_sequence,
    "; is : with a gap": sequence_by_contiguity,
}


def labels_of(*formulas: cel.Formula) -> list[str]:
    """Labels to filter on; always some."""
    return sorted(frozenset[str]().union(*map(cel.defined_labels, formulas))) or ["A"]


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
@random_suite(4_000)
def test_p14(law: Law, rng: Random) -> bool:
    for _ in range(4):  # two filters at once are seldom met: of some draws the first with answers
        f = random_formula(rng, SHAPE)
        g, h = (random_formula(rng, Shape(depth=1)) for _ in range(2))
        left, right = law(rng, f, g, h)
        S: tuple[Event, ...] = tuple(random_events(rng, left, SHAPE))
        if expected := valuations(left, S):
            break
    assert valuations(right, S) == expected, (formula_text(left), formula_text(right), S)
    return bool(expected)


def test_what_is_no_law(suite: Suite) -> None:
    """Laws that look like the others and fail: the tests above can see a difference."""
    refutations = set()

    def case(rng: Random) -> bool:
        f, g = (random_formula(rng, SHAPE) for _ in range(2))
        X = rng.choice(labels_of(f))
        P, Q = (random_predicate(rng, SHAPE) for _ in range(2))
        L = frozenset(X for X in labels_of(f) if rng.random() < 0.5)
        pairs: dict[str, tuple[cel.Formula, cel.Formula]] = {
            "sequence commutes": (cel.Seq(f, g), cel.Seq(g, f)),
            "+ is :+": (cel.Plus(f), cel.ConcatPlus(f)),
            "X[P] OR X[Q] is X[P OR Q]": (
                cel.Filter(cel.Plus(f), Or(On(X, P), On(X, Q))),
                cel.Plus(cel.Filter(f, Or(On(X, P), On(X, Q)))),
            ),
            "projection before a filter": (
                cel.Filter(cel.Project(L, f), On(X, P)),
                cel.Project(L, cel.Filter(f, On(X, P))),
            ),
            "AS forgets the order": (
                cel.As(cel.Project(L, f), "x"),
                cel.Project(L, cel.As(f, "x")),
            ),
        }
        S = tuple(random_events(rng, cel.Seq(f, g), SHAPE))
        has_answers = False
        for name, (left, right) in pairs.items():
            expected = valuations(left, S)
            has_answers |= bool(expected)
            if valuations(right, S) != expected:
                refutations.add(name)
        return has_answers

    suite.run(case, deep_count=2_000)
    assert len(refutations) == 5
