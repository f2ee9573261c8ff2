"""An automaton that tests an event without output is not a unary formula (SOCEL Fig. 2).

Every formula without projection has the *-property, and it does not; with projection there is one.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from cerlab import Event
from cerlab.automata.automaton import LabelTransition, Ucea, Vcea
from cerlab.logic.cel import syntax as cel
from cerlab.logic.cel.semantics import valuations
from cerlab.model.answer import Labels
from cerlab.predicates.syntax import EVERYTHING, TypeIs
from cerlab.theorems.elimination import vcea_to_cel
from cerlab.theorems.socel import Edit, star_answers, star_violation, ucea_labelled_answers

SKIP: frozenset[str] = frozenset()

FIGURE_2 = Ucea(
    3,
    (
        LabelTransition(0, EVERYTHING, SKIP, 0),
        LabelTransition(0, TypeIs("A"), frozenset("A"), 1),
        LabelTransition(1, EVERYTHING, SKIP, 1),
        LabelTransition(1, TypeIs("B"), SKIP, 2),
    ),
    frozenset({0}),
    frozenset({2}),
)
"""An A, provided that a B comes later; the drawing is reconstructed from the text."""


def f(S: Sequence[Event]) -> frozenset[Labels]:
    """Its processing function."""
    return frozenset[Labels]().union(*ucea_labelled_answers(FIGURE_2, S))


def word(types: str) -> tuple[Event, ...]:
    return tuple(map(Event, types))


@pytest.mark.parametrize(
    ("types", "expected"),
    [
        ("A", set()),
        ("AB", {0}),
        ("BA", set()),
        ("ACB", {0}),
        ("ACAB", {0, 2}),
        ("ABA", {0}),
    ],
)
def test_it_outputs_the_a_and_not_the_b(types: str, expected: set[int]) -> None:
    assert f(word(types)) == {Labels({"A": (n,)}) for n in expected}


@pytest.mark.parametrize("edit", [Edit(1, 1, None), Edit(1, 1, Event("C"))])
def test_it_violates_the_star_property(edit: Edit) -> None:
    """Without the B, which the answer does not take, the answer is gone."""
    violation = star_violation(f, word("AB"), edit)
    assert violation is not None
    assert violation.expected == {"A": (0,)}


def test_what_only_adds_events_leaves_its_answers() -> None:
    for position in range(3):
        assert star_violation(f, word("AB"), Edit(position, 0, Event("C"))) is None


def test_under_the_star_semantics_it_cannot_test_the_b() -> None:
    assert not any(star_answers(FIGURE_2, word("AB")))


def test_with_projection_it_is_a_formula() -> None:
    """From 0 to n; the types are those of the streams (SOCEL Sec. 6)."""
    phi = vcea_to_cel(Vcea(3, FIGURE_2.Delta, FIGURE_2.I, FIGURE_2.F), "ABC")
    assert any(isinstance(psi, cel.Project) for psi in cel.subformulas(phi))
    for types in ("AB", "ACB", "BAB", "ACAB"):
        S = word(types)
        ends_and_labels = {(V.end, Labels(V.labels)) for V in valuations(phi, S) if V.start == 0}
        expected = {
            (n, C) for n, here in enumerate(ucea_labelled_answers(FIGURE_2, S)) for C in here
        }
        assert ends_and_labels == expected
