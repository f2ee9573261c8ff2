"""MAX by pairs of sets of states (FOUND Alg. 7; FOUND Thm. 6)."""

from __future__ import annotations

from random import Random

from cerlab import ComplexEvent
from cerlab.engine.reference.driver import Recogniser
from cerlab.engine.reference.lists import MaxEvaluation
from cerlab.model.clauses import Strategy
from proofs_tests.foundations.anchored_cases import (
    Case,
    Run,
    anchored_cea,
    answers,
    check,
    check_list,
    random_anchored,
    random_case,
    random_io_deterministic,
)
from proofs_tests.suite import Suite, random_suite


def check_pairs(case: Case) -> bool:
    """The answers, and what the list of each pair (T, U) holds, by the definition of T and U."""

    def watch(evaluation: Recogniser[ComplexEvent], runs: set[Run], n: int) -> None:
        assert isinstance(evaluation, MaxEvaluation)
        at = case.positions
        everything = {marks for _, marks in runs}
        pairs: dict[tuple[frozenset[int], frozenset[int]], set[tuple[int, ...]]] = {}
        for C in everything:
            U = frozenset(q for q, marks in runs if set(C) < set(marks))
            T = frozenset(q for q, marks in runs if marks == C) - U
            if T:
                pairs.setdefault((T, U), set()).add(tuple(at[k] for k in C))
        assert {(r.T, r.U) for r in evaluation.lists} == set(pairs)
        for r, nodes in evaluation.lists.items():
            check_list(nodes, at[n], pairs[r.T, r.U])

    return check(case, Strategy.MAX, watch)


def test_the_maximal_answers_of_any_automaton(suite: Suite) -> None:
    suite.run(lambda rng: check(random_case(rng), Strategy.MAX), deep_count=20_000)


@random_suite(10_000)
def test_the_lists_are_those_of_the_pairs(rng: Random) -> bool:
    draw = rng.choice((random_anchored, random_io_deterministic))
    return check_pairs(random_case(rng, draw))


def test_incomparable_answers_both_survive() -> None:
    """Two events on AAA: {0, 2} and {1, 2}; if more are allowed between, all of them beat both."""
    two = anchored_cea(3, "0 ∘ 0, 0 • 1, 1 ∘ 1, 1 • 2", {2})
    assert sorted(answers(two, Strategy.MAX, "AAA")) == [(0, 2), (1, 2)]
    more = anchored_cea(3, "0 ∘ 0, 0 • 1, 1 ∘ 1, 1 • 1, 1 • 2", {2})
    assert answers(more, Strategy.MAX, "AAA") == [(0, 1, 2)]
