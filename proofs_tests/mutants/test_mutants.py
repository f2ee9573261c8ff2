"""Deliberate wrong versions: each gives some wrong answer, and the differential suite sees it."""

from __future__ import annotations

from random import Random
from typing import Any

from cerlab import Event, Valuation
from cerlab.automata import compose
from cerlab.automata.automaton import LabelTransition, Vcea
from cerlab.compile import cel_to_vcea
from cerlab.engine.reference import driver
from cerlab.engine.reference.driver import WindowPointer
from cerlab.engine.reference.runs import VceaRuns
from cerlab.engine.reference.tecs import Node, Tecs, TecsEvaluation, Union, UnionList
from cerlab.logic.cel import syntax as cel
from cerlab.logic.cel.semantics import valuations
from cerlab.model.clauses import Consume, Strategy
from cerlab.predicates import syntax as pred
from cerlab.predicates.condition import alternatives
from cerlab.predicates.syntax import EVERYTHING, And, Predicate, conjunction
from cerlab.testing import Shape, random_events, random_formula
from proofs_tests.core.test_theorem_4 import check_run, random_cea
from proofs_tests.differential.test_evaluators import agree
from proofs_tests.mutants.driver import kills, mutant, on_seeds
from proofs_tests.random_cases import random_case


def demand_everywhere(A: Vcea, condition: Any) -> Vcea:
    """FILTER X[P] put to every marked transition, also of other labels."""
    Delta = tuple(
        t._replace(predicate=And(t.predicate, condition.predicate)) if t.labels else t
        for t in A.Delta
    )
    return Vcea(A.states, Delta, A.I, A.F)


def one_alternative(condition: Any) -> Any:
    """OR between filters keeps its first side only."""
    return _ALTERNATIVES(condition)[:1]


_ALTERNATIVES = alternatives


def star_with_gaps(A: Vcea, *times: Any, gaps: bool) -> Vcea:
    """``:+`` that waits."""
    return _ITERATION(A, *times, gaps=gaps if times else True)


_ITERATION = compose.iteration


def iteration_at_most_twice(A: Vcea, *times: Any, gaps: bool) -> Vcea:
    """``+`` without the copies for bodies of one event."""
    B = _ITERATION(A, *times, gaps=gaps)
    if times:
        return B
    w = B.states - 1
    loops = [t for t in B.Delta if t.source == w == t.target and t.labels]
    return Vcea(B.states, tuple(t for t in B.Delta if t not in loops), B.I, B.F)


def strict_window(self: WindowPointer, time: Any, position: int) -> int:
    """WITHIN that is strict, as some engines have it."""
    if self._counts:
        time = self._events
        self._events += 1
    self._inside.append((time, position))
    while len(self._inside) > 1 and time - self._inside[0][0] >= self._width:
        self._inside.popleft()
    return self._inside[0][1]


def consume_only_own(self: Any, recogniser: Any) -> None:
    """CONSUME BY ANY that spares the other partitions."""
    if self.plan.consume is not Consume.NONE:
        recogniser.reset()


def q0_last(self: TecsEvaluation, event: Event, position: int) -> None:
    """Algorithm 1 with q0 executed after the active states."""
    symbol = self.automaton.symbol(event)
    before, self.T = self.T, {}
    for p, ul in before.items():
        self._execute(self.automaton.step(p, symbol), ul, position)
    starting = self.automaton.begin(self._idle, symbol)
    self._execute(starting, [self.tecs.bottom(position)], position)
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
    C = _SEQUENCE(A, B, gaps=gaps)
    loops = tuple(LabelTransition(p, EVERYTHING, frozenset(), p) for p in sorted(A.I) if gaps)
    return Vcea(C.states, C.Delta + loops, C.I, C.F)


_SEQUENCE = compose.sequence


def filter_on_first_only(P: Predicate, Q: Predicate) -> Predicate:
    """Two filters on one event: the later one wins."""
    return P if isinstance(P, And) else _CONJUNCTION(P, Q)


_CONJUNCTION = conjunction


def on_queries(rng: Random) -> bool:
    """The differential test of the evaluators."""
    return bool(agree(random_case(rng)))


def on_family(rng: Random) -> bool:
    """The valuations of AND, ALL, UNLESS and STRICT of random formulas."""
    shape = Shape(depth=2, events=6)
    phi, psi = (random_formula(rng, shape) for _ in range(2))
    whole = rng.choice(
        (
            cel.And(phi, cel.Or(psi, phi)),
            cel.All(phi, psi),
            cel.Unless(cel.Plus(phi), psi),
            cel.Or(psi, cel.Select(Strategy.STRICT, phi)),
        )
    )
    S = random_events(rng, whole, shape)
    runs = VceaRuns(cel_to_vcea.cel_to_vcea(whole))
    answers: set[Valuation] = set()
    for position, event in enumerate(S):
        runs.advance(event, position)
        answers |= set(runs.answers(0))
    expected = valuations(whole, S)
    if answers != expected:
        raise AssertionError(str(whole))
    return bool(expected)


def and_of_marks(A: Vcea, B: Vcea) -> Vcea:
    """AND that compares marks, not labels."""
    marks = tuple(t._replace(labels=frozenset(t.labels and {"m"})) for t in B.Delta)
    same = {frozenset(t.labels and {"m"}): t.labels for t in A.Delta}
    Delta = tuple(t._replace(labels=same.get(t.labels, t.labels)) for t in marks)
    return _BOTH(A, Vcea(B.states, Delta, B.I, B.F))


def all_in_sequence(A: Vcea, B: Vcea) -> Vcea:
    """ALL without overlap: one after the other, either first."""
    return compose.union(
        _SEQUENCE(A, B, gaps=True),
        _SEQUENCE(B, A, gaps=True),
    )


def unless_at_the_start(A: Vcea, B: Vcea) -> Vcea:
    """UNLESS that follows only the runs of B that begin with those of A."""
    silent = tuple(t for t in B.Delta if t.source not in B.I) + tuple(
        t for t in B.Delta if t.source in B.I and t.target in B.F
    )
    return _UNLESS(A, Vcea(B.states, silent, B.I, B.F))


def strict_once(A: Vcea) -> Vcea:
    """STRICT that forgets that the block is over."""
    return A


_BOTH, _UNLESS = compose.both, compose.unless


def on_automata(rng: Random) -> bool:
    """The invariants of the tECS on a random automaton."""
    return check_run(random_cea(rng), [Event(rng.choice("AB")) for _ in range(7)])


ON_QUERIES, ON_FAMILY, ON_AUTOMATA = (
    on_seeds(check, 1_200) for check in (on_queries, on_family, on_automata)
)

MUTANTS = [
    mutant(ON_QUERIES, cel_to_vcea, "iteration", star_with_gaps, id="star-waits"),
    mutant(ON_QUERIES, cel_to_vcea, "iteration", iteration_at_most_twice, id="plus-twice"),
    mutant(ON_QUERIES, cel_to_vcea, "sequence", concat_with_gaps, id="concat-waits"),
    mutant(ON_QUERIES, cel_to_vcea, "sequence", initial_states_may_wait, id="left-waits"),
    mutant(ON_QUERIES, cel_to_vcea, "_demand", demand_everywhere, id="filter-every-label"),
    mutant(ON_QUERIES, cel_to_vcea, "alternatives", one_alternative, id="or-keeps-one-side"),
    mutant(ON_QUERIES, pred, "conjunction", filter_on_first_only, id="filter-lost"),
    mutant(ON_QUERIES, WindowPointer, "advance", strict_window, id="strict-window"),
    mutant(ON_QUERIES, driver.Driver, "consume", consume_only_own, id="any-spares-others"),
    mutant(ON_QUERIES, TecsEvaluation, "advance", q0_last, id="q0-last"),
    mutant(ON_AUTOMATA, Tecs, "insert", insert_at_end, id="insert-appends"),
    mutant(ON_FAMILY, cel_to_vcea, "both", and_of_marks, id="and-of-marks"),
    mutant(ON_FAMILY, cel_to_vcea, "in_any_order", all_in_sequence, id="all-in-sequence"),
    mutant(ON_FAMILY, cel_to_vcea, "unless", unless_at_the_start, id="unless-loses-runs"),
    mutant(ON_FAMILY, cel_to_vcea, "strict", strict_once, id="strict-is-nothing"),
    mutant(ON_AUTOMATA, Tecs, "union", union_unordered, id="union-loses-time-order"),
]


test_the_suite_kills = kills(MUTANTS)
