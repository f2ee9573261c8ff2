"""Costs by counting: steps per event, steps between two symbols of the output (FOUND App. D.1).

Steps per event are linear in an I/O-deterministic automaton (FOUND Sec. 7.2), in the subsets met
(FOUND Thm. 5), and for the strategies as the paper says (FOUND Thm. 6).
"""

from __future__ import annotations

from itertools import islice
from random import Random
from typing import Any

import pytest

from cerlab import Event
from cerlab.automata.automaton import AnchoredCea, Mark, Transition
from cerlab.engine.reference.list_nodes import (
    BOTTOM,
    BlackWhiteStack,
    Evaluation,
    ListEvaluation,
    Node,
    Steps,
    Walk,
    enumerate_all,
    enumerate_all_star,
)
from cerlab.engine.reference.lists import (
    MaxEvaluation,
    OrderedEvaluation,
    StrictEvaluation,
    last_order,
    next_order,
)
from cerlab.predicates.syntax import EVERYTHING, TypeIs
from proofs_tests.foundations.anchored_cases import (
    anchored_cea,
    random_anchored,
    random_io_deterministic,
    word,
)
from proofs_tests.suite import Suite

LENGTH = 600


def costs(evaluation: ListEvaluation[Any], rng: Random) -> list[int]:
    """The steps of each event of a random stream."""
    steps = []
    for n in range(LENGTH):
        before = evaluation.steps.update
        evaluation.advance(Event(rng.choice("AB"), {"v": rng.randrange(2)}), n)
        steps.append(evaluation.steps.update - before)
    return steps


@pytest.mark.parametrize("seed", range(20))
def test_algorithm_1_spends_two_steps_for_each_state(seed: int) -> None:
    rng = Random(seed)
    cea = random_io_deterministic(rng)
    assert max(costs(Evaluation(cea), rng)) <= 2 * cea.states
    assert max(costs(StrictEvaluation(cea), rng)) <= cea.states + 1


def ring(k: int) -> AnchoredCea:
    """Return a ring of k states: each goes to the next by • and to itself by ∘."""
    steps = [Transition(q, EVERYTHING, Mark.TAKE, (q + 1) % k) for q in range(k)]
    loops = [Transition(q, EVERYTHING, Mark.SKIP, q) for q in range(k)]
    return AnchoredCea(k, (*steps, *loops), frozenset({0}), frozenset({0}))


def test_the_bound_of_algorithm_1_is_reached() -> None:
    for k in (2, 5, 10, 40):
        assert max(costs(Evaluation(ring(k)), Random(0))) == 2 * k


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("order", [next_order, last_order])
def test_algorithms_5_and_6_spend_two_steps_for_each_transition(seed: int, order: Any) -> None:
    rng = Random(seed)
    evaluation = OrderedEvaluation(random_anchored(rng), order)
    assert max(costs(evaluation, rng)) <= 2 * len(evaluation.cea.Delta)


@pytest.mark.parametrize("seed", range(20))
def test_the_others_spend_two_steps_for_each_subset_or_pair(seed: int) -> None:
    rng = Random(seed)
    cea = random_anchored(rng)
    for evaluation, bound in (
        (Evaluation(cea), 2**cea.states),
        (StrictEvaluation(cea), 2**cea.states),
        (MaxEvaluation(cea), 4**cea.states),
    ):
        assert max(costs(evaluation, rng)) <= 2 * bound


def test_algorithm_4_meets_exponentially_many_subsets() -> None:
    """Which of the last k events were A is one subset each: 2^k of them, of k + 1 states."""
    k = 6
    loop = Transition(0, EVERYTHING, Mark.SKIP, 0)
    enter = Transition(0, TypeIs("A"), Mark.SKIP, 1)
    shift = [Transition(q, EVERYTHING, Mark.SKIP, q + 1) for q in range(1, k)]
    cea = AnchoredCea(k + 1, (loop, enter, *shift), frozenset({0}), frozenset({k}))
    evaluation = Evaluation(cea)
    costs(evaluation, Random(0))
    assert len(evaluation.automaton.macro_states) == 2**k


def two_paths(k: int) -> Node:
    """A node whose first complex event has about k positions, and the second has three.

    Right after the first the only way on is from the top: the example of FOUND App. D.1.
    """
    A, B = TypeIs("A"), TypeIs("B")
    Delta = (
        Transition(0, A, Mark.SKIP, 1),
        Transition(1, A, Mark.TAKE, 1),
        Transition(1, B, Mark.TAKE, 3),
        Transition(0, A, Mark.TAKE, 2),
        Transition(2, A, Mark.SKIP, 2),
        Transition(2, B, Mark.TAKE, 3),
        Transition(3, B, Mark.TAKE, 4),
    )
    evaluation = Evaluation(AnchoredCea(5, Delta, frozenset({0}), frozenset({4})))
    return last_node(evaluation, "A" * k + "BB")


def any_subset(k: int) -> Node:
    """A node whose complex events are the sets of positions that end at the last."""
    return last_node(Evaluation(anchored_cea(2, "0 ∘ 0, 0 • 1, 1 ∘ 1, 1 • 1", {1})), "A" * k)


def last_node(evaluation: Evaluation, letters: str) -> Node:
    for n, event in enumerate(word(letters)):
        evaluation.advance(event, n)
    nodes, *_ = evaluation.lists.values()
    return next(iter(nodes))


def count_operations(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Count all that is done to stacks and lists while enumerating, whatever is called a step."""
    operations = [0]

    def count_calls(owner: Any, name: str) -> None:
        original = getattr(owner, name)

        def wrapper(*args: Any) -> Any:
            operations[0] += 1
            return original(*args)

        monkeypatch.setattr(owner, name, wrapper)

    for name in ("push_black", "push_white", "pop", "pop_whites"):
        count_calls(BlackWhiteStack, name)
    for name in ("__init__", "next", "_after"):
        count_calls(Walk, name)
    return operations


@pytest.mark.parametrize("family", [two_paths, any_subset])
def test_the_delay_of_algorithm_3_is_constant(family: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    roots = [family(k) for k in (4, 40, 400)]
    operations = count_operations(monkeypatch)
    worst = []
    for root in roots:
        steps = Steps()
        delays, symbols = [], 0
        operations[0] = 0
        for _ in islice(enumerate_all_star(root, 0, steps), 20_000):
            delays.append(operations[0])
            operations[0] = 0
            symbols += 1
        assert steps.enumeration == symbols, "each step prints one symbol"
        worst.append(max(delays))
    assert max(worst) <= 8
    assert len(set(worst)) == 1


def test_the_delay_of_algorithm_3_is_constant_for_random_automata(
    suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    operations = count_operations(monkeypatch)

    def case(rng: Random) -> bool:
        evaluation = Evaluation(random_anchored(rng))
        for n in range(rng.randrange(4, 16)):
            evaluation.advance(Event(rng.choice("AB"), {"v": rng.randrange(2)}), n)
        most_answers = 0
        for nodes in evaluation.lists.values():
            for root in nodes:
                if root is BOTTOM:
                    continue
                answers = 0
                operations[0] = 0
                for symbol in islice(enumerate_all_star(root, 0, Steps()), 500):
                    assert operations[0] <= 8
                    operations[0] = 0
                    answers += symbol is None
                most_answers = max(most_answers, answers)
        return most_answers > 1

    suite.run(case, deep_count=4_000)


def test_the_delay_of_algorithm_2_is_not() -> None:
    for k in (4, 40, 400):
        steps = Steps()
        root = two_paths(k)
        answers = enumerate_all(root.list, (root.position,), 0, steps)
        assert len(next(answers).positions) == k + 1
        before = steps.enumeration
        assert len(next(answers).positions) == 3
        assert steps.enumeration - before > k


def test_between_two_answers_there_are_at_most_as_many_steps_as_positions() -> None:
    evaluation = Evaluation(anchored_cea(3, "0 ∘ 0, 0 • 1, 1 ∘ 1, 1 • 2, 2 ∘ 1, 2 • 2", {1, 2}))
    for n, event in enumerate(word("A" * 200)):
        evaluation.advance(event, n)
    before = evaluation.steps.enumeration
    for answer in islice(evaluation.answers(0), 5_000):
        assert evaluation.steps.enumeration - before <= len(answer.positions) + 3
        before = evaluation.steps.enumeration


def test_with_a_window_no_node_is_visited_in_vain() -> None:
    """2^39 answers, of which eight start late enough."""
    evaluation = Evaluation(anchored_cea(2, "0 ∘ 0, 0 • 1, 1 ∘ 1, 1 • 1", {1}))
    for n, event in enumerate(word("A" * 40)):
        evaluation.advance(event, n)
    assert len(list(evaluation.answers(36))) == 8
    assert evaluation.steps.enumeration <= 60
