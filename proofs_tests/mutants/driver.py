"""One driver for deliberate wrong versions: each is put to its place, judged, and has to be seen.

A mutant counts only if it is right on half or more of the cases with answers; otherwise any test
would find it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, NamedTuple, TypeVar

import pytest

from proofs_tests.suite import SMOKE_CASES, Suite

ENOUGH = 100
"""Random cases with answers that judge a mutant in the quick profile, once one has seen it."""

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
    `AssertionError` if they are wrong.
    """

    case: Callable[[int], bool]
    count: int
    enough: int


@dataclass(frozen=True)
class Mutant:
    """A wrong version: where it is put, and what judges it."""

    id: str
    judge: Judge
    places: tuple[Place, ...]


def on_seeds(check: Callable[[Random], bool], count: int) -> Judge:
    """A random test of `count` seeds."""
    return Judge(lambda seed: check(Random(seed)), count, ENOUGH)


def on_rows(is_right: Callable[[Row], bool], rows: Sequence[Row]) -> Judge:
    """A hand-computed table, all of it; every row is a case with answers."""

    def case(n: int) -> bool:
        assert is_right(rows[n])
        return True

    return Judge(case, len(rows), len(rows))


def mutant(judge: Judge, owner: object, name: str, wrong: Any, *, id: str = "") -> Mutant:
    """Return a mutant at one place, with the name of the wrong version unless given another."""
    return Mutant(id or wrong.__name__, judge, (Place(owner, name, wrong),))


def each_of(mutants: Sequence[Mutant]) -> pytest.MarkDecorator:
    """Runs a test for each, by its name."""
    return pytest.mark.parametrize("mutant", mutants, ids=lambda mutant: mutant.id)


def check_killed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch, suite: Suite) -> None:
    """Fails if no case sees the mutant, or if more cases see it than agree with it.

    All cases are judged in the deep profile; in the quick one no more than there have to be; in the
    smoke one as many as a random suite runs, and a mutant that they do not see is reported as
    skipped.
    """
    for owner, name, wrong in mutant.places:
        monkeypatch.setattr(owner, name, wrong)
    judge, detections, agreements = mutant.judge, 0, 0
    few = suite.smoke and judge.enough < judge.count  # a table is always judged as a whole
    for n in range(min(judge.count, SMOKE_CASES) if few else judge.count):
        if not suite.deep and detections and detections + agreements >= judge.enough:
            break
        try:
            agreements += judge.case(n)
        except AssertionError:
            detections += 1
    if few and not detections:
        pytest.skip(f"{SMOKE_CASES} cases do not see this mutant: left to --profile quick")
    assert detections, "the mutant survived"
    if few:
        return
    assert agreements >= detections, (
        f"the mutant is too wrong to count: {agreements} agreed, {detections} saw it"
    )
