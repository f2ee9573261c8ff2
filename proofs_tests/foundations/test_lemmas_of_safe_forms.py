"""Variables outside every iteration must have positions (FOUND Lemma B.8; FOUND Lemma B.10).

Both are of formulas in which every OR is inside an iteration, and false of others.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from cerlab import Event, parse_formula
from cerlab.logic.cel import syntax as cel
from cerlab.logic.focel.semantics import (
    assignments,
    complex_events,
    free_variables,
    support,
    under_assignment,
    vdef_plus,
    with_variables,
)
from cerlab.testing import Shape, random_events, random_fo_formula
from proofs_tests.suite import random_suite

SHAPE = Shape(depth=3, events=5, rich=False)


def outside_iterations(phi: cel.Formula) -> Iterator[cel.Formula]:
    """The formula and its parts that no iteration contains."""
    yield phi
    if not isinstance(phi, cel.Plus):
        for child in cel.children(phi):
            if not (isinstance(phi, cel.As) and isinstance(child, cel.Atom)):  # R AS x is one
                yield from outside_iterations(child)


def random_phi(rng: Random) -> cel.Formula:
    """One whose ORs are inside iterations, with more than an atom."""
    while True:
        phi = with_variables(random_fo_formula(rng, SHAPE))
        parts = list(outside_iterations(phi))
        if len(parts) > 1 and not any(isinstance(psi, cel.Or) for psi in parts):
            return phi


def missing(phi: cel.Formula, S: list[Event]) -> set[str]:
    """The variables outside iterations that some complex event of some assignment lacks."""
    return {
        x
        for nu in assignments(free_variables(phi), S)
        for C in under_assignment(phi, S, nu)
        for x in vdef_plus(phi)
        if nu[x] not in support(C)
    }


@random_suite(4_000)
def test_b8_variables_outside_iterations_have_a_position_of_the_complex_event(
    rng: Random,
) -> bool | None:
    """Judges the first of up to six draws with such a variable and a complex event."""
    for _ in range(6):
        phi = random_phi(rng)
        S = random_events(rng, phi, SHAPE)
        if vdef_plus(phi) and complex_events(phi, S):
            assert not missing(phi, S)
            return True
    return None


@random_suite(4_000)
def test_b10_a_part_without_complex_events_leaves_none(rng: Random) -> bool | None:
    """Judges the first of up to eight draws in which some part has no complex event."""
    for _ in range(8):
        phi = random_phi(rng)
        S = random_events(rng, phi, SHAPE)
        S = [t for t in S if rng.random() < 0.6]
        empty = [psi for psi in outside_iterations(phi) if not complex_events(psi, S)]
        if any(psi is not phi for psi in empty):
            assert not complex_events(phi, S)
            return True
    return None


def test_both_are_false_if_an_or_is_outside() -> None:
    phi = with_variables(parse_formula("A AS x OR B AS y"))
    assert missing(phi, [Event("A"), Event("B")]) == {"x", "y"}
    assert not complex_events(with_variables(parse_formula("B AS y")), [Event("A")])
    assert complex_events(phi, [Event("A")])
