"""``A+``, whose answers are all sets of positions: numbers of thousands of digits."""

from __future__ import annotations

from itertools import pairwise

import pytest

import cerlab
from cerlab import ComplexEvent, Matches
from cerlab.api import as_query
from proofs_tests.access.cases import all_of

ALL = 10_000


@pytest.fixture(scope="module")
def ambiguous() -> Matches:
    return as_query("SELECT * WHERE A+").run(all_of("A" * ALL))


def test_a_number_of_three_thousand_digits(ambiguous: Matches) -> None:
    """``A+`` on n events A has 2^i answers that end at i: all sets of positions with maximum i."""
    n = ambiguous.count()
    assert n == 2**ALL - 1
    assert ambiguous[0] == ComplexEvent(0, 0, (0,))
    assert ambiguous[2**4 - 1] == ComplexEvent(4, 4, (4,))
    last_end = 2 ** (ALL - 1) - 1
    assert ambiguous[last_end] == ComplexEvent(ALL - 1, ALL - 1, (ALL - 1,)), "the latest start"
    numbers = [last_end - 1, last_end, last_end + 1, 3 * n // 4, n // 3, 2 * n // 3, n - 2, n - 1]
    answers = [ambiguous[k] for k in numbers]
    assert len(set(answers)) == len(numbers)
    for k, answer in zip(numbers, answers, strict=True):
        check_subset(answer)
        assert answer.end == (k + 1).bit_length() - 1
    assert answers[-1].start == 0, "the earliest start comes last"


def check_subset(answer: ComplexEvent) -> None:
    positions = answer.positions
    assert positions[0] == answer.start
    assert positions[-1] == answer.end < ALL
    assert all(a < b for a, b in pairwise(positions))


def test_a_sample_of_it(ambiguous: Matches) -> None:
    """Half of all answers have the last end, a quarter the one before; half of all positions."""
    sample = ambiguous.sample(30, seed=2)
    assert sample == ambiguous.sample(30, seed=2) != ambiguous.sample(30, seed=3)
    assert len(set(sample)) == 30
    for answer in sample:
        check_subset(answer)
        assert answer.end >= ALL - 20
        assert 4_700 < len(answer.positions) < 5_300, "six standard deviations"


@pytest.mark.long
def test_a_number_of_thirty_thousand_digits_is_counted_and_no_more() -> None:
    n = 100_000
    matches = as_query("SELECT * WHERE A+").run(all_of("A" * n))
    assert matches.count() == 2**n - 1
    with pytest.raises(cerlab.ResourceLimit, match=r"of 30,103 digits .* more than 1,000,000,000"):
        matches[2 ** (n - 1)]
    with pytest.raises(cerlab.ResourceLimit):
        matches.sample(1, seed=0)
    with pytest.raises(IndexError, match="a number of 30,103 digits"):
        matches[2**n - 1]
