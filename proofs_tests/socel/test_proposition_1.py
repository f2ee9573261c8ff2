"""A data structure gives what a UCEA answers, all of it and each once (SOCEL Prop. 1).

Against all runs. That update and delay are constant is counted: steps of an event, and operations
on lists and stack between two answers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from random import Random

import pytest

from cerlab import Event
from cerlab.automata.automaton import LabelTransition, Ucea
from cerlab.model.answer import Labels
from cerlab.predicates.syntax import EVERYTHING, TypeIs
from cerlab.testing import random_events
from cerlab.theorems.foundations import UceaEvaluation, positions_of_labels
from cerlab.theorems.socel import socel_to_ucea, ucea_labelled_answers, under_star_to_runs
from proofs_tests.foundations.test_costs import count_operations
from proofs_tests.socel.test_figure_2 import FIGURE_2
from proofs_tests.socel.test_theorem_5 import (
    LABEL_SETS,
    SHAPE,
    by_end,
    drawn_formula,
    random_stream,
    random_ucea,
)
from proofs_tests.suite import Suite, random_suite


def enumerate_answers(A: Ucea, S: Sequence[Event]) -> list[list[Labels]]:
    """Return the answers of the structure at each position, in its order."""
    running = UceaEvaluation(A)
    answers = []
    for n, event in enumerate(S):
        running.advance(event, n)
        answers.append(list(running.answers()))
    return answers


def check_complete_and_without_repetition(answers: list[list[Labels]], expected: object) -> None:
    assert all(len(here) == len(set(here)) for here in answers), "a complex event comes twice"
    assert tuple(map(frozenset, answers)) == expected


def check_runs(rng: Random) -> bool:
    """Also the trivial complex event, and those whose last event has no label."""
    A, S = random_ucea(rng, (*LABEL_SETS, frozenset())), random_stream(rng, 5)
    expected = ucea_labelled_answers(A, S)
    check_complete_and_without_repetition(enumerate_answers(A, S), expected)
    return any(expected)


def check_formulas(rng: Random) -> bool:
    """By their automata under the *-semantics, and runs that do the same (SOCEL Prop. 2)."""
    phi = drawn_formula(rng)
    S = random_events(rng, phi, SHAPE)
    expected = by_end(phi, S)
    A = under_star_to_runs(socel_to_ucea(phi))
    check_complete_and_without_repetition(enumerate_answers(A, S), expected)
    return any(expected)


@pytest.mark.parametrize("check", [check_runs, check_formulas])
def test_it_enumerates_all_complex_events_and_each_once(
    check: Callable[[Random], bool], suite: Suite
) -> None:
    suite.run(check, deep_count=10_000)


def test_figure_2_answers_with_every_a_once_a_b_has_come() -> None:
    answers = enumerate_answers(FIGURE_2, [Event(R) for R in "ACAB"])
    assert answers[:3] == [[], [], []]
    assert sorted(C["A"] for C in answers[3]) == [(0,), (2,)]


def test_two_runs_with_the_same_labels_are_one_answer() -> None:
    """One labels by x what the other does, by other states; a third gives it y as well."""
    x, both = frozenset("x"), frozenset("xy")
    Delta = (
        LabelTransition(0, EVERYTHING, x, 1),
        LabelTransition(0, TypeIs("A"), x, 2),
        LabelTransition(0, TypeIs("A"), both, 2),
    )
    A = Ucea(3, Delta, frozenset({0}), frozenset({1, 2}))
    (answers,) = enumerate_answers(A, [Event("A")])
    assert sorted(answers, key=len) == [{"x": (0,)}, {"x": (0,), "y": (0,)}]


def test_without_labels_the_one_answer_is_trivial() -> None:
    skip = LabelTransition(0, TypeIs("A"), frozenset(), 0)
    A = Ucea(1, (skip,), frozenset({0}), frozenset({0}))
    assert enumerate_answers(A, [Event("A"), Event("A"), Event("B")]) == [
        [Labels()],
        [Labels()],
        [],
    ]


@random_suite(2_000)
def test_the_automaton_is_linear_in_transitions_and_labels(rng: Random) -> bool:
    A = random_ucea(rng, (*LABEL_SETS, frozenset()))
    by_positions = positions_of_labels(A)
    assert by_positions.cea.states <= A.states + len(A.Delta) * (len(by_positions.labels) + 1) + 1
    assert len(by_positions.cea.Delta) <= len(A.Delta) * (len(by_positions.labels) + 3)
    return True


def any_labels() -> Ucea:
    """Each A gets x, or x and y, or nothing; a B answers, without a label."""
    ways = (frozenset("x"), frozenset("xy"), frozenset[str]())
    Delta = tuple(LabelTransition(0, TypeIs("A"), L, 0) for L in ways)
    answer = LabelTransition(0, TypeIs("B"), frozenset(), 1)
    return Ucea(2, (*Delta, answer), frozenset({0}), frozenset({1}))


def test_an_event_costs_the_same_however_long_the_stream_is() -> None:
    rng = Random(0)
    running = UceaEvaluation(under_star_to_runs(any_labels()))
    costs = []
    for n in range(600):
        before = running.lists.steps.update
        running.advance(Event(rng.choice("AAB")), n)
        costs.append(running.lists.steps.update - before)
    macro_states = len(running.lists.automaton.macro_states)
    assert max(costs) <= 2 * macro_states * running.machine.steps
    assert max(costs[300:]) <= max(costs[:300])


def long_and_short() -> Ucea:
    """A B answers all A before it, or itself alone: one long complex event and one short."""
    long = [LabelTransition(q, TypeIs("A"), frozenset("x"), 1) for q in (0, 1)]
    short = [LabelTransition(q, TypeIs("A"), frozenset(), 2) for q in (0, 2)]
    answers = [LabelTransition(q, TypeIs("B"), frozenset("y"), 3) for q in (1, 2)]
    return Ucea(4, (*long, *short, *answers), frozenset({0}), frozenset({3}))


@pytest.mark.parametrize("length", [4, 40, 400])
@pytest.mark.parametrize("machine", [any_labels, long_and_short])
def test_the_delay_is_constant(
    machine: Callable[[], Ucea], length: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For each label of an answer, and to close it, at most eight operations or steps."""
    running = UceaEvaluation(machine())
    for n, R in enumerate("A" * length + "B"):
        running.advance(Event(R), n)
    operations, steps = count_operations(monkeypatch), running.lists.steps
    answers = 0
    for C in islice(running.answers(), 2_000):
        assert operations[0] + steps.enumeration <= 8 * (sum(map(len, C.values())) + 2)
        operations[0] = steps.enumeration = 0
        answers += 1
    assert answers == (min(3**length, 2_000) if machine is any_labels else 2)
