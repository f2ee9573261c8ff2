"""Certificates of equivalence: their machines are those of the queries, by the reference."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

import cerlab
from cerlab import ComplexEvent
from cerlab.compile.pattern import as_pattern
from cerlab.decisions.certificate import certificates
from cerlab.decisions.question import Question
from cerlab.evaluate import answers_of
from cerlab.model.stream import Stream
from proofs_tests.mechanised.certificates import EQUIVALENT, Certificate, is_bisimulation


@pytest.mark.parametrize(("left", "right"), EQUIVALENT)
def test_the_machines_have_the_answers_of_the_queries(left: str, right: str) -> None:
    queries = [as_pattern(text) for text in (left, right)]
    [certificate] = certificates(*queries)
    minterms = Question(queries, ()).minterms({})
    rng = Random(0)
    answered = 0
    for _ in range(40):
        word = [rng.randrange(len(minterms)) for _ in range(rng.randrange(1, 5))]
        events = [example for a in word if (example := minterms[a].example) is not None]
        stream = Stream(events)
        for side, query in zip(("left", "right"), queries, strict=True):
            expected = set(answers_of(query, stream, "reference"))
            assert answers(certificate, side, word) == expected
            answered += len(expected)
    assert answered


def answers(certificate: Certificate, side: str, word: list[int]) -> set[ComplexEvent]:
    """Return the answers that end at the last letter of a beginning of the word, by all marks."""
    machine = certificate[side]
    found = set()
    for stop in range(1, len(word) + 1):
        for start in range(stop):
            for marks in product((1, 2), repeat=stop - start):
                state = 0
                for a, move in zip(word, [0] * start + list(marks), strict=False):
                    state = machine["next"][state][a][move]
                if machine["accepts"][state]:
                    taken = tuple(start + k for k, mark in enumerate(marks) if mark == 1)
                    found.add(ComplexEvent(start, stop - 1, taken))
    return found


@pytest.mark.parametrize(("left", "right"), EQUIVALENT)
def test_the_relation_is_a_bisimulation(left: str, right: str) -> None:
    assert cerlab.equivalent(left, right).holds
    assert all(map(is_bisimulation, certificates(as_pattern(left), as_pattern(right))))


def test_each_kind_of_key_has_a_certificate() -> None:
    query = as_pattern("SELECT * WHERE A FILTER A[k = 1] PARTITION BY [k]")
    kinds = certificates(query, query)
    assert len(kinds) > 1
    assert all(map(is_bisimulation, kinds))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("MAX(A+) ; B", "MAX(A+) ; B"),
        ("SELECT * WHERE A+ LIMIT 1", "SELECT * WHERE A+ LIMIT 1"),
        ("SELECT * WHERE A+ CONSUME BY ANY LIMIT 1", "SELECT * WHERE A+ CONSUME BY ANY LIMIT 1"),
        ("SELECT * WHERE A WITHIN 1 SECONDS", "SELECT * WHERE A WITHIN 2 SECONDS"),
    ],
)
def test_what_rests_on_more_than_two_machines_has_no_certificate(left: str, right: str) -> None:
    assert cerlab.equivalent(left, right).holds
    with pytest.raises(cerlab.Unsupported, match="CER0424"):
        certificates(as_pattern(left), as_pattern(right))
