"""The kinds of automata refuse what they do not allow; operations keep the kind and the words."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from random import Random
from typing import Any

import pytest

import cerlab
from cerlab.automata.automaton import (
    AnchoredCea,
    Automaton,
    EmptyMove,
    EpsilonCea,
    IntervalCea,
    LabelTransition,
    Mark,
    Transition,
    Ucea,
    Vcea,
    as_kind,
)
from cerlab.automata.compose import iteration, sequence, union
from cerlab.automata.epsilon import streaming
from cerlab.automata.explore import trim
from cerlab.automata.labelled import GuardedTransition, LabelledSrt, LabelledStates
from cerlab.automata.registers import EpsilonSrt, RegisterTransition, Srt
from cerlab.predicates.syntax import EVERYTHING
from proofs_tests.suite import random_suite

NONE: frozenset[str] = frozenset()
ZERO, ONE, BOTH = frozenset({0}), frozenset({1}), frozenset({0, 1})
KINDS: tuple[type[Automaton[Any]], ...] = (
    *(Vcea, Ucea, IntervalCea, AnchoredCea, EpsilonCea),
    *(Srt, EpsilonSrt, LabelledSrt),
)
STEPS: dict[Any, tuple[Any, ...]] = {
    LabelTransition: (EVERYTHING, NONE),
    Transition: (EVERYTHING, Mark.TAKE),
    RegisterTransition: (EVERYTHING, Mark.TAKE, NONE),
    GuardedTransition: (EVERYTHING, NONE, NONE),
}

REFUSALS: dict[str, set[Any]] = {
    "two initial states": {IntervalCea, Srt, EpsilonSrt, LabelledSrt},
    "a way back to the start": {IntervalCea, LabelledSrt},
    "a final start": {LabelledSrt},
    "empty moves": {Vcea, Ucea, IntervalCea, AnchoredCea, Srt, LabelledSrt},
    "registers": {Vcea, Ucea, IntervalCea, AnchoredCea, EpsilonCea},
    "a state that is not there": set(KINDS),
    "a move to a state that is not there": set(KINDS),
}


def machine(kind: Any, what: str) -> Any:
    """Two states and a transition between them, and what may be refused."""
    step = kind.step(0, *STEPS[kind.step], 1)
    back = step._replace(source=1, target=0)
    match what:
        case "two initial states":
            return kind(3, (step,), frozenset({0, 2}), ONE)
        case "a way back to the start":
            return kind(2, (step, back), ZERO, ONE)
        case "a final start":
            return kind(2, (step,), ZERO, BOTH)
        case "empty moves":
            return kind(2, (step,), ZERO, ONE, moves=(EmptyMove(0, 1),))
        case "registers":
            return kind(2, (step,), ZERO, ONE, R=frozenset("r"))
        case "a state that is not there":
            return kind(1, (step,), ZERO, ZERO)
        case _:
            return kind(2, (step,), ZERO, ONE, moves=(EmptyMove(1, 2),))


@pytest.mark.parametrize(("kind", "what"), product(KINDS, REFUSALS))
def test_a_kind_refuses_what_it_does_not_allow(kind: type[Automaton[Any]], what: str) -> None:
    if kind not in REFUSALS[what]:
        assert type(machine(kind, what)) is kind
        return
    with pytest.raises(cerlab.IllFormed) as caught:
        machine(kind, what)
    assert caught.value.code in {"CER0220", "CER0221", "CER0223"}


def test_a_transducer_of_streams_has_one_state_more() -> None:
    assert streaming(machine(Srt, "a way back to the start")).states == 3


def test_a_set_of_states_has_a_number_if_all_are_there() -> None:
    states = LabelledStates(machine(Vcea, "a way back to the start"))
    assert states.macro_states[states.number_of(BOTH)] == BOTH
    with pytest.raises(ValueError, match="not states of the automaton"):
        states.number_of(frozenset({2}))


def test_what_few_kinds_have_is_given_by_name() -> None:
    with pytest.raises(TypeError, match="positional"):
        Vcea(1, (), ZERO, ZERO, ())  # type: ignore[call-arg]


@pytest.mark.parametrize("kind", [Srt, EpsilonSrt])
def test_registers_of_transitions_are_in_the_set_of_registers(kind: Any) -> None:
    step = kind.step(0, *STEPS[kind.step], 1)._replace(writes=frozenset("r"))
    assert frozenset("rs") == kind(2, (step,), ZERO, ONE, R=frozenset("rs")).R
    with pytest.raises(cerlab.IllFormed, match="'r', which is not in R"):
        kind(2, (step,), ZERO, ONE, R=frozenset("s"))


def test_a_machine_is_not_equal_to_one_of_another_kind() -> None:
    A = Vcea(1, (), ZERO, ZERO)
    other: Automaton[LabelTransition] = as_kind(A, Ucea)
    assert other != A
    assert as_kind(other, Vcea) == A


def words(A: Automaton[Any], length: int) -> set[tuple[Any, ...]]:
    """The labels along the accepting runs of up to so many transitions, moves left out."""
    language = set()
    runs: set[tuple[int, tuple[Any, ...]]] = {(q, ()) for q in A.I}
    for _ in range(length + 1):
        language |= {word for q, word in runs if q in A.F}
        runs = {(t.target, (*word, t[1:-1])) for q, word in runs for t in A.Delta if t.source == q}
    return language


def random_machine(rng: Random, kind: Any) -> Any:
    """Four states; nothing enters the first one, which alone is initial."""
    label = STEPS[kind.step]
    actions = [label, (*label[:1], Mark.SKIP, *label[2:])]
    if kind.step is not Transition and kind.step is not RegisterTransition:
        actions = [label, (label[0], frozenset("x"), *label[2:])]
    Delta = tuple(
        kind.step(rng.randrange(4), *rng.choice(actions), rng.randrange(1, 4)) for _ in range(5)
    )
    return kind(4, Delta, ZERO, frozenset(q for q in (1, 2, 3) if rng.random() < 0.5))


@pytest.mark.parametrize("kind", [Vcea, Ucea, AnchoredCea, LabelledSrt])
@random_suite(4_000, needs_answers=0.3)
def test_operations_are_those_of_languages(kind: type[Automaton[Any]], rng: Random) -> bool:
    A, B = random_machine(rng, kind), random_machine(rng, kind)
    of_A, of_B = words(A, 4), words(B, 4)
    short = range(5)
    assert words(union(A, B), 4) == of_A | of_B
    one_after_the_other = {a + b for a in of_A for b in of_B if len(a + b) in short}
    assert words(sequence(A, B, gaps=False), 4) == one_after_the_other
    repetitions = of_A
    for _ in range(4):
        repetitions = repetitions | {
            a + b for a in repetitions for b in of_A if len(a + b) in short
        }
    assert words(iteration(A, gaps=False), 4) == repetitions
    small = trim(A)
    assert words(small, 4) == of_A
    assert type(small) is kind
    assert len(trim(replace(A, F=frozenset())).Delta) == 0
    return bool(of_A)
