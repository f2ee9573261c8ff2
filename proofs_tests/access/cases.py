"""Streams and matches that the tests of random access share."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from cerlab import Matches, Stream
from cerlab.engine import random_access
from cerlab.engine.subtree_counts import Weights
from cerlab.testing import Shape
from proofs_tests.random_cases import Case

ANY_QUERY = Shape(depth=3, events=8, family=True)


def matches_of(case: Case) -> Matches:
    return Matches(case.query, case.stream)


def weights_of(matches: Matches) -> Weights[Any]:
    access = matches._access
    assert isinstance(access, random_access.TecsAccess)
    return access._weights


def all_of(types: str) -> Stream:
    return Stream.from_events([{"type": each} for each in types])


def agrees_with_iteration(case: Case, rng: Random) -> bool:
    """Every answer by number, in order and out of order; how many there are, and no more."""
    matches = matches_of(case)
    answers = list(matches)
    n = len(answers)
    assert matches.count() == n, case.describe()
    assert [matches[k] for k in range(n)] == answers, case.describe()
    for k in rng.sample(range(n), min(n, 5)):
        assert matches[k] == answers[k], (case.describe(), k)
    with pytest.raises(IndexError):
        matches[n]
    assert set(matches.sample(3, seed=1) if n else ()) <= set(answers)
    return n > 0
