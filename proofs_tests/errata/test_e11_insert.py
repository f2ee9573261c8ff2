"""E11: the printed cases of insert(ul, n) do not cover all calls of Algorithm 1 (CORE Sec. 4.2)."""

from __future__ import annotations

from random import Random

import pytest

from cerlab import Event
from cerlab.automata.automaton import IntervalCea, Mark, Transition
from cerlab.automata.deterministic import DeterministicCea
from cerlab.engine.reference.tecs import Node, Tecs, TecsEvaluation, UnionList
from cerlab.predicates.syntax import EVERYTHING
from proofs_tests.core.test_theorem_4 import check_run, random_cea


class NoSuchCase(Exception):
    """The paper says nothing for this insertion."""


def printed_insert(self: Tecs, ul: UnionList, node: Node) -> None:
    """The three cases as printed, and nothing else."""
    for i in range(1, len(ul)):
        if ul[i].max_start == node.max_start:
            ul[i] = self.union(ul[i], node)
            return
    if node.max_start == ul[0].max_start:
        ul.insert(1, node)
        return
    for i in range(1, len(ul) - 1):
        if ul[i].max_start > node.max_start > ul[i + 1].max_start:
            ul.insert(i + 1, node)
            return
    raise NoSuchCase


COUNTEREXAMPLE = IntervalCea(
    2,
    (Transition(0, EVERYTHING, Mark.SKIP, 1), Transition(1, EVERYTHING, Mark.SKIP, 1)),
    frozenset({0}),
    frozenset({1}),
)


def test_the_printed_cases_miss_a_list_of_one_node(monkeypatch: pytest.MonkeyPatch) -> None:
    events = [Event("A"), Event("A")]
    assert check_run(COUNTEREXAMPLE, events)
    monkeypatch.setattr(Tecs, "insert", printed_insert)
    with pytest.raises(NoSuchCase):
        check_run(COUNTEREXAMPLE, events)


def test_random_automata_hit_the_missing_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Tecs, "insert", printed_insert)
    misses = 0
    for seed in range(300):
        rng = Random(seed)
        cea = random_cea(rng)
        try:
            check_run(cea, [Event(rng.choice("AB")) for _ in range(6)])
        except NoSuchCase:
            misses += 1
    assert misses >= 100


def test_e12_a_union_list_may_be_longer_than_the_number_of_active_states() -> None:
    """E12: length 3 with two states, one of them active; |Q| + 1 is the bound that holds."""
    cea = IntervalCea(
        2,
        (
            Transition(0, EVERYTHING, Mark.TAKE, 1),
            Transition(0, EVERYTHING, Mark.SKIP, 1),
            Transition(1, EVERYTHING, Mark.TAKE, 1),
        ),
        frozenset({0}),
        frozenset({1}),
    )
    evaluation = TecsEvaluation(DeterministicCea(cea))
    for j in range(2):
        evaluation.advance(Event("A"), j)
    (ul,) = evaluation.T.values()
    assert len(ul) == 3
