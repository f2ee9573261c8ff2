"""One driver for deliberate wrong versions: each is put to its place, judged, and has to be seen.

A mutant counts only if it is right on half or more of the cases with answers; otherwise any test
would find it. The deep profile checks that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, NamedTuple, TypeVar

import pytest

from cerlab import ResourceLimit
from cerlab.conformance import Case
from cerlab.conformance.judge import difference
from cerlab.conformance.replies import reply_of
from proofs_tests.suite import QUICK_STEPS, SMOKE_CASES, TOO_LARGE, Suite

Row = TypeVar("Row")


class Place(NamedTuple):
    """Place of a wrong version: a module or class, and a name in it."""

    owner: object
    name: str
    wrong: Any


@dataclass(frozen=True)
class Judge:
    """Cases that tell right from wrong.

    `case(n)`, for n from 0 to `count - 1`, says whether the n-th case had answers, and fails by an
    `AssertionError` if they are wrong. The smoke profile judges all rows of a table.
    """

    case: Callable[[int], bool]
    count: int
    is_table: bool = False


@dataclass(frozen=True)
class Mutant:
    """A wrong version: where it is put, and what judges it."""

    id: str
    judge: Judge
    places: tuple[Place, ...]


def on_seeds(check: Callable[[Random], bool], count: int) -> Judge:
    """A random test of `count` seeds."""
    return Judge(lambda seed: check(Random(seed)), count)


def on_rows(is_right: Callable[[Row], bool], rows: Sequence[Row]) -> Judge:
    """A hand-computed table, all of it; every row is a case with answers."""

    def case(n: int) -> bool:
        assert is_right(rows[n])
        return True

    return Judge(case, len(rows), is_table=True)


CRASHES = (AssertionError, IndexError, KeyError, NotImplementedError, TypeError, ValueError)
"""Errors that a wrong version may raise, instead of an error by name."""


def on_cases(cases: Iterable[Case], evaluator: Any = "reference") -> Judge:
    """Return a judge with cases of the conformance suite, which an evaluator answers."""
    return on_rows(lambda case: is_right(case, evaluator), [*cases])


def is_right(case: Case, evaluator: Any = "reference") -> bool:
    """Return whether an evaluator replies as the case expects."""
    try:
        return not difference(case, reply_of(case, evaluator), codes=True)
    except CRASHES:
        return False


def mutant(judge: Judge, owner: object, name: str, wrong: Any, *, id: str = "") -> Mutant:
    """Return a mutant at one place, with the name of the wrong version unless given another."""
    return Mutant(id or wrong.__name__, judge, (Place(owner, name, wrong),))


def each_of(mutants: Sequence[Mutant]) -> pytest.MarkDecorator:
    """Runs a test for each, by its name."""
    return pytest.mark.parametrize("mutant", mutants, ids=lambda mutant: mutant.id)


def kills(mutants: Sequence[Mutant]) -> Callable[..., None]:
    """Return the test of each mutant: some case of its judge has to see it."""

    @each_of(mutants)
    def test(mutant: Mutant, monkeypatch: pytest.MonkeyPatch, suite: Suite) -> None:
        check_killed(mutant, monkeypatch, suite)

    return test


def check_killed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch, suite: Suite) -> None:
    """Fail if no case sees the mutant, or, in the deep profile, if more cases see it than agree.

    The deep profile judges all cases. The others stop at the first case that sees the mutant, and
    leave out cases that take more than `QUICK_STEPS`: a mutant can make a machine many times
    larger. The smoke profile draws as few cases as a random suite, and reports a mutant that they
    do not see as skipped.
    """
    for owner, name, wrong in mutant.places:
        monkeypatch.setattr(owner, name, wrong)
    judge, detections, agreements = mutant.judge, 0, 0
    few = suite.smoke and not judge.is_table
    for n in range(min(judge.count, SMOKE_CASES) if few else judge.count):
        if detections and not suite.deep:
            return
        try:
            with suite.at_most(QUICK_STEPS):
                agreements += judge.case(n)
        except AssertionError:
            detections += 1
        except ResourceLimit as error:
            if suite.deep or error.code not in TOO_LARGE:
                raise
    if few and not detections:
        pytest.skip(f"{SMOKE_CASES} cases do not see this mutant: left to --profile quick")
    assert detections, "the mutant survived"
    if suite.deep:
        assert agreements >= detections, (
            f"the mutant is too wrong to count: {agreements} agreed, {detections} saw it"
        )
