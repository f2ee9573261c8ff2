"""Deliberate wrong versions: each gives some wrong answer, and the differential suite sees it.

A mutant counts only if it is right on half or more of the random cases with answers; otherwise any
test would find it.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from cerlab.automata.vcea import LabelTransition, Vcea
from cerlab.compile import cel_to_vcea
from cerlab.engine.reference import driver
from cerlab.engine.reference.driver import WindowPointer
from cerlab.engine.reference.evaluation import TecsEvaluation
from cerlab.engine.reference.tecs import Node, Tecs, Union, UnionList
from cerlab.model.clauses import Consume
from cerlab.model.event import Event
from cerlab.predicates.condition import alternatives
from cerlab.predicates.syntax import EVERYTHING, Conjunction, Predicate, conjunction
from proofs_tests.core.test_theorem_4 import check_run, random_cea
from proofs_tests.differential.test_evaluators import agree
from proofs_tests.random_cases import random_case

CASES = 1_200


def demand_everywhere(A: Vcea, condition: Any) -> Vcea:
    """FILTER X[P] put to every marked transition, also of other labels."""
    Delta = tuple(
        t._replace(predicate=Conjunction(t.predicate, condition.predicate)) if t.labels else t
        for t in A.Delta
    )
    return Vcea(A.states, Delta, A.I, A.F)


def one_alternative(condition: Any) -> Any:
    """OR between filters keeps its first side only."""
    return _ALTERNATIVES(condition)[:1]


_ALTERNATIVES = alternatives


def star_with_gaps(A: Vcea, *, gaps: bool) -> Vcea:
    """``:+`` that waits."""
    return _ITERATION(A, gaps=True)


_ITERATION = cel_to_vcea._iteration


def iteration_at_most_twice(A: Vcea, *, gaps: bool) -> Vcea:
    """``+`` without the copies for bodies of one event."""
    made = _ITERATION(A, gaps=gaps)
    w = made.states - 1
    loops = [t for t in made.Delta if t.source == w == t.target and t.labels]
    return Vcea(made.states, tuple(t for t in made.Delta if t not in loops), made.I, made.F)


def strict_window(self: WindowPointer, time: Any, position: int) -> int:
    """WITHIN that is strict, as some engines have it."""
    if self._width is None:
        return 0
    if self._counts:
        time = self._seen
        self._seen += 1
    self._inside.append((time, position))
    while len(self._inside) > 1 and time - self._inside[0][0] >= self._width:
        self._inside.popleft()
    return self._inside[0][1]


def consume_only_own(self: Any, recogniser: Any) -> None:
    """CONSUME BY ANY that spares the other partitions."""
    if self._plan.consume is not Consume.NONE:
        recogniser.reset()


def q0_last(self: TecsEvaluation, event: Event, position: int) -> None:
    """Algorithm 1 with q0 executed after the active states."""
    symbol = self.automaton.symbol(event)
    before, self.T = self.T, {}
    for p, ul in before.items():
        self._execute(p, ul, symbol, position)
    self._execute(self.automaton.q0, [self.tecs.bottom(position)], symbol, position)
    self._position = position


def insert_at_end(self: Tecs, ul: UnionList, node: Node) -> None:
    """insert that appends, whatever the max-start."""
    ul.append(node)


def union_unordered(self: Tecs, first: Node, second: Node) -> Node:
    """Union gadget (d) that swaps the right children: time order is lost."""
    if isinstance(first, Union) and isinstance(second, Union):
        l1, r1, l2, r2 = first.left, first.right, second.left, second.right
        assert l1 is not None
        assert r1 is not None
        assert l2 is not None
        assert r2 is not None
        older = self._join(r2, r1) if r1.max_start >= r2.max_start else self._join(r1, r2)
        return self._join(l1, self._join(l2, older))
    return _UNION(self, first, second)


_UNION = Tecs.union


def concat_with_gaps(A: Vcea, B: Vcea, *, gaps: bool) -> Vcea:
    """``:`` that waits."""
    return _SEQUENCE(A, B, gaps=True)


def initial_states_may_wait(A: Vcea, B: Vcea, *, gaps: bool) -> Vcea:
    """``;`` whose waiting loop is on the initial states of the left side."""
    made = _SEQUENCE(A, B, gaps=gaps)
    loops = tuple(LabelTransition(p, EVERYTHING, frozenset(), p) for p in sorted(A.I) if gaps)
    return Vcea(made.states, made.Delta + loops, made.I, made.F)


_SEQUENCE = cel_to_vcea._sequence


def filter_on_first_only(P: Predicate, Q: Predicate) -> Predicate:
    """Two filters on one event: the later one wins."""
    return P if isinstance(P, Conjunction) else _CONJUNCTION(P, Q)


_CONJUNCTION = conjunction


def on_queries(seed: int) -> bool:
    """The differential test of the evaluators."""
    return agree(random_case(Random(seed)))


def on_automata(seed: int) -> bool:
    """The invariants of the tECS on a random automaton."""
    rng = Random(seed)
    return check_run(random_cea(rng), [Event(rng.choice("AB")) for _ in range(7)])


MUTANTS: list[Any] = [
    pytest.param(on_queries, cel_to_vcea, "_iteration", star_with_gaps, id="star-waits"),
    pytest.param(on_queries, cel_to_vcea, "_iteration", iteration_at_most_twice, id="plus-twice"),
    pytest.param(on_queries, cel_to_vcea, "_sequence", concat_with_gaps, id="concat-waits"),
    pytest.param(on_queries, cel_to_vcea, "_sequence", initial_states_may_wait, id="left-waits"),
    pytest.param(on_queries, cel_to_vcea, "_demand", demand_everywhere, id="filter-every-label"),
    pytest.param(on_queries, cel_to_vcea, "alternatives", one_alternative, id="or-keeps-one-side"),
    pytest.param(on_queries, cel_to_vcea, "conjunction", filter_on_first_only, id="filter-lost"),
    pytest.param(on_queries, WindowPointer, "advance", strict_window, id="strict-window"),
    pytest.param(on_queries, driver.Driver, "consume", consume_only_own, id="any-spares-others"),
    pytest.param(on_queries, TecsEvaluation, "advance", q0_last, id="q0-last"),
    pytest.param(on_queries, Tecs, "insert", insert_at_end, id="insert-appends"),
    pytest.param(on_automata, Tecs, "union", union_unordered, id="union-loses-time-order"),
]


@pytest.mark.parametrize(("judge", "owner", "name", "wrong"), MUTANTS)
def test_the_suite_kills(
    judge: Callable[[int], bool],
    owner: Any,
    name: str,
    wrong: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(owner, name, wrong)
    killed = agreed = 0
    for seed in range(CASES):
        try:
            agreed += judge(seed)
        except AssertionError:
            killed += 1
    assert killed, "the mutant survived"
    assert agreed >= killed, "the mutant is too wrong to count"
