"""The *-property (SOCEL Sec. 5.2): formulas that have it, and formulas that lack it."""

from __future__ import annotations

from random import Random

import pytest

from cerlab import Event, parse_formula
from cerlab.logic.cel import syntax as cel
from cerlab.logic.cel.text import formula_text
from cerlab.testing import Shape, random_events, random_formula
from cerlab.theorems.socel import Edit, labelled_answers, star_violation
from proofs_tests.suite import random_suite

SHAPE = Shape(depth=3, events=5, family=True)
KEEPS = (
    *(cel.Atom, cel.As, cel.Filter, cel.Or, cel.Seq, cel.Plus, cel.Rename),
    *(cel.And, cel.All),
)


def random_edit(rng: Random, S: tuple[Event, ...]) -> Edit:
    length = rng.randrange(2) if S else 0
    position = rng.randrange(len(S) + 1 - length)
    event = Event(rng.choice("ABC"), {"v": rng.randrange(2)})
    return Edit(position, length, None if length and rng.random() < 0.5 else event)


@random_suite(20_000, needs_answers=0.4)
def test_p8_formulas_without_projection_have_it(rng: Random) -> bool:
    """R, AS, FILTER, OR, ``;``, ``+``, RENAME, and AND and ALL, which can be expressed by them."""

    def random_phi(rng: Random) -> cel.Formula:
        while True:
            phi = random_formula(rng, SHAPE)
            if all(isinstance(psi, KEEPS) for psi in cel.subformulas(phi)):
                return phi

    phi = random_phi(rng)
    S = tuple(random_events(rng, phi, SHAPE))
    f = labelled_answers(phi)
    edit = random_edit(rng, S)
    assert star_violation(f, S, edit) is None, (formula_text(phi), S, edit)
    return any(not edit.touches(C) for C in f(S))


@pytest.mark.parametrize(
    ("text", "types", "edit"),
    [
        ("PROJECT[](A) ; A", "AA", Edit(0, 1, None)),
        ("PROJECT[B](A ; B)", "AB", Edit(0, 1, Event("C"))),
        ("(A ; A) UNLESS B", "AA", Edit(1, 0, Event("B"))),
        ("A : A", "AA", Edit(1, 0, Event("B"))),
        ("A:+", "AA", Edit(1, 0, Event("B"))),
        ("NOT(B) ; A", "AA", Edit(0, 1, Event("B"))),
        ("STRICT(A ; B)", "AB", Edit(1, 0, Event("C"))),
        ("NEXT(A ; B)", "AB", Edit(0, 0, Event("A"))),
        ("LAST(A ; B)", "AB", Edit(1, 0, Event("A"))),
        ("MAX(A+)", "AA", Edit(1, 0, Event("A"))),
    ],
)
def test_projection_unless_contiguity_and_strategies_lack_it(
    text: str, types: str, edit: Edit
) -> None:
    S = tuple(map(Event, types))
    violation = star_violation(labelled_answers(parse_formula(text)), S, edit)
    assert violation is not None
    assert violation.stream == edit.stream(S)


@pytest.mark.parametrize(
    ("edit", "after", "positions"),
    [
        (Edit(1, 0, Event("X")), "aXbc", [0, 2, 3]),
        (Edit(0, 0, Event("X")), "Xabc", [1, 2, 3]),
        (Edit(3, 0, Event("X")), "abcX", [0, 1, 2]),
        (Edit(1, 1, None), "ac", [0, None, 1]),
        (Edit(1, 1, Event("X")), "aXc", [0, None, 2]),
    ],
)
def test_edits_by_hand(edit: Edit, after: str, positions: list[int | None]) -> None:
    assert "".join(t.type for t in edit.stream(tuple(map(Event, "abc")))) == after
    for position, expected in enumerate(positions):
        if expected is not None:
            assert edit.position_after(position) == expected
