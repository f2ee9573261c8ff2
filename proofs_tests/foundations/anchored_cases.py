"""Random anchored automata, all their runs, and what an evaluator is to answer (FOUND Sec. 6)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from cerlab import ComplexEvent, Event, Valuation, satisfies
from cerlab.automata import epsilon
from cerlab.automata.automaton import AnchoredCea, EpsilonCea, Mark, Transition
from cerlab.engine.reference.driver import Recogniser
from cerlab.engine.reference.list_nodes import BOTTOM, NodeList
from cerlab.engine.reference.lists import lists_recogniser
from cerlab.logic.cel.semantics import select
from cerlab.model.answer import Positions
from cerlab.model.clauses import Strategy
from cerlab.predicates import syntax as pred

A, B = pred.TypeIs("A"), pred.TypeIs("B")
ONE = pred.Comparison(pred.Operator.EQ, pred.Attribute("v"), pred.Constant(1))
PREDICATES: tuple[pred.Predicate, ...] = (pred.EVERYTHING, pred.EVERYTHING, A, B, ONE)
MARKS = tuple(Mark)

Run = tuple[int, Positions]
"""A run, as far as it matters: its last state, and the positions that it took."""


@dataclass(frozen=True)
class Case:
    """An automaton, the events that it reads and their positions in a larger stream."""

    cea: AnchoredCea
    events: tuple[Event, ...]
    positions: Positions
    lowest_start: int = 0


def without_epsilon(A: EpsilonCea) -> AnchoredCea:
    return epsilon.without_moves(A, AnchoredCea)


def word(letters: str) -> tuple[Event, ...]:
    """``word("AAB")``: the types of the events."""
    return tuple(Event(letter) for letter in letters)


def transition(text: str) -> Transition:
    """``transition("0 • 1")``, on every event."""
    source, mark, target = text.split()
    return Transition(int(source), pred.EVERYTHING, Mark(mark), int(target))


def anchored_cea(states: int, transitions: str, F: set[int]) -> AnchoredCea:
    """``anchored(2, "0 ∘ 0, 0 • 1", {1})``, with the initial state 0."""
    Delta = tuple(transition(text) for text in transitions.split(","))
    return AnchoredCea(states, Delta, frozenset({0}), frozenset(F))


def random_anchored(rng: Random) -> AnchoredCea:
    """Two to five states and any transitions; most often the initial state 0 can wait."""
    states = rng.randrange(2, 6)
    waiting = [transition("0 ∘ 0")] if rng.random() < 0.8 else []
    first = Transition(0, rng.choice(PREDICATES), Mark.TAKE, rng.randrange(states))
    others = [
        Transition(
            rng.randrange(states),
            rng.choice(PREDICATES),
            rng.choice(MARKS),
            rng.randrange(states),
        )
        for _ in range(rng.randrange(states, 3 * states))
    ]
    taking = [t.target for t in (first, *others) if t.mark is Mark.TAKE]
    F = {q for q in range(states) if rng.random() < 0.3} | {rng.choice(taking)}
    I = {0} | {q for q in range(states) if rng.random() < 0.2}
    return AnchoredCea(states, (*waiting, first, *others), frozenset(I), frozenset(F))


def random_io_deterministic(rng: Random) -> AnchoredCea:
    """One initial state; of each state and mark, transitions whose predicates are disjoint."""
    states = rng.randrange(2, 6)
    disjoint = (
        (pred.EVERYTHING,),
        (pred.EVERYTHING,),
        (A, B),
        (ONE, pred.Not(ONE)),
        (A,),
        (B,),
        (),
    )
    Delta = [
        Transition(q, predicate, mark, rng.randrange(states))
        for q in range(states)
        for mark in MARKS
        for predicate in rng.choice(disjoint)
    ]
    F = {q for q in range(states) if rng.random() < 0.6} or {0}
    return AnchoredCea(states, tuple(Delta), frozenset({0}), frozenset(F))


def random_case(rng: Random, draw: Callable[[Random], AnchoredCea] = random_anchored) -> Case:
    """An automaton with up to seven events, now and then of a substream or with a window."""
    cea = draw(rng)
    length = rng.randrange(3, 8)
    events = tuple(Event(rng.choice("AB"), {"v": rng.randrange(2)}) for _ in range(length))
    with_gaps = sorted(rng.sample(range(3 * length), length))
    positions = tuple(rng.choice((range(length), with_gaps)))
    return Case(cea, events, positions, lowest_start=rng.choice((0, 0, 0, 1, 3)))


def extend_runs(cea: AnchoredCea, runs: set[Run], event: Event, n: int) -> set[Run]:
    """All runs that go on with the event at position n."""
    return {
        (t.target, (*positions, n) if t.mark is Mark.TAKE else positions)
        for state, positions in runs
        for t in cea.Delta
        if t.source == state and satisfies(event, t.predicate)
    }


def accepted_positions(cea: AnchoredCea, runs: set[Run], n: int) -> set[Positions]:
    """Return the answers of the runs that end in F and take their last event, at n."""
    return {positions for state, positions in runs if state in cea.F and positions[-1:] == (n,)}


def select_answers(strategy: Strategy | None, answers: set[Positions]) -> set[Positions]:
    """Return the answers that a strategy keeps, by definition, of answers with the same end."""
    if strategy is None:
        return answers
    valuations = {Valuation(positions[0], positions[-1], {"X": positions}) for positions in answers}
    return {tuple(V.labels["X"]) for V in select(strategy, valuations)}


Watch = Callable[[Recogniser[ComplexEvent], set[Run], int], None]
"""Asserts something of a recogniser after an event, given all runs and the index of the event."""


def check(case: Case, strategy: Strategy | None, watch: Watch | None = None) -> bool:
    """Each step against all runs: the answers, each once, as complex events; then again anew.

    Runs count the events that are read, so that STRICT means the same here and there; positions
    come in at the end. Returns whether there were answers.
    """
    evaluation = lists_recogniser(case.cea, strategy)
    has_answers = False
    for _ in range(2):
        runs: set[Run] = {(q, ()) for q in case.cea.I}
        for n, (event, position) in enumerate(zip(case.events, case.positions, strict=True)):
            evaluation.advance(event, position)
            runs = extend_runs(case.cea, runs, event, n)
            expected = select_answers(strategy, accepted_positions(case.cea, runs, n))
            enumeration = list(evaluation.answers(case.lowest_start))
            assert len(enumeration) == len(set(enumeration)), "an answer comes twice"
            assert set(enumeration) == {
                ComplexEvent(at[0], at[-1], at)
                for answer in expected
                if (at := tuple(case.positions[k] for k in answer))[0] >= case.lowest_start
            }
            if watch is not None:
                watch(evaluation, runs, n)
            has_answers = has_answers or bool(enumeration)
        evaluation.reset()
    return has_answers


def answers(cea: AnchoredCea, strategy: Strategy | None, letters: str) -> list[Positions]:
    """Return the answers of an automaton at the last event of a word."""
    evaluation = lists_recogniser(cea, strategy)
    for n, event in enumerate(word(letters)):
        evaluation.advance(event, n)
    return [C.positions for C in evaluation.answers(0)]


def paths(nodes: NodeList) -> list[list[Positions]]:
    """For each node of a list, the complex event of each path to the sink."""
    return [
        [()] if n is BOTTOM else [(*C, n.position) for below in paths(n.list) for C in below]
        for n in nodes
    ]


def check_list(nodes: NodeList, now: int, expected: set[Positions]) -> None:
    """Assert that nodes of a list are disjoint, not empty, in order, and hold the expected sets."""
    by_node = paths(nodes)
    together = [C for below in by_node for C in below]
    assert all(by_node)
    assert len(together) == len(set(together)), "a complex event has two paths"
    assert set(together) == expected
    ends = [n.position == now for n in nodes]
    assert ends == sorted(ends, reverse=True), "a node of the current position is not in front"
    assert nodes.max_start == max(C[0] if C else BOTTOM.position for C in together)
