"""Closure under Boolean operations, and I/O-determinisation (FOUND Prop. 1; FOUND App. C.1).

Against operations on the sets of answers of all runs (FOUND Sec. 6).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from random import Random

import pytest

from cerlab import Event, parse_formula, satisfies
from cerlab.automata import compose
from cerlab.automata.automaton import AnchoredCea, Mark, Transition
from cerlab.compile.cel_to_vcea import cel_to_vcea, vcea_to_cea
from cerlab.logic.cel import syntax as cel
from cerlab.logic.cel.semantics import valuations
from cerlab.logic.cel.text import formula_text
from cerlab.model.answer import Positions, complex_event
from cerlab.predicates import syntax as pred
from cerlab.testing import Shape, random_events, random_formula, random_predicate
from cerlab.theorems import foundations as boolean_operations
from cerlab.theorems.foundations import is_io_deterministic, predicate_types
from proofs_tests.foundations.anchored_cases import (
    Run,
    anchored_cea,
    extend_runs,
    random_anchored,
    random_io_deterministic,
    word,
)
from proofs_tests.foundations.test_theorem_3 import answers
from proofs_tests.suite import Suite, random_suite

Answers = list[set[Positions]]


def every(length: int) -> Answers:
    """All complex events that end at each position."""
    return [
        {(*C, n) for size in range(n + 1) for C in combinations(range(n), size)}
        for n in range(length)
    ]


def random_pair(rng: Random) -> tuple[AnchoredCea, AnchoredCea, list[Event]]:
    """Two automata and a stream; often the second is the first with one transition less."""
    A, B = random_anchored(rng), random_anchored(rng)
    if rng.random() < 0.5:
        less = rng.randrange(len(A.Delta))
        B = AnchoredCea(A.states, A.Delta[:less] + A.Delta[less + 1 :], A.I, A.F)
    return A, B, [Event(rng.choice("AB"), {"v": rng.randrange(2)}) for _ in range(4)]


def check_union(rng: Random) -> bool:
    A, B, S = random_pair(rng)
    expected = [a | b for a, b in zip(answers(A, S), answers(B, S), strict=True)]
    assert answers(compose.union(A, B), S) == expected
    return any(expected)


def check_intersection(rng: Random) -> bool:
    A, B, S = random_pair(rng)
    expected = [a & b for a, b in zip(answers(A, S), answers(B, S), strict=True)]
    assert answers(boolean_operations.intersection(A, B), S) == expected
    return any(expected)


def check_determinised(rng: Random) -> bool:
    A, _, S = random_pair(rng)
    D, expected = boolean_operations.determinise(A), answers(A, S)
    assert answers(D, S) == expected
    assert is_io_deterministic(D) is True
    return any(expected)


def check_complement(rng: Random) -> bool:
    A, _, S = random_pair(rng)
    expected = [all_ - a for all_, a in zip(every(len(S)), answers(A, S), strict=True)]
    assert answers(boolean_operations.complement(A), S) == expected
    return any(expected)


@pytest.mark.parametrize(
    "check",
    [check_union, check_intersection, check_determinised, check_complement],
)
def test_p3_operations_on_automata_are_those_on_sets(
    check: Callable[[Random], bool], suite: Suite
) -> None:
    suite.run(check, deep_count=20_000)


@random_suite(4_000)
def test_a_determinised_automaton_has_one_run_for_each_set_of_marks(rng: Random) -> bool:
    """On each stream: as many runs of n events as there are subsets of them (FOUND Sec. 6)."""
    A, _, S = random_pair(rng)
    D = boolean_operations.determinise(A)
    runs: set[Run] = {(q, ()) for q in D.I}
    for n, event in enumerate(S):
        runs = extend_runs(D, runs, event, n)
        assert len(runs) == 2 ** (n + 1)
    return True


ALPHABET = [Event(R, {"v": v}) for R in "ABC" for v in (0, 1, 2)]


def check_io(rng: Random) -> bool:
    """Against pairs of transitions on all events of the alphabet."""
    draw = rng.choice((random_anchored, random_io_deterministic))
    A = draw(rng)
    clash = any(
        s != t and (s.source, s.mark) == (t.source, t.mark) and satisfies(event, s.predicate)
        for event in ALPHABET
        for s in A.Delta
        for t in A.Delta
        if satisfies(event, t.predicate)
    )
    assert is_io_deterministic(A) is (len(A.I) == 1 and not clash)
    return draw is random_io_deterministic


def test_whether_it_is_io_deterministic(suite: Suite) -> None:
    suite.run(check_io, deep_count=4_000, needs_answers=0.4)


@random_suite(4_000)
def test_every_event_has_exactly_one_type_of_some_predicates(rng: Random) -> bool:
    """FOUND App. C.3.2, on predicates that compare one attribute with constants."""
    tests = [random_predicate(rng, Shape(rich=False)) for _ in range(rng.randrange(4))]
    tests += [pred.TypeIs(rng.choice("AB"))]
    event = Event(rng.choice("ABC"), {"v": rng.choice((0, 1, 0.5, None))})
    (its,) = [one for one in predicate_types(tests) if satisfies(event, one.predicate)]
    assert its.members == {pred.EVERYTHING} | {P for P in tests if satisfies(event, P)}
    return True


def test_only_types_that_events_have_are_built() -> None:
    low, high = (
        pred.Comparison(op, pred.Attribute("v"), pred.Constant(n))
        for op, n in ((pred.Operator.LT, 1), (pred.Operator.GT, 2))
    )
    assert len(predicate_types([low, high])) == 3
    Delta = tuple(Transition(0, P, Mark.TAKE, 0) for P in (low, high))
    A = AnchoredCea(1, Delta, frozenset({0}), frozenset({0}))
    assert is_io_deterministic(A) is True
    D = boolean_operations.determinise(A)
    assert (D.states, len(D.Delta)) == (2, 2 * 3 + 2)


def test_it_is_not_claimed_where_it_is_not_decided() -> None:
    likes = (pred.Like(pred.Attribute("n"), "^a"), pred.Like(pred.Attribute("n"), "^ab"))
    Delta = tuple(Transition(0, P, Mark.TAKE, q) for q, P in enumerate(likes))
    A = AnchoredCea(2, Delta, frozenset({0}), frozenset({0}))
    assert is_io_deterministic(A) in (None, False)
    assert is_io_deterministic(AnchoredCea(2, Delta, frozenset({0, 1}), frozenset())) is False


def test_equal_transitions_are_one() -> None:
    loop = Transition(0, pred.EVERYTHING, Mark.TAKE, 0)
    A = AnchoredCea(1, (loop, loop), frozenset({0}), frozenset({0}))
    assert is_io_deterministic(A) is True


def test_the_complement_of_nothing_is_everything() -> None:
    nothing = AnchoredCea(1, (), frozenset({0}), frozenset())
    assert answers(boolean_operations.complement(nothing), word("AAA")) == every(3)
    assert (
        answers(boolean_operations.complement(boolean_operations.complement(nothing)), word("AAA"))
        == [set()] * 3
    )


def test_operations_anchored() -> None:
    first = anchored_cea(2, "0 • 1, 1 ∘ 1, 1 • 1", {1})
    two = anchored_cea(3, "0 ∘ 0, 0 • 1, 1 ∘ 1, 1 • 2", {2})
    S = word("AAA")
    assert answers(boolean_operations.intersection(first, two), S) == [set(), {(0, 1)}, {(0, 2)}]
    assert answers(compose.union(first, two), S)[2] == {(0, 2), (1, 2), (0, 1, 2)}
    assert answers(boolean_operations.complement(first), S) == [set(), {(1,)}, {(2,), (1, 2)}]


ANCHORED_SHAPE = Shape(depth=3, events=5)


def check_anchored(rng: Random) -> bool:
    """Formulas without projection and NOT: the reference against runs from position 0."""
    while True:
        phi = random_formula(rng, ANCHORED_SHAPE)
        if not any(isinstance(psi, cel.Project | cel.Not) for psi in cel.subformulas(phi)):
            break
    S = random_events(rng, phi, ANCHORED_SHAPE)
    sets = answers(compose.anchor(vcea_to_cea(cel_to_vcea(phi))), S)
    expected: Answers = [set() for _ in S]
    for C in map(complex_event, valuations(phi, S)):
        assert (C.start, C.end) == (C.positions[0], C.positions[-1])
        expected[C.end].add(C.positions)
    assert sets == expected, formula_text(phi)
    return any(expected)


def test_anchored_keeps_what_begins_and_ends_with_a_mark(suite: Suite) -> None:
    suite.run(check_anchored, deep_count=20_000)


def test_anchored_loses_what_ends_without_a_mark() -> None:
    A = compose.anchor(vcea_to_cea(cel_to_vcea(parse_formula("PROJECT[A](A ; B)"))))
    assert answers(A, word("AB")) == [set(), set()]
