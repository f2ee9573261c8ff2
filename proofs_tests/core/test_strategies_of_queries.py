"""SELECT STRICT, NEXT, LAST, MAX on interval CEA, windows after them (FOUND Sec. 6).

P12: the engine with the moving idle state is the strategy over all answers, then the window.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from cerlab.automata import strategy as construction
from cerlab.automata.automaton import Mark
from cerlab.automata.deterministic import States
from cerlab.automata.strategy import Rivals, StrategyCea
from cerlab.evaluate import answers_of
from cerlab.logic.ceql.semantics import query_answers
from cerlab.model.clauses import Strategy
from cerlab.testing import Shape
from proofs_tests.mutants.driver import Judge, kills, mutant, on_seeds
from proofs_tests.random_cases import Case, random_case
from proofs_tests.suite import Suite

SHAPE = Shape(depth=3, events=7, rich=False)


def selecting(rng: Random, strategy: Strategy) -> Case:
    example = random_case(rng, SHAPE)
    return replace(example, ast=replace(example.ast, strategy=strategy))


def agree(rng: Random, strategy: Strategy) -> bool:
    example = selecting(rng, strategy)
    expected = query_answers(example.ast, example.stream)
    answers = list(answers_of(example.query, example.stream, "tecs"))
    assert len(answers) == len(set(answers)), example.describe()
    assert set(answers) == set(expected), example.describe()
    return bool(expected)


@pytest.mark.parametrize("strategy", Strategy)
def test_p12_strategy_then_window(strategy: Strategy, suite: Suite) -> None:
    suite.run(lambda rng: agree(rng, strategy), deep_count=10_000)


def rivals_without_older(self: StrategyCea, rivals: Rivals, symbol: int, mark: Mark) -> Rivals:
    """Only runs with the same start compete: what a CEA on an interval can express (E13)."""
    new = _RIVALS(self, rivals, symbol, mark)
    idle = {self.cea.states}
    return Rivals(new.equal - idle, new.better, new.worse)


def last_as_next(self: StrategyCea, rivals: Rivals, symbol: int, mark: Mark) -> Rivals:
    """LAST whose worse rivals are forgotten, so that a later mark cannot turn it round."""
    new = _RIVALS(self, rivals, symbol, mark)
    return Rivals(new.equal, new.better, frozenset())


def better_is_not_kept(self: StrategyCea, rivals: Rivals, symbol: int, mark: Mark) -> Rivals:
    """Only the present event decides."""
    return _RIVALS(self, Rivals(rivals.equal, frozenset(), rivals.worse), symbol, mark)


def accepts_if_any(self: StrategyCea, state: construction.Contender) -> bool:
    """Acceptance that does not look at rivals."""
    F: States = self.cea.F
    return not state.runs.isdisjoint(F)


_RIVALS = StrategyCea.rivals_after


def judge(strategy: Strategy) -> Judge:
    return on_seeds(lambda rng: agree(rng, strategy), 400)


MUTANTS = [
    mutant(judge(Strategy.NXT), StrategyCea, "rivals_after", rivals_without_older),
    mutant(judge(Strategy.LAST), StrategyCea, "rivals_after", last_as_next),
    mutant(judge(Strategy.MAX), StrategyCea, "rivals_after", better_is_not_kept),
    mutant(judge(Strategy.MAX), StrategyCea, "_accepts", accepts_if_any),
]


test_wrong_versions_are_killed = kills(MUTANTS)
