"""NXT without determinisation (FOUND Alg. 5; FOUND Thm. 6)."""

from __future__ import annotations

from random import Random

from cerlab.model.clauses import Strategy
from proofs_tests.foundations.anchored_cases import anchored_cea, answers, check, random_case
from proofs_tests.foundations.order_invariants import best_of_each_state
from proofs_tests.suite import random_suite


@random_suite(20_000)
def test_the_best_answer_of_each_end(rng: Random) -> bool:
    sample = random_case(rng)
    return check(sample, Strategy.NXT, best_of_each_state(sample, Strategy.NXT))


def test_the_first_difference_decides() -> None:
    """Two events on AAA: the older start wins; a third that is allowed between is not skipped."""
    two = anchored_cea(3, "0 ∘ 0, 0 • 1, 1 ∘ 1, 1 • 2", {2})
    assert answers(two, Strategy.NXT, "AAA") == [(0, 2)]
    more = anchored_cea(3, "0 ∘ 0, 0 • 1, 1 ∘ 1, 1 • 1, 1 • 2", {2})
    assert answers(more, Strategy.NXT, "AAA") == [(0, 1, 2)]
