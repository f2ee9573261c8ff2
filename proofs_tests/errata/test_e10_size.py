"""E10: the automaton of a formula has linearly many states, but not transitions (CORE Thm. 2)."""

from __future__ import annotations

from random import Random

import pytest

from cerlab import parse_formula
from cerlab.compile.cel_to_vcea import cel_to_vcea
from cerlab.logic.cel import syntax as cel
from cerlab.logic.cel.syntax import size
from cerlab.predicates.condition import On
from cerlab.testing import Shape, random_formula
from proofs_tests.suite import random_suite


@pytest.mark.parametrize("k", [4, 8, 16, 32])
def test_a_sequence_of_two_choices_has_quadratically_many_transitions(k: int) -> None:
    choice = f"({' OR '.join('A' for _ in range(k))})"
    phi = parse_formula(f"{choice} ; {choice}")
    automaton = cel_to_vcea(phi)
    assert automaton.states <= 2 * size(phi)
    # k^2 ways into the waiting states of the right side, k loops there, k ways out. As printed
    # there are k more, which end in the left side's final states and are trimmed here.
    assert len(automaton.Delta) == k * k + 2 * k


@pytest.mark.parametrize("depth", [1, 2, 4, 8, 16])
def test_states_are_linear_under_nested_iteration(depth: int) -> None:
    phi = parse_formula("(" * depth + "A ; B" + ")+" * depth)
    assert cel_to_vcea(phi).states <= 2 * size(phi)


def most_states(phi: cel.Formula) -> int:
    """Two for each event, one for each iteration, as many copies as a count asks for."""
    here = 2 * isinstance(phi, cel.Atom) + isinstance(phi, cel.Plus | cel.ConcatPlus)
    below = sum(map(most_states, cel.children(phi)))
    match phi:
        case cel.Not():
            return 2
        case cel.Count(_, least, most):
            return (most or least) * (below + 1)
        case _:
            return here + below


@random_suite(10_000, needs_answers=0.2)
def test_states_are_two_for_each_event_and_one_for_each_iteration(rng: Random) -> bool | None:
    """At most, since what leads nowhere goes; of formulas with OR between filters spelled out.

    Two states are joined by a transition for each of the ways of filters, so transitions are
    at most quadratic. A case with an answer has a formula of ten operators and atoms or more.
    """
    phi = random_formula(rng, Shape(depth=6))
    parts = list(cel.subformulas(phi))
    if not all(isinstance(psi.condition, On) for psi in parts if isinstance(psi, cel.Filter)):
        return None
    automaton = cel_to_vcea(phi)
    assert automaton.states <= most_states(phi)
    if not any(isinstance(psi, cel.Count) for psi in parts):
        assert most_states(phi) <= 2 * size(phi)
    assert len(automaton.Delta) <= most_states(phi) ** 2
    return size(phi) >= 10


@pytest.mark.parametrize("n", [1, 2, 5, 50])
def test_a_count_is_the_machine_of_the_sequence(n: int) -> None:
    """So it is evaluated as fast."""
    count = cel_to_vcea(parse_formula(f"A{{{n}}} ; B"))
    written = cel_to_vcea(parse_formula(" ; ".join(["A"] * n + ["B"])))
    assert (count.states, set(count.Delta)) == (written.states, set(written.Delta))
    assert (count.I, count.F) == (written.I, written.F)


@pytest.mark.parametrize("n", [1, 10, 100, 1000])
def test_counts_are_linear_in_what_they_count_to(n: int) -> None:
    """States and transitions of ``A{n}`` are those of ``A ; .. ; A``; nested counts multiply."""
    assert cel_to_vcea(parse_formula(f"A{{{n}}}")).states == n + 1
    assert len(cel_to_vcea(parse_formula(f"A{{{n}}}")).Delta) == 2 * n - 1
    assert len(cel_to_vcea(parse_formula(f"A:{{{n}}}")).Delta) == n
    assert cel_to_vcea(parse_formula(f"A{{1,{n}}}")).states == 2 * n
    assert cel_to_vcea(parse_formula(f"A{{{n},}}")).states == n + 2
    assert cel_to_vcea(parse_formula(f"(A ; B):{{{n}}}")).states <= 4 * n
    assert cel_to_vcea(parse_formula(f"A{{{n}}}{{3}}")).states == 3 * n + 1
