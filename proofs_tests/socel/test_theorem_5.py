"""Unary SO-CEL is UCEA under the *-semantics (SOCEL Thm. 5; SOCEL Sec. 5.2), and what follows.

Ordinary runs (SOCEL Sec. 5.1) can do what the *-semantics does (SOCEL Prop. 2), and the converse
holds of automata that have the *-property (SOCEL Prop. 3; SOCEL Cor. 1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, product
from random import Random
from typing import TypeAlias

import pytest

import cerlab
from cerlab import Event, parse_formula
from cerlab.automata.automaton import LabelTransition, Ucea
from cerlab.logic.cel import syntax as cel
from cerlab.logic.cel.semantics import valuations
from cerlab.logic.cel.text import formula_text
from cerlab.model.answer import Labels
from cerlab.predicates import syntax as pred
from cerlab.predicates.condition import Application, Condition, Correlation, alternatives
from cerlab.testing import Shape, random_events, random_formula
from cerlab.theorems import elimination as decompiler
from cerlab.theorems import socel as compiler
from cerlab.theorems.socel import star_answers, ucea_labelled_answers
from proofs_tests.suite import Suite, random_suite

SHAPE = Shape(depth=3, events=5, family=True)
OPERATORS = (
    *(cel.Atom, cel.As, cel.Filter, cel.Or, cel.Seq, cel.Plus, cel.Rename),
    *(cel.And, cel.All),
)
LABEL_SETS = tuple(map(frozenset, ("A", "A", "B", "x", "AB", "Ax", "xy")))
ONE = pred.Comparison(pred.Operator.EQ, pred.Attribute("v"), pred.Constant(1))

Answers: TypeAlias = tuple[frozenset[Labels], ...]


def is_unary(condition: Condition) -> bool:
    parts = (part for way in alternatives(condition) for part in way)
    return not any(isinstance(part, Correlation | Application) for part in parts)


def drawn_formula(rng: Random) -> cel.Formula:
    """A formula of unary SO-CEL, AND and ALL included, without projection."""
    while True:
        phi = random_formula(rng, SHAPE)
        parts = list(cel.subformulas(phi))
        filters = (psi.condition for psi in parts if isinstance(psi, cel.Filter))
        if all(isinstance(psi, OPERATORS) for psi in parts) and all(map(is_unary, filters)):
            return phi


def by_end(phi: cel.Formula, S: Sequence[Event]) -> Answers:
    """The complex events of a formula at each position."""
    matches = valuations(phi, S)
    return tuple(frozenset(Labels(V.labels) for V in matches if V.end == n) for n in range(len(S)))


def random_ucea(rng: Random, labels: Sequence[frozenset[str]] = LABEL_SETS) -> Ucea:
    """One to three states and any transitions, also into initial and out of final states."""
    states = rng.randrange(1, 4)
    predicates: tuple[pred.Predicate, ...] = (
        pred.EVERYTHING,
        pred.TypeIs("A"),
        pred.TypeIs("B"),
        ONE,
    )
    Delta = tuple(
        LabelTransition(
            rng.randrange(states),
            rng.choice(predicates),
            rng.choice(labels),
            rng.randrange(states),
        )
        for _ in range(rng.randrange(1, 2 + states))
    )
    I = {Delta[0].source} | {q for q in range(states) if rng.random() < 0.2}
    F = {rng.choice(Delta).target} | {q for q in range(states) if rng.random() < 0.2}
    return Ucea(states, Delta, frozenset(I), frozenset(F))


def random_stream(rng: Random, length: int) -> list[Event]:
    return [Event(rng.choice("AB"), {"v": rng.randrange(2)}) for _ in range(length)]


def check_formula(rng: Random) -> bool:
    phi = drawn_formula(rng)
    S = random_events(rng, phi, SHAPE)
    expected = by_end(phi, S)
    assert star_answers(compiler.socel_to_ucea(phi), S) == expected, formula_text(phi)
    return any(expected)


def check_runs(rng: Random) -> bool:
    phi = drawn_formula(rng)
    S = random_events(rng, phi, SHAPE)
    expected = by_end(phi, S)
    A = compiler.under_star_to_runs(compiler.socel_to_ucea(phi))
    assert ucea_labelled_answers(A, S) == expected, formula_text(phi)
    return any(expected)


def check_random_runs(rng: Random) -> bool:
    A = random_ucea(rng, (*LABEL_SETS, frozenset()))
    S = random_stream(rng, 4)
    expected = star_answers(A, S)
    assert ucea_labelled_answers(compiler.under_star_to_runs(A), S) == expected, A
    return any(expected)


def check_back(rng: Random) -> bool:
    A = random_ucea(rng)
    S = random_stream(rng, 4)
    expected = star_answers(A, S)
    assert by_end(decompiler.ucea_to_socel(A, "AB"), S) == expected, A
    return any(expected)


def check_and(rng: Random) -> bool:
    A = random_ucea(rng)
    B = variant_of(rng, A)
    S = random_stream(rng, 4)
    expected = tuple(a & b for a, b in zip(star_answers(A, S), star_answers(B, S), strict=True))
    assert star_answers(compiler.and_product(A, B), S) == expected, (A, B)
    return any(expected)


def variant_of(rng: Random, A: Ucea) -> Ucea:
    """Up to two transitions more, and sometimes one less, so that the two have much in common."""
    more = [t for t in random_ucea(rng).Delta if max(t.source, t.target) < A.states]
    less = rng.randrange(len(A.Delta)) if rng.random() < 0.3 else len(A.Delta)
    return Ucea(A.states, (*more[:2], *A.Delta[:less], *A.Delta[less + 1 :]), A.I, A.F)


def check_all(rng: Random) -> bool:
    A, B = random_ucea(rng), random_ucea(rng)
    S = random_stream(rng, 3)
    expected: list[set[Labels]] = [set() for _ in S]
    for (m, first), (n, second) in product(
        enumerate(star_answers(A, S)), enumerate(star_answers(B, S))
    ):
        expected[max(m, n)] |= {union_of_labels(C1, C2) for C1 in first for C2 in second}
    assert star_answers(compiler.all_product(A, B), S) == tuple(map(frozenset, expected)), (A, B)
    return any(expected)


def union_of_labels(C1: Labels, C2: Labels) -> Labels:
    return Labels({X: (*C1.get(X, ()), *C2.get(X, ())) for X in {*C1, *C2}})


def check_expressed(rng: Random) -> bool | None:
    """AND or ALL of two small formulas is a formula without AND and ALL."""
    operator = rng.choice((cel.And, cel.All))
    left, right = small_formula(rng), small_formula(rng)
    if operator is cel.And:
        common = small_formula(rng)
        left, right = cel.Or(left, common), cel.Or(common, right)
    phi = operator(left, right)
    A = compiler.socel_to_ucea(phi)
    if A.states > 12:  # elimination multiplies the formula with each state
        return None
    psi = decompiler.ucea_to_socel(A, "AB")
    assert not any(isinstance(part, cel.And | cel.All) for part in cel.subformulas(psi))
    S = random_stream(rng, 4)
    expected = by_end(phi, S)
    assert by_end(psi, S) == expected, formula_text(phi)
    return any(expected)


def small_formula(rng: Random) -> cel.Formula:
    """One or two events of the types A and B, labelled or not, iterated or not."""
    A, B = (cel.Atom(rng.choice("AB")) for _ in range(2))
    phi: cel.Formula = cel.As(A, "x") if rng.random() < 0.3 else A
    if rng.random() < 0.5:
        phi = cel.Seq(phi, B) if rng.random() < 0.5 else cel.Or(phi, B)
    return cel.Plus(phi) if rng.random() < 0.3 else phi


CHECKS: list[Callable[[Random], bool | None]] = [
    check_formula,
    check_runs,
    check_random_runs,
    check_back,
    check_and,
    check_all,
    check_expressed,
]


@pytest.mark.parametrize("check", CHECKS)
def test_p9_automata_and_formulas_have_the_same_complex_events(
    check: Callable[[Random], bool | None], suite: Suite
) -> None:
    suite.run(check, deep_count=20_000)


Word: TypeAlias = tuple[tuple[str, frozenset[str]], ...]
"""The labelled events of a complex event: types and labels."""

STREAMS = [
    tuple(Event(R) for R in types) for length in range(4) for types in product("AB", repeat=length)
]


def word_of(S: Sequence[Event], C: Labels) -> Word:
    positions = sorted({n for D in C.values() for n in D})
    return tuple((S[n].type, frozenset(X for X, D in C.items() if n in D)) for n in positions)


def embeddings(w: Word, S: Sequence[Event]) -> Iterator[Labels]:
    """All complex events of a stream that have these labelled events."""
    for positions in combinations(range(len(S)), len(w)):
        if all(S[n].type == R for n, (R, _) in zip(positions, w, strict=True)):
            labels = {X for _, L in w for X in L}
            at = [(n, L) for n, (_, L) in zip(positions, w, strict=True)]
            yield Labels({X: tuple(n for n, L in at if X in L) for X in labels})


def processing_function(A: Ucea, S: Sequence[Event]) -> frozenset[Labels]:
    return frozenset[Labels]().union(*ucea_labelled_answers(A, S))


def has_the_star_property(A: Ucea) -> bool:
    """On all streams of up to three events of two types (SOCEL Sec. 5.2)."""
    f = {S: processing_function(A, S) for S in STREAMS}
    words = {word_of(S, C) for S in STREAMS for C in f[S]}
    return all(C in f[S] for w in words for S in STREAMS for C in embeddings(w, S))


def random_with_loops(rng: Random) -> Ucea:
    """Types only; most often with a loop that skips any event in each state."""
    A = random_ucea(rng)
    Delta = tuple(
        t._replace(
            predicate=pred.EVERYTHING if t.predicate == ONE else t.predicate,
            labels=frozenset() if rng.random() < 0.1 else t.labels,
        )
        for t in A.Delta
    )
    loops = (
        LabelTransition(q, pred.EVERYTHING, frozenset(), q)
        for q in range(A.states)
        if rng.random() < 0.9
    )
    return Ucea(A.states, (*Delta, *loops), A.I, A.F)


@random_suite(4_000)
def test_automata_with_the_star_property_are_formulas(rng: Random) -> bool | None:
    """An automaton with the property on all tried streams keeps its answers under *-semantics."""
    for _ in range(12):
        A = random_with_loops(rng)
        if any(processing_function(A, S) for S in STREAMS) and has_the_star_property(A):
            break
    else:
        return None
    phi = decompiler.ucea_to_socel(A, "AB")
    for S in STREAMS:
        expected = processing_function(A, S)
        assert frozenset[Labels]().union(*star_answers(A, S)) == expected, A
        assert frozenset[Labels]().union(*by_end(phi, S)) == expected, A
    return True


def test_the_trivial_complex_event_is_an_exception() -> None:
    """An answer on every stream that has an event, so nothing contradicts the *-property.

    No formula gives it, and no run under the *-semantics does: (SOCEL Prop. 3) and (SOCEL Cor. 1)
    are of automata that do not answer it.
    """
    skip = LabelTransition(0, pred.EVERYTHING, frozenset(), 0)
    A = Ucea(1, (skip,), frozenset({0}), frozenset({0}))
    assert all(processing_function(A, S) == {Labels()} for S in STREAMS if S)
    assert not any(any(star_answers(A, S)) for S in STREAMS)


def answers_at_the_end(phi: str, types: str) -> list[dict[str, tuple[int, ...]]]:
    """Return the answers of the automaton of a formula at the last event of a word."""
    A = compiler.socel_to_ucea(parse_formula(phi))
    return sorted((dict(C) for C in star_answers(A, [Event(R) for R in types])[-1]), key=repr)


@pytest.mark.parametrize(
    ("phi", "types", "expected"),
    [
        ("A", "BA", [{"A": (1,)}]),
        ("A ; B", "ACB", [{"A": (0,), "B": (2,)}]),
        ("A+", "AA", [{"A": (0, 1)}, {"A": (1,)}]),
        ("(A ; B)+ AS x", "AB", [{"A": (0,), "B": (1,), "x": (0, 1)}]),
        ("RENAME[A -> x](A ; B)", "AB", [{"B": (1,), "x": (0,)}]),
        ("A AND (A OR B)", "A", [{"A": (0,)}]),
        ("A AND A AS x", "A", []),
        ("A ALL B", "BA", [{"A": (1,), "B": (0,)}]),
        ("A ALL A", "AA", [{"A": (0, 1)}, {"A": (1,)}]),
        ("A AS x ALL A AS y", "A", [{"A": (0,), "x": (0,), "y": (0,)}]),
        ("(A ; C) ALL B", "ABC", [{"A": (0,), "B": (1,), "C": (2,)}]),
        ("(A ALL B)+", "AB", [{"A": (0,), "B": (1,)}]),
    ],
)
def test_formulas_by_hand(phi: str, types: str, expected: list[dict[str, tuple[int, ...]]]) -> None:
    assert answers_at_the_end(phi, types) == expected


def test_ordinary_runs_read_every_event_and_may_end_without_a_label() -> None:
    take = LabelTransition(0, pred.TypeIs("A"), frozenset("A"), 1)
    A = Ucea(
        2,
        (take, LabelTransition(1, pred.TypeIs("B"), frozenset(), 1)),
        frozenset({0}),
        frozenset({1}),
    )
    first, second, third = ucea_labelled_answers(A, [Event(R) for R in "ABA"])
    assert first == second == {Labels({"A": (0,)})}
    assert third == frozenset()


def test_runs_begin_in_any_initial_state_and_label_by_sets() -> None:
    steps = (
        LabelTransition(0, pred.TypeIs("A"), frozenset("xy"), 2),
        LabelTransition(1, pred.TypeIs("A"), frozenset("x"), 2),
        LabelTransition(2, pred.TypeIs("B"), frozenset("y"), 2),
    )
    A = Ucea(3, steps, frozenset({0, 1}), frozenset({2}))
    first, second = ucea_labelled_answers(A, [Event(R) for R in "AB"])
    assert first == {Labels({"x": (0,), "y": (0,)}), Labels({"x": (0,)})}
    assert second == {Labels({"x": (0,), "y": (0, 1)}), Labels({"x": (0,), "y": (1,)})}


def test_under_the_star_semantics_other_events_are_not_looked_at() -> None:
    take = LabelTransition(0, pred.TypeIs("A"), frozenset("A"), 1)
    A = Ucea(
        2,
        (take, LabelTransition(1, pred.TypeIs("B"), frozenset(), 0)),
        frozenset({0}),
        frozenset({1}),
    )
    first, second, third = star_answers(A, [Event(R) for R in "ABA"])
    assert first == {Labels({"A": (0,)})}
    assert second == frozenset()
    assert third == {Labels({"A": (2,)})}


@pytest.mark.parametrize(
    ("phi", "match"),
    [
        ("PROJECT[A](A ; B)", "PROJECT"),
        ("A : B", r"for :\n"),
        ("A:+", r"for :\+\n"),
        ("NOT(A)", "NOT"),
        ("(A ; A) UNLESS B", "UNLESS"),
        ("LAST(A ; B)", "LAST"),
        ("A AS x ; B AS y FILTER x.v = y.v", "not unary"),
    ],
)
def test_what_has_no_automaton_is_refused_by_name(phi: str, match: str) -> None:
    with pytest.raises(cerlab.Unsupported, match=match):
        compiler.socel_to_ucea(parse_formula(phi))


def test_products_are_of_quadratic_size() -> None:
    phi, psi = (parse_formula(" ; ".join(R for R in types)) for types in ("ABAB", "BABA"))
    A, B = map(compiler.socel_to_ucea, (phi, psi))
    both = compiler.all_product(A, B)
    assert both.states <= (A.states + 1) * (B.states + 1)
