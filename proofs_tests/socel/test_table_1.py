"""The (i, j) semantics of SO-CEL against the intervals of CORE (SOCEL Table 1; CORE Table 2).

What is found from i to j are the labels of the valuations that end at j and start at i or later.
"""

from __future__ import annotations

from random import Random

import pytest

import cerlab
from cerlab import Event, Valuation, parse_formula
from cerlab.logic.cel import syntax as cel
from cerlab.logic.cel.semantics import MAX_EVENTS, valuations
from cerlab.logic.cel.text import formula_text
from cerlab.testing import Shape, random_events, random_formula
from cerlab.theorems.socel import LabelledPositions, between
from proofs_tests.differential.test_windows_inside import windowed
from proofs_tests.suite import random_suite

SHAPE = Shape(depth=3, events=5, family=True)


def in_so_cel(phi: cel.Formula) -> bool:
    """Without ``:``, ``:+``, ``:{n}``, NOT and strategies; AND only where no projection is."""
    parts = list(cel.subformulas(phi))
    if any(isinstance(psi, cel.Concat | cel.ConcatPlus | cel.Not | cel.Select) for psi in parts):
        return False
    if any(isinstance(psi, cel.Count) and not psi.gaps for psi in parts):
        return False
    return not (
        any(isinstance(psi, cel.And) for psi in parts)
        and any(isinstance(psi, cel.Project) for psi in parts)
    )


def random_phi(rng: Random) -> cel.Formula:
    while not in_so_cel(phi := random_formula(rng, SHAPE)):
        pass
    return phi


@random_suite(20_000)
def test_p6_between_i_and_j_are_the_intervals_that_end_at_j(rng: Random) -> bool:
    phi = random_phi(rng)
    if rng.random() < 0.3:
        phi = windowed(rng, phi, in_events=True)
    S = tuple(random_events(rng, phi, SHAPE))
    every = valuations(phi, S)
    for j in range(len(S)):
        for i in range(j + 1):
            expected = {labels_of(V) for V in every if V.end == j and V.start >= i}
            assert between(phi, S, i, j) == expected, (formula_text(phi), S, i, j)
    return bool(every)


def without_projection(rng: Random) -> cel.Formula:
    while True:
        phi = random_phi(rng)
        if not any(isinstance(psi, cel.Project) for psi in cel.subformulas(phi)):
            return phi


def labels_of(V: Valuation) -> LabelledPositions:
    return frozenset((X, k) for X, D in V.labels.items() for k in D)


@random_suite(4_000)
def test_the_evaluation_at_a_position_is_that_which_starts_at_0(rng: Random) -> bool:
    """SOCEL Sec. 3: its complex events have j as their greatest position.

    Without projection those between i and j are the ones whose positions are not before i.
    """
    phi = without_projection(rng)
    S = tuple(random_events(rng, phi, SHAPE))
    every = valuations(phi, S)
    for j in range(len(S)):
        at_j = {labels_of(V) for V in every if V.end == j}
        assert between(phi, S, 0, j) == at_j
        assert all(max(k for _, k in C) == j for C in at_j)
        for i in range(j + 1):
            later = {C for C in at_j if min(k for _, k in C) >= i}
            assert between(phi, S, i, j) == later, (formula_text(phi), S, i, j)
    return bool(every)


def test_with_projection_the_greatest_position_may_be_before_j() -> None:
    """So the condition of the test above is needed; so is it with renaming to nothing."""
    phi = parse_formula("PROJECT[A](A ; B)")
    assert between(phi, [Event("A"), Event("B")], 0, 1) == {frozenset({("A", 0)})}


def by_definition(
    phi: cel.And | cel.All | cel.Unless, S: tuple[Event, ...], j: int
) -> set[LabelledPositions]:
    """Return the complex events at j by the valuations of the two parts (SOCEL Sec. 5.2)."""
    ours, theirs = valuations(phi.left, S), valuations(phi.right, S)
    match phi:
        case cel.And():
            others = {labels_of(W) for W in theirs if W.end == j}
            return {labels_of(V) for V in ours if V.end == j} & others
        case cel.All():
            return {
                labels_of(V) | labels_of(W) for V in ours for W in theirs if max(V.end, W.end) == j
            }
        case cel.Unless():
            return {
                labels_of(V)
                for V in ours
                if V.end == j and not any(V.start <= W.start and W.end <= V.end for W in theirs)
            }


@pytest.mark.parametrize("operator", [cel.And, cel.All, cel.Unless])
@random_suite(2_000)
def test_the_operators_by_the_answers_of_their_parts(
    operator: type[cel.And | cel.All | cel.Unless], rng: Random
) -> bool:
    """Cases have answers, and AND and UNLESS drop some answer of the first part."""
    kept = dropped = 0
    for _ in range(6):
        left, right = without_projection(rng), without_projection(rng)
        if operator is cel.And:  # two random formulas have hardly an answer in common
            common = without_projection(rng)
            left, right = cel.Or(left, common), cel.Or(common, right)
        phi = operator(left, right)
        S = tuple(random_events(rng, phi, SHAPE))
        of_first = {labels_of(V) for V in valuations(phi.left, S)}
        for j in range(len(S)):
            expected = by_definition(phi, S, j)
            assert between(phi, S, 0, j) == expected, (formula_text(phi), S, j)
            kept += len(expected)
            of_first -= expected
        dropped += len(of_first)
    return bool(kept and (dropped or operator is cel.All))


ROWS: tuple[tuple[str, str, int, int, list[set[tuple[str, int]]]], ...] = (
    ("A", "AA", 0, 1, [{("A", 1)}]),
    ("A", "AB", 0, 1, []),
    ("A ; B", "ACB", 0, 2, [{("A", 0), ("B", 2)}]),
    ("A ; B", "ACB", 1, 2, []),
    ("A ; A", "AA", 0, 1, [{("A", 0), ("A", 1)}]),
    ("A+", "AA", 0, 1, [{("A", 1)}, {("A", 0), ("A", 1)}]),
    ("A+", "AA", 1, 1, [{("A", 1)}]),
    ("A AS x", "A", 0, 0, [{("A", 0), ("x", 0)}]),
    ("(A ; B) AS x", "AB", 0, 1, [{("A", 0), ("B", 1), ("x", 0), ("x", 1)}]),
    ("(A AS x ; B) AS x", "AB", 0, 1, [{("A", 0), ("B", 1), ("x", 0), ("x", 1)}]),
    ("(A OR B) FILTER B[v = 1]", "A", 0, 0, [{("A", 0)}]),
    ("A FILTER A[v = 1]", "A", 0, 0, []),
    ("RENAME[A -> x](A AS x)", "A", 0, 0, [{("x", 0)}]),
    ("RENAME[A -> B](A ; B)", "AB", 0, 1, [{("B", 0), ("B", 1)}]),
    ("RENAME[x -> y](A)", "A", 0, 0, [{("A", 0)}]),
    ("PROJECT[x](A AS x ; B)", "AB", 0, 1, [{("x", 0)}]),
    ("PROJECT[](A ; B)", "AB", 0, 1, [set()]),
    ("A ALL B", "BA", 0, 1, [{("A", 1), ("B", 0)}]),
    ("A ALL A", "AA", 0, 1, [{("A", 1)}, {("A", 0), ("A", 1)}]),
    ("(A ; A) UNLESS B", "ABA", 0, 2, []),
    ("(A ; A) UNLESS B", "BAA", 0, 2, [{("A", 1), ("A", 2)}]),
    ("A AND (A OR B)", "A", 0, 0, [{("A", 0)}]),
    ("(A OR B) AND (A OR C)", "BA", 0, 1, [{("A", 1)}]),
    ("(A OR B) AND (A OR C)", "AB", 0, 1, []),
    ("A AND A AS x", "A", 0, 0, []),
    ("(A ; B WITHIN 1 EVENTS)", "AAB", 0, 2, [{("A", 1), ("B", 2)}]),
    ("(A+ WITHIN 0 EVENTS)", "AA", 0, 1, [{("A", 1)}]),
)


@pytest.mark.parametrize(("text", "types", "i", "j", "expected"), ROWS)
def test_rows_by_hand(
    text: str, types: str, i: int, j: int, expected: list[set[tuple[str, int]]]
) -> None:
    S = [Event(t) for t in types]
    assert between(parse_formula(text), S, i, j) == set(map(frozenset, expected))


def test_and_under_projection_is_where_the_two_readings_differ() -> None:
    """Equal labels from i to j, but no equal interval (AND demands equal starts)."""
    phi = parse_formula("PROJECT[B](A ; B) AND PROJECT[B](C ; B)")
    S = [Event(t) for t in "ACB"]
    assert valuations(phi, S) == frozenset()
    assert between(phi, S, 0, 2) == {frozenset({("B", 2)})}


def test_what_is_not_in_so_cel_is_refused_by_name() -> None:
    for text in ("A : B", "A:+", "NOT(A)", "LAST(A)"):
        with pytest.raises(cerlab.Unsupported, match="SO-CEL has no"):
            between(parse_formula(text), [Event("A")], 0, 0)


def test_long_streams_are_refused() -> None:
    with pytest.raises(cerlab.ResourceLimit):
        between(cel.Atom("A"), [Event("A")] * (MAX_EVENTS + 1), 0, 0)
