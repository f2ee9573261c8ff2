"""Transitions into the initial state go to a copy of it (CORE Sec. 3).

A VCEA may have them; `vcea_to_cea` leaves a fresh initial state that nothing enters.
"""

from __future__ import annotations

from random import Random

import pytest

from cerlab import Event, IllFormed
from cerlab.automata.automaton import IntervalCea, LabelTransition, Mark, Transition, Vcea
from cerlab.compile.cel_to_vcea import vcea_to_cea
from cerlab.engine.reference.runs import CeaRuns, VceaRuns
from cerlab.model.answer import complex_event
from cerlab.predicates.syntax import EVERYTHING, TypeIs
from proofs_tests.suite import random_suite

X, NOTHING = frozenset("X"), frozenset[str]()


def random_vcea(rng: Random) -> Vcea:
    """Two to four states, at least one transition into an initial state, 0."""
    states = rng.randrange(2, 5)
    others = [
        LabelTransition(
            rng.randrange(states),
            rng.choice((EVERYTHING, TypeIs("A"), TypeIs("B"))),
            rng.choice((X, NOTHING)),
            rng.randrange(states),
        )
        for _ in range(rng.randrange(2, 7))
    ]
    back = LabelTransition(rng.randrange(states), EVERYTHING, rng.choice((X, NOTHING)), 0)
    leave = LabelTransition(0, EVERYTHING, X, rng.randrange(states))
    I = {0} | {q for q in range(states) if rng.random() < 0.2}
    F = {q for q in range(states) if rng.random() < 0.5} or {states - 1}
    return Vcea(states, (leave, back, *others), frozenset(I), frozenset(F))


@random_suite(5_000)
def test_the_answers_stay_the_same_and_nothing_enters_the_initial_state(rng: Random) -> bool:
    A = random_vcea(rng)
    cea = vcea_to_cea(A)
    assert all(t.target != cea.q0 for t in cea.Delta)
    before, after = VceaRuns(A), CeaRuns(cea)
    has_answer = False
    for k in range(5):
        event = Event(rng.choice("AB"))
        before.advance(event, k)
        after.advance(event, k)
        expected = {complex_event(V) for V in before.answers(0)}
        assert set(after.answers(0)) == expected, A
        has_answer |= bool(expected)
    return has_answer


def test_an_automaton_whose_initial_state_is_entered_is_refused() -> None:
    with pytest.raises(IllFormed, match="CER0221"):
        IntervalCea(1, (Transition(0, EVERYTHING, Mark.TAKE, 0),), frozenset({0}), frozenset({0}))
