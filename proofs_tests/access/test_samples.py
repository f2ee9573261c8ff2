"""Samples are uniform, and one pass over the stream."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from random import Random

import pytest

import cerlab
from cerlab import ComplexEvent, Matches
from cerlab.api import as_query
from cerlab.engine import random_access
from proofs_tests.access.cases import all_of, weights_of


def chi_square(sample: Sequence[ComplexEvent], answers: Sequence[ComplexEvent]) -> float:
    """Pearson's statistic of draws against the uniform distribution on all answers."""
    expected = len(sample) / len(answers)
    counts = Counter(sample)
    assert set(counts) <= set(answers)
    return sum((counts[each] - expected) ** 2 / expected for each in answers)


UNIFORM = {
    "SELECT * WHERE A+": ("AAAAA", 31, 59.70),
    "SELECT * WHERE A ; B+ WITHIN 4 EVENTS": ("AABABBA", 13, 32.91),
    "SELECT * WHERE (A OR B)+ LIMIT 4": ("ABABAB", 19, 42.31),
    "SELECT * WHERE A ; A CONSUME BY ANY": ("AAAAAA", 3, 13.82),
}
"""Stream, number of answers, and the value that the statistic exceeds once in 1,000 times."""


@pytest.mark.parametrize("text", UNIFORM)
def test_samples_are_uniform(text: str) -> None:
    types, size, critical = UNIFORM[text]
    matches = as_query(text).run(all_of(types))
    answers = list(matches)
    assert len(answers) == len(set(answers)) == size == cerlab.count(text, matches.stream)
    for seed in range(5):
        assert chi_square(matches.sample(100 * size, seed=seed), answers) < critical


def an_end_first(matches: Matches, n: int) -> Iterator[ComplexEvent]:
    """An end, then an answer of it."""
    rng = Random(0)
    by_end: dict[int, list[ComplexEvent]] = {}
    for answer in matches:
        by_end.setdefault(answer.end, []).append(answer)
    for _ in range(n):
        yield rng.choice(by_end[rng.choice(list(by_end))])


def never_the_last(matches: Matches, n: int) -> Iterator[ComplexEvent]:
    """One answer too few to choose from."""
    rng = Random(0)
    for _ in range(n):
        yield matches[rng.randrange(matches.count() - 1)]


def twice_the_first(matches: Matches, n: int) -> Iterator[ComplexEvent]:
    """One answer counted twice."""
    rng = Random(0)
    for _ in range(n):
        yield matches[max(0, rng.randrange(-1, matches.count()))]


@pytest.mark.parametrize("sampler", [an_end_first, never_the_last, twice_the_first])
@pytest.mark.parametrize("text", list(UNIFORM)[:3])
def test_samplers_that_are_not_uniform_are_seen(
    text: str, sampler: Callable[[Matches, int], Iterator[ComplexEvent]]
) -> None:
    types, size, critical = UNIFORM[text]
    matches = as_query(text).run(all_of(types))
    assert chi_square(list(sampler(matches, 100 * size)), list(matches)) > critical


@pytest.mark.parametrize(("window", "passes"), [("", 1), ("WITHIN 40 EVENTS", 2)])
def test_a_sample_is_one_pass(window: str, passes: int) -> None:
    """So are numbers in increasing order; the numbers below an end's nodes are added up once."""
    types = "".join(Random(7).choices("AB", k=300))
    matches = as_query(f"SELECT * WHERE A ; B ; A {window}").run(all_of(types))
    matches.sample(500, seed=1)
    access, weights = matches._access, weights_of(matches)
    assert isinstance(access, random_access.TecsAccess)
    assert access._walk.evaluations == 1
    last = matches.count() - 1
    matches[last]
    before = weights.additions
    for k in range(last - 10, last):
        matches[k]
    assert matches[last].end == matches[last - 10].end
    assert weights.additions == before
    matches.sample(500, seed=2)
    assert access._walk.evaluations == passes
