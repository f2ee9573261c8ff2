"""The order of answers inside an end depends on the query and the stream alone.

A machine numbers its states in the order in which streams reach them, so a query that has read
other streams, or several threads, number them otherwise.
"""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

import cerlab
from cerlab import ComplexEvent, Query
from cerlab.automata.strategy import name_of_state
from cerlab.evaluate import answers_of, names_that_take
from cerlab.model.stream import Stream
from cerlab.testing import Shape
from cerlab.threads import using
from proofs_tests.random_cases import Case, random_case
from proofs_tests.suite import Suite

SHAPES = Shape(events=14), Shape(events=14, depth=3), Shape(events=14, typed=True, timed=True)
STEPS = 40
FEW_STATES = 3
"""Fewer states have nearly always the same numbers."""


def numbered_at_random(query: Query, stream: Stream, rng: Random) -> None:
    """Have the machine of a query number its symbols and states by a random walk."""
    machine, learned = query.machine, query.learned
    events = list(stream)
    rng.shuffle(events)
    vectors = [learned.vectors[learned.symbol(event)] for event in events]
    idle, states = [machine.idle], list[int]()
    for vector in rng.choices(vectors, k=STEPS):
        states += [q for q in machine.begin(rng.choice(idle), vector) if q is not None]
        idle.append(machine.wait(rng.choice(idle), vector))
        if states:
            states += [q for q in machine.step(rng.choice(states), vector) if q is not None]


def names(query: Query) -> list[object]:
    """Return the names of the states of a machine, in order of their numbers."""
    return [name_of_state(query.machine, q) for q in range(len(query.machine.final))]


def listed(query: Query, stream: Stream, evaluator: str, threads: int) -> list[ComplexEvent]:
    with using(threads):
        return list(answers_of(query, stream, evaluator))


def drawn(rng: Random) -> tuple[Case, str, list[ComplexEvent]]:
    """Return a case, an evaluator and its answers, of which some end has several."""
    while True:
        sample = random_case(rng, rng.choice(SHAPES))
        if len(sample.stream) and sample.query.machine_kind == "automaton":
            evaluators = {"compiled", "tecs"} & {*names_that_take(sample.query)}
            evaluator = rng.choice(sorted(evaluators))
            answers = listed(sample.query, sample.stream, evaluator, 1)
            of_ends = Counter(answer.end for answer in answers).values()
            if max(of_ends, default=0) > 1 and len(sample.query.machine.final) > FEW_STATES:
                return sample, evaluator, answers


def has_one_order(rng: Random) -> bool:
    """Compare the answers of a fresh query and of one that has other numbers, perhaps."""
    sample, evaluator, answers = drawn(rng)
    other = cerlab.Query(sample.ast)
    numbered_at_random(other, sample.stream, rng)
    again = listed(other, sample.stream, evaluator, rng.choice((1, 2)))
    assert answers == again, (evaluator, sample.describe())
    return names(sample.query) != names(other)


@pytest.mark.filterwarnings("ignore::cerlab.CerlabWarning")
def test_the_numbers_of_states_do_not_change_the_order(suite: Suite) -> None:
    suite.run(has_one_order, deep_count=3_000, needs_answers=0.25)
