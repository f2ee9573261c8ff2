"""The predicted growth of answers per event, against the most that any short stream has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import product
from random import Random
from typing import Any

import pytest

from cerlab import Event
from cerlab.automata.automaton import IntervalCea, Mark, Transition
from cerlab.automata.decide import Growth, growth_of
from cerlab.automata.deterministic import DeterministicCea, Node, moves_over
from cerlab.automata.explore import reachable, successors_by
from cerlab.budget import step_budget
from cerlab.compile.pattern import as_pattern
from cerlab.logic.cel.semantics import valuations
from cerlab.model.answer import complex_event
from cerlab.predicates.minterms import minterms
from cerlab.predicates.syntax import EVERYTHING, Not, TypeIs


def most(text: str, length: int) -> int:
    """The most complex events that end at the last event of a stream over A and B."""
    phi = as_pattern(text).formula
    counts = [0]
    for word in product("AB", repeat=length):
        matches = {complex_event(V) for V in valuations(phi, tuple(map(Event, word)))}
        counts.append(Counter(m.end for m in matches)[length - 1])
    return max(counts)


def test_growth_in_words() -> None:
    words = ["exponential", "constant", "polynomial of degree 2"]
    assert [str(Growth(degree)) for degree in (None, 0, 2)] == words


@pytest.mark.parametrize(
    ("text", "degree"),
    [
        ("A", 0),
        ("A : B", 0),
        ("A ; B", 1),
        ("A:+", 1),
        ("A ; B ; A", 2),
        ("A:+ ; B", 2),
        ("A+", None),
        ("(A ; B)+", None),
    ],
)
def test_growth(text: str, degree: int | None) -> None:
    machine = as_pattern(text).machine
    growth = growth_of(machine, [m.symbol for m in minterms(machine.predicates)])
    assert growth is not None
    assert growth.degree == degree
    row = [most(text, n) for n in range(3, 8)]
    if degree is None:
        assert row[-1] >= 2 * row[-3], "it doubles within two events"
    elif degree == 0:
        assert len(set(row)) == 1
    else:
        assert row[-1] > row[-3]
        assert all(count <= n**degree for n, count in enumerate(row, 3))


def test_ways_that_lead_to_no_answer_do_not_count() -> None:
    """Two on every event, through a hundred states, and without end in the last one."""
    ways = [*((n, n + 1) for n in range(2, 101)), (101, 101)]
    blind = [Transition(q, EVERYTHING, mark, r) for q, r in ways for mark in Mark]
    begin = Transition(0, EVERYTHING, Mark.TAKE, 1), Transition(0, EVERYTHING, Mark.SKIP, 2)
    machine = IntervalCea(102, (*begin, *blind), frozenset({0}), frozenset({1}))
    assert growth_of(DeterministicCea(machine), [0]) == Growth(0)


EQUAL_OPERANDS = (" ; ", " : ", " OR ", " AND ", " ALL ", " UNLESS ", " AS x ; ", ":+ ; ", "+ ; ")
"""Joins of n copies of A: every binary operator, and iterations in a sequence."""


def steps(text: str) -> int:
    """The steps of the budget that the automaton of a formula and its growth take."""
    with step_budget("equal operands", own=1) as budget:
        pattern = as_pattern(text)
        machine = pattern.machine
        growth_of(machine, [m.symbol for m in minterms(machine.predicates)])
        return budget.steps - budget.left


@pytest.mark.filterwarnings("ignore:CER0918")  # UNLESS of the left side itself is judged too
@pytest.mark.parametrize("operator", EQUAL_OPERANDS)
def test_equal_operands_take_polynomially_many_steps(operator: str) -> None:
    """Four times the operands take at most a cubic multiple of the steps."""
    few, many = (steps(operator.join(["A"] * n)) for n in (10, 40))
    assert many <= 4**3 * few


def test_a_sequence_of_many_equal_operands_has_its_degree() -> None:
    machine = as_pattern(" ; ".join(["A"] * 200)).machine
    assert growth_of(machine, [0, 1]) == Growth(199)


def random_machine(rng: Random) -> IntervalCea:
    """A small machine, some of whose transitions differ in their mark alone."""
    states = rng.randrange(3, 6)
    tests = (TypeIs("A"), Not(TypeIs("A")), EVERYTHING)
    Delta = {
        Transition(
            rng.randrange(states), rng.choice(tests), rng.choice([*Mark]), rng.randrange(1, states)
        )
        for _ in range(rng.randrange(3, 9))
    }
    return IntervalCea(states, tuple(Delta), frozenset({0}), frozenset({states - 1}))


def growth_by_definition(machine: DeterministicCea) -> Growth:
    """The patterns of Weber and Seidl, searched for each state and each pair of states alone."""
    follow = moves_over(machine, (0, 1, 2, 3))
    start: Node = ("idle", machine.idle)
    nodes = set(reachable([start], lambda n: [r for _, r in follow(n)]))
    edges = [(n, symbol, r) for n in nodes for (symbol, _), r in follow(n)]
    final = [n for n in nodes if n[0] == "run" and machine.final[n[1]]]
    nodes &= set(reachable(final, successors_by((r, n) for n, _, r in edges)))
    edges = [(n, symbol, r) for n, symbol, r in edges if n in nodes and r in nodes]
    after = {
        n: set(
            reachable(
                [r for m, _, r in edges if m == n], successors_by((m, r) for m, _, r in edges)
            )
        )
        for n in nodes
    }

    def together(state: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
        for symbol in range(4):
            ways = [
                [(k, r) for k, (m, a, r) in enumerate(edges) if (m, a) == (n, symbol)]
                for n in state
            ]
            yield from (tuple(r for _, r in way) for way in product(*ways))

    def parted(state: tuple[Node, Node, bool]) -> Iterator[tuple[Node, Node, bool]]:
        p, q, have = state
        for k, (m, a, r) in enumerate(edges):
            for other, (n, b, s) in enumerate(edges):
                if (m, n) == (p, q) and a == b:
                    yield r, s, have or k != other

    if any((p, p, True) in set(reachable([(p, p, False)], parted)) for p in nodes if p in after[p]):
        return Growth(None)
    pairs = [
        (p, q)
        for p in nodes
        for q in nodes
        if p != q
        and p in after[p]
        and q in after[q]
        and (p, q, q) in set(reachable([(p, p, q)], together))
    ]

    def longest(p: Node) -> int:
        return max((1 + longest(b) for a, b in pairs if a == p or a in after[p]), default=0)

    return Growth(max(map(longest, nodes), default=0))


def test_growth_is_that_of_the_definition() -> None:
    """(A. Weber, H. Seidl, "On the degree of ambiguity of finite automata", 1991.)"""
    rng = Random(1991)
    seen = Counter[str]()
    for _ in range(400):
        machine = DeterministicCea(random_machine(rng))
        growth = growth_of(machine, (0, 1, 2, 3))
        assert growth == growth_by_definition(machine)
        seen[str(growth)] += 1
    assert seen["exponential"] > 50
    assert seen["polynomial of degree 2"] > 10
