"""Evaluation of anchored automata, all complex events (FOUND Alg. 1; FOUND Alg. 4; FOUND Thm. 5).

After each event the lists hold what they are to hold (FOUND Sec. 7.2), and both enumerations list
it, each complex event once (FOUND Alg. 2; FOUND Alg. 3).
"""

from __future__ import annotations

from random import Random

from cerlab import ComplexEvent
from cerlab.engine.reference.driver import Recogniser
from cerlab.engine.reference.list_nodes import (
    BOTTOM,
    Evaluation,
    Node,
    NodeList,
    Steps,
    complex_events,
    enumerate_all,
    enumerate_all_star,
    only_bottom,
)
from proofs_tests.foundations.anchored_cases import (
    Case,
    Run,
    check,
    check_list,
    random_anchored,
    random_case,
    random_io_deterministic,
)
from proofs_tests.suite import Suite, random_suite


def check_lists(case: Case) -> bool:
    """The answers, and the invariant of the list of each macro-state."""

    def watch(evaluation: Recogniser[ComplexEvent], runs: set[Run], n: int) -> None:
        assert isinstance(evaluation, Evaluation)
        at = case.positions
        by_marks: dict[tuple[int, ...], set[int]] = {}
        for state, marks in runs:
            by_marks.setdefault(tuple(at[k] for k in marks), set()).add(state)
        for q, nodes in evaluation.lists.items():
            macro_state = evaluation.automaton.macro_states[q]
            contents = {marks for marks, states in by_marks.items() if states == macro_state}
            check_list(nodes, at[n], contents)
        active = {evaluation.automaton.macro_states[q] for q in evaluation.lists}
        assert active == {frozenset(states) for states in by_marks.values()}

    return check(case, None, watch)


@random_suite(20_000)
def test_algorithm_1_on_io_deterministic_automata(rng: Random) -> bool:
    return check_lists(random_case(rng, random_io_deterministic))


@random_suite(4_000, needs_answers=1)
def test_the_states_of_algorithm_1_are_those_of_the_automaton(rng: Random) -> bool:
    sample = random_case(rng, random_io_deterministic)
    evaluation = Evaluation(sample.cea)
    for n, event in enumerate(sample.events):
        evaluation.advance(event, n)
    return all(len(states) == 1 for states in evaluation.automaton.macro_states)


def test_algorithm_4_on_any_automata(suite: Suite) -> None:
    suite.run(lambda rng: check_lists(random_case(rng)), deep_count=20_000)


@random_suite(20_000)
def test_algorithm_2_and_algorithm_3_list_the_same_in_the_same_order(rng: Random) -> bool:
    sample = random_case(rng, rng.choice((*[random_anchored] * 2, random_io_deterministic)))
    lowest = sample.lowest_start
    evaluation = Evaluation(sample.cea)
    most_answers = 0
    for event, position in zip(sample.events, sample.positions, strict=True):
        evaluation.advance(event, position)
        for nodes in evaluation.lists.values():
            for n in nodes:
                if n is BOTTOM or n.max_start < lowest:
                    continue
                by_2 = list(enumerate_all(n.list, (n.position,), lowest, Steps()))
                by_3 = list(complex_events(enumerate_all_star(n, lowest, Steps())))
                assert by_2 == by_3
                most_answers = max(most_answers, len(by_2))
    return most_answers > 1


def test_the_tape_gives_positions_latest_first() -> None:
    one = Node(1, only_bottom())
    two = NodeList()
    two.append(only_bottom())
    two.add(one)
    tape = list(enumerate_all_star(Node(3, two), 0, Steps()))
    assert tape == [3, 1, None, 3, None]


def test_a_lazy_copy_is_not_reached_by_later_changes() -> None:
    nodes = only_bottom()
    copy = nodes.lazycopy()
    more = NodeList()
    more.add(Node(4, copy))
    nodes.append(more)
    nodes.add(Node(5, copy))
    assert [n.position for n in nodes] == [5, BOTTOM.position, 4]
    assert list(copy) == [BOTTOM]
    assert (nodes.max_start, copy.max_start) == (BOTTOM.position, BOTTOM.position)
