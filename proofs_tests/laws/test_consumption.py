"""CONSUME BY: the answers between two resets are those of a fresh run on that suffix (P16).

The oracle ends an evaluation at the first answer and goes on after it; the driver of the automata
resets. Here neither is asked: the answers under ANY are put together from evaluations without
consumption on suffixes of the stream, by the definition of CONSUME BY.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

from cerlab import ComplexEvent
from cerlab.evaluate import answers_of
from cerlab.logic.ceql.semantics import query_answers
from cerlab.model.clauses import Consume, Strategy
from cerlab.model.stream import Stream
from cerlab.testing import Shape
from proofs_tests.random_cases import Case, random_case
from proofs_tests.suite import random_suite

SHAPE = Shape(depth=2, events=8)


def by_suffixes(case: Case) -> set[ComplexEvent]:
    """Answers of fresh evaluations: on the whole, then on what follows the first end, and so on."""
    fresh = replace(case.ast, consume=Consume.NONE)
    first_ends: set[ComplexEvent] = set()
    offset = 0
    while True:
        suffix = Stream(case.stream.events[offset:], time=case.stream.time)
        answers = query_answers(fresh, suffix)
        if not answers:
            return first_ends
        first = min(m.end for m in answers)
        first_ends |= {
            ComplexEvent(m.start + offset, m.end + offset, tuple(p + offset for p in m.positions))
            for m in answers
            if m.end == first
        }
        offset += first + 1


@random_suite(20_000)
def test_p16_any(rng: Random) -> bool:
    sample = random_case(rng, SHAPE)
    strategy = rng.choice((None, None, *Strategy))
    ast = replace(sample.ast, consume=Consume.ANY, strategy=strategy)
    sample = replace(sample, ast=ast)
    expected = by_suffixes(sample)
    assert set(query_answers(ast, sample.stream)) == expected, sample.describe()
    if sample.query.machine_kind == "automaton":
        answers = list(answers_of(sample.query, sample.stream, "tecs"))
        assert set(answers) == expected, sample.describe()
        assert len(answers) == len(expected)
    return bool(expected)


@random_suite(20_000)
def test_p16_partition_is_any_in_each_partition(rng: Random) -> bool:
    sample = random_case(rng, SHAPE)
    ast = replace(sample.ast, consume=Consume.PARTITION, partition=(("k",),))
    with_key = [t for t in sample.stream.events if isinstance(t.attributes.get("k"), int)]
    together = Case(ast, Stream(with_key, time=sample.stream.time))
    answers = set(query_answers(ast, together.stream))
    apart: set[ComplexEvent] = set()
    for key in (0, 1, True):
        rows = [
            (i, t)
            for i, t in enumerate(with_key)
            if t.attributes["k"] == key and isinstance(t.attributes["k"], bool) is (key is True)
        ]
        alone = Stream([t for _, t in rows], time=sample.stream.time)
        single = replace(ast, consume=Consume.ANY)
        for m in query_answers(single, alone):
            positions = tuple(rows[p][0] for p in m.positions)
            apart.add(ComplexEvent(rows[m.start][0], rows[m.end][0], positions))
    assert answers == apart, together.describe()
    return bool(answers)
