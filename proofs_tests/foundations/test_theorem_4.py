"""Automata of the selected answers (FOUND Thm. 4), against the strategy over all runs.

P4: each construction, on automata that need not be I/O-deterministic, answers what the definition
selects among all answers with the same end. Sizes are those of the theorem.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest

from cerlab import Event, satisfies
from cerlab.automata.automaton import AnchoredCea, Mark
from cerlab.automata.strategy import StrategyCea
from cerlab.compile.pattern import as_pattern
from cerlab.model.clauses import Strategy
from cerlab.predicates.minterms import minterms
from cerlab.theorems import foundations as selection
from cerlab.theorems.foundations import last_selected, maximal, reachable_states, strict
from cerlab.theorems.foundations import select as selected_automaton
from proofs_tests.foundations.anchored_cases import (
    Run,
    accepted_positions,
    anchored_cea,
    extend_runs,
    random_anchored,
    select_answers,
    word,
)
from proofs_tests.mutants.driver import Judge, kills, mutant, on_seeds
from proofs_tests.suite import random_suite


def agree(A: AnchoredCea, B: AnchoredCea, strategy: Strategy, events: tuple[Event, ...]) -> bool:
    """All runs of the construction answer what the strategy selects among all runs of A."""
    runs: set[Run] = {(q, ()) for q in A.I}
    theirs: set[Run] = {(q, ()) for q in B.I}
    has_answers = False
    for n, event in enumerate(events):
        runs, theirs = extend_runs(A, runs, event, n), extend_runs(B, theirs, event, n)
        expected = select_answers(strategy, accepted_positions(A, runs, n))
        assert accepted_positions(B, theirs, n) == expected, (A, events[: n + 1])
        has_answers |= bool(expected)
    return has_answers


def random_word(rng: Random) -> tuple[Event, ...]:
    length = rng.randrange(2, 7)
    return tuple(Event(rng.choice("AB"), {"v": rng.randrange(2)}) for _ in range(length))


MOST_STATES: dict[Strategy, Callable[[int], int]] = {
    Strategy.STRICT: lambda n: 2 * n,
    Strategy.NXT: lambda n: 3 ** (n + 1),
    Strategy.LAST: lambda n: 4**n,
    Strategy.MAX: lambda n: 3**n,
}
"""Each state is in one of the disjoint sets that a state consists of, or in none."""


@pytest.mark.parametrize("strategy", Strategy)
@random_suite(10_000)
def test_p4_the_construction_selects(strategy: Strategy, rng: Random) -> bool:
    A = random_anchored(rng)
    B = selected_automaton(A, strategy)
    assert B.states <= MOST_STATES[strategy](A.states)
    return agree(A, B, strategy, random_word(rng))


@pytest.mark.parametrize("strategy", [Strategy.NXT, Strategy.LAST, Strategy.MAX])
@random_suite(2_000)
def test_the_result_is_io_deterministic(strategy: Strategy, rng: Random) -> bool:
    """An event and a mark leave one way to go on (FOUND Sec. 6)."""
    A = selected_automaton(random_anchored(rng), strategy)
    assert len(A.I) == 1
    for event in random_word(rng):
        transitions = [(t.source, t.mark) for t in A.Delta if satisfies(event, t.predicate)]
        assert len(transitions) == len(set(transitions))
    return len(A.Delta) > 0


@pytest.mark.parametrize(
    ("strategy", "letters", "expected"),
    [
        (Strategy.STRICT, "AAB", {(1, 2)}),
        (Strategy.NXT, "AAB", {(0, 2)}),
        (Strategy.LAST, "AAB", {(1, 2)}),
        (Strategy.MAX, "AAB", {(0, 2), (1, 2)}),
        (Strategy.MAX, "AB", {(0, 1)}),
    ],
)
def test_the_selected_automaton_keeps_the_answers_of_the_strategy(
    strategy: Strategy, letters: str, expected: set[tuple[int, ...]]
) -> None:
    """A, then B, on words."""
    marks = [t for t in as_pattern("A ; B").cea.Delta if t.mark is Mark.TAKE]
    waits = anchored_cea(3, "0 ∘ 0, 1 ∘ 1", {2}).Delta
    A = AnchoredCea(3, (*waits, *marks), frozenset({0}), frozenset({2}))
    B = selected_automaton(A, strategy)
    runs: set[Run] = {(q, ()) for q in B.I}
    for n, event in enumerate(word(letters)):
        runs = extend_runs(B, runs, event, n)
    assert accepted_positions(B, runs, len(letters) - 1) == expected


def test_strict_doubles_the_states() -> None:
    rng = Random(4)
    for _ in range(200):
        A = random_anchored(rng)
        assert strict(A).states == 2 * A.states
        assert len(strict(A).Delta) <= 2 * len(A.Delta)


def sizes(text: str, strategy: Strategy) -> tuple[int, int]:
    """States of the CEA of a formula, macro-states and idle states that a strategy reaches."""
    cea = as_pattern(text).cea
    machine = StrategyCea(cea, strategy)
    symbols = [m.symbol for m in minterms(machine.predicates)]
    return cea.states, reachable_states(machine, symbols)


def chain(n: int) -> str:
    return " ; ".join(f"T{k}" for k in range(n))


@pytest.mark.parametrize("strategy", Strategy)
def test_sizes_are_at_most_exponential_and_chains_stay_small(strategy: Strategy) -> None:
    """The families of the papers: sequences of n steps, iterations in a row, nested iteration."""
    for n in range(1, 5):
        states, states_of_result = sizes(chain(n), strategy)
        assert states == n + 1
        assert states_of_result <= 4 ** (states + 1)


def test_max_of_a_twelve_step_sequence_and_of_nested_iteration() -> None:
    """The reached states stay few on a stream, though the whole automaton is exponential."""
    machine = StrategyCea(as_pattern(chain(12)).cea, Strategy.MAX)
    rng = Random(1)
    idle, active = machine.idle, set[int]()
    for _ in range(2_000):
        symbol = machine.symbol(Event(f"T{rng.randrange(12)}"))
        moves = [machine.begin(idle, symbol), *(machine.step(q, symbol) for q in active)]
        active = {q for each in moves for q in each if q is not None}
        idle = machine.wait(idle, symbol)
    assert len(machine.macro_states) < 20_000
    iteration = sizes("((A ; B)+ ; C)+", Strategy.MAX)
    assert iteration[1] < 500


def strict_that_waits(A: AnchoredCea) -> AnchoredCea:
    """STRICT that may wait in an initial state even inside its block."""
    B, n = strict(A), A.states
    waits = (t for t in A.Delta if t.mark is Mark.SKIP and t.source == t.target in A.I)
    more = tuple(t._replace(source=t.source + n, target=t.target + n) for t in waits)
    return replace(B, Delta=B.Delta + more)


def judge(strategy: Strategy) -> Judge:
    def case(rng: Random) -> bool:
        A = random_anchored(rng)
        return agree(A, selected_automaton(A, strategy), strategy, random_word(rng))

    return on_seeds(case, 400)


MUTANTS = [
    mutant(judge(Strategy.STRICT), selection, "strict", strict_that_waits),
    mutant(judge(Strategy.NXT), selection, "next_selected", last_selected),
    mutant(judge(Strategy.LAST), selection, "last_selected", maximal),
    mutant(judge(Strategy.NXT), selection, "single_final", lambda A: A, id="several_final"),
]


test_wrong_versions_are_killed = kills(MUTANTS)
