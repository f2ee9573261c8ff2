"""LAST without determinisation (FOUND Alg. 6; FOUND Thm. 6)."""

from __future__ import annotations

from random import Random

from cerlab.model.clauses import Strategy
from proofs_tests.foundations.anchored_cases import anchored_cea, answers, check, random_case
from proofs_tests.foundations.order_invariants import best_of_each_state
from proofs_tests.suite import random_suite


@random_suite(20_000)
def test_the_best_answer_of_each_end(rng: Random) -> bool:
    sample = random_case(rng)
    return check(sample, Strategy.LAST, best_of_each_state(sample, Strategy.LAST))


def test_the_last_difference_decides() -> None:
    """Two events on AAA: the younger start wins."""
    two = anchored_cea(3, "0 ∘ 0, 0 • 1, 1 ∘ 1, 1 • 2", {2})
    assert answers(two, Strategy.LAST, "AAA") == [(1, 2)]


def test_e7_a_run_that_takes_beats_one_that_was_better_and_skips() -> None:
    """E7: the automaton printed for LAST answers {0, 2} here; Algorithm 6 does not."""
    cea = anchored_cea(3, "0 ∘ 0, 0 • 2, 2 ∘ 2, 2 • 1", {1})
    assert answers(cea, Strategy.LAST, "AAA") == [(1, 2)]
