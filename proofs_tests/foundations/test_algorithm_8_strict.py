"""STRICT by tracking the run that has taken nothing (FOUND Alg. 8; FOUND Thm. 6)."""

from __future__ import annotations

from itertools import pairwise
from random import Random

from cerlab import ComplexEvent
from cerlab.engine.reference.driver import Recogniser
from cerlab.engine.reference.lists import StrictEvaluation
from cerlab.model.clauses import Strategy
from proofs_tests.foundations.anchored_cases import (
    Case,
    Run,
    anchored_cea,
    check,
    check_list,
    random_case,
    random_io_deterministic,
    word,
)
from proofs_tests.suite import Suite, random_suite


def check_gapless(case: Case) -> bool:
    """The answers; the lists hold the runs that took nothing, or an interval up to now."""

    def watch(evaluation: Recogniser[ComplexEvent], runs: set[Run], n: int) -> None:
        assert isinstance(evaluation, StrictEvaluation)
        macro_states = evaluation.automaton.macro_states
        at = case.positions
        by_marks: dict[tuple[int, ...], set[int]] = {}
        for state, marks in runs:
            if all(later == earlier + 1 for earlier, later in pairwise((*marks, n + 1))):
                by_marks.setdefault(marks, set()).add(state)
        without_marks = by_marks.get(())
        q_init = evaluation.q_init
        assert without_marks == (None if q_init is None else macro_states[q_init])
        contents: dict[frozenset[int], set[tuple[int, ...]]] = {}
        for marks, states in by_marks.items():
            contents.setdefault(frozenset(states), set()).add(tuple(at[k] for k in marks))
        assert {macro_states[q] for q in evaluation.lists} == set(contents)
        for q, nodes in evaluation.lists.items():
            check_list(nodes, at[n], contents[macro_states[q]])

    return check(case, Strategy.STRICT, watch)


def test_the_gapless_answers_of_any_automaton(suite: Suite) -> None:
    suite.run(lambda rng: check_gapless(random_case(rng)), deep_count=20_000)


@random_suite(20_000)
def test_the_gapless_answers_of_io_deterministic_automata(rng: Random) -> bool:
    return check_gapless(random_case(rng, random_io_deterministic))


def test_e16_nothing_goes_on_when_the_unmarked_run_ends() -> None:
    """E16: as printed, line 12 makes the initial state false and then asks where it leads."""
    cea = anchored_cea(2, "0 • 1, 1 • 1", {1})
    evaluation = StrictEvaluation(cea)
    for n, event in enumerate(word("AAA")):
        evaluation.advance(event, n)
        assert evaluation.q_init is None
        assert list(evaluation.answers(0)) == [ComplexEvent(0, n, tuple(range(n + 1)))]


def test_contiguous_is_what_is_read_one_after_the_other() -> None:
    cea = anchored_cea(3, "0 ∘ 0, 0 • 1, 1 • 2", {2})
    evaluation = StrictEvaluation(cea)
    for position in (3, 7, 20):
        evaluation.advance(word("A")[0], position)
    assert list(evaluation.answers(0)) == [ComplexEvent(7, 20, (7, 20))]
    assert check(Case(cea, word("AAA"), (3, 7, 20)), Strategy.STRICT)
