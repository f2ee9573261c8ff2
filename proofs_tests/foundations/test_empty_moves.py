"""Empty moves add nothing: two ways to be rid of them, against all runs (FOUND App. C.2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

import pytest

import cerlab
from cerlab import Event
from cerlab.automata.automaton import AnchoredCea, EmptyMove, EpsilonCea, Mark
from cerlab.model.answer import Positions
from cerlab.theorems.srt import printed_elimination
from proofs_tests.foundations.anchored_cases import (
    Run,
    accepted_positions,
    extend_runs,
    random_anchored,
    transition,
    without_epsilon,
    word,
)
from proofs_tests.foundations.test_theorem_3 import answers
from proofs_tests.suite import random_suite

Elimination = Callable[[EpsilonCea], AnchoredCea]


def epsilon_answers(A: EpsilonCea, S: Sequence[Event]) -> list[set[Positions]]:
    """Return the answers of all runs; empty moves come before, between and after the events."""
    plain = AnchoredCea(A.states, A.Delta, A.I, A.F)
    runs: set[Run] = {(q, ()) for q in A.I}
    sets = []
    for n, event in enumerate(S):
        runs = with_empty_moves(A, extend_runs(plain, with_empty_moves(A, runs), event, n))
        sets.append(accepted_positions(plain, runs, n))
    return sets


def with_empty_moves(A: EpsilonCea, runs: set[Run]) -> set[Run]:
    """The runs after any number of empty moves."""
    while True:
        more = runs | {(q, marks) for state, marks in runs for p, q in A.moves if p == state}
        if more == runs:
            return runs
        runs = more


def random_epsilon(rng: Random, *, acyclic: bool) -> EpsilonCea:
    """A random automaton with one to five empty moves, if `acyclic` all upwards in some order."""
    A = random_anchored(rng)
    order = list(range(A.states))
    rng.shuffle(order)
    pairs = [sorted(rng.sample(range(A.states), 2)) for _ in range(rng.randrange(1, 6))]
    moves = [EmptyMove(order[i], order[j]) for i, j in pairs]
    if not acyclic:
        moves = [EmptyMove(*(rng.randrange(A.states) for _ in "pq")) for _ in moves]
    return EpsilonCea(A.states, A.Delta, A.I, A.F, moves=tuple(dict.fromkeys(moves)))


def check(rng: Random, elimination: Elimination, *, acyclic: bool) -> bool:
    """The automaton without empty moves has the answers of the runs with them."""
    A = random_epsilon(rng, acyclic=acyclic)
    S = [Event(rng.choice("AB"), {"v": rng.randrange(2)}) for _ in range(4)]
    expected = epsilon_answers(A, S)
    assert answers(elimination(A), S) == expected, A
    return any(expected)


@pytest.mark.parametrize("elimination", [without_epsilon, printed_elimination])
@random_suite(20_000)
def test_the_answers_are_those_of_the_runs_with_empty_moves(
    elimination: Elimination, rng: Random
) -> bool:
    return check(rng, elimination, acyclic=True)


@random_suite(20_000)
def test_the_closure_takes_cycles_too(rng: Random) -> bool:
    return check(rng, without_epsilon, acyclic=False)


def test_the_printed_rule_goes_round_in_cycles_and_refuses_them() -> None:
    """Removing any move of a cycle of three makes two, of which one restores it later."""
    cycle = tuple(EmptyMove(q, (q + 1) % 3) for q in range(3))
    A = EpsilonCea(3, (transition("0 • 1"),), frozenset({0}), frozenset({2}), moves=cycle)
    with pytest.raises(cerlab.IllFormed, match="lead from a state back to it"):
        printed_elimination(A)
    moves = dict.fromkeys(cycle)
    for _ in range(1_000):
        move_out = next(iter(moves))
        del moves[move_out]
        p, q = move_out
        shortcuts = [EmptyMove(r, q) for r, s in moves if s == p]
        shortcuts += [EmptyMove(p, s) for r, s in moves if r == q]
        moves |= dict.fromkeys(move for move in shortcuts if move.source != move.target)
    assert moves


@pytest.mark.parametrize("elimination", [without_epsilon, printed_elimination])
@pytest.mark.parametrize(
    ("moves", "I", "F", "expected"),
    [
        ([], {0}, {1}, {(0,)}),
        ([(1, 2)], {0}, {2}, {(0,)}),
        ([(1, 2), (2, 3)], {0}, {3}, {(0,)}),
        ([(2, 3), (1, 2)], {0}, {3}, {(0,)}),
        ([(2, 0)], {2}, {1}, {(0,)}),
        ([(3, 2), (2, 0)], {3}, {1}, {(0,)}),
        ([(2, 3)], {2}, {3}, set()),
        ([(2, 2), (1, 2)], {0}, {2}, {(0,)}),
    ],
)
def test_chains_by_hand(
    elimination: Elimination,
    moves: list[tuple[int, int]],
    I: set[int],
    F: set[int],
    expected: set[Positions],
) -> None:
    """One transition from 0 to 1, and empty moves before and after it."""
    empty = tuple(EmptyMove(*move) for move in moves)
    A = EpsilonCea(4, (transition("0 • 1"),), frozenset(I), frozenset(F), moves=empty)
    assert answers(elimination(A), word("A")) == [expected]
    assert epsilon_answers(A, word("A")) == [expected]


def test_a_run_may_make_an_empty_move_twice_around_one_transition() -> None:
    """From p, which is initial, to q, by a transition back to p, and to q, which is final."""
    A = EpsilonCea(
        2, (transition("1 • 0"),), frozenset({0}), frozenset({1}), moves=(EmptyMove(0, 1),)
    )
    for elimination in (without_epsilon, printed_elimination):
        assert answers(elimination(A), word("AA")) == [{(0,)}, {(0, 1)}]


def test_the_last_transition_must_take_whatever_empty_moves_follow() -> None:
    A = EpsilonCea(
        3,
        (transition("0 • 1"), transition("1 ∘ 1")),
        frozenset({0}),
        frozenset({2}),
        moves=(EmptyMove(1, 2),),
    )
    assert A.Delta[1].mark is Mark.SKIP
    assert answers(without_epsilon(A), word("AA")) == [{(0,)}, set()]


def test_states_that_are_not_there_are_refused() -> None:
    with pytest.raises(cerlab.IllFormed):
        EpsilonCea(1, (), frozenset({0}), frozenset({0}), moves=(EmptyMove(0, 1),))
