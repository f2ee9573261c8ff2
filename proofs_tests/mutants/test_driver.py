"""The driver of mutants goes red where it should: a driver that never does shows nothing."""

from __future__ import annotations

from contextlib import nullcontext
from random import Random
from types import SimpleNamespace

import pytest

from cerlab.budget import spend, step_budget
from proofs_tests.mutants.driver import (
    Judge,
    Mutant,
    Place,
    check_killed,
    mutant,
    on_rows,
    on_seeds,
)
from proofs_tests.suite import QUICK_STEPS, SMOKE_CASES, Profile, Suite

HOUSE = SimpleNamespace(double=lambda n: 2 * n)


def is_doubled(n: int) -> bool:
    return bool(HOUSE.double(n) == 2 * n)


TABLE = on_rows(is_doubled, range(10))


def right_below(bound: int) -> Mutant:
    return mutant(TABLE, HOUSE, "double", lambda n: 2 * n if n < bound else -1, id="below")


@pytest.mark.parametrize("bound", [5, 6, 9])
def test_one_that_is_right_on_half_or_more_is_killed(
    bound: int, monkeypatch: pytest.MonkeyPatch, suite: Suite
) -> None:
    check_killed(right_below(bound), monkeypatch, suite)


@pytest.mark.parametrize("bound", [0, 4])
def test_one_that_is_right_on_less_does_not_count(
    bound: int, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    with pytest.raises(AssertionError, match="too wrong to count"):
        check_killed(right_below(bound), monkeypatch, Suite(Profile.DEEP, request))


def test_one_that_no_case_sees_survives(monkeypatch: pytest.MonkeyPatch, suite: Suite) -> None:
    with pytest.raises(AssertionError, match="survived"):
        check_killed(right_below(10), monkeypatch, suite)


def test_one_that_is_put_nowhere_survives(monkeypatch: pytest.MonkeyPatch, suite: Suite) -> None:
    with pytest.raises(AssertionError, match="survived"):
        check_killed(Mutant("nowhere", TABLE, ()), monkeypatch, suite)


def test_a_place_that_is_not_there_is_an_error(
    monkeypatch: pytest.MonkeyPatch, suite: Suite
) -> None:
    missing = Mutant("gone", TABLE, (Place(HOUSE, "triple", None),))
    with pytest.raises(AttributeError):
        check_killed(missing, monkeypatch, suite)


def test_cases_without_answers_do_not_count_as_right(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    def one_in_three(n: int) -> bool:
        assert n % 3
        return n % 3 == 1 and n > 3

    with pytest.raises(AssertionError, match="9 agreed, 10 saw it"):
        check_killed(
            Mutant("silent", Judge(one_in_three, 30), ()), monkeypatch, Suite(Profile.DEEP, request)
        )


@pytest.mark.parametrize(("profile", "expected"), [(Profile.QUICK, 151), (Profile.DEEP, 400)])
def test_seeds_are_judged_until_one_sees_the_mutant(
    profile: Profile,
    expected: int,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    """In the quick profile; the deep one judges all."""
    numbers: list[float] = []

    def check(rng: Random) -> bool:
        numbers.append(rng.random())
        assert len(numbers) != 151
        return True

    check_killed(Mutant("late", on_seeds(check, 400), ()), monkeypatch, Suite(profile, request))
    assert len(set(numbers)) == expected


@pytest.mark.parametrize(("sees", "is_skipped"), [(SMOKE_CASES, False), (SMOKE_CASES + 1, True)])
def test_smoke_judges_a_few_seeds_and_says_what_they_do_not_see(
    sees: int, is_skipped: bool, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    numbers: list[float] = []

    def check(rng: Random) -> bool:
        numbers.append(rng.random())
        assert len(numbers) != sees
        return True

    late = Mutant("late", on_seeds(check, 400), ())
    with pytest.raises(pytest.skip.Exception) if is_skipped else nullcontext():
        check_killed(late, monkeypatch, Suite(Profile.SMOKE, request))
    assert len(numbers) == SMOKE_CASES


def test_smoke_judges_a_whole_table(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    with pytest.raises(AssertionError, match="survived"):
        check_killed(right_below(10), monkeypatch, Suite(Profile.SMOKE, request))


def test_a_case_that_is_too_large_is_left_to_the_deep_profile(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    def large_then_wrong(n: int) -> bool:
        with step_budget("a case"):
            spend(QUICK_STEPS + 1 if n == 0 else 1)
        raise AssertionError

    late = Mutant("late", Judge(large_then_wrong, 2), ())
    check_killed(late, monkeypatch, Suite(Profile.QUICK, request))
    with pytest.raises(AssertionError, match="too wrong to count"):  # all cases are judged
        check_killed(late, monkeypatch, Suite(Profile.DEEP, request))
