"""The predicted growth of answers per event, against the most that any short stream has."""

from __future__ import annotations

from collections import Counter
from itertools import product

import pytest

from cerlab.automata.automaton import IntervalCea, Mark, Transition
from cerlab.automata.deterministic import DeterministicCea
from cerlab.automata.growth import Growth, growth_of
from cerlab.compile.pattern import as_pattern
from cerlab.logic.cel.semantics import valuations
from cerlab.model.answer import complex_event
from cerlab.model.event import Event
from cerlab.predicates.minterms import minterms
from cerlab.predicates.syntax import EVERYTHING


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
