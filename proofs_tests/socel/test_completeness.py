"""With projection and contiguity, formulas express every automaton, and no more (SOCEL Sec. 6).

Automata go to formulas by elimination of states; the oracle gives the formula's valuations, all
runs the automaton's; and back by the construction of CORE (CORE App. A.1).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from random import Random

import pytest

import cerlab
from cerlab import Event, Valuation, parse_formula
from cerlab.automata.automaton import LabelTransition, Ucea, Vcea
from cerlab.compile.cel_to_vcea import cel_to_vcea
from cerlab.engine.reference.runs import VceaRuns
from cerlab.logic.cel import syntax as cel
from cerlab.logic.cel.semantics import valuations
from cerlab.logic.cel.text import formula_text
from cerlab.model.answer import Labels
from cerlab.predicates import syntax as pred
from cerlab.testing import Shape, random_events, random_formula
from cerlab.theorems import elimination as decompiler
from cerlab.theorems.elimination import elimination_size, vcea_to_cel
from cerlab.theorems.socel import ucea_labelled_answers
from proofs_tests.suite import Suite

ONE: pred.Predicate = pred.Comparison(pred.Operator.EQ, pred.Attribute("v"), pred.Constant(1))
A: pred.Predicate = pred.TypeIs("A")
B: pred.Predicate = pred.TypeIs("B")
PREDICATES: tuple[pred.Predicate, ...] = (
    *(pred.EVERYTHING, A, B, ONE, pred.Not(A), pred.Not(ONE)),
    *(pred.And(A, ONE), pred.Or(A, ONE), pred.Or(A, pred.And(B, ONE))),
    pred.And(A, B),
)
LABELS = tuple(map(frozenset, ("", "", "A", "B", "x", "Ax", "AB")))
SMALL_FORMULAS = Shape(depth=2, events=4, rich=False)


def random_vcea(rng: Random) -> Vcea:
    """Up to three states, any transitions; labels that are the event's type, another one, none."""
    states = rng.randrange(1, 4)
    Delta = tuple(
        LabelTransition(
            rng.randrange(states), rng.choice(PREDICATES), rng.choice(LABELS), rng.randrange(states)
        )
        for _ in range(rng.randrange(1, 2 + states))
    )
    I = {Delta[0].source} | {q for q in range(states) if rng.random() < 0.2}
    F = {rng.choice(Delta).target} | {q for q in range(states) if rng.random() < 0.2}
    return Vcea(states, Delta, frozenset(I), frozenset(F))


def random_stream(rng: Random, length: int, types: str = "AB") -> list[Event]:
    return [Event(rng.choice(types), {"v": rng.randrange(2)}) for _ in range(length)]


def run_answers(machine: Vcea, S: Sequence[Event]) -> frozenset[Valuation]:
    """Return the answers of all runs."""
    runs = VceaRuns(machine)
    answers: set[Valuation] = set()
    for n, event in enumerate(S):
        runs.advance(event, n)
        answers |= set(runs.answers(0))
    return frozenset(answers)


def check_there(rng: Random) -> bool:
    machine = random_vcea(rng)
    phi = vcea_to_cel(machine, "AB")
    S = random_stream(rng, 4)
    expected = run_answers(machine, S)
    assert valuations(phi, S) == expected, (machine, formula_text(phi))
    return bool(expected)


def check_there_and_back(rng: Random) -> bool:
    machine = random_vcea(rng)
    back = cel_to_vcea(vcea_to_cel(machine, "AB"))
    S = random_stream(rng, 4)
    expected = run_answers(machine, S)
    assert run_answers(back, S) == expected, machine
    return bool(expected)


def check_formula(rng: Random) -> bool:
    """A formula, its automaton, and a formula again."""
    while True:
        phi = random_formula(rng, SMALL_FORMULAS)
        machine = cel_to_vcea(phi)
        if elimination_size(machine, "ABC").formula < 400:
            break
    S = random_events(rng, phi, SMALL_FORMULAS)[:4]
    expected = valuations(phi, S)
    again = vcea_to_cel(machine, "ABC")
    assert valuations(again, S) == expected, (formula_text(phi), formula_text(again))
    return bool(expected)


def check_ucea(rng: Random) -> bool:
    """The valuations that start at 0 are what ordinary runs of a UCEA answer."""
    machine = random_vcea(rng)
    S = random_stream(rng, 4)
    expected = ucea_labelled_answers(Ucea(machine.states, machine.Delta, machine.I, machine.F), S)
    matches = valuations(vcea_to_cel(machine, "AB"), S)
    for n in range(len(S)):
        here = {Labels(V.labels) for V in matches if (V.start, V.end) == (0, n)}
        assert here == expected[n], machine
    return any(expected)


CHECKS: list[Callable[[Random], bool]] = [
    check_there,
    check_there_and_back,
    check_formula,
    check_ucea,
]


@pytest.mark.parametrize("check", CHECKS)
def test_p10_automata_and_formulas_have_the_same_valuations(
    check: Callable[[Random], bool], suite: Suite
) -> None:
    suite.run(check, deep_count=20_000)


def one_step(P: pred.Predicate, labels: str) -> Vcea:
    step = LabelTransition(0, P, frozenset(labels), 1)
    return Vcea(2, (step,), frozenset({0}), frozenset({1}))


@pytest.mark.parametrize(
    ("P", "labels", "types", "text"),
    [
        (A, "A", None, "A"),
        (A, "", None, "PROJECT[](A)"),
        (A, "x", None, "PROJECT[x](A AS x)"),
        (A, "Ax", None, "A AS x"),
        (A, "B", None, "PROJECT[B](A AS B)"),
        (pred.And(A, ONE), "A", None, "A FILTER A[v = 1]"),
        (pred.Or(A, B), "", None, "PROJECT[](A) OR PROJECT[](B)"),
        (pred.Or(A, B), "A", None, "A OR PROJECT[A](B AS A)"),
        (pred.Or(A, ONE), "A", "AB", "A OR PROJECT[A](B FILTER B[v = 1] AS A)"),
        (pred.EVERYTHING, "A", "A", "A"),
        (pred.Not(A), "B", "AB", "B"),
        (pred.Not(pred.Not(A)), "A", "AB", "A"),
    ],
)
def test_transitions_by_hand(P: pred.Predicate, labels: str, types: str | None, text: str) -> None:
    assert formula_text(vcea_to_cel(one_step(P, labels), types)) == formula_text(
        parse_formula(text.replace("B FILTER B[v = 1] AS A", "(B FILTER B[v = 1]) AS A"))
    )


def test_a_loop_becomes_contiguous_iteration() -> None:
    step = LabelTransition(0, A, frozenset("A"), 0)
    phi = vcea_to_cel(Vcea(1, (step,), frozenset({0}), frozenset({0})))
    assert any(isinstance(psi, cel.ConcatPlus) for psi in cel.subformulas(phi))
    S = [Event(R) for R in "AABA"]
    intervals = {(V.start, V.end) for V in valuations(phi, S)}
    assert intervals == {(0, 0), (1, 1), (0, 1), (3, 3)}


@pytest.mark.parametrize(
    "machine",
    [
        Vcea(1, (), frozenset({0}), frozenset({0})),
        Vcea(2, (), frozenset({0}), frozenset({1})),
        one_step(pred.And(A, B), "A"),
        one_step(pred.EVERYTHING, "x"),
    ],
)
def test_without_answers_the_formula_has_none(machine: Vcea) -> None:
    """No run is empty; of the last no type is named, so it is kept on streams without events."""
    phi = vcea_to_cel(machine)
    assert valuations(phi, [Event(R) for R in "ABR"]) == frozenset()
    assert elimination_size(machine).formula == cel.size(phi)


def test_the_size_is_counted_without_making_the_formula() -> None:
    for seed in range(200):
        machine = random_vcea(Random(seed))
        assert elimination_size(machine, "AB").formula == cel.size(vcea_to_cel(machine, "AB"))


def complete(n: int) -> Vcea:
    """All transitions between n states, each with its own label."""
    Delta = tuple(
        LabelTransition(p, A, frozenset({f"x{p}{q}"}), q) for p in range(n) for q in range(n)
    )
    return Vcea(n, Delta, frozenset({0}), frozenset({n - 1}))


def test_sizes_grow_by_a_factor_with_each_state() -> None:
    """The exponential family; too large a formula is refused and its size is still known."""
    sizes = [elimination_size(complete(n)) for n in range(1, 9)]
    assert [size.states for size in sizes] == list(range(1, 9))
    formula_sizes = [size.formula for size in sizes]
    assert all(later > 3 * earlier for earlier, later in pairwise(formula_sizes))
    with pytest.raises(cerlab.ResourceLimit, match=f"{formula_sizes[-1]:,}"):
        vcea_to_cel(complete(8))
    assert formula_sizes[-1] > decompiler.MAX_SIZE
